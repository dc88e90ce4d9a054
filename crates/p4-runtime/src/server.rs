//! The server: devices, their clients, and the calls of the service.
//!
//! Nothing here opens a socket, starts a thread or reads a clock. Calls may come from any thread;
//! each device has a lock that a call holds while it changes or reads the device, so all calls on
//! one device are as if one came after the other.

use crate::arbitration::StreamId;
use crate::device::Device;
use crate::messages::{
    CapabilitiesRequest, CapabilitiesResponse, GetPipelineRequest, GetPipelineResponse,
    ReadRequest, ReadResponse, SetPipelineRequest, SetPipelineResponse, StreamError,
    StreamErrorDetails, StreamMessageRequest, StreamMessageResponse, StreamOtherError,
    StreamRequest, StreamResponse, WriteRequest, WriteResponse,
};
use crate::plant::{Compiler, Pipeline, Plant};
use crate::status::{Code, Refusal, Status};
use crate::tap::Tap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The version of the specification that the server follows.
pub const VERSION: &str = "1.5.0";

/// Updates that take no longer than a change of threads
const FEW: usize = 8;

/// Nanoseconds since the Epoch.
pub type WallClock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Where a stream's messages go.
pub trait Sink: Send + Sync {
    /// Takes a message without waiting. One that matters and cannot be taken ends the stream; the
    /// others may be lost.
    fn send(&self, message: StreamMessageResponse, matters: bool);
}

/// The stream of one client.
pub struct Stream {
    pub(crate) id: StreamId,
    pub(crate) sink: Arc<dyn Sink>,
    /// The device that the first arbitration update has named
    pub(crate) device: Option<Arc<Device>>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            device.leave(self.id);
        }
    }
}

/// P4Runtime for some devices.
pub struct Server {
    devices: RwLock<BTreeMap<u64, Arc<Device>>>,
    compiler: Arc<dyn Compiler>,
    clock: WallClock,
    next_stream: AtomicU64,
}

impl Server {
    pub fn new(compiler: Arc<dyn Compiler>, clock: WallClock) -> Server {
        Server {
            devices: RwLock::default(),
            compiler,
            clock,
            next_stream: AtomicU64::new(1),
        }
    }

    /// Adds a device with the program that it runs, if it has one. What the switch has to tell its
    /// controller goes to the tap.
    pub fn add_device(
        &self,
        id: u64,
        plant: Arc<dyn Plant>,
        program: Option<Pipeline>,
    ) -> Result<Tap, Refusal> {
        let mut devices = self.devices.write().unwrap_or_else(PoisonError::into_inner);
        if devices.contains_key(&id) {
            let message = format!("there is a device {id} already");
            return Err(Refusal::new(Code::AlreadyExists, message));
        }
        let device = Arc::new(Device::new(id, plant, program)?);
        devices.insert(id, Arc::clone(&device));
        Ok(Tap::new(device, Arc::clone(&self.clock)))
    }

    fn device(&self, id: u64) -> Result<Arc<Device>, Refusal> {
        let devices = self.devices.read().unwrap_or_else(PoisonError::into_inner);
        let device = devices.get(&id).cloned();
        device.ok_or_else(|| Refusal::not_found(format!("there is no device {id} here")))
    }

    /// Done now and then: digests and idle entries whose time has come are told.
    pub fn tick(&self) {
        let now = (self.clock)();
        let devices = self.devices.read().unwrap_or_else(PoisonError::into_inner);
        let devices: Vec<_> = devices.values().cloned().collect();
        for device in devices {
            device.tick(now);
        }
    }

    pub fn write(&self, request: &WriteRequest) -> Result<WriteResponse, Status> {
        self.device(request.device_id)?.write(request)?;
        Ok(WriteResponse {})
    }

    /// A write of few updates, if the device is free: then it is not worth another thread. `None`:
    /// call [`Server::write`] where it may wait.
    pub fn write_at_once(&self, request: &WriteRequest) -> Option<Result<WriteResponse, Status>> {
        if request.updates.len() > FEW {
            return None;
        }
        let device = match self.device(request.device_id) {
            Ok(device) => device,
            Err(refusal) => return Some(Err(refusal.into())),
        };
        let done = device.try_write(request)?;
        Some(done.map(|()| WriteResponse {}))
    }

    /// Gives what was found to `found`, part by part; the error tells what became of each request.
    pub fn read(
        &self,
        request: &ReadRequest,
        found: impl FnMut(ReadResponse),
    ) -> Result<(), Status> {
        self.device(request.device_id)?.read(request, found)
    }

    pub fn set_pipeline(
        &self,
        request: &SetPipelineRequest,
    ) -> Result<SetPipelineResponse, Status> {
        let device = self.device(request.device_id)?;
        device.set_pipeline(&*self.compiler, request)?;
        Ok(SetPipelineResponse {})
    }

    pub fn get_pipeline(
        &self,
        request: &GetPipelineRequest,
    ) -> Result<GetPipelineResponse, Status> {
        let device = self.device(request.device_id)?;
        Ok(device.get_pipeline(request.response_type))
    }

    pub fn capabilities(
        &self,
        request: &CapabilitiesRequest,
    ) -> Result<CapabilitiesResponse, Status> {
        if request.device_id != 0 {
            self.device(request.device_id)?;
        }
        Ok(CapabilitiesResponse {
            p4runtime_api_version: VERSION.to_string(),
        })
    }

    /// A stream has been opened; dropping it closes it.
    pub fn open(&self, sink: Arc<dyn Sink>) -> Stream {
        Stream {
            id: self.next_stream.fetch_add(1, Ordering::Relaxed),
            sink,
            device: None,
        }
    }

    /// A message has come on a stream. An error ends the stream.
    pub fn receive(
        &self,
        stream: &mut Stream,
        message: StreamMessageRequest,
    ) -> Result<(), Status> {
        match message.update {
            Some(StreamRequest::Arbitration(update)) => {
                let device = match &stream.device {
                    Some(device) if device.id != update.device_id => {
                        let message = "a stream keeps its device; open another one for another";
                        return Err(Status::new(Code::FailedPrecondition, message));
                    }
                    Some(device) => Arc::clone(device),
                    None => self.device(update.device_id)?,
                };
                device.arbitrate(stream, &update)?;
                stream.device = Some(device);
            }
            Some(StreamRequest::Packet(packet)) => match &stream.device {
                Some(device) => device.packet_out(stream, packet),
                None => no_session(stream, None),
            },
            Some(StreamRequest::DigestAck(ack)) => match &stream.device {
                Some(device) => device.digest_ack(stream, ack),
                None => no_session(stream, None),
            },
            Some(StreamRequest::Other(other)) => no_session(stream, Some(other)),
            None => no_session(stream, None),
        }
        Ok(())
    }
}

/// Tells what cannot be done with a message.
fn no_session(stream: &Stream, other: Option<crate::messages::Any>) {
    let refusal = match &other {
        Some(_) => Refusal::unimplemented("this server knows no messages of other kinds"),
        None => Refusal::new(
            Code::FailedPrecondition,
            "begin the stream with an arbitration update",
        ),
    };
    let details = StreamErrorDetails::Other(StreamOtherError { other });
    tell_error(&*stream.sink, &refusal, details);
}

pub(crate) fn tell_error(sink: &dyn Sink, refusal: &Refusal, details: StreamErrorDetails) {
    let error = StreamResponse::Error(StreamError {
        canonical_code: refusal.code as i32,
        message: refusal.message.clone(),
        details: Some(details),
    });
    let message = StreamMessageResponse {
        update: Some(error),
    };
    sink.send(message, false);
}
