//! The BF Runtime server in front of a TNA switch on Linux interfaces.

use crate::io::Forwarder;
use crate::p4runtime::ForwarderPlant;
use p4_bfrt::server::{Job, Plant, Server};
use p4_bfrt::Schema;
use p4_bfrt_grpc::Api;
use p4_runtime::Gone;
use p4_runtime_grpc::Listener;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::net::ToSocketAddrs;
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
    fn new(name: &str, forwarder: &mut Forwarder, address: &str) -> PyResult<BfrtServer> {
        let (plant, program, _) = forwarder.for_runtime();
        let info = program.and_then(|program| program.p4info.clone());
        let parsers = info.as_ref().map(|info| info.ingress_parsers.as_slice());
        let (Some(info), Some([first, ..])) = (&info, parsers) else {
            let message = "BF Runtime is for Tofino: the program has no Pipeline of TNA";
            return Err(PyValueError::new_err(message));
        };
        let wrong =
            || PyValueError::new_err(format!("{address:?} is not an address; write HOST:PORT"));
        let mut found = address.to_socket_addrs().map_err(|_| wrong())?;
        let socket = found.next().ok_or_else(wrong)?;
        let schema = Schema::of(info);
        let server = Server::new(Arc::new(plant), name, &first.pipeline, schema);
        let api = Api {
            server: Arc::new(server),
        };
        let listener = Listener::start(api, socket, || ())
            .map_err(|error| PyOSError::new_err(format!("cannot listen on {address}: {error}")))?;
        Ok(BfrtServer {
            listener: Some(listener),
        })
    }

    /// Where the server listens, as HOST:PORT.
    #[getter]
    fn address(&self) -> PyResult<String> {
        let listener = self.listener.as_ref();
        let closed = || PyOSError::new_err("the server has been closed");
        Ok(listener.ok_or_else(closed)?.address().to_string())
    }

    /// Ends all connections. The switch goes on with what it has.
    fn close(&mut self, py: Python<'_>) {
        let listener = self.listener.take();
        py.detach(|| drop(listener));
    }
}
