//! The calls of the service, and who makes them.
//!
//! Nothing here opens a socket or starts a thread. Calls may come from any thread; what they do to
//! the switch is done between two packets.

use super::{read, write, Scope};
use crate::messages::{
    GetPipelineRequest, GetPipelineResponse, NonP4Config, PipelineAction, PipelineConfig, Profile,
    ReadRequest, ReadResponse, SetPipelineRequest, SetPipelineResponse, StreamMessageRequest,
    StreamMessageResponse, StreamRequest, StreamResponse, Subscribe, WriteRequest, WriteResponse,
};
use crate::schema::Schema;
use p4_arch::tna::Switch;
use p4_runtime::messages::RpcStatus;
use p4_runtime::{Code, Gone, Refusal, Status};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the message that tells what became of one update.
const ERROR_TYPE: &str = "type.googleapis.com/bfrt_proto.Error";
/// The device that every client means
const DEVICE: u32 = 0;

/// Something to be done with the switch between two packets.
pub type Job = Box<dyn FnOnce(&mut Switch) + Send>;

/// A switch and what is around it.
pub trait Plant: Send + Sync {
    /// Runs `job` between two packets and returns when it is done.
    fn run(&self, job: Job) -> Result<(), Gone>;
}

/// Where a client's messages go.
pub trait Sink: Send + Sync {
    /// Takes a message without waiting.
    fn send(&self, message: StreamMessageResponse);
}

/// BF Runtime for a switch that runs one program.
pub struct Server {
    plant: Arc<dyn Plant>,
    /// What clients bind to
    program: String,
    schema: Arc<Schema>,
    pipeline: String,
    /// Numbers that are taken
    clients: Mutex<BTreeSet<u32>>,
}

/// The stream of one client; dropping it lets its number go.
pub struct Stream {
    server: Arc<Server>,
    sink: Arc<dyn Sink>,
    client: Option<u32>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(client) = self.client {
            self.server.clients().remove(&client);
        }
    }
}

impl Stream {
    pub fn open(server: Arc<Server>, sink: Arc<dyn Sink>) -> Stream {
        Stream {
            server,
            sink,
            client: None,
        }
    }

    /// Takes a message of the client. The error ends the stream.
    pub fn receive(&mut self, message: StreamMessageRequest) -> Result<(), Status> {
        // A digest is told once, whether or not its client says that it has it.
        let Some(StreamRequest::Subscribe(wants)) = message.update else {
            return Ok(());
        };
        let done = self.subscribe(message.client_id, &wants);
        let status = RpcStatus {
            code: done.as_ref().err().map_or(0, |refusal| refusal.code as i32),
            message: done
                .as_ref()
                .err()
                .map_or(String::new(), Refusal::to_string),
            details: Vec::new(),
        };
        let answer = Subscribe {
            status: Some(status),
            ..wants
        };
        self.sink.send(StreamMessageResponse {
            update: Some(StreamResponse::Subscribe(answer)),
        });
        done.map_err(Status::from)
    }

    fn subscribe(&mut self, client: u32, wants: &Subscribe) -> Result<(), Refusal> {
        device(wants.device_id)?;
        let mut clients = self.server.clients();
        if self.client != Some(client) && clients.contains(&client) {
            let message = format!("another client has the number {client}");
            return Err(Refusal::new(Code::AlreadyExists, message));
        }
        if let Some(before) = self.client.replace(client) {
            clients.remove(&before);
        }
        clients.insert(client);
        Ok(())
    }
}

fn device(id: u32) -> Result<(), Refusal> {
    match id {
        DEVICE => Ok(()),
        _ => {
            let message = format!("there is no device {id}; the switch is device {DEVICE}");
            Err(Refusal::new(Code::NotFound, message))
        }
    }
}

impl Server {
    /// `pipeline` is the name of the program's one pipeline.
    pub fn new(plant: Arc<dyn Plant>, program: &str, pipeline: &str, schema: Schema) -> Server {
        Server {
            plant,
            program: program.to_string(),
            schema: Arc::new(schema),
            pipeline: pipeline.to_string(),
            clients: Mutex::default(),
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self, request: WriteRequest) -> Result<WriteResponse, Status> {
        self.named(&request.p4_name)?;
        let pipe = request
            .target
            .map_or(super::ALL_PIPES, |target| target.pipe_id);
        let schema = Arc::clone(&self.schema);
        let results = self.ask(move |switch| {
            let scope = Scope {
                schema: &schema,
                pipe,
            };
            write(switch, scope, &request)
        })?;
        match results.iter().all(Result::is_ok) {
            true => Ok(WriteResponse::default()),
            false => Err(Status::of_batch_of(ERROR_TYPE, "update", &results)),
        }
    }

    pub fn read(&self, request: ReadRequest) -> Result<ReadResponse, Status> {
        self.named(&request.p4_name)?;
        let pipe = request
            .target
            .map_or(super::ALL_PIPES, |target| target.pipe_id);
        let schema = Arc::clone(&self.schema);
        let found = self.ask(move |switch| {
            let scope = Scope {
                schema: &schema,
                pipe,
            };
            let entities = request.entities.iter();
            let found = entities.map(|asked| read(switch, scope, asked));
            found.collect::<Vec<_>>()
        })?;
        let (mut entities, mut results) = (Vec::new(), Vec::new());
        for own in found {
            results.push(own.map(|own| entities.extend(own)));
        }
        match results.iter().all(Result::is_ok) {
            true => Ok(ReadResponse { entities }),
            false => Err(Status::of_batch_of(ERROR_TYPE, "entity", &results)),
        }
    }

    /// A client may leave the program's name out: there is one.
    fn named(&self, program: &str) -> Result<(), Status> {
        if program.is_empty() || program == self.program {
            return Ok(());
        }
        let own = &self.program;
        let message = format!("the switch runs {own}, not {program}");
        Err(Status::new(Code::NotFound, message))
    }

    pub fn set_pipeline(
        &self,
        request: &SetPipelineRequest,
    ) -> Result<SetPipelineResponse, Status> {
        device(request.device_id)?;
        match PipelineAction::try_from(request.action) {
            Ok(PipelineAction::Bind) => {
                for config in &request.config {
                    self.named(&config.p4_name)?;
                }
                Ok(SetPipelineResponse::default())
            }
            _ => {
                let message = "the switch keeps the program that it was started with; bind to it";
                Err(Status::new(Code::Unimplemented, message))
            }
        }
    }

    pub fn get_pipeline(
        &self,
        request: &GetPipelineRequest,
    ) -> Result<GetPipelineResponse, Status> {
        device(request.device_id)?;
        let profile = Profile {
            profile_name: self.pipeline.clone(),
            pipe_scope: (0..super::PIPES).collect(),
        };
        let config = PipelineConfig {
            p4_name: self.program.clone(),
            bfruntime_info: self.schema.json().into_bytes(),
            profiles: vec![profile],
        };
        let fixed = NonP4Config {
            bfruntime_info: Schema::default().json().into_bytes(),
        };
        Ok(GetPipelineResponse {
            config: vec![config],
            non_p4_config: Some(fixed),
        })
    }

    /// Runs `action` between two packets and gives what it returns.
    fn ask<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Switch) -> R + Send + 'static,
    ) -> Result<R, Status> {
        let gone = |Gone| Status::new(Code::Unavailable, "the switch has been stopped");
        let (reply, answer) = std::sync::mpsc::channel();
        let job: Job = Box::new(move |switch| {
            // Nobody waits any more: then nobody misses the answer.
            let _ = reply.send(action(switch));
        });
        self.plant.run(job).map_err(gone)?;
        answer.recv().map_err(|_| gone(Gone))
    }
}
