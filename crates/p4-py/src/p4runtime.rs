//! The P4Runtime server in front of switches on Linux interfaces.

use crate::files::DiskFiles;
use crate::io::Forwarder;
use crate::switch::Device;
use p4_arch::v1model::{Config, Image, Switch};
use p4_arch::Image as AnyImage;
use p4_driver::build;
use p4_io::{Handle, IoError, MonotonicClock};
use p4_runtime::{Compiler, DeviceConfig, Gone, Host, Job, Pipeline, Plant, Server};
use p4_runtime_grpc::{Api, Listener};
use p4_syntax::{FileProvider, MemoryFiles, Options, Severity};
use p4_time::{Clock, Time};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A switch on Linux interfaces as the server needs it.
#[derive(Clone)]
pub struct ForwarderPlant {
    handle: Handle<Device>,
    clock: MonotonicClock,
    ports: Arc<BTreeSet<u16>>,
    cpu_port: Option<u16>,
    seed: u64,
    packets_out: Arc<AtomicU32>,
}

/// After so many packets from controllers the next one waits until the switch has taken them, so
/// that a flood of them does not keep it from its ports.
const PACKETS_OUT: u32 = 32;

impl ForwarderPlant {
    pub fn new(
        handle: Handle<Device>,
        clock: MonotonicClock,
        ports: BTreeSet<u16>,
        cpu_port: Option<u16>,
        seed: u64,
    ) -> ForwarderPlant {
        ForwarderPlant {
            handle,
            clock,
            ports: Arc::new(ports),
            cpu_port,
            seed,
            packets_out: Arc::default(),
        }
    }

    /// The way to the switch, for whoever else speaks to it.
    pub fn handle(&self) -> Handle<Device> {
        self.handle.clone()
    }
}

fn gone(_: IoError) -> Gone {
    Gone
}

impl Plant for ForwarderPlant {
    fn run(&self, job: Job) -> Result<(), Gone> {
        let run = move |device: &mut Device| job(device as &mut dyn Host);
        self.handle.with_device(run).map_err(gone)
    }

    fn packet_out(&self, frame: Vec<u8>) -> Result<bool, Gone> {
        if self.cpu_port.is_none() {
            return Ok(false);
        }
        self.handle.send_from_cpu(frame).map_err(gone)?;
        let sent = self.packets_out.fetch_add(1, Ordering::Relaxed);
        if sent.is_multiple_of(PACKETS_OUT) {
            self.handle.with_device(|_| ()).map_err(gone)?;
        }
        Ok(true)
    }

    fn make(&self, image: &Arc<Image>) -> Result<Switch, String> {
        let config = Config {
            seed: self.seed,
            bmv2_compat: image.is_as_bmv2(),
            ..Config::default()
        };
        Switch::new(Arc::clone(image), config).map_err(|error| error.to_string())
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn ports(&self) -> Option<BTreeSet<u16>> {
        Some((*self.ports).clone())
    }

    fn cpu_port(&self) -> Option<u16> {
        self.cpu_port
    }
}

/// Makes programs of what clients send. Source from a client includes only what is built in; source
/// that JSON names is looked for in the folders that the server was given, and nowhere else.
struct Sources {
    folders: Vec<PathBuf>,
    include_dirs: Vec<String>,
    bmv2_compat: bool,
}

impl Compiler for Sources {
    fn compile(&self, config: DeviceConfig<'_>) -> Result<Option<Pipeline>, String> {
        match config {
            DeviceConfig::Source(text) => {
                const NAME: &str = "p4_device_config.p4";
                let files = MemoryFiles([(NAME.to_string(), text.to_string())].into());
                let compiled = self.pipeline(NAME, &files, &Options::default());
                compiled.map(Some)
            }
            DeviceConfig::Json { program } => {
                let Some(path) = self.find(program) else {
                    return Ok(None);
                };
                let options = Options {
                    include_dirs: self.include_dirs.clone(),
                    ..Options::default()
                };
                let files = DiskFiles::new(&options.limits);
                let compiled = self.pipeline(&path.to_string_lossy(), &files, &options);
                compiled.map(Some)
            }
        }
    }
}

impl Sources {
    /// The source that JSON says it was made of: at its place or by its name in one of the folders.
    fn find(&self, program: &str) -> Option<PathBuf> {
        let named = Path::new(program);
        let name = named.file_name()?;
        let candidates = self.folders.iter().flat_map(|folder| {
            let folder = folder.canonicalize().ok()?;
            [folder.join(named), folder.join(name)]
                .into_iter()
                .filter_map(|path| path.canonicalize().ok())
                .find(|path| path.starts_with(&folder) && path.is_file())
        });
        let mut found = candidates.into_iter();
        found.next()
    }

    fn pipeline(
        &self,
        name: &str,
        files: &dyn FileProvider,
        options: &Options,
    ) -> Result<Pipeline, String> {
        let built = build(name, files, options, self.bmv2_compat, &[]);
        let (image, info) = match (built.image, built.p4info) {
            (Some(AnyImage::V1Model(image)), Some(Ok(info))) => (image, info),
            (_, info) => {
                let mut errors = built.diagnostics;
                if let Some(Err(more)) = info {
                    errors.extend(more);
                }
                errors.retain(|diagnostic| diagnostic.severity == Severity::Error);
                let text = p4_syntax::render(&errors, &built.sources, false);
                return Err(match errors.is_empty() {
                    true => format!("{name} has no main package to run"),
                    false => format!("{name} does not compile:\n{text}"),
                });
            }
        };
        Ok(Pipeline { image, info })
    }
}

/// The socket address that HOST:PORT names.
pub fn socket(address: &str) -> PyResult<SocketAddr> {
    let wrong = || PyValueError::new_err(format!("{address:?} is not an address; write HOST:PORT"));
    let mut found = address.to_socket_addrs().map_err(|_| wrong())?;
    found.next().ok_or_else(wrong)
}

pub fn not_listening(address: &str, error: &std::io::Error) -> PyErr {
    PyOSError::new_err(format!("cannot listen on {address}: {error}"))
}

/// Where a server listens, as HOST:PORT; `None` is a closed one.
pub fn address_of(listener: Option<&Listener>) -> PyResult<String> {
    let closed = || PyOSError::new_err("the server has been closed");
    Ok(listener.ok_or_else(closed)?.address().to_string())
}

/// P4Runtime for switches on Linux interfaces, over gRPC, in threads of its own.
#[pyclass(module = "p4lab._engine")]
pub struct P4RuntimeServer {
    server: Arc<Server>,
    /// `None` once closed
    listener: Option<Listener>,
}

#[pymethods]
impl P4RuntimeServer {
    #[new]
    #[pyo3(signature = (address = "127.0.0.1:9559", *, folders = Vec::new(), include_dirs = Vec::new(), bmv2_compat = false))]
    fn new(
        address: &str,
        folders: Vec<PathBuf>,
        include_dirs: Vec<String>,
        bmv2_compat: bool,
    ) -> PyResult<P4RuntimeServer> {
        let socket = socket(address)?;
        let sources = Sources {
            folders,
            include_dirs,
            bmv2_compat,
        };
        let epoch = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            since.map_or(0, |since| since.as_nanos() as i64)
        };
        let server = Arc::new(Server::new(Arc::new(sources), Arc::new(epoch)));
        let (api, ticking) = (Arc::clone(&server), Arc::clone(&server));
        let listener = Listener::start(Api { server: api }, socket, move || ticking.tick())
            .map_err(|error| not_listening(address, &error))?;
        Ok(P4RuntimeServer {
            server,
            listener: Some(listener),
        })
    }

    /// Where the server listens, as HOST:PORT.
    #[getter]
    fn address(&self) -> PyResult<String> {
        address_of(self.listener.as_ref())
    }

    /// Makes a switch a device. From now on packets to its CPU port and digests go to the clients.
    fn add(&self, py: Python<'_>, device_id: u64, forwarder: &mut Forwarder) -> PyResult<()> {
        let (plant, program, listeners) = forwarder.for_runtime();
        let pipeline = match program {
            Some(program) => {
                let info = program
                    .p4info
                    .clone()
                    .ok_or_else(|| PyValueError::new_err("P4Info cannot describe this program"))?;
                let AnyImage::V1Model(image) = &program.image else {
                    let message = "P4Runtime is for programs of v1model here";
                    return Err(PyValueError::new_err(message));
                };
                Some(Pipeline {
                    image: image.clone(),
                    info,
                })
            }
            None => None,
        };
        let (handle, cpu_port) = (plant.handle.clone(), plant.cpu_port);
        let added = self.server.add_device(device_id, Arc::new(plant), pipeline);
        let added = added.map_err(|refusal| PyValueError::new_err(refusal.message))?;
        listeners.tap = Some(added.clone());
        py.detach(|| handle.with_device(move |device| device.set_tap(cpu_port, added)))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Ends all connections. Switches go on with what they have.
    fn close(&mut self, py: Python<'_>) {
        let listener = self.listener.take();
        py.detach(|| drop(listener));
    }
}
