//! What servers ask of a device: P4Runtime's and BF Runtime's, and switches on interfaces.

use super::{Device, Listener};
use p4_arch::tna::{Image, Switch as TnaSwitch};
use p4_arch::v1model::Switch as V1Switch;
use p4_arch::{Digest, Switch as AnySwitch};
use p4_ir::native::Native;
use p4_runtime::{Host, Tap};
use std::sync::Arc;

impl Device {
    /// Notes that a port of a TNA switch has a cable; other switches have one at all ports.
    pub fn plug(&mut self, port: u16) {
        if let Ok(switch) = self.tna("cables") {
            switch.each(|own| own.plug(port));
        }
    }

    /// Chooses what runs in each pipe of a TNA switch, by the names of pipelines.
    pub fn place(&mut self, pipelines: &[Option<String>; 4]) -> Result<(), String> {
        self.tna("pipes")?.place(pipelines)
    }

    /// Lets another program run in pipes of a TNA switch where none does, at the same ports.
    pub fn join(
        &mut self,
        image: Arc<Image>,
        code: Option<Arc<dyn Native>>,
        pipelines: &[Option<String>; 4],
    ) -> Result<(), String> {
        let first = self.tna("pipes")?;
        let mut other =
            TnaSwitch::new(image, *first.config()).map_err(|error| error.to_string())?;
        other.set_native(code).map_err(|error| error.to_string())?;
        other.place(pipelines)?;
        first.join(other)
    }

    /// From now on frames to the CPU port `cpu` and digests go to P4Runtime's clients.
    pub fn set_tap(&mut self, cpu: Option<u16>, tap: Tap) {
        self.tap = Some((cpu, Box::new(tap)));
    }

    /// Whether the switch runs this very program.
    pub fn runs(&self, image: &p4_arch::Image) -> bool {
        let switch = self.switch.as_ref();
        switch.is_some_and(|switch| std::ptr::eq(switch.program(), image.program()))
    }

    /// From now on keeps digests that P4Runtime's clients get, for `take_digests`.
    pub fn keep_digests(&mut self) {
        self.kept.get_or_insert_default();
    }
}

impl Host for Device {
    fn switch(&mut self) -> Option<&mut V1Switch> {
        match &mut self.switch {
            Some(AnySwitch::V1Model(switch)) => Some(switch),
            _ => None,
        }
    }

    fn install(&mut self, switch: V1Switch) {
        self.switch = Some(switch.into());
        self.traces.clear();
    }
}

impl Listener for Tap {
    fn packet_in(&self, frame: &[u8]) {
        Tap::packet_in(self, frame);
    }

    fn digests(&self, digests: Vec<Digest>) {
        Tap::digests(self, digests);
    }
}
