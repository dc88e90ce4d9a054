//! Two switches side by side.

use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::{Port, Time};
use p4_state::Update;
use std::sync::Arc;

/// The same switch with the interpreter and with native code that learns every path.
pub struct Pair {
    /// The reference first
    pub switches: [Switch; 2],
    packets: u64,
}

impl Pair {
    pub fn new(image: &Arc<Image>, updates: &[Update], config: Config) -> Pair {
        let code = Arc::new(p4_jit::compile(image.prepared()).expect("native code"));
        let switches = [false, true].map(|is_native| {
            let mut switch = Switch::new(Arc::clone(image), config).expect("a switch");
            if is_native {
                let code = Arc::clone(&code);
                switch.set_native(Some(code)).expect("its own code");
                switch.set_patience(0);
            }
            switch.write(updates).expect("entries");
            switch
        });
        let packets = 0;
        Pair { switches, packets }
    }

    /// What both send of the packet, which must be the same.
    pub fn send(&mut self, port: Port, data: &[u8]) -> Vec<(Port, u8, Vec<u8>)> {
        self.packets += 1;
        let now = Time::from_micros(self.packets);
        let [expected, found] = self.switches.each_mut().map(|switch| {
            let mut sent = Sent::default();
            switch.process(now, port, data, &mut sent);
            sent.0
        });
        assert_eq!(expected, found, "of {data:02x?} at port {port}");
        found
    }

    /// Writes to both, which must take it alike.
    pub fn write(&mut self, batch: &[Update]) {
        let [expected, found] = self.switches.each_mut().map(|switch| switch.write(batch));
        assert_eq!(expected.is_ok(), found.is_ok());
    }

    pub fn compare_counts(&self, counter: &str, cells: u64) {
        let [expected, found] = self.switches.each_ref().map(|switch| {
            let cells = (0..cells).map(|cell| switch.state().counter(counter, cell));
            (switch.stats(), cells.collect::<Vec<_>>())
        });
        assert_eq!(expected, found);
    }

    pub fn on_paths(&self) -> u64 {
        self.switches[1].packets_on_paths()
    }
}

#[derive(Default)]
struct Sent(Vec<(Port, u8, Vec<u8>)>);

impl p4_arch::Sink for Sent {
    fn transmit(&mut self, port: Port, data: &[u8]) {
        self.transmit_with_priority(port, 0, data);
    }

    fn transmit_with_priority(&mut self, port: Port, priority: u8, data: &[u8]) {
        self.0.push((port, priority, data.to_vec()));
    }
}
