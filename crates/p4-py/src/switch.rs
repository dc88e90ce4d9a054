//! A switch: by itself, and as the device that networks and interfaces carry.

#[cfg(all(target_os = "linux", feature = "whole"))]
mod served;

use crate::engine::{equip, named, Engine};
use crate::program::Program;
use crate::tna;
use crate::trace::lazy_arrival_dict;
use crate::update;
use num_bigint::BigUint;
use p4_arch::tna::{LoopConfig, LoopStats};
use p4_arch::v1model::Config;
use p4_arch::{ArchError, Digest, Sink, Stats, Switch as AnySwitch, Trace};
use p4_net::{Out, Workspace};
use p4_state::{Args, EntryView, MeterConfig, State, Target, Update, UpdateError};
use p4_time::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySequence};
use std::collections::VecDeque;
use std::time::Instant;

/// Traces that a device keeps for whoever fetches them; the oldest go first.
const MAX_TRACES: usize = 10_000;

/// Digests that a device keeps beside P4Runtime's clients.
const MAX_DIGESTS: usize = 10_000;

/// What became of one packet that arrived.
pub struct Arrival {
    pub time: Time,
    pub port: u16,
    pub data: Vec<u8>,
    pub trace: Trace,
}

/// A switch as networks and interfaces want it, with a memory for traces.
#[repr(C)] // what every packet looks at comes first: in a network it is in one line of the cache
pub struct Device {
    /// `None` as long as no controller has given it a program
    switch: Option<AnySwitch>,
    /// The way to P4Runtime's clients, and the port that leads there
    tap: Taps,
    tracing: bool,
    traces: VecDeque<Arrival>,
    /// Digests for somebody beside P4Runtime's clients; the oldest go first.
    kept: Option<VecDeque<Digest>>,
}

impl Device {
    /// A switch that drops everything.
    pub fn without_program() -> Device {
        Device {
            switch: None,
            tracing: false,
            traces: VecDeque::new(),
            tap: None,
            kept: None,
        }
    }

    pub fn new(program: &Program, seed: u64, engine: Engine) -> PyResult<Device> {
        Ok(Device {
            switch: Some(Device::switch_of(
                program,
                seed,
                &Config::default(),
                engine,
            )?),
            ..Device::without_program()
        })
    }

    fn switch_of(
        program: &Program,
        seed: u64,
        limits: &Config,
        engine: Engine,
    ) -> PyResult<AnySwitch> {
        let config = Config {
            seed,
            bmv2_compat: program.image.is_as_bmv2(),
            undefined: program.noise(seed),
            ..*limits
        };
        let mut switch = AnySwitch::new(&program.image, config)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        equip(&mut switch, program, engine)?;
        Ok(switch)
    }

    /// Applies all updates or none; the error is for people.
    pub fn write(&mut self, batch: &[Update]) -> Result<(), String> {
        let switch = self.switch.as_mut().ok_or_else(no_program)?;
        switch.write(batch).map_err(|error| error.to_string())
    }

    /// Says which port leads to the CPU, to a switch whose ports it is one of.
    pub fn set_cpu_port(&mut self, port: Option<u16>) {
        if let Some(switch) = &mut self.switch {
            switch.set_cpu_port(port);
        }
    }

    /// Lets a port of a TNA switch lead back to its ingress, or (`None`) out again.
    pub fn set_loop(&mut self, port: u16, config: Option<LoopConfig>) -> Result<(), String> {
        let switch = self.tna("looped ports")?;
        switch.each(|own| own.set_loop(port, config));
        Ok(())
    }

    /// What a looped port with a rate has counted; `None` if the port is not looped.
    pub fn loop_stats(&mut self, port: u16) -> Result<Option<LoopStats>, String> {
        Ok(self.tna("looped ports")?.loop_stats(port))
    }

    /// The 64 bits in front of the packets of a port of a TNA switch.
    pub fn set_port_metadata(&mut self, port: u16, bits: u64) -> Result<(), String> {
        let switch = self.tna("port metadata")?;
        switch.set_port_metadata(port, bits);
        Ok(())
    }

    /// The switch if it is one of TNA; `what` says in the error what it is needed for.
    pub fn tna(&mut self, what: &str) -> Result<&mut p4_arch::tna::Switch, String> {
        let switch = self.switch.as_mut().ok_or_else(no_program)?;
        switch.tna(what).map_err(|error| error.to_string())
    }

    /// Sets how many packets an egress queue holds and how many leave it per second (0: no limit),
    /// of one port or all and of one priority or all.
    pub fn set_queue(
        &mut self,
        port: Option<u16>,
        priority: Option<u8>,
        depth: Option<u64>,
        rate: Option<u64>,
    ) -> Result<(), String> {
        let switch = self.switch.as_mut().ok_or_else(no_program)?;
        let depth = depth.map(|depth| switch.set_queue_depth(port, priority, depth));
        let rate = rate.map(|rate| switch.set_queue_rate(port, priority, rate));
        let done = depth.into_iter().chain(rate).collect::<Result<(), _>>();
        done.map_err(|error| error.to_string())
    }

    pub fn set_tracing(&mut self, on: bool) {
        self.tracing = on;
    }

    pub fn take_traces(&mut self) -> Vec<Arrival> {
        self.traces.drain(..).collect()
    }

    /// What the control plane has written.
    pub fn state(&self) -> PyResult<&State> {
        let switch = self.switch.as_ref();
        let switch = switch.ok_or_else(|| PyValueError::new_err(no_program()))?;
        Ok(switch.state())
    }

    /// Digests since the last call, oldest first, with the program that they are from; none if
    /// P4Runtime's clients get them and they are not to be kept as well.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        let kept = self.kept.as_mut().map(std::mem::take);
        let mut digests = Vec::from(kept.unwrap_or_default());
        if let Some(switch) = &mut self.switch {
            digests.extend(switch.take_digests());
        }
        digests
    }

    /// Packets that were sent to the switch and what it sent, by its own count.
    pub fn stats(&self) -> Stats {
        let switch = self.switch.as_ref();
        switch.map(AnySwitch::stats).unwrap_or_default()
    }
}

fn no_program() -> String {
    "the switch has no program yet".to_string()
}

impl p4_net::Device for Device {
    fn next_departure(&self) -> Option<Time> {
        self.switch.as_ref().and_then(AnySwitch::next_departure)
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        let Device {
            switch, tap, kept, ..
        } = self;
        let Some(switch) = switch else { return };
        switch.advance(now, &mut Exits { tap, out });
        tell_digests(switch, tap, kept);
    }

    fn port_changed(&mut self, now: Time, port: u16, up: bool) {
        if let Some(AnySwitch::Tna(switch)) = &mut self.switch {
            switch.each(|own| match up {
                true => own.port_up(port),
                false => own.port_down(now, port),
            });
        }
    }

    fn receive(&mut self, now: Time, port: u16, data: &[u8], out: &mut Out) {
        self.take_in(None, now, port, data, out);
    }

    fn receive_in(
        &mut self,
        shared: &mut Workspace,
        now: Time,
        port: u16,
        data: &[u8],
        out: &mut Out,
    ) {
        self.take_in(shared.get(), now, port, data, out);
    }
}

impl Device {
    #[inline]
    fn take_in(
        &mut self,
        shared: Option<&mut p4_arch::Workspace>,
        now: Time,
        port: u16,
        data: &[u8],
        out: &mut Out,
    ) {
        let Device {
            switch,
            tap,
            tracing,
            traces,
            kept,
        } = self;
        let Some(switch) = switch else { return };
        let mut sink = Exits { tap, out };
        if !*tracing {
            match shared {
                Some(shared) => switch.process_in(shared, now, port, data, &mut sink),
                None => switch.process(now, port, data, &mut sink),
            }
            return tell_digests(switch, tap, kept);
        }
        let trace = switch.process_traced(now, port, data, &mut sink);
        tell_digests(switch, tap, kept);
        if traces.len() == MAX_TRACES {
            traces.pop_front();
        }
        traces.push_back(Arrival {
            time: now,
            port,
            data: data.to_vec(),
            trace,
        });
    }
}

/// A control plane that hears of frames to a CPU port and of digests.
trait Listener: Send + Sync {
    fn packet_in(&self, frame: &[u8]);
    fn digests(&self, digests: Vec<Digest>);
}

type Taps = Option<(Option<u16>, Box<dyn Listener>)>;

/// Where frames leave: to P4Runtime's clients if they are behind the port.
struct Exits<'a, 'b> {
    tap: &'a Taps,
    out: &'a mut Out<'b>,
}

impl Sink for Exits<'_, '_> {
    #[inline]
    fn transmit(&mut self, port: u16, data: &[u8]) {
        self.transmit_with_priority(port, 0, data);
    }

    #[inline]
    fn transmit_with_priority(&mut self, port: u16, priority: u8, data: &[u8]) {
        match self.tap {
            Some((Some(cpu), tap)) if *cpu == port => tap.packet_in(data),
            _ => (self.out)(port, priority, data),
        }
    }
}

/// Without clients the switch keeps its digests for whoever asks.
#[inline]
fn tell_digests(switch: &mut AnySwitch, tap: &Taps, kept: &mut Option<VecDeque<Digest>>) {
    let Some((_, tap)) = tap else { return };
    let digests = switch.take_digests();
    if digests.is_empty() {
        return;
    }
    if let Some(kept) = kept {
        kept.extend(digests.iter().cloned());
        kept.drain(..kept.len().saturating_sub(MAX_DIGESTS));
    }
    tap.digests(digests);
}

/// One switch by itself.
#[pyclass(module = "p4lab._engine")]
pub struct Switch {
    program: Py<Program>,
    switch: AnySwitch,
}

#[pymethods]
impl Switch {
    #[new]
    #[pyo3(signature = (program, *, seed = 0, max_passes = None, max_packets = None, engine = Some("interpreter")))]
    fn new(
        py: Python<'_>,
        program: Py<Program>,
        seed: u64,
        max_passes: Option<u32>,
        max_packets: Option<u32>,
        engine: Option<&str>,
    ) -> PyResult<Switch> {
        let usual = Config::default();
        let limits = Config {
            max_passes: max_passes.unwrap_or(usual.max_passes),
            max_packets: max_packets.unwrap_or(usual.max_packets),
            ..usual
        };
        let switch = Device::switch_of(program.get(), seed, &limits, named(engine)?)?;
        Ok(Switch {
            program: program.clone_ref(py),
            switch,
        })
    }

    /// Applies all updates between two packets, or none of them and raises ValueError.
    fn write(&mut self, updates: &Bound<'_, PySequence>) -> PyResult<()> {
        let batch = update::batch(updates)?;
        self.switch
            .write(&batch)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Says which port of a TNA switch leads to the CPU; None: none does.
    #[pyo3(signature = (port))]
    fn set_cpu_port(&mut self, port: Option<u16>) {
        self.switch.set_cpu_port(port);
    }

    /// Lets a front port of a TNA switch lead back to its own ingress, at once, or out again.
    #[pyo3(signature = (port, *, looped = true))]
    fn set_loop(&mut self, port: u16, looped: bool) -> PyResult<()> {
        let switch = self.switch.tna("looped ports").map_err(not_tna)?;
        switch.set_loop(port, looped.then(LoopConfig::default));
        Ok(())
    }

    /// Sets the 64 bits that stand in front of all packets of a port of a TNA switch.
    fn set_port_metadata(&mut self, port: u16, bits: u64) -> PyResult<()> {
        let switch = self.switch.tna("port metadata").map_err(not_tna)?;
        switch.set_port_metadata(port, bits);
        Ok(())
    }

    /// Sets what no table of a TNA switch holds: see `tna.rs`. Time is `now`.
    #[pyo3(signature = (settings, now = 0))]
    fn set_up(&mut self, settings: &Bound<'_, PySequence>, now: u64) -> PyResult<()> {
        let settings = tna::settings(settings)?;
        let switch = self.switch.tna("such settings").map_err(not_tna)?;
        tna::apply(switch, Time::from_picos(now), settings)
    }

    /// Tells a TNA switch that a port lost its link, or has it again.
    #[pyo3(signature = (port, up, now = 0))]
    fn set_port(&mut self, port: u16, up: bool, now: u64) -> PyResult<()> {
        let switch = self.switch.tna("ports with links").map_err(not_tna)?;
        match up {
            true => switch.port_up(port),
            false => switch.port_down(Time::from_picos(now), port),
        }
        Ok(())
    }

    /// Lets happen what happens by itself until `now`; gives what comes out as `process` does.
    fn advance<'py>(&mut self, py: Python<'py>, now: u64) -> Vec<(u16, Bound<'py, PyBytes>)> {
        let mut sent = Vec::new();
        let mut sink = |port: u16, data: &[u8]| sent.push((port, PyBytes::new(py, data)));
        self.switch.advance(Time::from_picos(now), &mut sink);
        sent
    }

    /// What an application of a TNA switch's packet generator has counted; None if there is none.
    fn generator_counts<'py>(
        &mut self,
        py: Python<'py>,
        pipe: u8,
        app: u8,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let switch = self.switch.tna("packet generators").map_err(not_tna)?;
        tna::generator_counts(py, switch, pipe, app)
    }

    /// Digests since the last call, oldest first: (name, [(field, value)]).
    fn take_digests<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let digests = self.switch.take_digests();
        tna::digest_list(py, self.program.get().ir(), digests)
    }

    /// Sends a packet in; gives what comes out, in order, as (port, bytes).
    #[pyo3(signature = (port, data, now = 0))]
    fn process<'py>(
        &mut self,
        py: Python<'py>,
        port: u16,
        data: &[u8],
        now: u64,
    ) -> Vec<(u16, Bound<'py, PyBytes>)> {
        let mut sent = Vec::new();
        let mut sink = |port: u16, data: &[u8]| sent.push((port, PyBytes::new(py, data)));
        self.switch
            .process(Time::from_picos(now), port, data, &mut sink);
        sent
    }

    /// The same, and everything that happened to the packet on the way.
    #[pyo3(signature = (port, data, now = 0))]
    fn trace<'py>(
        &mut self,
        py: Python<'py>,
        port: u16,
        data: &[u8],
        now: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let time = Time::from_picos(now);
        let trace = self
            .switch
            .process_traced(time, port, data, &mut |_: u16, _: &[u8]| {});
        let arrival = Arrival {
            time,
            port,
            data: data.to_vec(),
            trace,
        };
        lazy_arrival_dict(py, &self.program, arrival)
    }

    /// Packets and bytes of a cell.
    fn read_counter(&self, counter: &str, index: u64) -> PyResult<(u64, u64)> {
        self.switch.state().counter(counter, index).map_err(refused)
    }

    /// A register's cell; every pipe of a TNA switch has its own.
    #[pyo3(signature = (register, index, pipe = 0))]
    fn read_register(&self, register: &str, index: u64, pipe: u8) -> PyResult<BigUint> {
        let value = match &self.switch {
            AnySwitch::Tna(own) => own.read_register(register, index, pipe),
            AnySwitch::V1Model(own) => own.state().read_register(register, index),
        };
        value.map_err(refused)
    }

    /// Packets and bytes of an entry's direct counter.
    #[pyo3(signature = (table, matches, priority = 0))]
    fn read_direct_counter(
        &self,
        table: String,
        matches: &Bound<'_, PyAny>,
        priority: u32,
    ) -> PyResult<(u64, u64)> {
        read_direct_counter(self.switch.state(), table, matches, priority)
    }

    /// A meter's (committed rate, committed burst, peak rate, peak burst); None: all is green.
    fn read_meter(&self, meter: &str, index: u64) -> PyResult<Option<(u64, u64, u64, u64)>> {
        read_meter(self.switch.state(), meter, index)
    }

    /// The entries of a table, see `entry_dicts`.
    fn entries<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        entry_dicts(py, self.switch.state(), table)
    }

    /// What the switch counted about itself.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats_dict(py, &self.switch.stats())
    }

    /// Sends `count` copies of a packet in; gives the seconds it took and how many came out.
    fn bench(&mut self, py: Python<'_>, port: u16, data: Vec<u8>, count: u64) -> (f64, u64) {
        py.detach(|| {
            let mut sent = 0;
            let start = Instant::now();
            for number in 0..count {
                let now = Time::from_nanos(number);
                self.switch
                    .process(now, port, &data, &mut |_: u16, _: &[u8]| sent += 1);
            }
            (start.elapsed().as_secs_f64(), sent)
        })
    }
}

/// The entries of a table in the order in which they came, see `entry_dict`.
pub fn entry_dicts<'py>(
    py: Python<'py>,
    state: &State,
    table: &str,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let entries = state.entries(table).map_err(refused)?;
    let dict = |entry: EntryView| entry_dict(py, &entry);
    entries.into_iter().map(dict).collect()
}

/// One entry: `handle` (the number that traces show), `matches` (by key, as in updates),
/// `priority`, `action` and `args` (by parameter). An entry that leads to a member or a group of an
/// action profile has no action of its own: None, and no args.
pub fn entry_dict<'py>(py: Python<'py>, entry: &EntryView) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("handle", entry.handle)?;
    let matches = PyDict::new(py);
    for (key, value) in &entry.matches {
        matches.set_item(key, update::match_object(py, value)?)?;
    }
    dict.set_item("matches", matches)?;
    dict.set_item("priority", entry.priority)?;
    let (action, args) = match &entry.target {
        Target::Action(spec) => (Some(&spec.name), args_dict(py, &spec.args)?),
        Target::Member(_) | Target::Group(_) => (None, PyDict::new(py)),
    };
    dict.set_item("action", action)?;
    dict.set_item("args", args)?;
    Ok(dict)
}

/// The arguments of an action by parameter, in their order.
pub fn args_dict<'py>(py: Python<'py>, args: &Args) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Args::Named(named) = args {
        for (name, value) in named {
            dict.set_item(name, value)?;
        }
    }
    Ok(dict)
}

pub fn read_direct_counter(
    state: &State,
    table: String,
    matches: &Bound<'_, PyAny>,
    priority: u32,
) -> PyResult<(u64, u64)> {
    let key = update::key(table, matches, priority)?;
    state.direct_counter(&key).map_err(refused)
}

pub fn read_meter(
    state: &State,
    meter: &str,
    index: u64,
) -> PyResult<Option<(u64, u64, u64, u64)>> {
    let config = state.meter_config(meter, index).map_err(refused)?;
    Ok(config.map(rates))
}

/// A meter's rates and bursts as updates have them.
pub fn rates(config: MeterConfig) -> (u64, u64, u64, u64) {
    (
        config.committed_rate,
        config.committed_burst,
        config.peak_rate,
        config.peak_burst,
    )
}

fn not_tna(error: ArchError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn refused(error: UpdateError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn stats_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in [
        ("received", stats.received),
        ("received_bytes", stats.received_bytes),
        ("sent", stats.sent),
        ("sent_bytes", stats.sent_bytes),
        ("ingress_drops", stats.ingress_drops),
        ("egress_drops", stats.egress_drops),
        ("no_group", stats.no_group),
        ("too_many_passes", stats.too_many_passes),
        ("too_many_packets", stats.too_many_packets),
        ("out_of_fuel", stats.out_of_fuel),
        ("failed_assertions", stats.failed_assertions),
        ("no_queue", stats.no_queue),
        ("queue_full", stats.queue_full),
        ("stopped", stats.stopped),
        ("ill_formed", stats.ill_formed),
        ("bad_port", stats.bad_port),
        ("parser_errors", stats.parser_errors),
        ("clones", stats.clones),
        ("replicas", stats.replicas),
        ("resubmitted", stats.resubmitted),
        ("recirculated", stats.recirculated),
        ("unknown_session", stats.unknown_session),
        ("out_of_range", stats.out_of_range),
        ("lost_digests", stats.lost_digests),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}
