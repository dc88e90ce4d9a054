//! The BF Runtime server in front of a TNA switch on Linux interfaces.

use crate::io::Forwarder;
use crate::p4runtime::{address_of, not_listening, socket, ForwarderPlant};
use crate::program::Program;
use p4_arch::tna::Switch;
use p4_bfrt::server::{Job, Plant, PortCounts, Server};
use p4_bfrt::Schema;
use p4_bfrt_grpc::{Api, Empty};
use p4_runtime::Gone;
use p4_runtime_grpc::{one_by_one, Listener};
use p4_time::Time;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Plant for ForwarderPlant {
    fn run(&self, job: Job) -> Result<(), Gone> {
        let handle = self.handle();
        let done = handle.with_device(move |device| {
            // The server was only made for a switch of TNA.
            if let Ok(switch) = device.tna("BF Runtime") {
                job(switch);
            }
        });
        done.map_err(|_| Gone)
    }

    fn run_at_once(&self, job: &mut dyn FnMut(&mut Switch)) -> Result<bool, Gone> {
        let done = self.handle().with_device_at_once(|device| {
            if let Ok(switch) = device.tna("BF Runtime") {
                job(switch);
            }
        });
        match done {
            Some(done) => done.map(|()| true).map_err(|_| Gone),
            None => Ok(false),
        }
    }

    fn counts(&self) -> BTreeMap<u16, PortCounts> {
        // A switch that has been stopped has counted nothing.
        let stats = self.handle().stats().unwrap_or_default();
        let ports = stats.ports.into_iter().map(|(port, own)| {
            let counts = PortCounts {
                received: (own.received.frames, own.received.bytes),
                sent: (own.sent.frames, own.sent.bytes),
            };
            (port, counts)
        });
        ports.collect()
    }

    fn now(&self) -> Time {
        p4_runtime::Plant::now(self)
    }
}

/// The tables of a program; `None` if it is not for Tofino.
fn schema_of(program: &Program) -> Option<Schema> {
    let info = program.p4info.as_ref()?;
    (!info.ingress_parsers.is_empty()).then(|| Schema::of(info))
}

/// BF Runtime for a switch on Linux interfaces, over gRPC, in threads of its own.
#[pyclass(module = "p4lab._engine")]
pub struct BfrtServer {
    /// `None` once closed
    listener: Option<Listener>,
}

#[pymethods]
impl BfrtServer {
    #[new]
    fn new(names: Vec<String>, forwarder: &mut Forwarder, address: &str) -> PyResult<BfrtServer> {
        let schemas = forwarder.programs().map(schema_of);
        let programs = names.into_iter().zip(schemas);
        let programs = programs.map(|(name, own)| Some((name, own?)));
        let programs: Option<Vec<(String, Schema)>> = programs.collect();
        let Some(programs) = programs.filter(|own| !own.is_empty()) else {
            let message = "BF Runtime is for Tofino: the program has no Pipeline of TNA";
            return Err(PyValueError::new_err(message));
        };
        let (plant, _, listeners) = forwarder.for_runtime();
        let socket = socket(address)?;
        let server = Server::new(Arc::new(plant), programs);
        let server = Arc::new(server);
        listeners.bfrt = Arc::downgrade(&server);
        let ticking = Arc::clone(&server);
        let listener = Listener::start(Api { server }, socket, move || ticking.tick())
            .map_err(|error| not_listening(address, &error))?;
        Ok(BfrtServer {
            listener: Some(listener),
        })
    }

    /// Where the server listens, as HOST:PORT.
    #[getter]
    fn address(&self) -> PyResult<String> {
        address_of(self.listener.as_ref())
    }

    /// Ends all connections. The switch goes on with what it has.
    fn close(&mut self, py: Python<'_>) {
        let listener = self.listener.take();
        py.detach(|| drop(listener));
    }
}

/// A server like [`BfrtServer`] that has no switch and answers every call at once.
#[pyclass(module = "p4lab._engine")]
pub struct EmptyServer {
    listener: Option<Listener>,
}

#[pymethods]
impl EmptyServer {
    #[new]
    fn new(address: &str) -> PyResult<EmptyServer> {
        let listener = Listener::start(Empty, socket(address)?, || {})
            .map_err(|error| not_listening(address, &error))?;
        Ok(EmptyServer {
            listener: Some(listener),
        })
    }

    #[getter]
    fn address(&self) -> PyResult<String> {
        address_of(self.listener.as_ref())
    }

    fn close(&mut self, py: Python<'_>) {
        let listener = self.listener.take();
        py.detach(|| drop(listener));
    }
}

/// Seconds that calls of a method take, one after the other, with these serialized messages: the
/// least that a client can have of its own.
#[pyfunction]
pub fn bench_calls(
    py: Python<'_>,
    address: &str,
    path: &str,
    messages: Vec<Vec<u8>>,
) -> PyResult<f64> {
    let to = socket(address)?;
    let taken = py.detach(|| one_by_one(to, path, &messages));
    taken
        .map(|taken| taken.as_secs_f64())
        .map_err(|error| PyOSError::new_err(error.to_string()))
}
