//! What tests of rules between blocks share: what runs a switch, and what it sends.

use p4_arch::{Port, Sink};

/// Port, priority and bytes of each packet
#[derive(Default)]
pub struct Sent(pub Vec<(Port, u8, Vec<u8>)>);

impl Sink for Sent {
    fn transmit(&mut self, port: Port, data: &[u8]) {
        self.transmit_with_priority(port, 0, data);
    }

    fn transmit_with_priority(&mut self, port: Port, priority: u8, data: &[u8]) {
        self.0.push((port, priority, data.to_vec()));
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Engine {
    Interpreter,
    Blocks,
    Paths,
}
