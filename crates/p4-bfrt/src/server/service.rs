//! The calls of the service, and who makes them.
//!
//! Nothing here opens a socket or starts a thread. Calls may come from any thread; what they do to
//! the switch is done between two packets.

use super::chip::PortCounts;
use super::notices::{self, Notice, Told};
use super::{names_one, read, write, Chip, Done, Scope, ALL_PIPES, PIPES};
use crate::messages::{
    BatchError, Entity, EntityKind, GetPipelineRequest, GetPipelineResponse, NonP4Config,
    Notifications, PipelineAction, PipelineConfig, Profile, ReadRequest, SetPipelineRequest,
    SetPipelineResponse, StreamMessageRequest, StreamMessageResponse, StreamRequest,
    StreamResponse, Subscribe, TargetDevice, WriteRequest,
};
use crate::schema::{Schema, PORT_STAT};
use p4_arch::tna::Switch;
use p4_runtime::messages::RpcStatus;
use p4_runtime::{Code, Gone, Refusal, Status};
use p4_time::Time;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the message that tells what became of one update.
const ERROR_TYPE: &str = "type.googleapis.com/bfrt_proto.Error";
/// The device that every client means
const DEVICE: u32 = 0;
const CPU_PORT: u16 = 64;
/// Both directions, all parsers
const ALL: u32 = 0xff;
/// Answers to warm restarts
const STARTED: i32 = 0;
const FINISHED: i32 = 1;
/// Entries are looked at for their age every so many ticks.
const TICKS_OF_AGES: u32 = 10;
/// So many updates, or entries to read, are done faster than another thread is asked to do them.
const FEW: usize = 8;

/// What became of each update.
pub type Written = Result<Vec<Result<Done, Refusal>>, Status>;
/// What was found, and what became of each part of a request.
pub type Found = Result<Parts, Status>;
type Parts = (Vec<Entity>, Vec<Result<(), Refusal>>);

/// Something to be done with the switch between two packets.
pub type Job = Box<dyn FnOnce(&mut Switch) + Send>;

/// A switch and what is around it.
pub trait Plant: Send + Sync {
    /// Runs `job` between two packets and returns when it is done.
    fn run(&self, job: Job) -> Result<(), Gone>;

    /// Runs `job` in this thread if the switch has nothing to do; whether it has.
    fn run_at_once(&self, job: &mut dyn FnMut(&mut Switch)) -> Result<bool, Gone>;

    /// What ports have counted
    fn counts(&self) -> BTreeMap<u16, PortCounts>;

    /// The time of the switch
    fn now(&self) -> Time;
}

/// Where a client's messages go.
pub trait Sink: Send + Sync {
    /// Takes a message without waiting.
    fn send(&self, message: StreamMessageResponse);
}

/// BF Runtime for a switch and the programs that it runs.
pub struct Server {
    plant: Arc<dyn Plant>,
    /// By their numbers in the switch
    programs: Arc<[Program]>,
    clients: Mutex<BTreeMap<u32, Client>>,
    shadow: Arc<Mutex<Shadow>>,
    ticks: AtomicU32,
}

/// A program as clients see it.
struct Program {
    /// What they bind to
    name: String,
    own: Schema,
    /// Of the program and the chip
    tables: Schema,
}

struct Client {
    sink: Arc<dyn Sink>,
    wants: Notifications,
    /// The program that it has bound to
    program: Option<usize>,
}

/// What is known of the switch beside the tables of its program.
#[derive(Default)]
struct Shadow {
    chip: Chip,
    /// By program
    told: BTreeMap<usize, Told>,
    /// The switch that is being filled for a warm restart
    next: Option<Box<(Switch, Chip)>>,
}

impl Shadow {
    /// The switch that requests are about: while a restart is prepared, the one to come.
    fn current<'s>(&'s mut self, running: &'s mut Switch) -> (&'s mut Switch, &'s mut Chip) {
        match &mut self.next {
            Some(next) => (&mut next.0, &mut next.1),
            None => (running, &mut self.chip),
        }
    }
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
        if self.client != Some(client) && clients.contains_key(&client) {
            let message = format!("another client has the number {client}");
            return Err(Refusal::new(Code::AlreadyExists, message));
        }
        if let Some(before) = self.client.replace(client) {
            clients.remove(&before);
        }
        let own = Client {
            sink: Arc::clone(&self.sink),
            wants: wants.notifications.unwrap_or_default(),
            program: None,
        };
        clients.insert(client, own);
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
    /// The programs with their names, as they are numbered in the switch.
    pub fn new(plant: Arc<dyn Plant>, programs: Vec<(String, Schema)>) -> Server {
        let programs = programs.into_iter().map(|(name, own)| {
            let mut tables = own.clone();
            tables.tables.extend(Schema::fixed().tables);
            Program { name, own, tables }
        });
        // A switch that has been stopped needs no CPU.
        let _ = plant.run(Box::new(connect_cpu));
        Server {
            plant,
            programs: programs.collect(),
            clients: Mutex::default(),
            shadow: Arc::default(),
            ticks: AtomicU32::new(0),
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<u32, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells clients what has happened since the last call; to be called every 10 ms.
    pub fn tick(&self) {
        let wants: Vec<Notifications> = self.clients().values().map(|own| own.wants).collect();
        let any = |is: fn(&Notifications) -> bool| wants.iter().any(is);
        let ages = any(|wants| wants.idle_timeout || wants.entry_active);
        if !ages && !any(|wants| wants.learn || wants.port_status) {
            return;
        }
        // To look at all entries takes its time.
        let tick = self.ticks.fetch_add(1, Ordering::Relaxed);
        let ages = ages && tick.is_multiple_of(TICKS_OF_AGES);
        let programs = Arc::clone(&self.programs);
        let found = self.ask(move |switch, shadow, now| {
            let Shadow { chip, told, .. } = shadow;
            let ports = chip.told_ports().into_iter();
            let mut out: Vec<(Option<usize>, Notice)> = ports.map(|own| (None, own)).collect();
            for (number, program) in programs.iter().enumerate() {
                chip.turn_to(number);
                let (own, told) = (switch.program_mut(number), told.entry(number).or_default());
                let notices = told.notices(own, chip, &program.tables, now, ages);
                out.extend(notices.into_iter().map(|own| (Some(number), own)));
            }
            out
        });
        // A switch that has been stopped tells nothing.
        for (program, notice) in found.unwrap_or_default() {
            for client in self.clients().values() {
                if self.hears_of(client, program) && (notice.wanted)(&client.wants) {
                    client.sink.send(notice.message.clone());
                }
            }
        }
    }

    /// Whether a client is told of a program: of the one that it has bound to, and of a switch's only
    /// one.
    fn hears_of(&self, client: &Client, program: Option<usize>) -> bool {
        program.is_none() || self.programs.len() == 1 || client.program == program
    }

    /// Every part's result; the error of a batch of which a part was refused tells them as well.
    /// `lenient`: see [`write`].
    pub fn write(&self, request: WriteRequest, lenient: bool) -> Written {
        let program = self.named(&request.p4_name, request.client_id)?;
        let target = target_of(request.target)?;
        let entities = request.updates.iter().filter_map(|own| own.entity.as_ref());
        let counts = self.counts_for(entities);
        self.ask_of(program, target, counts, move |switch, chip, scope| {
            write(switch, chip, scope, &request, lenient)
        })
    }

    /// A write of few updates, in this thread, if the switch has nothing to do. `None`: call
    /// [`Server::write`] where it may wait.
    pub fn write_at_once(&self, request: &WriteRequest, lenient: bool) -> Option<Written> {
        let entities = request.updates.iter().filter_map(|own| own.entity.as_ref());
        if request.updates.len() > FEW || about_counts(entities) {
            return None;
        }
        let program = self.named(&request.p4_name, request.client_id);
        self.ask_at_once(program, request.target, |switch, chip, scope| {
            write(switch, chip, scope, request, lenient)
        })
    }

    /// What was found, and what became of each part of the request.
    pub fn read(&self, request: ReadRequest) -> Found {
        let program = self.named(&request.p4_name, request.client_id)?;
        let target = target_of(request.target)?;
        let counts = self.counts_for(request.entities.iter());
        self.ask_of(program, target, counts, move |switch, chip, scope| {
            find(switch, chip, scope, &request)
        })
    }

    /// A read of few entries by their keys, as [`Server::write_at_once`].
    pub fn read_at_once(&self, request: &ReadRequest) -> Option<Found> {
        let asked = &request.entities;
        if asked.len() > FEW || !asked.iter().all(names_one) || about_counts(asked.iter()) {
            return None;
        }
        let program = self.named(&request.p4_name, request.client_id);
        self.ask_at_once(program, request.target, |switch, chip, scope| {
            find(switch, chip, scope, request)
        })
    }

    /// A port has lost its link, or has it again.
    pub fn set_link(&self, port: u16, up: bool) -> Result<(), Status> {
        self.ask(move |switch, shadow, now| {
            if let Some(next) = &mut shadow.next {
                let (switch, chip) = &mut **next;
                chip.set_link(switch, now, port, up);
            }
            shadow.chip.set_link(switch, now, port, up);
        })
    }

    /// Runs `action` for a target in this thread; `None` if it would have to wait.
    fn ask_at_once<R>(
        &self,
        program: Result<usize, Status>,
        target: Option<TargetDevice>,
        action: impl FnOnce(&mut Switch, &mut Chip, Scope<'_>) -> R,
    ) -> Option<Result<R, Status>> {
        let meant = program.and_then(|program| Ok((program, target_of(target)?)));
        let (program, target) = match meant {
            Ok(meant) => meant,
            Err(status) => return Some(Err(status)),
        };
        let now = self.plant.now();
        let (mut action, mut done) = (Some(action), None);
        let ran = self.plant.run_at_once(&mut |switch| {
            let mut shadow = self.shadow.lock().unwrap_or_else(PoisonError::into_inner);
            let (switch, chip) = shadow.current(switch);
            chip.take_counts(None);
            chip.turn_to(program);
            let scope = scope_of(&self.programs[program].tables, target, now);
            done = action.take().map(|action| action(switch, chip, scope));
        });
        match ran {
            Ok(_) => done.map(Ok),
            Err(gone) => Some(Err(stopped(gone))),
        }
    }

    /// Runs `action` for a target between two packets, while ports have counted so much.
    fn ask_of<R: Send + 'static>(
        &self,
        program: usize,
        target: TargetDevice,
        counts: Option<BTreeMap<u16, PortCounts>>,
        action: impl FnOnce(&mut Switch, &mut Chip, Scope<'_>) -> R + Send + 'static,
    ) -> Result<R, Status> {
        let programs = Arc::clone(&self.programs);
        self.ask(move |switch, shadow, now| {
            let (switch, chip) = shadow.current(switch);
            chip.take_counts(counts);
            chip.turn_to(program);
            let scope = scope_of(&programs[program].tables, target, now);
            action(switch, chip, scope)
        })
    }

    /// What ports have counted, if a request is about that.
    fn counts_for<'e>(
        &self,
        entities: impl Iterator<Item = &'e Entity>,
    ) -> Option<BTreeMap<u16, PortCounts>> {
        about_counts(entities).then(|| self.plant.counts())
    }

    /// The program that a request is about. A client may leave its name out if there is one, or if
    /// the client has bound to it.
    fn named(&self, name: &str, client: u32) -> Result<usize, Status> {
        if !name.is_empty() {
            return self.known(name);
        }
        if self.programs.len() == 1 {
            return Ok(0);
        }
        let clients = self.clients();
        let bound = clients.get(&client).and_then(|own| own.program);
        bound.ok_or_else(|| {
            let message = format!("the switch runs {}; name one, or bind to it", self.names());
            Status::new(Code::FailedPrecondition, message)
        })
    }

    fn known(&self, name: &str) -> Result<usize, Status> {
        let found = self.programs.iter().position(|own| own.name == name);
        found.ok_or_else(|| {
            let message = format!("the switch runs {}, not {name}", self.names());
            Status::new(Code::NotFound, message)
        })
    }

    fn names(&self) -> String {
        let names = self.programs.iter().map(|own| own.name.as_str());
        names.collect::<Vec<_>>().join(" and ")
    }

    pub fn set_pipeline(
        &self,
        request: &SetPipelineRequest,
    ) -> Result<SetPipelineResponse, Status> {
        device(request.device_id)?;
        let action = PipelineAction::try_from(request.action).ok();
        let response = match action {
            Some(PipelineAction::Bind) => {
                let mut bound = None;
                for config in &request.config {
                    bound = Some(self.known(&config.p4_name)?);
                }
                if let Some(client) = self.clients().get_mut(&request.client_id) {
                    client.program = bound;
                }
                return Ok(SetPipelineResponse::default());
            }
            Some(PipelineAction::Verify) => {
                self.verify(&request.config)?;
                return Ok(SetPipelineResponse::default());
            }
            Some(PipelineAction::WarmInitBegin) => {
                self.verify(&request.config)?;
                self.begin()?;
                STARTED
            }
            Some(PipelineAction::WarmInitBeginAndEnd) => {
                self.verify(&request.config)?;
                self.begin()?;
                self.end()?;
                FINISHED
            }
            Some(PipelineAction::WarmInitEnd) if request.config.is_empty() => {
                self.end()?;
                FINISHED
            }
            Some(PipelineAction::WarmInitEnd) => {
                let message = "the end of a warm restart takes no program";
                return Err(Status::new(Code::InvalidArgument, message));
            }
            Some(PipelineAction::ReconcileAndWarmInitEnd) | None => {
                let message = "the switch does not compare its entries with a program's";
                return Err(Status::new(Code::Unimplemented, message));
            }
        };
        let response = SetPipelineResponse {
            response_type: response,
        };
        let message = notices::message(StreamResponse::Pipeline(response));
        for client in self.clients().values() {
            client.sink.send(message.clone());
        }
        Ok(response)
    }

    /// Whether a client's configuration is the programs that the switch runs.
    fn verify(&self, config: &[PipelineConfig]) -> Result<(), Status> {
        let wrong = |message: &str| Err(Status::new(Code::InvalidArgument, message));
        let mut given: Vec<&str> = config.iter().map(|own| own.p4_name.as_str()).collect();
        let mut own: Vec<&str> = self.programs.iter().map(|own| own.name.as_str()).collect();
        given.sort_unstable();
        own.sort_unstable();
        if given != own {
            let names = self.names();
            return wrong(&format!(
                "the switch keeps {names}, with which it was started; send this"
            ));
        }
        let is_json = |own: &PipelineConfig| {
            let text = std::str::from_utf8(&own.bfruntime_info);
            text.is_ok_and(|text| serde_json::from_str::<serde_json::Value>(text).is_ok())
        };
        match config.iter().all(is_json) {
            true => Ok(()),
            false => wrong("bfruntime_info is no JSON; send what the switch gives"),
        }
    }

    /// Begins a warm restart: from now on requests fill a switch as new, while packets go through
    /// the old one.
    fn begin(&self) -> Result<(), Status> {
        self.ask(|switch, shadow, _| {
            let next = switch.anew();
            let mut next = next.map_err(|error| Status::new(Code::Internal, error.to_string()))?;
            connect_cpu(&mut next);
            let chip = shadow.chip.replaced(&mut next);
            shadow.next = Some(Box::new((next, chip)));
            Ok(())
        })?
    }

    /// Ends it: packets go through the new switch.
    fn end(&self) -> Result<(), Status> {
        self.ask(|switch, shadow, _| {
            let Some(next) = shadow.next.take() else {
                let message = "no warm restart has begun";
                return Err(Status::new(Code::InvalidArgument, message));
            };
            (*switch, shadow.chip) = *next;
            shadow.told.clear();
            Ok(())
        })?
    }

    pub fn get_pipeline(
        &self,
        request: &GetPipelineRequest,
    ) -> Result<GetPipelineResponse, Status> {
        device(request.device_id)?;
        let placed = self.ask(|switch, _, _| {
            let programs = switch.programs();
            programs.map(Switch::pipelines).collect::<Vec<_>>()
        })?;
        let configs = self.programs.iter().zip(placed).map(|(own, placed)| {
            let profiles = placed.into_iter().map(|(name, pipes)| Profile {
                profile_name: name,
                pipe_scope: pipes.into_iter().map(u32::from).collect(),
            });
            PipelineConfig {
                p4_name: own.name.clone(),
                bfruntime_info: own.own.json().into_bytes(),
                profiles: profiles.collect(),
            }
        });
        let fixed = NonP4Config {
            bfruntime_info: Schema::fixed().json().into_bytes(),
        };
        Ok(GetPipelineResponse {
            config: configs.collect(),
            non_p4_config: Some(fixed),
        })
    }

    /// Runs `action` between two packets and gives what it returns.
    fn ask<R: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Switch, &mut Shadow, Time) -> R + Send + 'static,
    ) -> Result<R, Status> {
        let (reply, answer) = std::sync::mpsc::channel();
        let (shadow, now) = (Arc::clone(&self.shadow), self.plant.now());
        let job: Job = Box::new(move |switch| {
            let mut shadow = shadow.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody waits any more: then nobody misses the answer.
            let _ = reply.send(action(switch, &mut shadow, now));
        });
        self.plant.run(job).map_err(stopped)?;
        answer.recv().map_err(|_| stopped(Gone))
    }
}

fn stopped(_: Gone) -> Status {
    Status::new(Code::Unavailable, "the switch has been stopped")
}

/// Whether a request is about what ports have counted.
fn about_counts<'e>(mut entities: impl Iterator<Item = &'e Entity>) -> bool {
    entities.any(|own| match &own.kind {
        Some(EntityKind::Entry(entry)) => entry.table_id == PORT_STAT,
        _ => false,
    })
}

fn scope_of(schema: &Schema, target: TargetDevice, now: Time) -> Scope<'_> {
    Scope {
        schema,
        pipe: target.pipe_id,
        direction: target.direction,
        parser: target.prsr_id,
        now,
    }
}

fn find(switch: &Switch, chip: &Chip, scope: Scope<'_>, request: &ReadRequest) -> Parts {
    let (mut entities, mut results) = (Vec::new(), Vec::new());
    for asked in &request.entities {
        let found = read(switch, chip, scope, asked);
        results.push(found.map(|own| entities.extend(own)));
    }
    (entities, results)
}

/// The first of the ports that lead to a CPU is connected, as it is on boards; nothing is copied there
/// until a client says so.
fn connect_cpu(switch: &mut Switch) {
    switch.each(|own| own.set_cpu_port(Some(CPU_PORT), false));
}

/// What a request is for; without a target all of the chip.
fn target_of(target: Option<TargetDevice>) -> Result<TargetDevice, Status> {
    let Some(target) = target else {
        return Ok(TargetDevice {
            device_id: DEVICE,
            pipe_id: ALL_PIPES,
            direction: ALL,
            prsr_id: ALL,
        });
    };
    device(target.device_id)?;
    match target.pipe_id {
        ALL_PIPES => Ok(target),
        pipe if pipe < PIPES => Ok(target),
        pipe => {
            let message = format!("there is no pipe {pipe}: the chip has {PIPES}");
            Err(Status::new(Code::InvalidArgument, message))
        }
    }
}

/// A batch of which a part was refused, as an error.
pub fn refused(what: &str, results: &[Result<(), Refusal>]) -> Status {
    Status::of_batch_of(ERROR_TYPE, what, results)
}

/// The same as a part of an answer, for clients that ask for that.
pub fn listed(results: &[Result<(), Refusal>]) -> Vec<BatchError> {
    let error = |result: &Result<(), Refusal>| match result {
        Ok(()) => BatchError::default(),
        Err(refusal) => BatchError {
            canonical_code: refusal.code as i32,
            message: refusal.message.clone(),
            code: 0,
        },
    };
    results.iter().map(error).collect()
}

/// What became of the updates of a batch of which none was refused. Updates without a mistake have
/// a code that is theirs alone if there is more to say.
pub fn reported(results: &[Done]) -> Vec<BatchError> {
    let report = |done: &Done| {
        let (code, message) = match done {
            Done::AsAsked => return BatchError::default(),
            Done::Modified => (Code::AlreadyExists, "modified: there was an entry"),
            Done::Absent => (Code::NotFound, "there was no such entry"),
        };
        BatchError {
            canonical_code: 0,
            message: message.to_string(),
            code: code as i32,
        }
    };
    results.iter().map(report).collect()
}
