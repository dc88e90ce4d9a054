//! A program and a switch of whichever architecture the program's package names.

use crate::error::ArchError;
use crate::stats::{Stats, Stop};
use crate::tree::Trace;
use crate::v1model::{AsBmv2, Config, CrcParameters, V1Model, Workspace};
use crate::{tna, v1model, Digest, Port, Sink};
use p4_ir::interp::Prepared;
use p4_ir::ir::Program;
use p4_ir::lower::Binding;
use p4_ir::native::Native;
use p4_state::{IdleEntry, State, Update, WriteError};
use p4_syntax::span::Span;
use p4_time::Time;
use std::sync::Arc;

/// Every architecture's say in lowering; which one is asked, the package decides.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyArchitecture {
    /// Lower v1model programs with [`AsBmv2`].
    pub as_bmv2: bool,
}

impl Binding for AnyArchitecture {
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str> {
        let v1model = V1Model.storage(package, block, param);
        v1model.or_else(|| tna::Tna.storage(package, block, param))
    }

    fn as_bmv2(&self) -> bool {
        self.as_bmv2 && AsBmv2.as_bmv2()
    }

    fn compares_exactly(&self) -> &'static [&'static str] {
        tna::Tna.compares_exactly()
    }

    fn fills_headers(&self, package: &str) -> bool {
        tna::Tna.fills_headers(package)
    }

    fn noted(&self) -> &'static [(&'static str, &'static str)] {
        tna::Tna.noted()
    }
}

/// A program made ready to run, lowered with [`AnyArchitecture`].
#[derive(Clone, Debug)]
pub enum Image {
    V1Model(Arc<v1model::Image>),
    Tna(Arc<tna::Image>),
}

impl Image {
    /// Checks that `program` can be executed in full on the architecture that it is made for.
    pub fn new(program: Arc<Program>) -> Result<Image, ArchError> {
        Ok(match &*program.package {
            "Switch" | "MultiParserSwitch" => Image::Tna(Arc::new(tna::Image::new(program)?)),
            "V1Switch" => Image::V1Model(Arc::new(v1model::Image::new(program)?)),
            other => {
                let message = format!(
                    "no architecture here has a package {other}; `main` must be a V1Switch (v1model) or a Switch (TNA)"
                );
                return Err(ArchError::new(message, Span::NONE));
            }
        })
    }

    /// `v1model` or `tna`
    pub fn architecture(&self) -> &'static str {
        match self {
            Image::V1Model(_) => "v1model",
            Image::Tna(_) => "tna",
        }
    }

    pub fn program(&self) -> &Program {
        match self {
            Image::V1Model(image) => image.program(),
            Image::Tna(image) => image.program(),
        }
    }

    /// The program as the interpreter and native back ends take it.
    pub fn prepared(&self) -> &Prepared {
        match self {
            Image::V1Model(image) => image.prepared(),
            Image::Tna(image) => image.prepared(),
        }
    }

    /// Whether the program was lowered as bmv2 takes it.
    pub fn is_as_bmv2(&self) -> bool {
        match self {
            Image::V1Model(image) => image.is_as_bmv2(),
            Image::Tna(_) => false,
        }
    }
}

/// A switch of either architecture.
pub enum Switch {
    V1Model(Box<v1model::Switch>),
    Tna(Box<tna::Switch>),
}

/// The same call on either.
macro_rules! either {
    ($switch:expr, $own:ident => $call:expr) => {
        match $switch {
            Switch::V1Model($own) => $call,
            Switch::Tna($own) => $call,
        }
    };
}

impl From<v1model::Switch> for Switch {
    fn from(switch: v1model::Switch) -> Switch {
        Switch::V1Model(Box::new(switch))
    }
}

impl From<tna::Switch> for Switch {
    fn from(switch: tna::Switch) -> Switch {
        Switch::Tna(Box::new(switch))
    }
}

impl Switch {
    /// A switch that runs `image`. A TNA switch has four pipes and takes of `config` what is not
    /// v1model's alone.
    pub fn new(image: &Image, config: Config) -> Result<Switch, ArchError> {
        Ok(match image {
            Image::V1Model(image) => v1model::Switch::new(Arc::clone(image), config)?.into(),
            Image::Tna(image) => {
                let config = tna::Config {
                    seed: config.seed,
                    undefined: config.undefined,
                    max_passes: config.max_passes,
                    max_packets: config.max_packets,
                    ..tna::Config::default()
                };
                tna::Switch::new(Arc::clone(image), config)?.into()
            }
        })
    }

    pub fn program(&self) -> &Program {
        either!(self, own => own.image().program())
    }

    /// The program as the interpreter and native back ends take it.
    pub fn prepared(&self) -> &Prepared {
        either!(self, own => own.image().prepared())
    }

    /// See [`v1model::Switch::set_native`].
    pub fn set_native(&mut self, native: Option<Arc<dyn Native>>) -> Result<(), ArchError> {
        either!(self, own => own.set_native(native))
    }

    /// See [`v1model::Switch::set_patience`].
    pub fn set_patience(&mut self, packets: u64) {
        either!(self, own => own.set_patience(packets))
    }

    /// What the control plane can read.
    pub fn state(&self) -> &State {
        either!(self, own => own.state())
    }

    pub fn stats(&self) -> Stats {
        either!(self, own => own.stats())
    }

    /// Applies all updates between two packets, or none of them.
    pub fn write(&mut self, batch: &[Update]) -> Result<(), WriteError> {
        either!(self, own => own.write(batch))
    }

    /// Takes a packet in; what leaves goes to `out`.
    pub fn process(&mut self, now: Time, port: Port, data: &[u8], out: &mut dyn Sink) {
        either!(self, own => own.process(now, port, data, out))
    }

    /// The same for one of several switches that take packets one after the other.
    pub fn process_in(
        &mut self,
        workspace: &mut Workspace,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) {
        match self {
            Switch::V1Model(own) => own.process_in(workspace, now, port, data, out),
            Switch::Tna(own) => own.process(now, port, data, out),
        }
    }

    /// The same, and everything that happened on the way.
    pub fn process_traced(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) -> Trace {
        either!(self, own => own.process_traced(now, port, data, out))
    }

    /// When something happens by itself next.
    #[inline]
    pub fn next_departure(&self) -> Option<Time> {
        either!(self, own => own.next_departure())
    }

    /// Lets happen what happens by itself until `now`.
    pub fn advance(&mut self, now: Time, out: &mut dyn Sink) {
        either!(self, own => own.advance(now, out))
    }

    /// Digests since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        either!(self, own => own.take_digests())
    }

    /// Entries that nothing has hit for their time, each told once per timeout.
    pub fn idle_entries(&mut self, now: Time) -> Vec<IdleEntry> {
        either!(self, own => own.idle_entries(now))
    }

    /// Why the switch takes no more packets, if it does not.
    pub fn stopped(&self) -> Option<&Stop> {
        match self {
            Switch::V1Model(own) => own.stopped(),
            Switch::Tna(_) => None,
        }
    }

    /// Whether the switch does as bmv2 does where v1model.p4 says otherwise.
    pub fn is_bmv2_compat(&self) -> bool {
        match self {
            Switch::V1Model(own) => own.config().bmv2_compat,
            Switch::Tna(_) => false,
        }
    }

    /// See [`v1model::Switch::set_crc`].
    pub fn set_crc(&mut self, name: &str, parameters: CrcParameters) -> Result<(), ArchError> {
        self.v1model("CRCs that the control plane sets")?
            .set_crc(name, parameters)
    }

    /// See [`v1model::Switch::set_queue_depth`].
    pub fn set_queue_depth(
        &mut self,
        port: Option<Port>,
        priority: Option<u8>,
        packets: u64,
    ) -> Result<(), ArchError> {
        let own = self.v1model("queues measured in packets")?;
        own.set_queue_depth(port, priority, packets)
    }

    /// See [`v1model::Switch::set_queue_rate`].
    pub fn set_queue_rate(
        &mut self,
        port: Option<Port>,
        priority: Option<u8>,
        packets_per_second: u64,
    ) -> Result<(), ArchError> {
        let own = self.v1model("queues measured in packets")?;
        own.set_queue_rate(port, priority, packets_per_second)
    }

    /// Says which port leads to the CPU. Of v1model's ports none does by itself.
    pub fn set_cpu_port(&mut self, port: Option<Port>) {
        if let Switch::Tna(own) = self {
            own.set_cpu_port(port, port.is_some());
        }
    }

    /// The switch itself if it is one of TNA; `what` says in the error what it is needed for.
    pub fn tna(&mut self, what: &str) -> Result<&mut tna::Switch, ArchError> {
        match self {
            Switch::Tna(own) => Ok(own),
            Switch::V1Model(_) => {
                let message = format!("{what} are TNA's; this program is one for v1model");
                Err(ArchError::new(message, Span::NONE))
            }
        }
    }

    fn v1model(&mut self, what: &str) -> Result<&mut v1model::Switch, ArchError> {
        match self {
            Switch::V1Model(own) => Ok(own),
            Switch::Tna(_) => {
                let message = format!("{what} are v1model's; this program is one for TNA");
                Err(ArchError::new(message, Span::NONE))
            }
        }
    }
}
