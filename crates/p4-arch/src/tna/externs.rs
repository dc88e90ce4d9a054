//! What the externs do.

use super::calls::{Apply, Call, Step, Sum, PORT_METADATA_BITS};
use super::dynamic::{Changed, Changes};
use super::filters::{Cell, Configs, LpfConfig, WredConfig};
use super::hash::mixed;
use super::image::Image;
use super::selectors::Cleared;
use super::stages::asked;
use crate::frame::{pack, place_slice, store, unpack};
use crate::random::Random;
use crate::segments::{Between, Requests, SegmentHost};
use crate::stats::Stats;
use p4_ir::interp::{run, Halt, Host, Lookup, Machine, Outcome, Plain};
use p4_ir::ir::{mask, words, CallId, InstanceId, Place, Slot, TableId};
use p4_ir::packet::Packet;
use p4_ir::packet_plan::Join;
use p4_ir::trace::{Event, Tracer};
use p4_state::{Color, State};
use rustc_hash::FxHashMap;

/// What the deparsers' externs were given last; whether they were at all, requests say.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    /// The session of a mirror, and the header in front of it
    pub session: u16,
    pub header: Vec<u8>,
    pub resubmit: Vec<u8>,
    pub digest: (CallId, Vec<Vec<u64>>),
}

/// Filters with their configurations and what they remember, by instance, pipe and cell; the cell of
/// a direct one is its table's entry.
#[derive(Debug, Default)]
pub(super) struct Filters {
    pub means: FxHashMap<InstanceId, Configs<LpfConfig>>,
    pub drops: FxHashMap<InstanceId, Configs<WredConfig>>,
    cells: FxHashMap<(InstanceId, u8, u64), Cell>,
}

impl Filters {
    /// Forgets all about a cell.
    pub fn forget(&mut self, filter: InstanceId, pipe: u8, cell: u64) {
        if let Some(configs) = self.means.get_mut(&filter) {
            configs.set(Some(cell), None);
        }
        if let Some(configs) = self.drops.get_mut(&filter) {
            configs.set(Some(cell), None);
        }
        self.cells.remove(&(filter, pipe, cell));
    }
}

/// Tables and externs of one switch.
#[derive(Debug)]
pub(super) struct Externs {
    pub state: State,
    pub random: Random,
    pub stats: Stats,
    pub emitted: Emitted,
    pub requests: Requests,
    /// Random numbers and uses of cells that there are not, before a path
    before: (Random, u64),
    /// Picoseconds
    now: u64,
    /// The pipe that the packet is in
    pipe: u8,
    /// Cells that a register or a meter has in each pipe; by instance
    cells: Vec<u64>,
    /// Bytes that counters and meters count for this packet
    bytes: u64,
    /// The colour of each direct meter's last hit, by instance
    colors: Vec<u64>,
    /// The entry that the table of each direct register hit last, by instance
    entries: Vec<Option<u64>>,
    /// Cells of direct registers, by instance, pipe and entry; those never written are not there.
    pub direct: FxHashMap<(InstanceId, u8, u64), Vec<u64>>,
    /// The next cell of each register for `execute_log`, in each pipe
    logs: FxHashMap<(InstanceId, u8), u64>,
    pub filters: Filters,
    pub cleared: Cleared,
    /// Hashes that clients have changed
    pub hashes: Changes,
    /// Sums of 16 bits of the parser's checksums, by instance
    sums: Vec<u16>,
    /// One of them is not zero, perhaps
    has_sums: bool,
    /// The parser's counter
    counter: i16,
    /// Fields being joined for a hash, a checksum or a header
    joined: Packet,
}

impl Externs {
    pub fn new(image: &Image, state: State, seed: u64) -> Externs {
        let instances = image.resources.len();
        Externs {
            state,
            random: Random::new(seed),
            before: (Random::new(seed), 0),
            stats: Stats::default(),
            emitted: Emitted::default(),
            requests: Requests::default(),
            now: 0,
            pipe: 0,
            cells: image.cells.clone(),
            bytes: 0,
            colors: vec![0; instances],
            entries: vec![None; instances],
            direct: FxHashMap::default(),
            logs: FxHashMap::default(),
            filters: Filters::default(),
            cleared: Cleared::default(),
            hashes: Changes::default(),
            sums: vec![0; instances],
            has_sums: false,
            counter: 0,
            joined: Packet::default(),
        }
    }

    /// Starts a packet's way through ingress or egress; `bytes` is what counters count.
    #[inline]
    pub fn begin(&mut self, now: u64, bytes: u64, pipe: u8) {
        self.requests.clear();
        (self.now, self.bytes, self.pipe) = (now, bytes, pipe);
        self.begin_parser();
    }

    /// Of the packet
    pub fn pipe(&self) -> u8 {
        self.pipe
    }

    /// Sums and counters of a parser begin anew.
    #[inline]
    pub fn begin_parser(&mut self) {
        if std::mem::take(&mut self.has_sums) {
            self.sums.fill(0);
        }
        self.counter = 0;
    }

    /// What a path changes from now on can be taken back. What a direct table's hit leaves need not be: whoever
    /// begins again hits the same entries.
    pub fn try_path(&mut self) {
        self.before = (self.random, self.stats.out_of_range);
        self.state.open_journal();
    }

    /// The packet has stayed on its path, or was never there.
    pub fn decide(&mut self, has_stayed: bool) {
        if has_stayed {
            return self.state.close_journal();
        }
        (self.random, self.stats.out_of_range) = self.before;
        self.state.roll_back();
    }

    /// Carries out a call that a path has put off, with the words that it tells.
    pub fn carry_out(&mut self, image: &Image, id: CallId, told: &[u64]) {
        let join = image.told_joins.get(&id);
        match (&image.calls[id as usize], told) {
            (
                Call::Count {
                    counter, adjust, ..
                },
                [index, more @ ..],
            ) => {
                let adjust = more.first().filter(|_| adjust.is_some());
                self.count_packet(*counter, *index, adjust.copied().unwrap_or(0));
            }
            (Call::Mirror { .. }, [session, header @ ..]) => {
                self.emit_mirror(*session, join, header);
            }
            (Call::Resubmit { .. }, data) => self.emit_resubmit(join, data),
            (Call::Digest { data }, told) => {
                let mut rest = told;
                let fields = data.iter().map(|place| {
                    let (own, after) = rest.split_at((words(place.width) as usize).min(rest.len()));
                    rest = after;
                    own.to_vec()
                });
                self.emitted.digest = (id, fields.collect());
            }
            _ => {}
        }
    }

    fn count_packet(&mut self, counter: InstanceId, index: u64, adjust: u64) {
        let bytes = self.bytes.saturating_sub(adjust);
        if !self.state.count(counter, index, bytes) {
            self.out_of_range();
        }
    }

    /// Of a mirror only its last call counts.
    pub fn emit_mirror(&mut self, session: u64, header: Option<&Join>, frame: &[u64]) {
        self.emitted.session = session as u16;
        self.emitted.header.clear();
        if let Some(header) = header {
            header.write(frame, &mut self.joined);
            let joined = self.joined.output();
            self.emitted.header.extend_from_slice(joined);
        }
        self.requests.ask(asked::MIRROR, 0, None);
    }

    fn emit_resubmit(&mut self, data: Option<&Join>, frame: &[u64]) {
        let emitted = &mut self.emitted.resubmit;
        emitted.clear();
        match data {
            Some(data) => {
                data.write(frame, &mut self.joined);
                emitted.extend_from_slice(self.joined.output());
            }
            None => emitted.extend_from_slice(&[0; 8]),
        }
        self.requests.ask(asked::RESUBMIT, 0, None);
    }

    fn out_of_range(&mut self) {
        self.stats.out_of_range += 1;
    }

    fn bytes_for(&self, adjust: &Option<Slot>, frame: &[u64]) -> u64 {
        let adjust = adjust.map_or(0, |slot| frame[slot as usize]);
        self.bytes.saturating_sub(adjust)
    }

    /// Where the cell of this pipe is; beyond all of them if the index is too large.
    fn cell(&self, instance: InstanceId, index: u64) -> u64 {
        let cells = self.cells[instance as usize];
        match index < cells {
            true => u64::from(self.pipe) * cells + index,
            false => u64::MAX,
        }
    }

    fn write_cell(&mut self, register: InstanceId, index: u64, value: &[Place], frame: &[u64]) {
        match self
            .state
            .register_mut(register, self.cell(register, index))
        {
            Some(cell) => pack(value, frame, cell),
            None => self.out_of_range(),
        }
    }

    /// Whether there is such a cell; if so its value is put at the places.
    fn read_cell(&self, register: InstanceId, index: u64, to: &[Place], frame: &mut [u64]) -> bool {
        let cell = self.state.register(register, self.cell(register, index));
        match cell {
            Some(cell) => unpack(cell, to, frame),
            None => clear(to, frame),
        }
        cell.is_some()
    }

    /// The words of a direct register's cell; `None`: it is 0.
    pub fn direct_cell<'a>(
        &'a self,
        register: InstanceId,
        pipe: u8,
        entry: u64,
        image: &'a Image,
    ) -> Option<&'a Vec<u64>> {
        let initial = || {
            let mut values = image.initial.iter();
            values.find(|(id, _)| *id == register).map(|(_, cell)| cell)
        };
        self.direct.get(&(register, pipe, entry)).or_else(initial)
    }

    fn read_direct(&self, register: InstanceId, image: &Image, to: &[Place], frame: &mut [u64]) {
        let entry = self.entries.get(register as usize).copied().flatten();
        let cell = entry.and_then(|entry| self.direct_cell(register, self.pipe, entry, image));
        match cell {
            Some(cell) => unpack(cell, to, frame),
            None => clear(to, frame),
        }
    }

    fn write_direct(&mut self, register: InstanceId, value: &[Place], frame: &[u64]) {
        // A packet that hit no entry has no cell.
        if let Some(Some(entry)) = self.entries.get(register as usize).copied() {
            let n: u32 = value.iter().map(|place| words(place.width)).sum();
            let cell = self.direct.entry((register, self.pipe, entry)).or_default();
            cell.resize(n as usize, 0);
            pack(value, frame, cell);
        }
    }

    fn filter(
        &mut self,
        image: &Image,
        id: InstanceId,
        input: u64,
        index: Option<u64>,
        drop: bool,
    ) -> u64 {
        let at = id as usize;
        let known = match index {
            Some(index) if index < self.cells[at] => Some(index),
            Some(_) => {
                self.out_of_range();
                None
            }
            // A packet that hit no entry has no cell.
            None => self.entries[at].map(|entry| direct_filter(self.pipe, entry)),
        };
        let [goes_on, dropped] = image.verdicts[at];
        let input = input.min(u32::MAX.into()) as u32;
        let nothing = if drop { goes_on } else { input.into() };
        let Some(cell) = known else { return nothing };
        let Filters {
            means,
            drops,
            cells,
        } = &mut self.filters;
        let mean = means.get(&id).and_then(|configs| configs.of(cell));
        let early = drops.get(&id).and_then(|configs| configs.of(cell));
        let key = (id, self.pipe, cell);
        match (drop, mean, early) {
            (false, Some(config), _) => {
                let cell = cells.entry(key).or_default();
                cell.filter(&config, input, self.now).into()
            }
            (true, _, Some(config)) => {
                let cell = cells.entry(key).or_default();
                let random = self.random.next();
                match cell.drops(&config, input, self.now, random) {
                    true => dropped,
                    false => goes_on,
                }
            }
            _ => nothing,
        }
    }

    fn checksum(&mut self, id: InstanceId, what: &Sum, frame: &mut [u64]) {
        let at = id as usize;
        self.has_sums |= matches!(what, Sum::Add(_) | Sum::Subtract(_));
        match what {
            Sum::Add(data) => {
                self.sums[at] = ones_add(self.sums[at], data.sum(frame));
            }
            Sum::Subtract(data) => {
                self.sums[at] = ones_add(self.sums[at], !data.sum(frame));
            }
            Sum::Verify(result) => store(result, u64::from(self.sums[at] != 0xffff), frame),
            Sum::Get(result) => store(result, self.sums[at].into(), frame),
            Sum::Update {
                data,
                zeros_as_ones,
                result,
            } => {
                let sum = !data.sum(frame);
                let ones = zeros_as_ones.is_some_and(|slot| frame[slot as usize] != 0);
                let sum = if ones && sum == 0 { 0xffff } else { sum };
                store(result, sum.into(), frame);
            }
        }
    }

    /// The counter of the parser; the chip has one, of eight bits with a sign.
    fn count(&mut self, step: &Step, frame: &mut [u64]) {
        let byte = |slot: &Slot| frame[*slot as usize] as u8;
        let wrapped = |value: i16| i16::from(value as u8 as i8);
        match step {
            Step::Set { value } => self.counter = i16::from(frame[value.slot as usize] as u8),
            Step::SetField {
                value,
                max,
                rotate,
                mask: bits,
                add,
            } => {
                let field = frame[value.slot as usize] as u8;
                let field = field.rotate_right(u32::from(byte(rotate)) % 8);
                let field = field & mask(u32::from(byte(bits) & 7) + 1) as u8;
                let sum = i16::from(field).wrapping_add(i16::from(byte(add) as i8));
                self.counter = sum.min(byte(max).into());
            }
            Step::IsZero(result) => store(result, u64::from(self.counter == 0), frame),
            Step::IsNegative(result) => store(result, u64::from(self.counter < 0), frame),
            Step::Increment(by) => {
                self.counter = wrapped(self.counter.wrapping_add(byte(by).into()))
            }
            Step::Decrement(by) => {
                self.counter = wrapped(self.counter.wrapping_sub(byte(by).into()))
            }
        }
    }
}

/// The number of a direct filter's cell: pipes can have entries of their own with the same numbers.
pub(super) fn direct_filter(pipe: u8, entry: u64) -> u64 {
    entry << u8::BITS | u64::from(pipe)
}

fn clear(places: &[Place], frame: &mut [u64]) {
    for place in places {
        frame[place.slot as usize..][..words(place.width) as usize].fill(0);
    }
}

/// Of ones' complement numbers
fn ones_add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// The externs together with the program that calls them, for one run of a block.
pub(crate) struct Running<'a> {
    pub image: &'a Image,
    pub externs: &'a mut Externs,
    /// If the run goes through several blocks
    pub between: Option<Between<'a>>,
}

impl<'a> SegmentHost<'a> for Running<'a> {
    #[inline]
    fn requests(&mut self) -> &mut Requests {
        &mut self.externs.requests
    }

    #[inline]
    fn be_between(&mut self, between: Between<'a>) {
        self.between = Some(between);
    }
}

impl Running<'_> {
    /// A meter's answer in the program's own numbers. A packet never gets better than it came.
    fn color(&self, meter: InstanceId, found: u64, given: Option<Slot>, frame: &[u64]) -> u64 {
        let colors = self.image.colors[meter as usize];
        let value = colors.get(found as usize).copied().unwrap_or(0);
        let given = given.map(|slot| frame[slot as usize]);
        let before = given.and_then(|given| colors.iter().position(|color| *color == given));
        match before {
            Some(before) if before as u64 > found => colors[before],
            _ => value,
        }
    }

    /// Runs the body of a RegisterAction, its cell's value and result being in their places.
    fn apply<T: Tracer>(
        &mut self,
        id: CallId,
        apply: &Apply,
        machine: &mut Machine,
        tracer: &mut T,
    ) -> Result<(), Halt> {
        let prepared = &self.image.prepared;
        match run(prepared, apply.entry, machine, self, tracer) {
            Outcome::Done => Ok(()),
            Outcome::Halted(halt) => Err(halt),
            Outcome::Rejected { .. } | Outcome::OutOfFuel => Err(Halt::Call(id)),
        }
    }
}

impl Host for Running<'_> {
    #[inline]
    fn between(&mut self, last: usize, frame: &mut [u64], length: i64) -> bool {
        match &mut self.between {
            Some(between) => between.goes_on(last, frame, length, &mut self.externs.requests),
            None => true,
        }
    }

    #[inline]
    fn lookup_plain(&mut self, table: TableId, key: &[u64]) -> Option<Plain<'_>> {
        let direct = &self.image.direct[table as usize];
        let is_plain = direct.registers.is_empty();
        let Externs { state, pipe, .. } = &mut *self.externs;
        let routed = state.routed(table, *pipe);
        is_plain.then(|| state.lookup_plain(routed, key))?
    }

    #[inline]
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_> {
        let image = self.image;
        let Externs {
            state,
            joined,
            bytes,
            now,
            colors,
            entries,
            pipe,
            cleared,
            ..
        } = &mut *self.externs;
        let routed = state.routed(table, *pipe);
        let found = state.lookup(routed, key, *bytes, *now, |profile, group, places| {
            let (Some(hash), Some(selector)) = (
                image.selector_hash(profile),
                &image.selectors[profile as usize],
            ) else {
                return Some(0);
            };
            joined.clear_output();
            let mut bits = 0;
            for (at, width) in &image.selector_keys[table as usize] {
                joined.put_wide(&key[*at..*at + words(*width) as usize], *width);
                bits += *width as usize;
            }
            let hash = hash.hash(joined.output(), bits);
            if cleared.is_empty() {
                return Some((hash % places as u64) as usize);
            }
            selector.pick(hash, places, |place| {
                cleared.is_set((profile, selector), *pipe, group, place)
            })
        });
        let direct = &image.direct[table as usize];
        if let Some(meter) = direct.meter {
            colors[meter as usize] = found.color.map_or(0, |color| color as u64);
        }
        for register in &direct.registers {
            entries[*register as usize] = found.entry;
        }
        Lookup {
            hit: found.hit,
            action: found.action,
            data: found.data,
            entry: found.entry,
        }
    }

    fn call<T: Tracer>(
        &mut self,
        id: CallId,
        machine: &mut Machine,
        tracer: &mut T,
    ) -> Result<(), Halt> {
        let image = self.image;
        let externs = &mut *self.externs;
        let frame = &mut machine.frame;
        match &image.calls[id as usize] {
            Call::Count {
                counter,
                index,
                adjust,
            } => {
                let adjust = adjust.map_or(0, |slot| frame[slot as usize]);
                externs.count_packet(*counter, frame[*index as usize], adjust);
            }
            Call::DirectCount | Call::Nothing => {}
            Call::Meter {
                meter,
                index,
                color,
                adjust,
                result,
            } => {
                let bytes = externs.bytes_for(adjust, frame);
                let index = externs.cell(*meter, frame[*index as usize]);
                let found = externs.state.meter(*meter, index, bytes, externs.now);
                if found.is_none() {
                    externs.out_of_range();
                }
                let found = found.unwrap_or(Color::Green) as u64;
                let value = self.color(*meter, found, *color, frame);
                store(result, value, frame);
            }
            Call::DirectMeter {
                meter,
                color,
                result,
            } => {
                let found = externs.colors[*meter as usize];
                let value = self.color(*meter, found, *color, frame);
                store(result, value, frame);
            }
            Call::RegisterRead {
                register,
                index,
                result,
            } => {
                let index = index.map_or(0, |slot| frame[slot as usize]);
                if !externs.read_cell(*register, index, result, frame) {
                    externs.out_of_range();
                }
            }
            Call::RegisterWrite {
                register,
                index,
                value,
                result,
            } => {
                let index = index.map_or(0, |slot| frame[slot as usize]);
                let cell = externs.cell(*register, index);
                let old = externs.state.register(*register, cell);
                let old = old.map(<[u64]>::to_vec);
                externs.write_cell(*register, index, value, frame);
                unpack(&old.unwrap_or_default(), result, frame);
            }
            Call::DirectRead { register, result } => {
                externs.read_direct(*register, image, result, frame)
            }
            Call::DirectWrite {
                register,
                value,
                result,
            } => {
                let mut given = vec![0; value.iter().map(|p| words(p.width) as usize).sum()];
                pack(value, frame, &mut given);
                externs.read_direct(*register, image, result, frame);
                // The value is read before the result is stored, should they share their place.
                let kept: Vec<u64> = std::mem::take(&mut given);
                if let Some(Some(entry)) = externs.entries.get(*register as usize).copied() {
                    let pipe = externs.pipe;
                    externs.direct.insert((*register, pipe, entry), kept);
                }
            }
            Call::Action {
                register,
                index,
                apply,
                result,
            } => {
                let index = match index {
                    Some(slot) => frame[*slot as usize],
                    None => {
                        let size = externs.cells[*register as usize].max(1);
                        let log = (*register, externs.pipe);
                        let next = externs.logs.entry(log).or_default();
                        let index = *next;
                        *next = (index + 1) % size;
                        index
                    }
                };
                let exists = externs.read_cell(*register, index, &apply.value, frame);
                clear(&apply.output, frame);
                self.apply(id, apply, machine, tracer)?;
                let frame = &mut machine.frame;
                match exists {
                    true => self
                        .externs
                        .write_cell(*register, index, &apply.value, frame),
                    false => self.externs.out_of_range(),
                }
                hand_over(&apply.output, result, frame);
            }
            Call::DirectAction {
                register,
                apply,
                result,
            } => {
                externs.read_direct(*register, image, &apply.value, frame);
                clear(&apply.output, frame);
                self.apply(id, apply, machine, tracer)?;
                let frame = &mut machine.frame;
                self.externs.write_direct(*register, &apply.value, frame);
                hand_over(&apply.output, result, frame);
            }
            Call::SelectorAction {
                selector,
                index,
                apply,
                result,
            } => {
                let index = frame[*index as usize];
                let place = image.selectors[*selector as usize].map(|one| one.place(index));
                let exists = place.is_some_and(|(group, place)| {
                    place < externs.state.group_places(*selector, group) as u64
                });
                let pipe = externs.pipe;
                let is_set = exists && !externs.cleared.contains(*selector, pipe, index);
                clear(&apply.output, frame);
                if let Some(value) = apply.value.first() {
                    store(value, is_set.into(), frame);
                }
                self.apply(id, apply, machine, tracer)?;
                let frame = &mut machine.frame;
                let bit = apply.value.first();
                let bit = bit.is_some_and(|value| frame[value.slot as usize] != 0);
                match exists {
                    true => self.externs.cleared.set(*selector, pipe, index, bit),
                    false => self.externs.out_of_range(),
                }
                hand_over(&apply.output, result, frame);
            }
            Call::Hash {
                hash,
                data,
                bits,
                symmetric,
                result,
            } => {
                if let Some(Some(algorithm)) = image.hashes.get(*hash as usize) {
                    let Externs { joined, hashes, .. } = externs;
                    let changed = hashes.get(hash);
                    let pairs = match changed.is_none_or(Changed::keeps_fields) {
                        true => symmetric.as_slice(),
                        false => &[],
                    };
                    let number = mixed(pairs, frame, |frame: &mut [u64]| {
                        data.write(frame, joined);
                        match changed {
                            Some(changed) => changed.hash(algorithm, joined.output(), *bits),
                            None => algorithm.hash(joined.output(), *bits),
                        }
                    });
                    store(result, number, frame);
                }
            }
            Call::Filter {
                filter,
                input,
                index,
                drop,
                result,
            } => {
                let input = frame[*input as usize];
                let index = index.map(|slot| frame[slot as usize]);
                let value = externs.filter(image, *filter, input, index, *drop);
                store(result, value, frame);
            }
            Call::Math {
                unit,
                input,
                result,
            } => {
                let unit = image.maths[*unit as usize];
                let value = unit.map_or(0, |unit| unit.execute(frame[*input as usize] as u32));
                store(result, value.into(), frame);
            }
            Call::Random { result } => {
                let number = externs.random.next();
                store(result, number, frame);
            }
            Call::Extreme {
                most,
                signed,
                a,
                b,
                result,
            } => {
                let (x, y) = (frame[a.slot as usize], frame[b.slot as usize]);
                let flip = if *signed { 1 << (result.width - 1) } else { 0 };
                let a_wins = ((x ^ flip) > (y ^ flip)) == *most;
                store(result, if a_wins { x } else { y }, frame);
            }
            Call::FunnelShift {
                result,
                high,
                low,
                by,
            } => {
                let joined = u128::from(frame[*high as usize]) << result.width
                    | u128::from(frame[*low as usize]);
                let by = u32::try_from(frame[*by as usize]).unwrap_or(u32::MAX);
                store(result, joined.unbounded_shr(by) as u64, frame);
            }
            Call::Known { value, result } => store(result, *value, frame),
            Call::IsWritten { note, result } => {
                let written = note.is_none_or(|slot| frame[slot as usize] != 0);
                store(result, written.into(), frame);
            }
            Call::UnpackPort { result } => {
                let mut skip = 0;
                let bits: u32 = result.iter().map(|place| place.width).sum();
                let valid = (bits == PORT_METADATA_BITS + 1).then(|| result[0].slot);
                if let Some(valid) = valid {
                    // A header's first place is its validity.
                    frame[valid as usize] = 1;
                }
                for place in &result[usize::from(valid.is_some())..] {
                    let n = words(place.width) as usize;
                    let limbs = &mut frame[place.slot as usize..][..n];
                    machine.packet.peek_wide(skip, place.width, limbs);
                    skip += place.width as usize;
                }
                let behind = machine.packet.cursor() + PORT_METADATA_BITS as usize;
                machine.packet.set_cursor(behind);
            }
            Call::Checksum { checksum, sum } => externs.checksum(*checksum, sum, frame),
            Call::Counter(step) => externs.count(step, frame),
            Call::Mirror { session, header } => {
                externs.emit_mirror(frame[*session as usize], header.as_ref(), frame);
            }
            Call::Resubmit { data } => externs.emit_resubmit(data.as_ref(), frame),
            Call::Digest { data } => {
                let fields = data.iter().map(|place| place_slice(place, frame).to_vec());
                externs.emitted.digest = (id, fields.collect());
                externs.requests.ask(asked::DIGEST, 0, None);
            }
        }
        if T::ON {
            self.tell(id, tracer);
        }
        Ok(())
    }

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool {
        self.externs.state.in_value_set(set, key)
    }

    fn cell(&mut self, call: CallId, index: u64) -> Option<&[u64]> {
        let Some(Call::Action { register, .. }) = self.image.calls.get(call as usize) else {
            return None;
        };
        let cell = self.externs.cell(*register, index);
        self.externs.state.register(*register, cell)
    }

    fn put_cell(&mut self, call: CallId, index: u64, words: &[u64]) {
        let Some(Call::Action { register, .. }) = self.image.calls.get(call as usize) else {
            return;
        };
        let cell = self.externs.cell(*register, index);
        if let Some(own) = self.externs.state.register_mut(*register, cell) {
            own.copy_from_slice(words);
        }
    }
}

impl Running<'_> {
    /// Says in the trace what a call did that leaves no mark in the frame.
    fn tell<T: Tracer>(&self, id: CallId, tracer: &mut T) {
        if let Call::Mirror { .. } = self.image.calls[id as usize] {
            let Emitted {
                session, header, ..
            } = &self.externs.emitted;
            let bytes = header.len();
            let text = format!("mirror session {session}, {bytes} bytes of header");
            tracer.note(Event::Note { text });
        }
    }
}

/// Copies the words of a method's result to the call's.
fn hand_over(from: &[Place], to: &[Place], frame: &mut [u64]) {
    for (from, to) in from.iter().zip(to) {
        let n = words(from.width).min(words(to.width)) as usize;
        let (from, to) = (from.slot as usize, to.slot as usize);
        frame.copy_within(from..from + n, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4_ir::ir::ValueKind;
    use p4_ir::native::Summands;

    // If this fails, checksums of TNA programs are wrong on the wire: RFC 1071's example words, however they
    // are cut into values.
    #[test]
    fn sums_as_in_rfc_1071() {
        let place = |slot, width, kind| Place { slot, width, kind };
        let sum = |places: &[Place], frame: &[u64]| Summands::new(places.to_vec()).sum(frame);
        let halves = [0, 1, 2, 3].map(|slot| place(slot, 16, ValueKind::Bit));
        assert_eq!(sum(&halves, &[0x0001, 0xf203, 0xf4f5, 0xf6f7]), 0xddf2);
        let uneven = [(0, 4), (1, 44), (2, 16)].map(|(slot, n)| place(slot, n, ValueKind::Bit));
        assert_eq!(sum(&uneven, &[0x0, 0x001_f203_f4f5, 0xf6f7]), 0xddf2);
        let varbit = [
            place(0, 16, ValueKind::Bit),
            place(1, 64, ValueKind::Varbit),
        ];
        assert_eq!(sum(&varbit, &[0x0001, 48, 0xf203_f4f5_f6f7]), 0xddf2);
        assert_eq!(sum(&varbit, &[0x0001, 0, 0]), 0x0001);
        assert_eq!(sum(&[place(0, 8, ValueKind::Bit)], &[1]), 0x0100);
        assert_eq!(ones_add(0xddf2, !0xddf2), 0xffff);
    }
}
