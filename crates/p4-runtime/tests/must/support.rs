//! A server with one device that is nothing but a switch, a clock that stands still, and clients
//! that keep what they are told.

use p4_arch::v1model::{Config, Image, Switch, V1Model};
use p4_arch::Time;
use p4_runtime::messages::*;
use p4_runtime::{
    Code, Compiler, DeviceConfig, Gone, Host, Job, Pipeline, Plant, Server, Sink, Status, Stream,
    Tap,
};
use p4_syntax::{MemoryFiles, Options, Severity};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

pub const DEVICE: u64 = 7;
pub const CPU: u16 = 510;

/// A program with one of everything.
pub const PROGRAM: &str = include_str!("everything.p4");

pub fn compile(text: &str) -> Result<Pipeline, String> {
    let files = MemoryFiles([("test.p4".to_string(), text.to_string())].into());
    let parsed = p4_syntax::parse("test.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let mut errors = parsed.diagnostics.clone();
    errors.extend(checked.diagnostics.iter().cloned());
    errors.retain(|d| d.severity == Severity::Error);
    if !errors.is_empty() {
        return Err(p4_syntax::render(&errors, &parsed.sources, false));
    }
    let info = p4_info::p4info(&checked, &parsed.sources).map_err(|e| format!("{e:?}"))?;
    let program = p4_ir::lower::lower(&checked, &V1Model).map_err(|e| format!("{e:?}"))?;
    let image = Image::new(Arc::new(program)).map_err(|e| e.to_string())?;
    Ok(Pipeline {
        image: Arc::new(image),
        info: Arc::new(info),
    })
}

/// Knows `everything.p4` by name, and compiles source.
pub struct Sources;

impl Compiler for Sources {
    fn compile(&self, config: DeviceConfig<'_>) -> Result<Option<Pipeline>, String> {
        match config {
            DeviceConfig::Source(text) => compile(text).map(Some),
            DeviceConfig::Json {
                program: "everything.p4",
            } => compile(PROGRAM).map(Some),
            DeviceConfig::Json { .. } => Ok(None),
        }
    }
}

/// What leaves the switch: port and frame.
type Sent = Arc<Mutex<Vec<(u16, Vec<u8>)>>>;

pub struct Bench {
    state: Mutex<BenchState>,
    now: AtomicI64,
    sent: Sent,
}

#[derive(Default)]
struct BenchState {
    switch: Option<Switch>,
    tap: Option<Tap>,
}

impl Host for BenchState {
    fn switch(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut()
    }

    fn install(&mut self, switch: Switch) {
        self.switch = Some(switch);
    }
}

impl Bench {
    fn process(&self, port: u16, frame: &[u8]) {
        let mut state = self.state.lock().expect("the bench");
        let BenchState { switch, tap } = &mut *state;
        let Some(switch) = switch else { return };
        let mut out = Vec::new();
        let now = self.now();
        switch.process(now, port, frame, &mut |port: u16, data: &[u8]| {
            out.push((port, data.to_vec()));
        });
        let digests = switch.take_digests();
        for (port, data) in out {
            match tap {
                Some(tap) if port == CPU => tap.packet_in(&data),
                _ => self.sent.lock().expect("frames").push((port, data)),
            }
        }
        if let Some(tap) = tap {
            tap.digests(digests);
        }
    }
}

impl Plant for Bench {
    fn run(&self, job: Job) -> Result<(), Gone> {
        job(&mut *self.state.lock().expect("the bench"));
        Ok(())
    }

    fn packet_out(&self, frame: Vec<u8>) -> Result<bool, Gone> {
        self.process(CPU, &frame);
        Ok(true)
    }

    fn make(&self, image: &Arc<Image>) -> Result<Switch, String> {
        Switch::new(Arc::clone(image), Config::default()).map_err(|e| e.to_string())
    }

    fn now(&self) -> Time {
        Time::from_picos(self.now.load(Ordering::SeqCst) as u64 * 1_000)
    }

    fn ports(&self) -> Option<BTreeSet<u16>> {
        Some((0..16).collect())
    }

    fn cpu_port(&self) -> Option<u16> {
        Some(CPU)
    }
}

/// Keeps what a client is told.
#[derive(Default)]
pub struct Mailbox(Mutex<Vec<StreamResponse>>);

impl Sink for Mailbox {
    fn send(&self, message: StreamMessageResponse, _: bool) {
        let update = message.update.expect("an update");
        self.0.lock().expect("mail").push(update);
    }
}

/// A client with its stream.
pub struct Client {
    pub mail: Arc<Mailbox>,
    pub stream: Stream,
}

impl Client {
    /// What it has been told since the last call.
    pub fn told(&self) -> Vec<StreamResponse> {
        std::mem::take(&mut *self.mail.0.lock().expect("mail"))
    }

    /// Codes of the arbitration updates that it has been told, and the election ids in them.
    pub fn standing(&self) -> Vec<(i32, Option<u64>)> {
        let told = self.told().into_iter().filter_map(|update| match update {
            StreamResponse::Arbitration(update) => {
                let code = update.status.expect("a status").code;
                Some((code, update.election_id.map(|id| id.low)))
            }
            _ => None,
        });
        told.collect()
    }
}

pub struct Lab {
    pub server: Arc<Server>,
    pub bench: Arc<Bench>,
    pub tap: Tap,
    pub sent: Sent,
    pub pipeline: Option<Pipeline>,
}

/// A server whose device runs `text`.
pub fn lab_with(text: &str) -> Lab {
    let pipeline = compile(text).unwrap_or_else(|error| panic!("{error}"));
    make_lab(Some(pipeline))
}

/// A server whose device runs the program with everything.
pub fn lab() -> Lab {
    lab_with(PROGRAM)
}

/// A server whose device has no program.
pub fn empty_lab() -> Lab {
    make_lab(None)
}

fn make_lab(pipeline: Option<Pipeline>) -> Lab {
    let sent = Sent::default();
    let bench = Arc::new(Bench {
        state: Mutex::default(),
        now: AtomicI64::new(1_000_000_000),
        sent: Arc::clone(&sent),
    });
    if let Some(pipeline) = &pipeline {
        let switch = bench.make(&pipeline.image).expect("a switch");
        bench.state.lock().expect("the bench").switch = Some(switch);
    }
    let clock = Arc::clone(&bench);
    let server = Arc::new(Server::new(
        Arc::new(Sources),
        Arc::new(move || clock.now.load(Ordering::SeqCst)),
    ));
    let plant: Arc<dyn Plant> = Arc::clone(&bench) as _;
    let tap = server
        .add_device(DEVICE, plant, pipeline.clone())
        .expect("a device");
    bench.state.lock().expect("the bench").tap = Some(tap.clone());
    Lab {
        server,
        bench,
        tap,
        sent,
        pipeline,
    }
}

pub fn id(low: u64) -> Option<Uint128> {
    Some(Uint128 { high: 0, low })
}

pub fn arbitration(device_id: u64, role: &str, election_id: Option<Uint128>) -> StreamRequest {
    StreamRequest::Arbitration(ArbitrationUpdate {
        device_id,
        role: (!role.is_empty()).then(|| Role {
            name: role.to_string(),
            ..Role::default()
        }),
        election_id,
        status: None,
    })
}

impl Lab {
    pub fn client(&self) -> Client {
        let mail = Arc::new(Mailbox::default());
        Client {
            stream: self.server.open(Arc::clone(&mail) as _),
            mail,
        }
    }

    pub fn say(&self, client: &mut Client, request: StreamRequest) -> Result<(), Status> {
        let message = StreamMessageRequest {
            update: Some(request),
        };
        self.server.receive(&mut client.stream, message)
    }

    /// A client that has asked to be the primary of the default role.
    pub fn arbitrated(&self, election_id: u64) -> Client {
        let mut client = self.client();
        self.say(&mut client, arbitration(DEVICE, "", id(election_id)))
            .expect("an accepted arbitration");
        client
    }

    /// Writes as the client with election id 1.
    pub fn write(&self, updates: Vec<(UpdateType, EntityKind)>) -> Result<(), Status> {
        self.write_as(updates, Atomicity::ContinueOnError)
    }

    pub fn write_as(
        &self,
        updates: Vec<(UpdateType, EntityKind)>,
        atomicity: Atomicity,
    ) -> Result<(), Status> {
        let update = |(how, kind): (UpdateType, EntityKind)| Update {
            r#type: how as i32,
            entity: Some(kind.into()),
        };
        let request = WriteRequest {
            device_id: DEVICE,
            election_id: id(1),
            updates: updates.into_iter().map(update).collect(),
            atomicity: atomicity as i32,
            ..WriteRequest::default()
        };
        self.server.write(&request).map(|_| ())
    }

    pub fn insert(&self, kind: impl Into<EntityKind>) -> Result<(), Code> {
        code(self.write(vec![(UpdateType::Insert, kind.into())]))
    }

    pub fn modify(&self, kind: impl Into<EntityKind>) -> Result<(), Code> {
        code(self.write(vec![(UpdateType::Modify, kind.into())]))
    }

    pub fn delete(&self, kind: impl Into<EntityKind>) -> Result<(), Code> {
        code(self.write(vec![(UpdateType::Delete, kind.into())]))
    }

    pub fn read(&self, kind: impl Into<EntityKind>) -> Result<Vec<EntityKind>, Code> {
        let request = ReadRequest {
            device_id: DEVICE,
            entities: vec![kind.into().into()],
            ..ReadRequest::default()
        };
        let mut found = Vec::new();
        let done = self
            .server
            .read(&request, |part| found.extend(part.entities));
        code(done)?;
        Ok(found
            .into_iter()
            .filter_map(|entity| entity.entity)
            .collect())
    }

    /// The one table entry that a read finds.
    pub fn read_entry(&self, entry: TableEntry) -> TableEntry {
        let found = self.read(EntityKind::Table(entry)).expect("a read");
        match <[EntityKind; 1]>::try_from(found) {
            Ok([EntityKind::Table(entry)]) => entry,
            other => panic!("not one entry: {other:?}"),
        }
    }

    /// Sends a frame in; gives what left by other ports than the CPU's.
    pub fn send(&self, port: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.bench.process(port, frame);
        std::mem::take(&mut *self.sent.lock().expect("frames"))
    }

    /// Lets time pass, in nanoseconds, and the server look at it.
    pub fn pass(&self, nanoseconds: i64) {
        self.bench.now.fetch_add(nanoseconds, Ordering::SeqCst);
        self.server.tick();
    }

    /// The id of a P4Info object by its name.
    pub fn id(&self, name: &str) -> u32 {
        let info = &self.pipeline.as_ref().expect("a program").info;
        let preambles = (info.tables.iter().map(|x| &x.preamble))
            .chain(info.actions.iter().map(|x| &x.preamble))
            .chain(info.action_profiles.iter().map(|x| &x.preamble))
            .chain(info.counters.iter().map(|x| &x.preamble))
            .chain(info.meters.iter().map(|x| &x.preamble))
            .chain(info.value_sets.iter().map(|x| &x.preamble))
            .chain(info.registers.iter().map(|x| &x.preamble))
            .chain(info.digests.iter().map(|x| &x.preamble));
        let is = |own: &str| own == name || own.ends_with(&format!(".{name}"));
        let mut found = preambles.filter(|preamble| is(&preamble.name));
        found.next().unwrap_or_else(|| panic!("no {name}")).id
    }

    pub fn action(&self, name: &str, params: &[u64]) -> Action {
        let param = |(value, param_id): (&u64, u32)| Param {
            param_id,
            value: bytes(*value).into(),
        };
        Action {
            action_id: self.id(name),
            params: params.iter().zip(1..).map(param).collect(),
        }
    }

    /// An entry of a table, its matches by the ids of their fields.
    pub fn entry(&self, table: &str, matches: Vec<FieldMatchKind>, action: Action) -> TableEntry {
        let one = |(kind, field_id): (FieldMatchKind, u32)| FieldMatch {
            field_id,
            field_match_type: Some(kind),
        };
        TableEntry {
            table_id: self.id(table),
            r#match: matches.into_iter().zip(1..).map(one).collect(),
            action: Some(TableAction {
                r#type: Some(TableActionKind::Action(action)),
            }),
            ..TableEntry::default()
        }
    }

    /// An entry of the table `l2` that forwards `dst` to `port`.
    pub fn l2(&self, dst: u64, port: u64) -> TableEntry {
        self.entry("l2", vec![exact(dst)], self.action("forward", &[port]))
    }
}

/// The code of the RPC, or of its only update or request.
pub fn code(done: Result<(), Status>) -> Result<(), Code> {
    let Err(status) = done else { return Ok(()) };
    if status.code != Code::Unknown {
        return Err(status.code);
    }
    let codes = codes(&status);
    assert_eq!(codes.len(), 1, "{status}");
    Err(codes[0])
}

/// The code of each update of a batch.
pub fn codes(status: &Status) -> Vec<Code> {
    use prost::Message;
    let details = RpcStatus::decode(status.details.as_slice()).expect("details");
    assert_eq!(details.code, Code::Unknown as i32);
    let one = |any: &Any| {
        assert_eq!(any.type_url, "type.googleapis.com/p4.v1.Error");
        let error = Error::decode(any.value.as_slice()).expect("an error");
        all_codes()
            .into_iter()
            .find(|code| *code as i32 == error.canonical_code)
            .expect("a canonical code")
    };
    details.details.iter().map(one).collect()
}

fn all_codes() -> [Code; 13] {
    use Code::*;
    [
        Ok,
        Unknown,
        InvalidArgument,
        NotFound,
        AlreadyExists,
        PermissionDenied,
        ResourceExhausted,
        FailedPrecondition,
        Aborted,
        OutOfRange,
        Unimplemented,
        Internal,
        Unavailable,
    ]
}

/// The shortest bytestring of a number.
pub fn bytes(value: u64) -> Vec<u8> {
    let all = value.to_be_bytes();
    let zeros = all.iter().take(7).take_while(|byte| **byte == 0).count();
    all[zeros..].to_vec()
}

pub fn exact(value: u64) -> FieldMatchKind {
    FieldMatchKind::Exact(Exact {
        value: bytes(value).into(),
    })
}

pub fn lpm(value: u64, prefix_len: i32) -> FieldMatchKind {
    FieldMatchKind::Lpm(Lpm {
        value: bytes(value),
        prefix_len,
    })
}

pub fn ternary(value: u64, mask: u64) -> FieldMatchKind {
    FieldMatchKind::Ternary(Ternary {
        value: bytes(value),
        mask: bytes(mask),
    })
}

pub fn range(low: u64, high: u64) -> FieldMatchKind {
    FieldMatchKind::Range(Range {
        low: bytes(low),
        high: bytes(high),
    })
}

pub fn optional(value: u64) -> FieldMatchKind {
    FieldMatchKind::Optional(OptionalMatch {
        value: bytes(value),
    })
}

/// An Ethernet frame of 64 bytes.
pub fn frame(dst: u64, src: u64, kind: u16) -> Vec<u8> {
    let mut frame = dst.to_be_bytes()[2..].to_vec();
    frame.extend(&src.to_be_bytes()[2..]);
    frame.extend(kind.to_be_bytes());
    frame.resize(64, 0);
    frame
}
