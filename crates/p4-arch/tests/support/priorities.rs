//! Where packets go, and with which priorities.

use p4_arch::Port;

/// Keeps port and priority of what is sent.
#[derive(Default)]
pub struct Priorities(pub Vec<(Port, u8)>);

impl p4_arch::Sink for Priorities {
    fn transmit(&mut self, port: Port, data: &[u8]) {
        self.transmit_with_priority(port, 0, data);
    }

    fn transmit_with_priority(&mut self, port: Port, priority: u8, _: &[u8]) {
        self.0.push((port, priority));
    }
}
