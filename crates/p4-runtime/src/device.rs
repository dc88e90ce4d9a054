//! One device: its program, its clients, and what is under way between them.

use crate::arbitration::{Arbitration, Notices, StreamId};
use crate::learning::Learning;
use crate::messages::{
    ArbitrationUpdate, Atomicity, ConfigAction, DigestListAck, DigestListAckError,
    GetPipelineResponse, IdleTimeoutNotification, PacketOut, PacketOutError, PipelineConfig,
    ReadRequest, ReadResponse, ResponseType, SetPipelineRequest, StreamErrorDetails,
    StreamMessageResponse, StreamResponse, Uint128, WriteRequest,
};
use crate::packet;
use crate::pipeline::{carry_over, find, Active};
use crate::place::Place;
use crate::plan::{clone_updates, group_update, live_members, Ports};
use crate::plant::{ask, Compiler, Pipeline, Plant};
use crate::read::{answer, entities, question, refused};
use crate::schema::Schema;
use crate::server::{tell_error, Sink, Stream};
use crate::status::{Code, Refusal, Status};
use crate::write;
use p4_arch::v1model::{Digest, Switch};
use p4_state::Update;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Entities in one part of what a read finds.
const PART: usize = 1_000;

pub(crate) struct Device {
    pub id: u64,
    plant: Arc<dyn Plant>,
    core: Mutex<Core>,
    /// What packets and digests need, apart, so that they do not wait for a large batch
    traffic: RwLock<Traffic>,
    learning: Mutex<Learning>,
}

/// What calls change and read, one after the other.
struct Core {
    arbitration: Arbitration,
    sinks: BTreeMap<StreamId, Arc<dyn Sink>>,
    /// The program with which the device was started
    first: Option<Pipeline>,
    active: Option<Active>,
    /// A program that has been saved, not yet committed, and the switch that runs it so far
    saved: Option<(Active, Box<Switch>)>,
}

#[derive(Default)]
struct Traffic {
    schema: Option<Arc<Schema>>,
    primaries: Vec<(StreamId, Arc<dyn Sink>)>,
}

impl Device {
    pub fn new(
        id: u64,
        plant: Arc<dyn Plant>,
        program: Option<Pipeline>,
    ) -> Result<Device, Refusal> {
        let active = program.clone().map(Active::given).transpose()?;
        let traffic = Traffic {
            schema: active.as_ref().map(|active| Arc::clone(&active.schema)),
            primaries: Vec::new(),
        };
        Ok(Device {
            id,
            plant,
            core: Mutex::new(Core {
                arbitration: Arbitration::new(id),
                sinks: BTreeMap::new(),
                first: program,
                active,
                saved: None,
            }),
            traffic: RwLock::new(traffic),
            learning: Mutex::default(),
        })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // A call that panicked has left nothing half done that another one would rely on.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learning(&self) -> MutexGuard<'_, Learning> {
        self.learning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What packets and digests see is what the core says now.
    fn refresh(&self, core: &Core) {
        let primaries = core.arbitration.primaries();
        let primaries = primaries.filter_map(|id| Some((id, Arc::clone(core.sinks.get(&id)?))));
        let traffic = Traffic {
            schema: core
                .active
                .as_ref()
                .map(|active| Arc::clone(&active.schema)),
            primaries: primaries.collect(),
        };
        *self.traffic.write().unwrap_or_else(PoisonError::into_inner) = traffic;
        let nothing = BTreeMap::new();
        let store = core.active.as_ref().map(|active| &active.store.digests);
        self.learning().configure(store.unwrap_or(&nothing));
    }

    pub fn arbitrate(&self, stream: &Stream, update: &ArbitrationUpdate) -> Result<(), Status> {
        let mut core = self.core();
        let notices = core.arbitration.update(stream.id, update)?;
        core.sinks.insert(stream.id, Arc::clone(&stream.sink));
        self.refresh(&core);
        notify(&core, notices);
        Ok(())
    }

    pub fn leave(&self, stream: StreamId) {
        let mut core = self.core();
        core.sinks.remove(&stream);
        let notices = core.arbitration.leave(stream);
        self.refresh(&core);
        notify(&core, notices);
    }

    pub fn write(&self, request: &WriteRequest) -> Result<(), Status> {
        self.write_in(&mut self.core(), request)
    }

    /// The same, if nobody else is at it; `None` if one would have to wait.
    pub fn try_write(&self, request: &WriteRequest) -> Option<Result<(), Status>> {
        let mut core = self.core.try_lock().ok()?;
        Some(self.write_in(&mut core, request))
    }

    fn write_in(&self, core: &mut Core, request: &WriteRequest) -> Result<(), Status> {
        core.check(request.role_id, &request.role, request.election_id)?;
        let atomicity = Atomicity::try_from(request.atomicity)
            .map_err(|_| Refusal::unimplemented("this server does not know this atomicity"))?;
        let ports = Ports::of(&*self.plant);
        let (active, place) = core.target(&*self.plant)?;
        let (schema, store) = (Arc::clone(&active.schema), &mut active.store);
        let digests = store.digests.clone();
        let done = write::write(&schema, store, ports, place, &request.updates, atomicity);
        if digests != store.digests {
            self.refresh(core);
        }
        done
    }

    pub fn read(
        &self,
        request: &ReadRequest,
        mut found: impl FnMut(ReadResponse),
    ) -> Result<(), Status> {
        let mut core = self.core();
        let now = self.plant.now().picos();
        let (active, mut place) = core.target(&*self.plant)?;
        let schema = &active.schema;
        let questions: Vec<_> = request
            .entities
            .iter()
            .map(|e| question(schema, e))
            .collect();
        let answers = place.with(move |switch| {
            let one = |question: Result<_, Refusal>| answer(&question?, switch).map_err(refused);
            questions.into_iter().map(one).collect::<Vec<_>>()
        })?;
        let mut results = Vec::with_capacity(answers.len());
        let mut part = Vec::new();
        for (asked, answer) in request.entities.iter().zip(answers) {
            let own = answer.and_then(|answer| entities(schema, &active.store, asked, answer, now));
            results.push(own.map(|own| {
                for entity in own {
                    part.push(entity);
                    if part.len() == PART {
                        let entities = std::mem::take(&mut part);
                        found(ReadResponse { entities });
                    }
                }
            }));
        }
        if !part.is_empty() {
            found(ReadResponse { entities: part });
        }
        match results.iter().all(Result::is_ok) {
            true => Ok(()),
            false => Err(Status::of_batch("request", &results)),
        }
    }

    pub fn set_pipeline(
        &self,
        compiler: &dyn Compiler,
        request: &SetPipelineRequest,
    ) -> Result<(), Status> {
        let mut core = self.core();
        core.check(request.role_id, &request.role, request.election_id)?;
        let action = ConfigAction::try_from(request.action).unwrap_or(ConfigAction::Unspecified);
        if action == ConfigAction::Unspecified {
            return Err(Refusal::invalid("the request has no action").into());
        }
        if action == ConfigAction::Commit {
            return self.commit(&mut core, &request.config);
        }
        let message = "this action needs a configuration";
        let config = request.config.as_ref();
        let config = config.ok_or_else(|| Refusal::invalid(message))?;
        let pipeline = find(compiler, &core.known(), config)?;
        let new = Active::new(pipeline, config.clone())?;
        let mut switch = Box::new(self.make(&new.pipeline)?);
        match action {
            ConfigAction::VerifyAndSave => core.saved = Some((new, switch)),
            ConfigAction::VerifyAndCommit => self.install(&mut core, new, *switch)?,
            ConfigAction::ReconcileAndCommit => {
                let new = match core.active.take() {
                    None => new,
                    Some(old) => {
                        let (old, new, kept) = self.reconcile(old, new, switch)?;
                        switch = match kept {
                            Ok(switch) => switch,
                            Err(refusal) => {
                                core.active = Some(old);
                                return Err(refusal.into());
                            }
                        };
                        new
                    }
                };
                self.install(&mut core, new, *switch)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn make(&self, pipeline: &Pipeline) -> Result<Switch, Refusal> {
        self.plant.make(&pipeline.image).map_err(Refusal::invalid)
    }

    fn commit(&self, core: &mut Core, config: &Option<PipelineConfig>) -> Result<(), Status> {
        if config.is_some() {
            let message = "COMMIT realizes the saved configuration; leave config unset";
            return Err(Refusal::invalid(message).into());
        }
        let message = "no configuration has been saved; VERIFY_AND_SAVE one first";
        let saved = core.saved.take();
        let (saved, switch) = saved.ok_or_else(|| Refusal::not_found(message))?;
        Ok(self.install(core, saved, *switch)?)
    }

    fn install(&self, core: &mut Core, mut new: Active, mut switch: Switch) -> Result<(), Refusal> {
        if let Some(old) = &core.active {
            new.store.down = old.store.down.clone();
        }
        ask(&*self.plant, move |host| {
            if let Some(old) = host.switch() {
                switch.keep_queue_limits(old);
            }
            host.install(switch);
        })?;
        core.active = Some(new);
        core.saved = None;
        self.refresh(core);
        let down = core.active.as_ref().map(|active| active.store.down.clone());
        if down.is_some_and(|down| !down.is_empty()) {
            self.follow_ports(core)?;
        }
        Ok(())
    }

    /// The new program's switch with the old one's state.
    #[allow(clippy::type_complexity)] // all three are given back
    fn reconcile(
        &self,
        old: Active,
        mut new: Active,
        mut switch: Box<Switch>,
    ) -> Result<(Active, Active, Result<Box<Switch>, Refusal>), Refusal> {
        new.store = old.store.clone();
        let ports = Ports::of(&*self.plant);
        let done = ask(&*self.plant, move |host| {
            let kept = match host.switch() {
                Some(running) => carry_over(&old, running, &new, &mut switch, &ports),
                None => Ok(()),
            };
            (old, new, kept.map(|()| switch))
        })?;
        Ok(done)
    }

    pub fn get_pipeline(&self, response_type: i32) -> GetPipelineResponse {
        let core = self.core();
        let wanted = ResponseType::try_from(response_type).unwrap_or(ResponseType::All);
        let saved = core.saved.as_ref().map(|(saved, _)| saved);
        let config = saved.or(core.active.as_ref()).map(|active| {
            let PipelineConfig {
                p4info,
                p4_device_config,
                cookie,
            } = active.config.clone();
            use ResponseType::*;
            PipelineConfig {
                p4info: p4info.filter(|_| matches!(wanted, All | P4InfoAndCookie)),
                p4_device_config: match wanted {
                    All | DeviceConfigAndCookie => p4_device_config,
                    CookieOnly | P4InfoAndCookie => Vec::new(),
                },
                cookie,
            }
        });
        GetPipelineResponse { config }
    }

    /// A client sends a packet; what is wrong with it is told on the stream.
    pub fn packet_out(&self, stream: &Stream, packet: PacketOut) {
        if let Err(refusal) = self.try_packet_out(stream.id, &packet) {
            let details = StreamErrorDetails::PacketOut(PacketOutError {
                packet_out: Some(packet),
            });
            tell_error(&*stream.sink, &refusal, details);
        }
    }

    fn try_packet_out(&self, stream: StreamId, packet: &PacketOut) -> Result<(), Refusal> {
        let frame = {
            let traffic = self.traffic.read().unwrap_or_else(PoisonError::into_inner);
            if !traffic.primaries.iter().any(|(id, _)| *id == stream) {
                let message = "only the primary of a role sends packets";
                return Err(Refusal::new(Code::PermissionDenied, message));
            }
            let schema = traffic.schema.as_ref().ok_or_else(no_config)?;
            packet::frame(schema.packet_out.as_ref(), packet)?
        };
        match self.plant.packet_out(frame)? {
            true => Ok(()),
            false => {
                let message = "the device has no CPU port; start it with one";
                Err(Refusal::new(Code::FailedPrecondition, message))
            }
        }
    }

    pub fn digest_ack(&self, stream: &Stream, ack: DigestListAck) {
        let traffic = self.traffic.read().unwrap_or_else(PoisonError::into_inner);
        let known = traffic
            .schema
            .as_ref()
            .map(|schema| schema.digest(ack.digest_id).map(|_| ()));
        let refusal = match known {
            None => Some(no_config()),
            Some(Err(refusal)) => Some(refusal),
            Some(Ok(())) if !traffic.primaries.iter().any(|(id, _)| *id == stream.id) => {
                let message = "only the primary of a role acknowledges digests";
                Some(Refusal::new(Code::PermissionDenied, message))
            }
            Some(Ok(())) => None,
        };
        drop(traffic);
        match refusal {
            None => self.learning().acknowledge(&ack),
            Some(refusal) => {
                let details = StreamErrorDetails::DigestAck(DigestListAckError {
                    digest_list_ack: Some(ack),
                });
                tell_error(&*stream.sink, &refusal, details);
            }
        }
    }

    /// The switch has sent a frame to its CPU port.
    pub fn packet_in(&self, frame: &[u8]) {
        let traffic = self.traffic.read().unwrap_or_else(PoisonError::into_inner);
        let (Some(schema), false) = (&traffic.schema, traffic.primaries.is_empty()) else {
            return;
        };
        if let Some(packet) = packet::packet_in(schema.packet_in.as_ref(), frame) {
            traffic.tell(StreamResponse::Packet(packet));
        }
    }

    /// The switch has made digests.
    pub fn digests(&self, digests: Vec<Digest>, now: i64) {
        let traffic = self.traffic.read().unwrap_or_else(PoisonError::into_inner);
        let Some(schema) = &traffic.schema else {
            return;
        };
        let mut learning = self.learning();
        for digest in digests {
            let Some(id) = schema.digest_calls.get(&digest.call).copied() else {
                continue;
            };
            if !learning.wants(id) {
                continue;
            }
            let Ok(data) = schema.digest_data(id, &digest) else {
                continue;
            };
            if let Some(list) = learning.offer(id, data, now) {
                traffic.tell(StreamResponse::Digest(list));
            }
        }
    }

    /// Tells what is due at `now`, in nanoseconds since the Epoch.
    pub fn tick(&self, now: i64) {
        let lists = self.learning().due(now);
        if !lists.is_empty() {
            let traffic = self.traffic.read().unwrap_or_else(PoisonError::into_inner);
            for list in lists {
                traffic.tell(StreamResponse::Digest(list));
            }
        }
        // A large batch is no reason to wait: the next tick will find what is idle.
        let Ok(core) = self.core.try_lock() else {
            return;
        };
        self.tell_idle(&core, now);
    }

    fn tell_idle(&self, core: &Core, now: i64) {
        let Some(active) = &core.active else {
            return;
        };
        let times_out = |table: &crate::schema::Table| {
            table.notifies_timeouts && active.store.has_extras(table.id)
        };
        if !active.schema.tables.values().any(times_out) {
            return;
        }
        let time = self.plant.now();
        let idle = ask(&*self.plant, move |host| match host.switch() {
            Some(switch) => switch.idle_entries(time),
            None => Vec::new(),
        });
        let entries = idle.unwrap_or_default().into_iter().filter_map(|idle| {
            let id = *active.schema.table_ids.get(&idle.table)?;
            active.idle_message(id, &idle.entry)
        });
        let table_entry: Vec<_> = entries.collect();
        if !table_entry.is_empty() {
            let traffic = self.traffic.read().unwrap_or_else(PoisonError::into_inner);
            traffic.tell(StreamResponse::IdleTimeout(IdleTimeoutNotification {
                table_entry,
                timestamp: now,
            }));
        }
    }

    /// A port has gone down or come up: members that watch it and copies to it follow.
    pub fn set_port(&self, port: u16, up: bool) -> Result<(), Refusal> {
        let mut core = self.core();
        let Some(active) = &mut core.active else {
            return Ok(());
        };
        let changed = match up {
            true => active.store.down.remove(&port),
            false => active.store.down.insert(port),
        };
        match changed {
            true => self.follow_ports(&mut core),
            false => Ok(()),
        }
    }

    fn follow_ports(&self, core: &mut Core) -> Result<(), Refusal> {
        let Some(active) = &core.active else {
            return Ok(());
        };
        let updates = active.port_updates(&Ports::of(&*self.plant));
        if updates.is_empty() {
            return Ok(());
        }
        let done = ask(&*self.plant, move |host| match host.switch() {
            Some(switch) => switch.write(&updates),
            None => Ok(()),
        })?;
        done.map_err(|error| Refusal::new(Code::Internal, error.to_string()))
    }
}

impl Traffic {
    /// Tells all primaries.
    fn tell(&self, update: StreamResponse) {
        for (_, sink) in &self.primaries {
            let message = StreamMessageResponse {
                update: Some(update.clone()),
            };
            sink.send(message, false);
        }
    }
}

fn no_config() -> Refusal {
    let message = "the device has no program yet; set a forwarding pipeline first";
    Refusal::new(Code::FailedPrecondition, message)
}

fn notify(core: &Core, notices: Notices) {
    for (id, update) in notices {
        if let Some(sink) = core.sinks.get(&id) {
            let update = Some(StreamResponse::Arbitration(update));
            sink.send(StreamMessageResponse { update }, true);
        }
    }
}

impl Core {
    /// Whether a client may change the device.
    fn check(&self, role_id: u64, role: &str, election_id: Option<Uint128>) -> Result<(), Refusal> {
        if role_id != 0 {
            let message = "role ids are deprecated; give the role a name";
            return Err(Refusal::invalid(message));
        }
        self.arbitration.check_primary(role, election_id)
    }

    /// The program that requests refer to, and where they take effect.
    fn target<'a>(
        &'a mut self,
        plant: &'a dyn Plant,
    ) -> Result<(&'a mut Active, Place<'a>), Refusal> {
        match (&mut self.saved, &mut self.active) {
            (Some((saved, switch)), _) => Ok((saved, Place::Waiting(switch))),
            (None, Some(active)) => Ok((active, Place::Device(plant))),
            (None, None) => Err(no_config()),
        }
    }

    /// Programs that a configuration without source may mean.
    fn known(&self) -> Vec<&Pipeline> {
        let active = self.active.as_ref().map(|active| &active.pipeline);
        active.into_iter().chain(&self.first).collect()
    }
}

impl Active {
    /// What groups and copies are to be with the ports as they are.
    fn port_updates(&self, ports: &Ports) -> Vec<Update> {
        let store = &self.store;
        let mut updates = Vec::new();
        let mut follow = |group: &crate::messages::ActionProfileGroup| {
            if let Ok(profile) = self.schema.profile(group.action_profile_id) {
                updates.push(Update::SetMemberGroup {
                    profile: profile.name.clone(),
                    group: group.group_id,
                    members: Some(live_members(group, &store.down, ports)),
                });
            }
        };
        store
            .profiles
            .values()
            .flat_map(|profile| profile.groups.values())
            .for_each(&mut follow);
        for (table, extras) in &store.extras {
            let profile = self
                .schema
                .tables
                .get(table)
                .and_then(|table| table.profile);
            let one_shots = extras.values().filter_map(|extra| extra.one_shot.as_ref());
            for (one_shot, profile) in one_shots.zip(std::iter::repeat(profile)) {
                if let Some(profile) = profile {
                    follow(&one_shot.as_group(profile));
                }
            }
        }
        for group in store.groups.values() {
            updates.push(group_update(group, &store.down, ports));
        }
        for session in store.sessions.values() {
            updates.extend(clone_updates(session, &store.down, ports));
        }
        updates
    }

    /// The message about an entry that is idle.
    fn idle_message(
        &self,
        table: u32,
        view: &p4_state::EntryView,
    ) -> Option<crate::messages::TableEntry> {
        let table = self.schema.table(table).ok()?;
        let key = crate::entry::view_key(table, view);
        let extra = self.store.extra(table.id, &key)?;
        Some(crate::messages::TableEntry {
            metadata: extra.metadata.clone(),
            controller_metadata: extra.controller_metadata,
            idle_timeout_ns: extra.idle_timeout_ns,
            ..crate::entry::key_message(table, &key)
        })
    }
}
