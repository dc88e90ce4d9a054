//! Where requests take effect: in the device, or in a switch that is waiting to be put there.

use crate::plant::{ask, Plant};
use crate::status::{Code, Refusal};
use p4_arch::v1model::Switch;

pub enum Place<'a> {
    Device(&'a dyn Plant),
    /// Of a configuration that has been saved, but not committed
    Waiting(&'a mut Switch),
}

impl Place<'_> {
    /// Runs `action` on the switch between two packets.
    pub fn with<R: Send + 'static>(
        &mut self,
        action: impl FnOnce(&mut Switch) -> R + Send + 'static,
    ) -> Result<R, Refusal> {
        match self {
            Place::Waiting(switch) => Ok(action(switch)),
            Place::Device(plant) => {
                let done = ask(*plant, |host| host.switch().map(action))?;
                done.ok_or_else(|| {
                    Refusal::new(Code::FailedPrecondition, "the device has no program yet")
                })
            }
        }
    }
}
