//! Switches on Linux interfaces. Times are picoseconds since the inbox was made.

use crate::engine;
use crate::net_values::{count_dict, link_config};
use crate::p4runtime::ForwarderPlant;
use crate::program::Program;
use crate::switch::Device;
use crate::trace::arrival_dict;
use crate::update;
use p4_arch::tna::LoopConfig;
use p4_io::bench::{Command, Contestant, Load};
use p4_io::{Backend, Config, IoError, MonotonicClock, PacketIn, PortStats, Stats};
use p4_net::Device as _;
use p4_runtime::{Plant as _, Tap};
use p4_time::Clock;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySequence};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Mutex, Weak};
use std::time::Duration;

/// Where the frames for the controller arrive, and the clock that all its switches share.
#[pyclass(frozen, module = "p4lab._engine")]
pub struct Inbox {
    clock: MonotonicClock,
    sender: SyncSender<PacketIn>,
    receiver: Mutex<Receiver<PacketIn>>,
}

#[pymethods]
impl Inbox {
    #[new]
    #[pyo3(signature = (capacity = 1024))]
    fn new(capacity: usize) -> Inbox {
        let (sender, receiver) = sync_channel(capacity.clamp(1, 1 << 20));
        Inbox {
            clock: MonotonicClock::new(),
            sender,
            receiver: Mutex::new(receiver),
        }
    }

    /// The next frame as (switch, time, frame); None after `timeout` seconds without one.
    fn get<'py>(
        &self,
        py: Python<'py>,
        timeout: f64,
    ) -> PyResult<Option<(u32, u64, Bound<'py, PyBytes>)>> {
        let wait = Duration::try_from_secs_f64(timeout)
            .map_err(|error| PyValueError::new_err(format!("timeout {timeout}: {error}")))?;
        let received = py.detach(|| {
            // A poisoned lock only means that another caller was interrupted.
            let receiver = self
                .receiver
                .lock()
                .unwrap_or_else(|poison| poison.into_inner());
            receiver.recv_timeout(wait)
        });
        match received {
            Ok(PacketIn { switch, data, time }) => {
                Ok(Some((switch, time.picos(), PyBytes::new(py, &data))))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    #[getter]
    fn now(&self) -> u64 {
        self.clock.now().picos()
    }
}

/// A switch on Linux interfaces, in a thread of its own.
#[pyclass(module = "p4lab._engine")]
pub struct Forwarder {
    /// `None` once stopped
    inner: Option<p4_io::Forwarder<Device>>,
    program: Option<Py<Program>>,
    /// Programs in other pipes of a TNA switch
    joined: Vec<Py<Program>>,
    plant: ForwarderPlant,
    listeners: Listeners,
}

/// Servers that want to hear of the switch's ports.
#[derive(Default)]
pub struct Listeners {
    /// Once P4Runtime's clients may reach it
    pub tap: Option<Tap>,
    /// While BF Runtime's may
    pub bfrt: Weak<p4_bfrt::server::Server>,
}

#[pymethods]
impl Forwarder {
    #[new]
    #[pyo3(signature = (program, ports, inbox, *, switch = 0, cpu_port = None, seed = 0, backend = None, engine = Some("interpreter")))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn new(
        program: Option<Py<Program>>,
        ports: Vec<(u16, String)>,
        inbox: &Inbox,
        switch: u32,
        cpu_port: Option<u16>,
        seed: u64,
        backend: Option<&str>,
        engine: Option<&str>,
    ) -> PyResult<Forwarder> {
        let backend = named_backend(backend)?;
        let mut device = match &program {
            Some(program) => Device::new(program.get(), seed, engine::named(engine)?)?,
            None => Device::without_program(),
        };
        device.set_cpu_port(cpu_port);
        for (number, _) in &ports {
            device.plug(*number);
        }
        let numbers = ports.iter().map(|(number, _)| *number).collect();
        let config = Config {
            switch,
            ports,
            cpu_port,
            backend,
            clock: inbox.clock,
        };
        let inner = p4_io::Forwarder::start(config, device, inbox.sender.clone());
        let inner = inner.map_err(refused)?;
        let plant = ForwarderPlant::new(inner.handle(), inbox.clock, numbers, cpu_port, seed);
        Ok(Forwarder {
            inner: Some(inner),
            program,
            joined: Vec::new(),
            plant,
            listeners: Listeners::default(),
        })
    }

    /// By port, which back end it has got and why not a faster one (None: nothing to say).
    #[getter]
    fn backends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for port in self.running()?.backends() {
            dict.set_item(port.port, (port.backend.name(), port.note.as_deref()))?;
        }
        Ok(dict)
    }

    /// Applies a batch of updates between two packets: all of them or none.
    fn write(&self, py: Python<'_>, updates: &Bound<'_, PySequence>) -> PyResult<()> {
        let batch = update::batch(updates)?;
        let inner = self.running()?;
        py.detach(|| inner.with_device(move |device| device.write(&batch)))
            .map_err(refused)?
            .map_err(PyValueError::new_err)
    }

    /// Packets and bytes of a counter's cell.
    fn read_counter(&self, py: Python<'_>, counter: String, index: u64) -> PyResult<(u64, u64)> {
        let inner = self.running()?;
        let read = move |device: &mut Device| {
            let found = device.state()?.counter(&counter, index);
            found.map_err(|error| PyValueError::new_err(error.to_string()))
        };
        py.detach(|| inner.with_device(read)).map_err(refused)?
    }

    /// Hands a frame to the switch as if it came from its CPU port.
    fn send_from_cpu(&self, data: Vec<u8>) -> PyResult<()> {
        self.running()?.send_from_cpu(data).map_err(refused)
    }

    /// Lets a port of a TNA switch lead back to its ingress. Its interface stays silent then.
    fn set_loop(&self, py: Python<'_>, port: u16) -> PyResult<()> {
        let inner = self.running()?;
        let set = move |device: &mut Device| device.set_loop(port, Some(LoopConfig::default()));
        py.detach(|| inner.with_device(set))
            .map_err(refused)?
            .map_err(PyValueError::new_err)
    }

    /// Chooses what runs in each pipe of a TNA switch, by names of pipelines; None: nothing.
    fn place(&self, py: Python<'_>, pipelines: [Option<String>; 4]) -> PyResult<()> {
        let inner = self.running()?;
        let place = move |device: &mut Device| device.place(&pipelines);
        py.detach(|| inner.with_device(place))
            .map_err(refused)?
            .map_err(PyValueError::new_err)
    }

    /// Lets another program run in the pipes of a TNA switch where the others run nothing.
    fn join(
        &mut self,
        py: Python<'_>,
        program: Py<Program>,
        pipelines: [Option<String>; 4],
    ) -> PyResult<()> {
        let inner = self.running()?;
        let (image, code) = engine::of_tna(program.get())?;
        let join = move |device: &mut Device| device.join(image, code, &pipelines);
        py.detach(|| inner.with_device(join))
            .map_err(refused)?
            .map_err(PyValueError::new_err)?;
        self.joined.push(program);
        Ok(())
    }

    /// Takes a port down or up.
    fn set_port(&self, py: Python<'_>, port: u16, up: bool) -> PyResult<()> {
        let inner = self.running()?;
        py.detach(|| inner.set_port(port, up)).map_err(refused)?;
        if let Some(tap) = &self.listeners.tap {
            py.detach(|| tap.set_port(port, up))
                .map_err(|refusal| PyOSError::new_err(refusal.message))?;
        }
        match self.listeners.bfrt.upgrade() {
            Some(server) => py
                .detach(|| server.set_link(port, up))
                .map_err(|status| PyOSError::new_err(status.message)),
            None => {
                let now = self.plant.now();
                let changed = move |device: &mut Device| device.port_changed(now, port, up);
                py.detach(|| inner.with_device(changed)).map_err(refused)
            }
        }
    }

    /// Gives the link at a port a rate (bits per second), delay, jitter (picoseconds), loss and
    /// queue (bytes): for what the switch sends, and with `both` also for what it receives.
    #[pyo3(signature = (port, *, rate = None, delay = 0, jitter = 0, loss = 0.0, queue = None, both = false, seed = 0))]
    #[allow(clippy::too_many_arguments)] // keyword arguments in Python
    fn emulate(
        &self,
        port: u16,
        rate: Option<u64>,
        delay: u64,
        jitter: u64,
        loss: f64,
        queue: Option<u64>,
        both: bool,
        seed: u64,
    ) -> PyResult<()> {
        let config = link_config(rate, delay, jitter, loss, queue, None);
        let into = both.then(|| config.clone());
        self.running()?
            .emulate(port, Some(config), into, seed)
            .map_err(refused)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.running()?;
        let stats = py.detach(|| inner.stats()).map_err(refused)?;
        stats_dict(py, &stats)
    }

    /// From now on the switch keeps the trace of every packet; `take_traces` fetches them.
    fn trace(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        let inner = self.running()?;
        py.detach(|| inner.with_device(move |device| device.set_tracing(on)))
            .map_err(refused)
    }

    /// The traces since the last call, oldest first.
    fn take_traces<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let inner = self.running()?;
        let gone = "traces need the program with which the switch was started";
        let program = self.program.as_ref();
        let program = program.ok_or_else(|| PyOSError::new_err(gone))?.get();
        let image = program.image.clone();
        let taken = move |device: &mut Device| device.runs(&image).then(|| device.take_traces());
        let taken = py.detach(|| inner.with_device(taken)).map_err(refused)?;
        taken
            .ok_or_else(|| PyOSError::new_err(gone))?
            .iter()
            .map(|arrival| arrival_dict(py, program, arrival))
            .collect()
    }

    /// Ends the thread and gives its last counts.
    fn stop<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = self.inner.take().ok_or_else(stopped)?;
        let (_, stats) = py.detach(|| inner.stop()).map_err(refused)?;
        stats_dict(py, &stats)
    }
}

impl Forwarder {
    /// All programs, as they are numbered in the switch.
    pub fn programs(&self) -> impl Iterator<Item = &Program> {
        self.program.iter().chain(&self.joined).map(Py::get)
    }

    /// What a server needs of the switch, the program that it runs, and where it says that it listens.
    pub fn for_runtime(&mut self) -> (ForwarderPlant, Option<&Program>, &mut Listeners) {
        let program = self.program.as_ref().map(Py::get);
        (self.plant.clone(), program, &mut self.listeners)
    }

    fn running(&self) -> PyResult<&p4_io::Forwarder<Device>> {
        self.inner.as_ref().ok_or_else(stopped)
    }
}

/// Puts copies of a frame on a veth pair and counts what comes out of another one, with between
/// them: a switch of ours (`program`), another one (`command`), or, with neither, a loop that copies
/// frames.
#[pyfunction]
#[pyo3(signature = (frame, seconds, *, rate = None, program = None, updates = None, backend = None, command = None, engine = Some("interpreter")))]
#[allow(clippy::too_many_arguments)] // keyword arguments in Python
pub fn bench_forwarder<'py>(
    py: Python<'py>,
    frame: Vec<u8>,
    seconds: f64,
    rate: Option<f64>,
    program: Option<&Program>,
    updates: Option<&Bound<'py, PySequence>>,
    backend: Option<&str>,
    command: Option<Vec<String>>,
    engine: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let duration = Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("seconds {seconds}: {error}")))?;
    let backend = named_backend(backend)?;
    let contestant = match (program, command) {
        (Some(program), _) => {
            let mut device = Device::new(program, 0, engine::named(engine)?)?;
            if let Some(updates) = updates {
                device
                    .write(&update::batch(updates)?)
                    .map_err(PyValueError::new_err)?;
            }
            let device = Box::new(device);
            Contestant::Switch { device, backend }
        }
        (None, Some(words)) => Contestant::Program(command_of(words)?),
        (None, None) => Contestant::Nothing,
    };
    let load = Load {
        frame,
        rate,
        duration,
    };
    let measured = py
        .detach(|| p4_io::bench::measure(contestant, load))
        .map_err(refused)?;
    let dict = PyDict::new(py);
    dict.set_item("seconds", measured.seconds)?;
    dict.set_item("offered", measured.offered)?;
    dict.set_item("forwarded", measured.forwarded)?;
    dict.set_item("busy", measured.busy)?;
    Ok(dict)
}

fn command_of(words: Vec<String>) -> PyResult<Command> {
    let mut words = words.into_iter();
    let program = words
        .next()
        .ok_or_else(|| PyValueError::new_err("a command needs a program"))?;
    let arguments = words.collect();
    Ok(Command { program, arguments })
}

fn named_backend(name: Option<&str>) -> PyResult<Option<Backend>> {
    name.map(str::parse)
        .transpose()
        .map_err(PyValueError::new_err)
}

fn refused(error: IoError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

fn stopped() -> PyErr {
    PyOSError::new_err("the switch has been stopped")
}

fn stats_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let ports = PyDict::new(py);
    for (number, port) in &stats.ports {
        ports.set_item(number, port_dict(py, port)?)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("ports", ports)?;
    dict.set_item("no_port", stats.no_port)?;
    dict.set_item("cpu_full", stats.cpu_full)?;
    Ok(dict)
}

fn port_dict<'py>(py: Python<'py>, port: &PortStats) -> PyResult<Bound<'py, PyDict>> {
    let drops = PyDict::new(py);
    drops.set_item("uncut", port.drops.uncut)?;
    drops.set_item("bad_checksum", port.drops.bad_checksum)?;
    drops.set_item("bad_length", port.drops.bad_length)?;
    drops.set_item("overrun", port.drops.overrun)?;
    drops.set_item("full", port.drops.full)?;
    drops.set_item("down", port.drops.down)?;
    drops.set_item("loss", port.drops.loss)?;
    drops.set_item("queue_full", port.drops.queue_full)?;
    let dict = PyDict::new(py);
    dict.set_item("received", count_dict(py, &port.received)?)?;
    dict.set_item("sent", count_dict(py, &port.sent)?)?;
    dict.set_item("drops", drops)?;
    Ok(dict)
}
