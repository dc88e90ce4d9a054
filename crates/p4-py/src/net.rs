//! A network in virtual time with our switches in it. Times are picoseconds.

use crate::engine;
use crate::net_tcp;
use crate::net_traffic::{self, generated_dict, measured_dict, Template};
use crate::net_values::{
    end, event_tuple, flow_dict, link_config, loop_config, loop_dict, mac_address, node, refused,
    wire_dict,
};
use crate::program::Program;
use crate::switch::{
    entry_dicts, read_direct_counter, read_meter, refused as state_refused, stats_dict, Device,
};
use crate::tna;
use crate::trace::LazyArrival;
use crate::update;
use num_bigint::BigUint;
use p4_net::partition::Rounds;
use p4_net::{Flow, LinkId, RandomFailures, Reads, Recording, Stream, Traffic, Transfer, Whole};
use p4_time::{Clock, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PySequence, PyTuple};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Switches and hosts joined by links; time passes only in `run_until`.
#[pyclass(module = "p4lab._engine")]
pub struct Network {
    inner: p4_net::Network<Device>,
    /// What each switch runs, to name things in its traces
    programs: BTreeMap<u32, Py<Program>>,
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (seed = 0))]
    fn new(seed: u64) -> Network {
        Network {
            inner: p4_net::Network::new(seed),
            programs: BTreeMap::new(),
        }
    }

    /// Adds a switch that runs `program`; gives its node number. Without a CPU port nothing it
    /// sends reaches the controller.
    #[pyo3(signature = (name, program, *, cpu_port = None, seed = 0, engine = Some("interpreter")))]
    fn add_switch(
        &mut self,
        name: &str,
        program: Py<Program>,
        cpu_port: Option<u16>,
        seed: u64,
        engine: Option<&str>,
    ) -> PyResult<u32> {
        let mut device = Device::new(program.get(), seed, engine::named(engine)?)?;
        device.set_cpu_port(cpu_port);
        let node = self.inner.add_switch(name, device, cpu_port).index();
        self.programs.insert(node, program);
        Ok(node)
    }

    /// Adds a host with one port, number 0; `mac` is a 48-bit number.
    fn add_host(&mut self, name: &str, mac: u64) -> PyResult<u32> {
        Ok(self.inner.add_host(name, mac_address(mac)?).index())
    }

    /// Joins two ends, each a (node, port); gives the link's number. `rate` is in bits per second,
    /// None for a link that transmits in no time; `delay` and `jitter` in picoseconds; `queue` in
    /// bytes and `overhead` in bytes per frame, None for the defaults.
    #[pyo3(signature = (a, b, *, rate = None, delay = 0, jitter = 0, loss = 0.0, queue = None, overhead = None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn connect(
        &mut self,
        a: (u32, u16),
        b: (u32, u16),
        rate: Option<u64>,
        delay: u64,
        jitter: u64,
        loss: f64,
        queue: Option<u64>,
        overhead: Option<u32>,
    ) -> PyResult<u32> {
        let config = link_config(rate, delay, jitter, loss, queue, overhead);
        Ok(self
            .inner
            .connect(end(a), end(b), config)
            .map_err(refused)?
            .index())
    }

    /// Gives a link new properties, as in `connect`.
    #[pyo3(signature = (link, *, rate = None, delay = 0, jitter = 0, loss = 0.0, queue = None, overhead = None))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn configure(
        &mut self,
        link: u32,
        rate: Option<u64>,
        delay: u64,
        jitter: u64,
        loss: f64,
        queue: Option<u64>,
        overhead: Option<u32>,
    ) -> PyResult<()> {
        let config = link_config(rate, delay, jitter, loss, queue, overhead);
        self.inner
            .configure(LinkId::from_index(link), config)
            .map_err(refused)
    }

    /// Takes a link down or up, both directions at once.
    fn set_link(&mut self, link: u32, up: bool) -> PyResult<()> {
        self.inner
            .set_link(LinkId::from_index(link), up)
            .map_err(refused)
    }

    /// Takes a link down or up at a moment to come.
    fn set_link_at(&mut self, link: u32, time: u64, up: bool) -> PyResult<()> {
        self.inner
            .set_link_at(LinkId::from_index(link), Time::from_picos(time), up)
            .map_err(refused)
    }

    /// Lets a link fail and come back at random, see `_engine.pyi`; gives the moments of the changes.
    #[pyo3(signature = (link, *, up, down, stop, seed, start = None))]
    fn fail_at_random(
        &mut self,
        link: u32,
        up: u64,
        down: u64,
        stop: u64,
        seed: u64,
        start: Option<u64>,
    ) -> PyResult<Vec<u64>> {
        let plan = RandomFailures {
            up: Time::from_picos(up),
            down: Time::from_picos(down),
            start: start.map_or(self.inner.now(), Time::from_picos),
            stop: Time::from_picos(stop),
            seed,
        };
        let moments = self
            .inner
            .fail_at_random(LinkId::from_index(link), plan)
            .map_err(refused)?;
        Ok(moments.into_iter().map(Time::picos).collect())
    }

    /// Gives a port with a cable its queues and shapers, see `_engine.pyi`.
    #[pyo3(signature = (node, port, queues, *, rate = None, burst = None))]
    fn set_port(
        &mut self,
        node: u32,
        port: u16,
        queues: Vec<net_traffic::Queue>,
        rate: Option<u64>,
        burst: Option<u64>,
    ) -> PyResult<()> {
        let config = net_traffic::port_config(&queues, rate, burst)?;
        self.inner
            .set_port(end((node, port)), &config)
            .map_err(refused)
    }

    /// What has happened in each queue of a port, see `_engine.pyi`.
    fn queue_stats<'py>(
        &self,
        py: Python<'py>,
        node: u32,
        port: u16,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let stats = self.inner.queue_stats(end((node, port))).map_err(refused)?;
        let dict = |stats| net_traffic::queue_dict(py, stats);
        stats.iter().map(dict).collect()
    }

    fn link_is_up(&self, link: u32) -> PyResult<bool> {
        self.inner
            .link_is_up(LinkId::from_index(link))
            .map_err(refused)
    }

    /// What happened on a link: from its first end to its second, and back.
    fn link_stats<'py>(
        &self,
        py: Python<'py>,
        link: u32,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let [there, back] = self
            .inner
            .link_stats(LinkId::from_index(link))
            .map_err(refused)?;
        Ok((wire_dict(py, &there)?, wire_dict(py, &back)?))
    }

    /// Starts to keep every frame that a link delivers.
    fn capture(&mut self, link: u32) -> PyResult<()> {
        self.inner
            .capture(LinkId::from_index(link))
            .map_err(refused)
    }

    /// pcapng bytes since the last call, to be appended to a file.
    fn drain_capture<'py>(&mut self, py: Python<'py>, link: u32) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.drain_capture(LinkId::from_index(link)))
    }

    /// Lets a host's card accept frames to a multicast address.
    fn join(&mut self, host: u32, mac: u64) -> PyResult<()> {
        self.inner
            .join(node(host), mac_address(mac)?)
            .map_err(refused)
    }

    fn leave(&mut self, host: u32, mac: u64) -> PyResult<()> {
        self.inner
            .leave(node(host), mac_address(mac)?)
            .map_err(refused)
    }

    fn set_promiscuous(&mut self, host: u32, promiscuous: bool) -> PyResult<()> {
        self.inner
            .set_promiscuous(node(host), promiscuous)
            .map_err(refused)
    }

    /// From now on frames for this host that are not probes end `run_until`.
    fn notify(&mut self, host: u32) -> PyResult<()> {
        self.inner.notify(node(host)).map_err(refused)
    }

    /// From now on a probe counts only if the host's kernel would read its headers, behind a VLAN
    /// tag if it may be `tagged`.
    #[pyo3(signature = (host, *, tagged = false))]
    fn read_ip(&mut self, host: u32, tagged: bool) -> PyResult<()> {
        self.inner
            .read_ip(node(host), Reads { tagged })
            .map_err(refused)
    }

    /// From now on every frame that the host's card takes ends `run_until`; what is in it for the
    /// host comes by `deliver`.
    fn attach(&mut self, host: u32) -> PyResult<()> {
        self.inner.attach(node(host)).map_err(refused)
    }

    /// A frame reaches an attached host. Whether it ends in a probe.
    fn deliver(&mut self, host: u32, frame: &[u8]) -> PyResult<bool> {
        self.inner.deliver(node(host), frame).map_err(refused)
    }

    /// Lets a host send one frame.
    fn send_at(&mut self, host: u32, time: u64, frame: &[u8]) -> PyResult<()> {
        self.inner
            .send_at(node(host), Time::from_picos(time), frame)
            .map_err(refused)
    }

    /// Lets a host send a numbered stream: `template` with its last 24 bytes as probe trailers.
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    #[pyo3(signature = (host, template, *, flow, sender, start, interval, count))]
    fn start_stream(
        &mut self,
        host: u32,
        template: Vec<u8>,
        flow: u32,
        sender: u32,
        start: u64,
        interval: u64,
        count: u64,
    ) -> PyResult<()> {
        let stream = Stream {
            template,
            flow: Flow { flow, sender },
            start: Time::from_picos(start),
            interval: Time::from_picos(interval),
            count,
        };
        self.inner.start_stream(node(host), stream).map_err(refused)
    }

    /// Starts a traffic source, see `_engine.pyi`.
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    #[pyo3(signature = (
        node, template, *, rate, flow, sender = 0, port = 0, layer = 2, pattern = "constant",
        start = None, stop = None, count = None, on = None, off = None, phases = "exponential",
        overhead = None, priority = 0, seed = None,
    ))]
    fn generate(
        &mut self,
        node: u32,
        template: Template,
        rate: u64,
        flow: u32,
        sender: u32,
        port: u16,
        layer: u8,
        pattern: &str,
        start: Option<u64>,
        stop: Option<u64>,
        count: Option<u64>,
        on: Option<u64>,
        off: Option<u64>,
        phases: &str,
        overhead: Option<u32>,
        priority: u8,
        seed: Option<u64>,
    ) -> PyResult<u32> {
        let traffic = Traffic {
            frames: template.frames(),
            flow: Flow { flow, sender },
            pattern: net_traffic::pattern(pattern, on, off, phases)?,
            rate,
            layer: net_traffic::layer(layer)?,
            overhead,
            start: start.map_or(self.inner.now(), Time::from_picos),
            stop: stop.map_or(Time::MAX, Time::from_picos),
            count: count.unwrap_or(u64::MAX),
            priority,
            seed,
        };
        self.inner
            .generate(end((node, port)), traffic)
            .map_err(refused)
    }

    /// Sends the frames of a capture again, see `_engine.pyi`.
    #[pyo3(signature = (
        node, capture, *, port = 0, start = None, speed = 1.0, flow = None, sender = 0,
    ))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn replay(
        &mut self,
        node: u32,
        capture: &[u8],
        port: u16,
        start: Option<u64>,
        speed: f64,
        flow: Option<u32>,
        sender: u32,
    ) -> PyResult<u32> {
        if !(speed > 0.0 && speed.is_finite()) {
            let message = format!("a speed of {speed} makes no sense; use a number above 0");
            return Err(PyValueError::new_err(message));
        }
        let recording = Recording::read(capture, speed)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let start = start.map_or(self.inner.now(), Time::from_picos);
        let flow = flow.map(|flow| Flow { flow, sender });
        self.inner
            .replay(end((node, port)), recording, start, flow)
            .map_err(refused)
    }

    /// What a traffic source has sent so far: `frames`, `bytes`, `wire_bytes`, `done`.
    fn generated<'py>(&self, py: Python<'py>, source: u32) -> PyResult<Bound<'py, PyDict>> {
        generated_dict(py, &self.inner.generated(source).map_err(refused)?)
    }

    /// From now on a host measures what its card takes, see `_engine.pyi`.
    #[pyo3(signature = (host, *, window = 0))]
    fn measure(&mut self, host: u32, window: u64) -> PyResult<()> {
        self.inner
            .measure(node(host), Time::from_picos(window))
            .map_err(refused)
    }

    /// What a host has measured since `measure`, see `_engine.pyi`.
    #[pyo3(signature = (host, percentiles = vec![50.0, 90.0, 99.0, 99.9]))]
    fn measured<'py>(
        &self,
        py: Python<'py>,
        host: u32,
        percentiles: Vec<f64>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let measured = self.inner.measured(node(host)).map_err(refused)?;
        measured
            .map(|measured| measured_dict(py, &measured, self.inner.now(), &percentiles))
            .transpose()
    }

    /// Gives a host an IPv4 address and a TCP, see `_engine.pyi`.
    #[pyo3(signature = (host, address, *, mtu = 1500, rate = None, gateway = None))]
    fn set_tcp(
        &mut self,
        host: u32,
        address: u32,
        mtu: usize,
        rate: Option<u64>,
        gateway: Option<u64>,
    ) -> PyResult<()> {
        let gateway = gateway.map(mac_address).transpose()?;
        let config = net_tcp::config(address, mtu, rate, gateway);
        self.inner.set_tcp(node(host), config).map_err(refused)
    }

    /// Arranges a TCP connection over which one host sends to another, see `_engine.pyi`.
    #[pyo3(signature = (
        sender, receiver, *, bytes = None, start = None, stop = None, window = 1 << 18,
        buffer = None, congestion = "cubic", ack_delay = 10_000_000_000,
    ))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn transfer(
        &mut self,
        sender: u32,
        receiver: u32,
        bytes: Option<u64>,
        start: Option<u64>,
        stop: Option<u64>,
        window: usize,
        buffer: Option<usize>,
        congestion: &str,
        ack_delay: u64,
    ) -> PyResult<u32> {
        let plan = Transfer {
            sender: node(sender),
            receiver: node(receiver),
            bytes: bytes.unwrap_or(u64::MAX),
            start: start.map_or(self.inner.now(), Time::from_picos),
            stop: stop.map_or(Time::MAX, Time::from_picos),
            window,
            buffer: buffer.unwrap_or(window),
            congestion: net_tcp::congestion(congestion)?,
            ack_delay: Time::from_picos(ack_delay),
        };
        self.inner.transfer(&plan).map_err(refused)
    }

    /// What has become of a transfer so far, see `_engine.pyi`.
    fn transferred<'py>(&self, py: Python<'py>, transfer: u32) -> PyResult<Bound<'py, PyDict>> {
        let report = self.inner.transferred(transfer).map_err(refused)?;
        net_tcp::transferred_dict(py, &report)
    }

    /// Frames that a stream's sender has sent so far.
    fn sent(&self, flow: u32, sender: u32) -> u64 {
        self.inner.sent(Flow { flow, sender })
    }

    /// What a host got of every stream, or of some, each a flow and its sender: a list of
    /// dictionaries.
    #[pyo3(signature = (host, flows=None))]
    fn report<'py>(
        &self,
        py: Python<'py>,
        host: u32,
        flows: Option<Vec<(u32, u32)>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let reports = match flows {
            None => self.inner.report(node(host)),
            Some(pairs) => {
                let flows = pairs
                    .into_iter()
                    .map(|(flow, sender)| Flow { flow, sender });
                self.inner.report_of(node(host), &flows.collect::<Vec<_>>())
            }
        };
        let reports = reports.map_err(refused)?;
        reports.iter().map(|report| flow_dict(py, report)).collect()
    }

    /// Frames that a node could not place: (sent to a port without a cable, filtered by a host).
    fn node_stats(&self, number: u32) -> PyResult<(u64, u64)> {
        let stats = self.inner.node_stats(node(number)).map_err(refused)?;
        Ok((stats.no_cable, stats.filtered))
    }

    /// Applies a batch of updates (see `Switch.write`) to a switch: all of them or none.
    fn write(&mut self, switch: u32, updates: &Bound<'_, PySequence>) -> PyResult<()> {
        let batch = update::batch(updates)?;
        self.device(switch)?
            .write(&batch)
            .map_err(PyValueError::new_err)
    }

    /// The entries of a switch's table, see `Switch.entries`.
    fn entries<'py>(
        &mut self,
        py: Python<'py>,
        switch: u32,
        table: &str,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        entry_dicts(py, self.device(switch)?.state()?, table)
    }

    /// Sets how many packets egress queues of a switch hold and how many leave them per second, of
    /// one port or all and of one priority or all. Without a rate nothing waits.
    #[pyo3(signature = (switch, *, port = None, priority = None, depth = None, rate = None))]
    fn set_queue(
        &mut self,
        switch: u32,
        port: Option<u16>,
        priority: Option<u8>,
        depth: Option<u64>,
        rate: Option<u64>,
    ) -> PyResult<()> {
        self.device(switch)?
            .set_queue(port, priority, depth, rate)
            .map_err(PyValueError::new_err)
    }

    /// Lets a port of a TNA switch lead back to its own ingress (`looped`), or out to its cable again:
    /// see `_engine.pyi`.
    #[pyo3(signature = (
        switch, port, *, looped = true, rate = None, queue = None, overhead = None, latency = 0,
        arbitration = "tail-drop"
    ))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn set_loop(
        &mut self,
        switch: u32,
        port: u16,
        looped: bool,
        rate: Option<u64>,
        queue: Option<u64>,
        overhead: Option<u64>,
        latency: u64,
        arbitration: &str,
    ) -> PyResult<()> {
        let config = loop_config(rate, queue, overhead, latency, arbitration)?;
        self.device(switch)?
            .set_loop(port, looped.then_some(config))
            .map_err(PyValueError::new_err)
    }

    /// What a looped port with a rate has counted: `offered`, `dropped` and `returned` packets, the
    /// same in bytes, and `peak`, the most bytes that ever waited. None if the port is not looped.
    fn loop_stats<'py>(
        &mut self,
        py: Python<'py>,
        switch: u32,
        port: u16,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let stats = self.device(switch)?.loop_stats(port);
        let stats = stats.map_err(PyValueError::new_err)?;
        stats.map(|stats| loop_dict(py, &stats)).transpose()
    }

    /// Sets the 64 bits that stand in front of all packets of a port of a TNA switch.
    fn set_port_metadata(&mut self, switch: u32, port: u16, bits: u64) -> PyResult<()> {
        self.device(switch)?
            .set_port_metadata(port, bits)
            .map_err(PyValueError::new_err)
    }

    /// Sets what no table of a TNA switch holds, now: see `tna.rs`.
    fn set_up(&mut self, switch: u32, settings: &Bound<'_, PySequence>) -> PyResult<()> {
        let settings = tna::settings(settings)?;
        let now = self.inner.now();
        let device = self.device(switch)?;
        let own = device.tna("such settings").map_err(PyValueError::new_err)?;
        tna::apply(own, now, settings)?;
        self.inner.wake_switch(node(switch)).map_err(refused)
    }

    /// What an application of a TNA switch's packet generator has counted; None if there is none.
    fn generator_counts<'py>(
        &mut self,
        py: Python<'py>,
        switch: u32,
        pipe: u8,
        app: u8,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let device = self.device(switch)?;
        let own = device
            .tna("packet generators")
            .map_err(PyValueError::new_err)?;
        tna::generator_counts(py, own, pipe, app)
    }

    /// Digests of a switch since the last call, oldest first: (name, [(field, value)]).
    fn take_digests<'py>(&mut self, py: Python<'py>, switch: u32) -> PyResult<Bound<'py, PyList>> {
        let digests = self.device(switch)?.take_digests();
        match self.programs.get(&switch) {
            Some(program) => tna::digest_list(py, program.get().ir(), digests),
            None => Ok(PyList::empty(py)),
        }
    }

    /// Packets and bytes of a counter's cell.
    fn read_counter(&mut self, switch: u32, counter: &str, index: u64) -> PyResult<(u64, u64)> {
        let state = self.device(switch)?.state()?;
        state.counter(counter, index).map_err(state_refused)
    }

    /// Packets and bytes of an entry's direct counter.
    #[pyo3(signature = (switch, table, matches, priority = 0))]
    fn read_direct_counter(
        &mut self,
        switch: u32,
        table: String,
        matches: &Bound<'_, PyAny>,
        priority: u32,
    ) -> PyResult<(u64, u64)> {
        read_direct_counter(self.device(switch)?.state()?, table, matches, priority)
    }

    /// A register's cell; every pipe of a TNA switch has its own.
    #[pyo3(signature = (switch, register, index, pipe = 0))]
    fn read_register(
        &mut self,
        switch: u32,
        register: &str,
        index: u64,
        pipe: u8,
    ) -> PyResult<BigUint> {
        let device = self.device(switch)?;
        let value = match device.tna("") {
            Ok(own) => own.read_register(register, index, pipe),
            Err(_) => device.state()?.read_register(register, index),
        };
        value.map_err(state_refused)
    }

    /// A meter's rates, see `Switch.read_meter`.
    fn read_meter(
        &mut self,
        switch: u32,
        meter: &str,
        index: u64,
    ) -> PyResult<Option<(u64, u64, u64, u64)>> {
        read_meter(self.device(switch)?.state()?, meter, index)
    }

    /// Hands a frame to a switch as if it came from its CPU port, now.
    fn send_from_cpu(&mut self, switch: u32, data: &[u8]) -> PyResult<()> {
        self.inner
            .send_from_cpu(node(switch), data)
            .map_err(refused)
    }

    /// From now on the switch keeps the trace of every packet; `take_traces` fetches them.
    fn trace(&mut self, switch: u32, on: bool) -> PyResult<()> {
        self.device(switch)?.set_tracing(on);
        Ok(())
    }

    /// The traces since the last call, oldest first; each has `time`, `port` and what was `sent`
    /// besides.
    fn take_traces(&mut self, py: Python<'_>, switch: u32) -> PyResult<Vec<LazyArrival>> {
        let arrivals = self.device(switch)?.take_traces();
        let Some(program) = self.programs.get(&switch) else {
            return Ok(Vec::new());
        };
        Ok(arrivals
            .into_iter()
            .map(|arrival| LazyArrival::new(program.clone_ref(py), arrival))
            .collect())
    }

    /// What a switch counted about itself.
    fn switch_stats<'py>(&mut self, py: Python<'py>, switch: u32) -> PyResult<Bound<'py, PyDict>> {
        stats_dict(py, &self.device(switch)?.stats())
    }

    /// Begins to condense all deliveries into `fingerprint`.
    fn fingerprint_on(&mut self) {
        self.inner.fingerprint_on();
    }

    /// One number for all deliveries; equal runs have equal numbers.
    #[getter]
    fn fingerprint(&self) -> Option<u64> {
        self.inner.fingerprint()
    }

    #[getter]
    fn now(&self) -> u64 {
        self.inner.now().picos()
    }

    /// When something will happen by itself; None if never.
    #[getter]
    fn next_event_time(&self) -> Option<u64> {
        self.inner.next_event_time().map(Time::picos)
    }

    /// Lets time pass up to `end` or until the caller must act. Gives None when `end` has come, else
    /// ("packet_in" | "host_frame", node, time, frame). Raises when frames run in a loop. What happens
    /// does not depend on `threads`, which carry out parts of the network side by side if it has any.
    #[pyo3(signature = (end, *, threads = NonZeroUsize::MIN))]
    fn run_until<'py>(
        &mut self,
        py: Python<'py>,
        end: u64,
        threads: NonZeroUsize,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (inner, end) = (&mut self.inner, Time::from_picos(end));
        let crew = |rounds: &dyn Rounds| p4_parallel::carry_out(rounds, threads);
        let event = py.detach(|| match threads.get() {
            1 => inner.run_until(end),
            many => inner.run_shared(end, many, crew),
        });
        event_tuple(py, event)
    }

    /// Why several threads would not share the work of `run_until`, see `_engine.pyi`.
    fn undivided(&self, end: u64) -> Option<&'static str> {
        let why = self.inner.whole(Time::from_picos(end))?;
        Some(match why {
            Whole::Talks => "a switch has a controller, or a host tells of its frames",
            Whole::Captures => "a link is captured",
            Whole::Measures => "a host measures latencies",
            Whole::LinkEvents => "a link goes down or up",
            Whole::SharedFlow => "several hosts send frames of one flow",
            Whole::NoParts => "no cable has a delay",
        })
    }
}

impl Network {
    fn device(&mut self, switch: u32) -> PyResult<&mut Device> {
        self.inner.device_mut(node(switch)).map_err(refused)
    }
}
