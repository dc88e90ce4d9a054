//! What the server needs of the world: a switch to talk to, and a compiler.

use crate::status::{Code, Refusal};
use p4_arch::v1model::{Image, Switch};
use p4_info::P4Info;
use p4_time::Time;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// A place for a switch, between two packets.
pub trait Host {
    /// The switch; `None` as long as there is no program.
    fn switch(&mut self) -> Option<&mut Switch>;
    /// Puts another switch in its place.
    fn install(&mut self, switch: Switch);
}

/// Something to be done between two packets.
pub type Job = Box<dyn FnOnce(&mut dyn Host) + Send>;

/// A switch and what is around it.
pub trait Plant: Send + Sync {
    /// Runs `job` between two packets and returns when it is done.
    fn run(&self, job: Job) -> Result<(), Gone>;
    /// Hands a frame to the switch as if it came from its CPU port. `false`: it has no such port.
    fn packet_out(&self, frame: Vec<u8>) -> Result<bool, Gone>;
    /// A switch with this program that has seen nothing yet; the error is for people.
    fn make(&self, image: &Arc<Image>) -> Result<Switch, String>;
    /// The switch's time.
    fn now(&self) -> Time;
    /// The switch's ports; `None` if any number may be one.
    fn ports(&self) -> Option<BTreeSet<u16>>;
    fn cpu_port(&self) -> Option<u16>;
}

/// The switch has been stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl From<Gone> for Refusal {
    fn from(Gone: Gone) -> Refusal {
        Refusal::new(Code::Unavailable, "the switch has been stopped")
    }
}

/// Runs `action` between two packets and gives what it returns.
pub fn ask<R: Send + 'static>(
    plant: &dyn Plant,
    action: impl FnOnce(&mut dyn Host) -> R + Send + 'static,
) -> Result<R, Gone> {
    let answer = Arc::new(Mutex::new(None));
    let reply = Arc::clone(&answer);
    plant.run(Box::new(move |host| {
        let done = action(host);
        *reply.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    }))?;
    // The job is done by now, or it never will be.
    let done = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
    done.ok_or(Gone)
}

/// A compiled program and what it shows to its control plane.
#[derive(Clone)]
pub struct Pipeline {
    pub image: Arc<Image>,
    pub info: Arc<P4Info>,
}

/// What a client may send as the device's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceConfig<'a> {
    /// P4 source text
    Source(&'a str),
    /// p4c's JSON for bmv2, by the name of the program that it records
    Json { program: &'a str },
}

/// Makes programs of device configurations.
pub trait Compiler: Send + Sync {
    /// The program; `None` if there is no such source here. The error is for people.
    fn compile(&self, config: DeviceConfig<'_>) -> Result<Option<Pipeline>, String>;
}
