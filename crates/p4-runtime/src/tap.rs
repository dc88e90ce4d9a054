//! The switch's side of a device: what it has to tell the controller, from its own thread.

use crate::device::Device;
use crate::server::WallClock;
use crate::status::Refusal;
use p4_arch::v1model::Digest;
use std::sync::Arc;

#[derive(Clone)]
pub struct Tap {
    device: Arc<Device>,
    clock: WallClock,
}

impl Tap {
    pub(crate) fn new(device: Arc<Device>, clock: WallClock) -> Tap {
        Tap { device, clock }
    }

    /// A frame has left by the CPU port. Never waits for a client.
    pub fn packet_in(&self, frame: &[u8]) {
        self.device.packet_in(frame);
    }

    /// The program has made digests. Never waits for a client.
    pub fn digests(&self, digests: Vec<Digest>) {
        self.device.digests(digests, (self.clock)());
    }

    /// A port has gone down or come up. Not to be called by the switch's own thread: it changes the
    /// switch.
    pub fn set_port(&self, port: u16, up: bool) -> Result<(), Refusal> {
        self.device.set_port(port, up)
    }
}
