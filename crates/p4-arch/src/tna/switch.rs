//! One switch: what a packet meets from the moment it arrives until nothing of it is left.

use super::events::{Core, Passing};
use super::externs::Externs;
use super::fast::Fast;
use super::filters::{LpfConfig, WredConfig};
use super::generator::{App, AppCounts, Generator};
use super::image::Image;
use super::mirror::MirrorSession;
use super::pipes::PIPES;
use super::ports::{LoopConfig, LoopStats};
use super::pre::{Lag, Node, Pruning};
use super::programs::Others;
use super::queue::Copy;
use super::stages::given;
use crate::error::ArchError;
use crate::segments::{Architecture, Carrier, Travel};
use crate::stats::{Drop, Stats};
use crate::tree::{Follow, Kind, Nothing, Trace, Tree};
use crate::{Digest, Port, Sink};
use num_bigint::BigUint;
use p4_ir::ir::InstanceId;
use p4_ir::native::Native;
use p4_ir::trace::{NoTrace, Silent};
use p4_state::{IdleEntry, State, Update, UpdateError, WriteError};
use p4_syntax::span::Span;
use p4_time::Time;
use std::sync::Arc;

/// What is chosen for a switch once and for all.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Of the switch's own random numbers
    pub seed: u64,
    /// Fill what P4 leaves undefined with noise from this seed, and mark its reads in traces.
    pub undefined: Option<u64>,
    /// 1 to 4; a port's pipe is in bits 7 and 8 of its number.
    pub pipes: u8,
    /// How often a packet may come back to ingress
    pub max_passes: u32,
    /// How many packets one arriving packet may become
    pub max_packets: u32,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            seed: 0,
            undefined: None,
            pipes: 4,
            max_passes: 1024,
            max_packets: 16_384,
        }
    }
}

/// A Tofino switch.
pub struct Switch {
    pub(super) core: Core,
    pub(super) carrier: Carrier,
    /// What the parser of the packet under way is given
    pub(super) bytes: Vec<u8>,
    /// Paths that many packets take, if there is native code
    pub(super) fast: Option<Box<Fast>>,
    /// Passes that took a path
    pub(super) on_paths: u64,
    /// Programs in other pipes of the chip
    pub(super) others: Others,
}

impl Switch {
    /// A switch that runs `image` on all pipes, its tables and registers as the program sets them.
    pub fn new(image: Arc<Image>, config: Config) -> Result<Switch, ArchError> {
        if image.is_for_tofino2 {
            let message = "the program is made for Tofino 2 (t2na.p4): it can be compiled, but this switch is a Tofino 1, and the metadata in front of packets differ";
            return Err(ArchError::new(message, Span::NONE));
        }
        let state = State::new(image.prepared.share(), &image.resources)?;
        let mut state = state.with_pipes(PIPES as u64);
        for (instance, bytes) in &image.adjusted {
            state.take_off(*instance, *bytes);
        }
        for (register, cell) in &image.initial {
            for index in 0..state.size(*register) {
                if let Some(own) = state.register_mut(*register, index) {
                    own.copy_from_slice(&cell[..own.len().min(cell.len())]);
                }
            }
        }
        let mut carrier = Carrier::new(&image.prepared);
        if let Some(seed) = config.undefined {
            carrier.machine.show_undefined(&image.prepared, seed);
        }
        let externs = Externs::new(&image, state, config.seed);
        let generator = Generator::new(config.seed);
        Ok(Switch {
            core: Core::new(image, config, externs, generator),
            carrier,
            bytes: Vec::new(),
            fast: None,
            on_paths: 0,
            others: Others::default(),
        })
    }

    /// As [`v1model::Switch::set_native`](crate::v1model::Switch::set_native).
    pub fn set_native(&mut self, native: Option<Arc<dyn Native>>) -> Result<(), ArchError> {
        let engine = &mut self.carrier.engine;
        engine.set(&self.core.image.prepared, native)?;
        let is_plain = !self.carrier.machine.shows_undefined();
        let native = self.carrier.engine.native().filter(|_| is_plain);
        self.fast = native.map(|native| Box::new(Fast::new(native)));
        Ok(())
    }

    /// As [`v1model::Switch::set_patience`](crate::v1model::Switch::set_patience), for passes through
    /// ingress or egress.
    pub fn set_patience(&mut self, passes: u64) {
        if let Some(fast) = &mut self.fast {
            fast.paths.set_patience(passes);
        }
    }

    /// Passes through ingress or egress by a path known before.
    pub fn passes_on_paths(&self) -> u64 {
        self.on_paths
    }

    pub fn image(&self) -> &Arc<Image> {
        &self.core.image
    }

    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// What the control plane can read.
    pub fn state(&self) -> &State {
        &self.core.externs.state
    }

    /// What this program's pipes have counted.
    pub fn stats(&self) -> Stats {
        self.core.externs.stats
    }

    /// Applies all updates between two packets, or none of them. Clone sessions are mirror sessions.
    /// Every pipe has registers and meters of its own; a cell is set in all of them.
    pub fn write(&mut self, batch: &[Update]) -> Result<(), WriteError> {
        if batch
            .iter()
            .any(|update| self.other_pipes(update).next().is_some())
        {
            let spread = |update: &Update| {
                let own = std::iter::once(update.clone());
                own.chain(self.other_pipes(update)).collect::<Vec<_>>()
            };
            let spread: Vec<Update> = batch.iter().flat_map(spread).collect();
            self.core.externs.state.write(&spread)?;
        } else {
            self.core.externs.state.write(batch)?;
        }
        for update in batch {
            if let Update::SetMemberGroup { profile, group, .. } = update {
                self.set_places(profile, *group);
            }
        }
        Ok(())
    }

    /// All places of a group that was written take part again.
    fn set_places(&mut self, profile: &str, group: u32) {
        let Ok(name) = self.core.externs.state.profile_name(profile) else {
            return;
        };
        let instances = self.core.image.program().instances.iter();
        for ((id, instance), selector) in (0..).zip(instances).zip(&self.core.image.selectors) {
            if let (true, Some(selector)) = (*instance.name == *name, selector) {
                self.core.externs.cleared.forget(id, selector, group);
            }
        }
    }

    /// The same change in pipes 1 to 3.
    fn other_pipes<'a>(&self, update: &'a Update) -> impl Iterator<Item = Update> + 'a {
        let state = &self.core.externs.state;
        let cells = match update {
            Update::SetRegister { register, .. } => state.register_size(register).ok(),
            Update::SetMeter { meter, .. } => state.meter_size(meter).ok(),
            _ => None,
        };
        let cells = cells.map_or(0, |cells| cells / PIPES as u64);
        let index = match update {
            Update::SetRegister { index, .. } | Update::SetMeter { index, .. } => *index,
            _ => None,
        };
        let index = index.filter(|index| *index < cells);
        let others = (1..PIPES as u64).filter_map(move |pipe| Some(index? + pipe * cells));
        others.map(move |own| {
            let mut update = update.clone();
            if let Update::SetRegister { index, .. } | Update::SetMeter { index, .. } = &mut update
            {
                *index = Some(own);
            }
            update
        })
    }

    /// A register's cell in one pipe, 0 to 3.
    pub fn read_register(
        &self,
        register: &str,
        index: u64,
        pipe: u8,
    ) -> Result<BigUint, UpdateError> {
        let state = &self.core.externs.state;
        let size = state.register_size(register)?;
        let cells = size / PIPES as u64;
        let size = match usize::from(pipe) < PIPES {
            true => cells,
            false => 0,
        };
        if index >= size {
            let name = format!("{register} in pipe {pipe}");
            return Err(UpdateError::IndexOutOfRange { name, index, size });
        }
        state.read_register(register, u64::from(pipe) * cells + index)
    }

    /// What the cells of a register begin with.
    pub fn initial_value(&self, register: &str) -> Result<BigUint, UpdateError> {
        self.core
            .externs
            .state
            .initial_value(register, |id| self.core.image.initial(id))
    }

    /// Digests since the last call, oldest first.
    pub fn take_digests(&mut self) -> Vec<Digest> {
        self.core.digests.drain(..).collect()
    }

    /// Entries that nothing has hit for their time, each told once per timeout.
    pub fn idle_entries(&mut self, now: Time) -> Vec<IdleEntry> {
        self.core.externs.state.idle_entries(now.picos())
    }

    /// Gives entries another time of their last hit: see [`State::move_idle`].
    pub fn move_idle(
        &mut self,
        table: &str,
        moved: impl Fn(u64, u64) -> u64,
    ) -> Result<(), UpdateError> {
        self.core.externs.state.move_idle(table, moved)
    }

    /// From now on pipe P finds the entries of scope `of_pipe[P]`, which are written to the table of
    /// [`State::scoped_name`]. Fails if the table has entries.
    pub fn set_scopes(&mut self, table: &str, of_pipe: &[u8]) -> Result<(), UpdateError> {
        self.core.externs.state.set_scopes(table, of_pipe)
    }

    /// From now on only these bits of a table's exact keys count. Fails if the table has entries.
    pub fn set_key_mask(
        &mut self,
        table: &str,
        masks: &[(String, BigUint)],
    ) -> Result<(), UpdateError> {
        self.core.externs.state.set_key_mask(table, masks)
    }

    /// The numbers of a table's entries that were hit since the last call.
    pub fn take_hits(&mut self, table: &str) -> Result<Vec<u64>, UpdateError> {
        self.core.externs.state.take_hits(table)
    }

    /// Lets a port lead back to its own ingress, or out again. Ports 68 to 71 of each pipe always
    /// lead back. A caller that gives a rate must call [`Switch::advance`] at
    /// [`Switch::next_departure`].
    pub fn set_loop(&mut self, port: Port, config: Option<LoopConfig>) {
        self.core.ports.set_loop(port, config);
    }

    /// Notes that a cable is plugged into a port. Front ports have one always.
    pub fn plug(&mut self, port: Port) {
        self.core.ports.plug(port);
    }

    /// Chooses what runs in each pipe, by the names of the package's pipelines; `None`: nothing.
    /// The error is for people.
    pub fn place(&mut self, pipelines: &[Option<String>; PIPES]) -> Result<(), String> {
        self.core.pipes.place(pipelines)
    }

    /// What a looped port with a rate has counted; `None` if the port is not looped.
    pub fn loop_stats(&self, port: Port) -> Option<LoopStats> {
        self.core.ports.stats(port)
    }

    /// The port that leads to the CPU, and whether `copy_to_cpu` has an effect.
    pub fn set_cpu_port(&mut self, port: Option<Port>, copy_to_cpu: bool) {
        self.core.ports.cpu = port;
        self.core.ports.copy_to_cpu = copy_to_cpu;
    }

    /// The 64 bits between the intrinsic metadata and the packets of a port; the first bit is the
    /// uppermost.
    pub fn set_port_metadata(&mut self, port: Port, bits: u64) {
        self.core.ports.set_metadata(port, bits);
    }

    /// The nodes of a multicast group, each one or several of which `level1_mcast_hash` picks one.
    /// `None` leaves the group to what [`Switch::write`] says of it.
    pub fn set_group(&mut self, group: u16, nodes: Option<Vec<Vec<Node>>>) {
        self.core.pre.set_group(group, nodes);
    }

    pub fn set_lag(&mut self, id: u16, lag: Lag) {
        self.core.pre.set_lag(id, lag);
    }

    /// The ports that packets with this `level2_exclusion_id` do not go to.
    pub fn set_pruning(&mut self, exclusion: u16, pruning: Pruning) {
        self.core.pre.set_pruning(exclusion, pruning);
    }

    /// The port that gets copies in place of one that is down, where ports are protected.
    pub fn set_backup_port(&mut self, port: Port, backup: Option<Port>) {
        self.core.pre.set_backup(port, backup);
    }

    /// Whether backup ports take over.
    pub fn set_port_protection(&mut self, on: bool) {
        self.core.pre.protects = on;
    }

    /// Packets with this `rid` are pruned at every node.
    pub fn set_global_rid(&mut self, rid: Option<u16>) {
        self.core.pre.global_rid = rid;
    }

    /// Sets a mirror session up, in place of the neutral one of this number. `None` removes it. What
    /// a session has collected leaves in its time as the session says then. A caller that sets up
    /// one that coalesces must call [`Switch::advance`] at [`Switch::next_departure`], and should
    /// ask [`MirrorSession::check`] first.
    pub fn set_mirror(&mut self, id: u16, session: Option<MirrorSession>) {
        match session {
            Some(session) => self.core.mirrors.insert(id, session),
            None => self.core.mirrors.remove(&id),
        };
    }

    /// Configures a low-pass filter: one cell, or all of them; a direct one as a whole.
    pub fn set_lpf(
        &mut self,
        filter: &str,
        cell: Option<u64>,
        config: Option<LpfConfig>,
    ) -> Result<(), ArchError> {
        let id = self.named_extern(filter, &["Lpf", "DirectLpf"])?;
        self.core
            .externs
            .filters
            .means
            .entry(id)
            .or_default()
            .set(cell, config);
        Ok(())
    }

    /// The same for random early detection.
    pub fn set_wred(
        &mut self,
        filter: &str,
        cell: Option<u64>,
        config: Option<WredConfig>,
    ) -> Result<(), ArchError> {
        check_wred(filter, config)?;
        let id = self.named_extern(filter, &["Wred", "DirectWred"])?;
        self.core
            .externs
            .filters
            .drops
            .entry(id)
            .or_default()
            .set(cell, config);
        Ok(())
    }

    /// The one instance of these externs with this name, or with a name that ends in it.
    pub(super) fn named_extern(
        &self,
        name: &str,
        externs: &[&str],
    ) -> Result<InstanceId, ArchError> {
        let instances = (0..).zip(&self.core.image.program().instances);
        let suffix = format!(".{name}");
        let found: Vec<InstanceId> = instances
            .filter(|(_, own)| externs.contains(&&*own.extern_type))
            .filter(|(_, own)| &*own.name == name || own.name.ends_with(&suffix))
            .map(|(id, _)| id)
            .collect();
        match found[..] {
            [id] => Ok(id),
            _ => {
                let count = if found.is_empty() {
                    "no"
                } else {
                    "more than one"
                };
                let message = format!("there is {count} {} called {name}", externs[0]);
                Err(ArchError::new(message, Span::NONE))
            }
        }
    }

    /// Sets an application of the packet generator up.
    pub fn set_generator(&mut self, now: Time, app: App) {
        self.core.generator.set(now, app);
    }

    /// Takes an application of the packet generator away.
    pub fn remove_generator(&mut self, pipe: u8, id: u8) {
        self.core.generator.remove(pipe, id);
    }

    /// What an application of the packet generator has counted; `None` if there is none.
    pub fn generator_counts(&self, pipe: u8, id: u8) -> Option<AppCounts> {
        self.core.generator.counts(pipe, id)
    }

    /// Tells the packet generator and the replication engine that a port went down.
    pub fn port_down(&mut self, now: Time, port: Port) {
        self.core.pre.set_down(port, true);
        self.core.generator.port_down(now, port);
    }

    /// The same for a port of which the generator has been told and is not to be told again.
    pub fn port_down_again(&mut self, port: Port) {
        self.core.pre.set_down(port, true);
    }

    /// Tells the replication engine that a port works again.
    pub fn port_up(&mut self, port: Port) {
        self.core.pre.set_down(port, false);
    }

    /// When something happens by itself: a packet is back on a looped port, or is generated, or a
    /// mirror session has collected long enough.
    pub fn next_departure(&self) -> Option<Time> {
        let own = self.next_own();
        own.into_iter().chain(self.next_elsewhere()).min()
    }

    /// The same in the pipes of this program.
    fn next_own(&self) -> Option<Time> {
        let times = [
            self.core.ports.next_time(),
            self.core.generator.next_time(),
            self.core.collecting.next_time(),
        ];
        times.into_iter().flatten().min()
    }

    /// Lets happen what happens by itself until `now`.
    pub fn advance(&mut self, now: Time, out: &mut dyn Sink) {
        if self.carrier.machine.shows_undefined() {
            self.go_on_together(now, out, &mut Nothing::<Silent>::default());
        } else {
            self.go_on_together(now, out, &mut Nothing::<NoTrace>::default());
        }
    }

    /// In all programs, in the order of time.
    fn go_on_together<F: Follow>(&mut self, now: Time, out: &mut dyn Sink, follow: &mut F) {
        if !self.has_company() {
            return self.go_on(now, out, follow);
        }
        while let Some(next) = self.next_departure().filter(|next| *next <= now) {
            self.go_on(next, out, follow);
            self.go_on_elsewhere(next, out);
            self.begin(next);
            self.settle_everywhere(out, follow);
        }
    }

    fn go_on<F: Follow>(&mut self, now: Time, out: &mut dyn Sink, follow: &mut F) {
        let (mut moment, mut generated_now) = (Time::ZERO, 0);
        while let Some(next) = self.next_own().filter(|next| *next <= now) {
            self.core.packets = 1;
            if next > moment {
                (moment, generated_now) = (next, 0);
            }
            generated_now += 1;
            if generated_now > self.core.config.max_packets {
                // Generated packets that come back trigger others, at the same moment.
                self.core.externs.stats.count_drop(Drop::TooManyPackets);
                self.core.generator.calm();
                generated_now = 0;
            }
            // What arrives at the moment at which a service time ends is of the next one.
            let released = self.core.ports.released(next);
            if !released.is_empty() {
                self.core.now = next;
                for copy in released {
                    self.enqueue(copy, out, follow);
                }
            } else if let Some((time, port, copy)) = self.core.ports.next_arrival(next) {
                self.core.now = time;
                if let Some(copy) = copy {
                    let Copy { origin, bytes, .. } = copy;
                    self.core.come_back(origin, port, bytes, follow);
                }
                self.pump(port, out, follow);
            } else if let Some(generated) = self.core.generator.next(next) {
                self.core.now = generated.time;
                self.arrive(generated.port, &generated.bytes, out, follow);
            } else if let Some((session, collected)) = self.core.collecting.take(next) {
                self.core.now = next;
                self.core.send_late(session, &collected, follow);
            }
            self.settle(out, follow);
        }
    }

    /// Takes a packet in and runs it to completion, but for what waits at a looped port with a rate;
    /// what leaves goes to `out`.
    pub fn process(&mut self, now: Time, port: Port, data: &[u8], out: &mut dyn Sink) {
        if self.carrier.machine.shows_undefined() {
            self.take(now, port, data, out, &mut Nothing::<Silent>::default());
        } else {
            self.take(now, port, data, out, &mut Nothing::<NoTrace>::default());
        }
    }

    /// The same, and everything that happened on the way.
    pub fn process_traced(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
    ) -> Trace {
        let mut tree = Tree::new(self.core.image.prepared.share());
        self.take(now, port, data, out, &mut tree);
        tree.finish()
    }

    fn take<F: Follow>(
        &mut self,
        now: Time,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        self.advance(now, out);
        self.begin(now);
        if !self.arrives_elsewhere(now, port, data, out) {
            self.come_in(port, data, out, follow);
            self.settle(out, follow);
        }
        if self.has_company() {
            self.settle_everywhere(out, follow);
        }
        let next = self.core.generator.next_time();
        if next.is_some_and(|next| next <= now) {
            self.go_on_together(now, out, follow);
        }
    }

    /// From now on `now` is the time, and the packet under way has become no others yet.
    pub(super) fn begin(&mut self, now: Time) {
        self.core.now = now;
        self.core.packets = 1;
    }

    /// Takes in a packet from outside, and counts it.
    pub(super) fn come_in<F: Follow>(
        &mut self,
        port: Port,
        data: &[u8],
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let stats = &mut self.core.externs.stats;
        stats.received += 1;
        stats.received_bytes += data.len() as u64;
        if self.core.ports.exists(port) {
            return self.arrive(port, data, out, follow);
        }
        follow.born(None, Kind::Original, 0, Some(port));
        self.core.dropped(Drop::BadPort { port }, follow);
    }

    /// Carries on until nothing is under way but what waits for its time. Copies on their way out
    /// go first.
    pub(super) fn settle<F: Follow>(&mut self, out: &mut dyn Sink, follow: &mut F) {
        loop {
            if let Some(copy) = self.core.to_egress.pop_front() {
                self.queue_or_send(copy, out, follow);
            } else if let Some(arrival) = self.core.to_ingress.pop_front() {
                self.ingress_of(arrival, out, follow);
            } else {
                return;
            }
        }
    }

    /// Carries the packet that is in `bytes` along a segment.
    #[inline]
    pub(super) fn pass<F: Follow>(
        &mut self,
        segment: usize,
        packet: &Passing,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        if !F::UNSEEN || !self.takes_path(segment, packet, out) {
            self.carry(segment, packet, out, follow);
        }
    }

    /// The same, by blocks.
    pub(super) fn carry<F: Follow>(
        &mut self,
        segment: usize,
        packet: &Passing,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let words = &mut self.carrier.given;
        words.clear();
        words.resize(given::ALL, 0);
        words[given::NOW] = self.core.now.picos() / 1000;
        let prepared = &self.core.image.prepared;
        self.carrier.load::<F>(prepared, &self.bytes);
        let travel = Travel::new(segment, *packet);
        self.carrier.carry(&mut self.core, travel, out, follow);
    }
}

pub(super) fn check_wred(filter: &str, config: Option<WredConfig>) -> Result<(), ArchError> {
    match config {
        Some(config) if config.least >= config.most => {
            let message = format!("{filter}: the lower threshold must be below the upper one");
            Err(ArchError::new(message, Span::NONE))
        }
        _ => Ok(()),
    }
}
