//! A packet's journey through a v1model switch, until nothing of it is left.
//!
//! This is what `p4_arch::v1model` does between the blocks (`stages.rs`, `events.rs`), said once more
//! for terms; the tests hold the two together with packets. Time stands still meanwhile.

use crate::packet::Packet;
use crate::path::{Paths, Step, Stop};
use crate::run::{Asked, Code, Parsed, Run, State, Target, Write};
use crate::term::{Binary, Term, Terms};
use crate::tna;
use crate::world::{Bounds, World};
use p4_arch::v1model::{Field, Image, Region};
use p4_ir::ir::{Program, Slot};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

const DROP_PORT: u64 = 511;

/// The bound that an endless journey meets
pub const PASSES: &str = "passes";

/// Values of `instance_type`
const NORMAL: u64 = 0;
const INGRESS_CLONE: u64 = 1;
const EGRESS_CLONE: u64 = 2;
pub const RECIRCULATED: u64 = 4;
const REPLICA: u64 = 5;
pub const RESUBMITTED: u64 = 6;

/// Where a packet goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whither {
    /// Out of a port, 9 bits
    Port(Term),
    /// Back to the parser: the value of `instance_type`, the field list and its fields, by name
    Again(u64, u32, Vec<Term>),
}

/// A packet that the switch sends, or that comes back where only one pass is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub whither: Whither,
    pub packet: Packet,
}

/// Where a journey begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// From the arrival until nothing is left
    Whole,
    /// From the arrival until the packet comes back
    First,
    /// The pass of a packet that comes back, with unknown fields of that list: value of
    /// `instance_type`, and list
    Later(u64, u32),
}

/// What becomes of a packet.
#[derive(Debug, Default)]
pub struct Journey {
    pub sent: Vec<Sent>,
    /// Writes to registers and counters, by name
    pub writes: FxHashMap<String, Vec<Write>>,
    pub passes: u32,
}

/// The fields that a packet keeps, and the regions of the frame that they are in.
#[derive(Clone, Debug, Default)]
struct Kept {
    list: Option<u32>,
    words: Vec<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    IngressClone,
    EgressClone,
    Replica,
    Unicast,
}

/// On its way out
#[derive(Clone, Debug)]
pub struct Leaving {
    pub(crate) origin: Origin,
    pub port: Term,
    pub(crate) rid: Option<Term>,
    pub(crate) packet: Packet,
    cursor: usize,
    carried: Vec<Term>,
    kept: Kept,
    pub(crate) length: Term,
    /// On a chip
    pub(crate) chip: Option<tna::Copied>,
}

impl Leaving {
    /// Whether both are the same copy of the packet for the same port.
    pub fn is_like(&self, other: &Leaving) -> bool {
        if self.chip.is_some() && self.origin != Origin::Replica {
            // There is one such copy, and which looped port it takes is the program's business.
            return self.origin == other.origin;
        }
        (self.origin, self.port, self.rid) == (other.origin, other.port, other.rid)
    }
}

/// On its way back to the parser
#[derive(Clone, Debug)]
pub struct Again {
    pub(crate) packet: Packet,
    kept: Kept,
    pub kind: u64,
    /// On a chip
    pub(crate) chip: Option<tna::Arrival>,
}

impl Again {
    /// At a port of a chip
    pub(crate) fn at_chip(kind: u64, packet: Packet, chip: tna::Arrival) -> Again {
        Again {
            packet,
            kept: Kept::default(),
            kind,
            chip: Some(chip),
        }
    }
}

impl Leaving {
    /// Behind the traffic manager of a chip
    pub(crate) fn in_chip(
        (origin, port, rid): (Origin, Term, Term),
        packet: Packet,
        length: Term,
        chip: tna::Copied,
    ) -> Leaving {
        Leaving {
            origin,
            port,
            rid: Some(rid),
            packet,
            cursor: 0,
            carried: Vec::new(),
            kept: Kept::default(),
            length,
            chip: Some(chip),
        }
    }
}

/// Writes to registers and counters, by instance
pub type Writes = FxHashMap<u32, Vec<Write>>;

/// A packet before a control.
#[derive(Clone, Debug)]
pub enum Begin {
    /// Before ingress, and how often it has been there
    Arrive(Again),
    /// Before egress
    Leave(Leaving),
}

/// A packet behind a control: what the control asked for is still to be done.
#[derive(Debug)]
pub struct Half {
    pub(crate) state: State,
    pub(crate) packet: Packet,
    pub(crate) cursor: usize,
    pub(crate) writes: Writes,
    /// The port, behind egress
    pub(crate) port: Option<Term>,
    /// On a chip
    pub(crate) chip: Option<tna::Rest>,
}

impl Half {
    /// The value of a word of the frame
    pub fn word(&self, slot: Slot) -> Term {
        self.state.frame[slot as usize]
    }

    pub fn set_word(&mut self, slot: Slot, value: Term) {
        self.state.frame[slot as usize] = value;
    }
}

/// What a packet becomes on its way through ingress or egress.
#[derive(Debug, Default)]
pub struct Outcome {
    pub sent: Vec<Sent>,
    pub leaving: Vec<Leaving>,
    pub again: Vec<Again>,
    pub writes: Writes,
}

/// What both programs walk on.
pub struct Ground<'g, 's> {
    pub terms: &'g mut Terms,
    pub paths: &'g mut Paths<'s>,
    pub world: &'g World,
    pub bounds: &'g Bounds,
    /// Numbers that registers have in both programs, by name
    pub registers: &'g mut Vec<String>,
}

/// The packet that a leg begins with.
pub fn beginning(code: &mut Code<'_>, ground: &mut Ground<'_, '_>, leg: Leg) -> Begin {
    let image = match code.target {
        Target::V1Model(image) => image,
        Target::Tna(_) => return tna::beginning(ground, leg),
    };
    let mut traveller = traveller(image, code, ground, Writes::default());
    let (kept, kind) = match leg {
        Leg::Whole | Leg::First => (Kept::default(), NORMAL),
        Leg::Later(kind, list) => (traveller.unknown_fields(list), kind),
    };
    Begin::Arrive(Again {
        packet: Packet::arriving(),
        kept,
        kind,
        chip: None,
    })
}

/// Up to the end of the control.
pub fn first_half(
    code: &mut Code<'_>,
    ground: &mut Ground<'_, '_>,
    begin: Begin,
    writes: Writes,
) -> Step<Half> {
    let image = match code.target {
        Target::V1Model(image) => image,
        Target::Tna(image) => return tna::first_half(image, code, ground, begin, writes),
    };
    let mut traveller = traveller(image, code, ground, writes);
    let (state, port) = match begin {
        Begin::Arrive(again) => (traveller.ingress(again)?, None),
        Begin::Leave(copy) => {
            let port = copy.port;
            (traveller.egress(copy)?, Some(port))
        }
    };
    Ok(Half {
        state,
        packet: traveller.run.packet,
        cursor: traveller.run.cursor,
        writes: traveller.run.writes,
        port,
        chip: None,
    })
}

/// From the end of the control until the packet leaves, waits for egress or comes back.
pub fn second_half(code: &mut Code<'_>, ground: &mut Ground<'_, '_>, half: Half) -> Step<Outcome> {
    let image = match code.target {
        Target::V1Model(image) => image,
        Target::Tna(image) => return tna::second_half(image, code, ground, half),
    };
    let mut traveller = traveller(image, code, ground, half.writes);
    traveller.run.packet = half.packet;
    traveller.run.cursor = half.cursor;
    match half.port {
        None => traveller.end_of_ingress(half.state)?,
        Some(port) => traveller.end_of_egress(half.state, port)?,
    }
    Ok(Outcome {
        sent: traveller.journey.sent,
        leaving: traveller.leaving.into(),
        again: traveller.again.into(),
        writes: traveller.run.writes,
    })
}

/// The packet that comes back, with the fields it keeps.
pub fn come_back(code: &mut Code<'_>, ground: &mut Ground<'_, '_>, again: Again) -> Sent {
    let image = match code.target {
        Target::V1Model(image) => image,
        Target::Tna(_) => return tna::come_back(again),
    };
    let mut traveller = traveller(image, code, ground, Writes::default());
    traveller.comes_back(again)
}

fn traveller<'r, 'a, 's>(
    image: &'a Image,
    code: &'r mut Code<'a>,
    ground: &'r mut Ground<'_, 's>,
    writes: Writes,
) -> Traveller<'r, 'a, 's> {
    let program = image.program();
    let run = Run {
        program,
        code,
        terms: ground.terms,
        paths: ground.paths,
        world: ground.world,
        bounds: ground.bounds,
        packet: Packet::arriving(),
        cursor: 0,
        output: Vec::new(),
        loose: None,
        writes,
        registers: ground.registers,
        states: 0,
        chip: tna::Chip::default(),
    };
    Traveller {
        image,
        run,
        journey: Journey::default(),
        leaving: VecDeque::new(),
        again: VecDeque::new(),
    }
}

/// Follows one program's journey of the packet on the present path.
pub fn travel(code: &mut Code<'_>, ground: &mut Ground<'_, '_>) -> Step<Journey> {
    let image = match code.target {
        Target::V1Model(image) => image,
        Target::Tna(image) => return tna::travel(image, code, ground),
    };
    let program = image.program();
    let begin = beginning(code, ground, Leg::Whole);
    let mut traveller = traveller(image, code, ground, Writes::default());
    if let Begin::Arrive(again) = begin {
        traveller.again.push_back(again);
    }
    traveller.travel()?;
    let Traveller {
        run, mut journey, ..
    } = traveller;
    journey.writes = by_name(program, &run.writes);
    Ok(journey)
}

/// Writes by the names of registers and counters.
pub fn by_name(program: &Program, writes: &Writes) -> FxHashMap<String, Vec<Write>> {
    let named = writes.iter().map(|(register, writes)| {
        let name = program.instances[*register as usize].name.to_string();
        (name, writes.clone())
    });
    named.collect()
}

/// A field that packets keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptField {
    pub name: String,
    pub slot: Slot,
    pub width: u32,
}

/// The fields of a field list by name, as both programs know them.
pub fn fields(image: &Image, list: u32) -> Vec<KeptField> {
    let program = image.program();
    let storages = ["meta", "standard_metadata"];
    let storages = storages.iter().filter_map(|key| program.storage(key));
    let mut all: Vec<KeptField> = Vec::new();
    for (name, var) in storages.flat_map(|storage| &storage.leaves) {
        let var = &program.vars[*var as usize];
        if var.field_lists.contains(&list) {
            all.push(KeptField {
                name: name.to_string(),
                slot: var.place.slot,
                width: var.place.width.max(1),
            });
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

struct Traveller<'r, 'a, 's> {
    image: &'a Image,
    run: Run<'r, 'a, 's>,
    journey: Journey,
    leaving: VecDeque<Leaving>,
    again: VecDeque<Again>,
}

impl Traveller<'_, '_, '_> {
    fn travel(&mut self) -> Step<()> {
        loop {
            if let Some(copy) = self.leaving.pop_front() {
                let port = copy.port;
                let state = self.egress(copy)?;
                self.end_of_egress(state, port)?;
            } else if let Some(again) = self.again.pop_front() {
                self.journey.passes += 1;
                if self.journey.passes > self.run.bounds.passes {
                    return Err(Stop::Bound(PASSES));
                }
                let state = self.ingress(again)?;
                self.end_of_ingress(state)?;
            } else {
                return Ok(());
            }
        }
    }

    fn unknown_fields(&mut self, list: u32) -> Kept {
        let image = self.image;
        let mut state = self.blank();
        for field in fields(image, list) {
            let name = format!("kept.{list}.{}", field.name);
            let value = self.run.terms.unknown(&name, field.width);
            self.run.put(&mut state, field.slot, field.width, value);
        }
        let words = self.save(&state, image.field_list(list));
        let list = Some(list);
        Kept { list, words }
    }

    fn comes_back(&mut self, again: Again) -> Sent {
        let image = self.image;
        let list = again.kept.list.unwrap_or_default();
        let mut state = self.blank();
        self.put_back(&mut state, &again.kept);
        let mut values = Vec::new();
        for field in fields(image, list) {
            values.push(self.run.get(&state, field.slot, field.width));
        }
        let whither = Whither::Again(again.kind, list, values);
        let packet = again.packet;
        Sent { whither, packet }
    }

    fn blank(&self) -> State {
        State {
            frame: self.run.code.blank.clone(),
            guard: Vec::new(),
        }
    }

    fn set(&mut self, state: &mut State, field: Option<Field>, value: Term) {
        if let Some(field) = field {
            let width = field.mask().count_ones().clamp(1, 64);
            self.run.put(state, field.slot(), width, value);
        }
    }

    fn set_number(&mut self, state: &mut State, field: Option<Field>, value: u64) {
        let value = self.run.terms.number(value, 64);
        self.set(state, field, value);
    }

    fn field(&mut self, state: &State, field: Option<Field>, width: u32) -> Term {
        match field {
            Some(field) => self.run.get(state, field.slot(), width),
            None => self.run.terms.number(0, width),
        }
    }

    fn asked(&mut self, state: &State, what: Asked, width: u32) -> Term {
        let slot = self.run.asked(what);
        self.run.get(state, slot, width)
    }

    fn forget_asked(&mut self, state: &mut State) {
        let zero = self.run.terms.number(0, 64);
        let first = self.run.asked(Asked::Clone) as usize;
        state.frame[first..].fill(zero);
    }

    fn decide(&mut self, term: Term) -> Step<bool> {
        self.run.paths.decide(self.run.terms, term)
    }

    fn is(&mut self, term: Term, number: u64) -> Step<bool> {
        let number = self.run.terms.number(number, self.run.terms.width(term));
        let equal = self.run.terms.equal(term, number);
        self.decide(equal)
    }

    fn length(&mut self, packet: &Packet) -> Term {
        packet.length(self.run.world.length, self.run.terms)
    }

    /// Bytes of the packet with what was added and removed.
    fn grown(&mut self, state: &State) -> Term {
        let packet = self.run.packet.clone();
        let length = self.length(&packet);
        let grown = self.asked(state, Asked::Grown, 32);
        self.run.terms.binary(Binary::Add, length, grown)
    }

    fn save(&self, state: &State, regions: &[Region]) -> Vec<Term> {
        let words = regions
            .iter()
            .flat_map(|(slot, n)| &state.frame[*slot as usize..(slot + n) as usize]);
        words.copied().collect()
    }

    fn restore(&self, state: &mut State, regions: &[Region], words: &[Term]) {
        let slots = regions.iter().flat_map(|(slot, n)| *slot..slot + n);
        for (slot, word) in slots.zip(words) {
            state.frame[slot as usize] = *word;
        }
    }

    fn put_back(&self, state: &mut State, kept: &Kept) {
        if let Some(list) = kept.list {
            let image = self.image;
            self.restore(state, image.field_list(list), &kept.words);
        }
    }

    fn keep(&mut self, state: &State, list: Term) -> Step<Kept> {
        let list = self.run.paths.concrete(self.run.terms, list)?;
        let Some(list) = list.and_then(|list| u32::try_from(list).ok()) else {
            return Err(Stop::Unsupported("an unknown field list".into()));
        };
        let words = self.save(state, self.image.field_list(list));
        let list = Some(list);
        Ok(Kept { list, words })
    }

    /// Runs a control with all its branches.
    fn control(&mut self, block: usize, state: State) -> Step<State> {
        let entry = self.image.entries()[block];
        let ended = self.run.run_all(entry, state)?;
        let mut state = ended.ok_or_else(|| Stop::Unsupported("a control without end".into()))?;
        state.guard.clear();
        Ok(state)
    }

    fn walk(&mut self, block: usize, state: &mut State) -> Step<Parsed> {
        let entry = self.image.entries()[block];
        self.run.states = 0;
        self.run.walk(entry, state)
    }

    /// Parser and ingress; what ingress asks for is still to be done.
    fn ingress(&mut self, again: Again) -> Step<State> {
        let standard = *self.image.standard();
        let mut state = self.blank();
        let kind = again.kind;
        if kind == NORMAL {
            for (slot, n) in self.image.user_metadata() {
                self.run.undefine(&mut state, *slot, *n);
            }
        }
        self.put_back(&mut state, &again.kept);
        let length = self.length(&again.packet);
        self.run.packet = again.packet;
        self.run.cursor = 0;
        let port = self.run.world.ingress_port;
        self.set(&mut state, standard.ingress_port, port);
        self.set_number(&mut state, standard.instance_type, kind);
        self.set(&mut state, standard.packet_length, length);
        let now = self.run.world.now;
        self.set(&mut state, standard.ingress_global_timestamp, now);
        if let Parsed::Rejected(error) = self.walk(0, &mut state)? {
            self.set_number(&mut state, standard.parser_error, error.into());
        }
        self.walk(1, &mut state)?;
        self.control(2, state)
    }

    fn end_of_ingress(&mut self, state: State) -> Step<()> {
        let standard = *self.image.standard();
        let wants_clone = self.asked(&state, Asked::Clone, 1);
        if self.decide(wants_clone)? {
            self.clone_packet(&state, Origin::IngressClone)?;
        }
        let resubmits = self.asked(&state, Asked::Resubmit, 1);
        if self.decide(resubmits)? {
            let list = self.asked(&state, Asked::ResubmitList, 32);
            let kept = self.keep(&state, list)?;
            let packet = self.run.packet.clone();
            let kind = RESUBMITTED;
            let chip = None;
            self.again.push_back(Again {
                packet,
                kept,
                kind,
                chip,
            });
            return Ok(());
        }
        let group = self.field(&state, standard.mcast_grp, 16);
        if !self.is(group, 0)? {
            return self.replicate(&state, group);
        }
        let port = self.field(&state, standard.egress_spec, 9);
        if self.is(port, DROP_PORT)? {
            return Ok(());
        }
        let copy = self.copy(&state, Origin::Unicast, port, None);
        self.leaving.push_back(copy);
        Ok(())
    }

    /// The packet as ingress or egress left it.
    fn copy(&mut self, state: &State, origin: Origin, port: Term, rid: Option<Term>) -> Leaving {
        Leaving {
            origin,
            port,
            rid,
            packet: self.run.packet.clone(),
            cursor: self.run.cursor,
            carried: self.save(state, self.image.carried()),
            kept: Kept::default(),
            length: self.grown(state),
            chip: None,
        }
    }

    fn clone_packet(&mut self, state: &State, origin: Origin) -> Step<()> {
        let session = self.asked(state, Asked::CloneSession, 15);
        let sessions = self.run.world.sessions.clone();
        for known in sessions {
            let same = self.run.terms.equal(session, known.id);
            if !self.decide(same)? {
                continue;
            }
            let none = self.run.terms.number(0, 16);
            let mut copy = self.copy(state, origin, known.port, Some(none));
            let list = self.asked(state, Asked::CloneList, 32);
            copy.kept = self.keep(state, list)?;
            self.leaving.push_back(copy);
            break;
        }
        Ok(())
    }

    fn replicate(&mut self, state: &State, group: Term) -> Step<()> {
        let known = self.run.world.group.clone();
        let same = self.run.terms.equal(group, known.id);
        if !self.decide(same)? {
            return Ok(());
        }
        for (is_there, port, rid) in known.copies {
            if self.decide(is_there)? {
                let copy = self.copy(state, Origin::Replica, port, Some(rid));
                self.leaving.push_back(copy);
            }
        }
        Ok(())
    }

    fn forget_metadata(&mut self, state: &mut State) {
        let zero = self.run.terms.number(0, 64);
        for (slot, n) in self.image.metadata() {
            state.frame[*slot as usize..(slot + n) as usize].fill(zero);
        }
    }

    /// Egress of a copy; what egress asks for is still to be done.
    fn egress(&mut self, copy: Leaving) -> Step<State> {
        let image = self.image;
        let standard = *image.standard();
        let mut state = self.blank();
        self.run.packet = copy.packet;
        self.run.cursor = copy.cursor;
        let mut length = copy.length;
        let port = self.run.world.ingress_port;
        let kind = match copy.origin {
            Origin::IngressClone => {
                self.run.cursor = 0;
                self.set(&mut state, standard.ingress_port, port);
                self.walk(0, &mut state)?;
                length = self.grown(&state);
                self.forget_metadata(&mut state);
                INGRESS_CLONE
            }
            Origin::EgressClone => {
                self.restore(&mut state, image.carried(), &copy.carried);
                self.forget_metadata(&mut state);
                EGRESS_CLONE
            }
            Origin::Replica | Origin::Unicast => {
                self.restore(&mut state, image.carried(), &copy.carried);
                match copy.origin {
                    Origin::Replica => REPLICA,
                    _ => NORMAL,
                }
            }
        };
        if matches!(copy.origin, Origin::IngressClone | Origin::EgressClone) {
            self.set(&mut state, standard.ingress_port, port);
            self.put_back(&mut state, &copy.kept);
        }
        self.set_number(&mut state, standard.instance_type, kind);
        self.set(&mut state, standard.egress_port, copy.port);
        if let Some(rid) = copy.rid {
            self.set(&mut state, standard.egress_rid, rid);
        }
        self.set(&mut state, standard.packet_length, length);
        for field in [
            standard.egress_spec,
            standard.enq_qdepth,
            standard.deq_timedelta,
            standard.deq_qdepth,
        ] {
            self.set_number(&mut state, field, 0);
        }
        let now = self.run.world.now;
        for field in [standard.enq_timestamp, standard.egress_global_timestamp] {
            self.set(&mut state, field, now);
        }
        self.forget_asked(&mut state);
        let packet = self.run.packet.clone();
        let own = self.length(&packet);
        let grown = self.run.terms.binary(Binary::Sub, length, own);
        let slot: Slot = self.run.asked(Asked::Grown);
        self.run.set(&mut state, slot, grown);
        self.control(3, state)
    }

    fn end_of_egress(&mut self, mut state: State, port: Term) -> Step<()> {
        let standard = *self.image.standard();
        let wants_clone = self.asked(&state, Asked::Clone, 1);
        if self.decide(wants_clone)? {
            self.clone_packet(&state, Origin::EgressClone)?;
        }
        let spec = self.field(&state, standard.egress_spec, 9);
        if self.is(spec, DROP_PORT)? {
            return Ok(());
        }
        let recirculates = self.asked(&state, Asked::Recirculate, 1);
        let recirculates = self.decide(recirculates)?;
        self.walk(4, &mut state)?;
        self.run.output.clear();
        self.run.loose = None;
        self.walk(5, &mut state)?;
        let packet = self.deparsed()?;
        if !recirculates {
            let whither = Whither::Port(port);
            self.journey.sent.push(Sent { whither, packet });
            return Ok(());
        }
        let list = self.asked(&state, Asked::RecirculateList, 32);
        let kept = self.keep(&state, list)?;
        let kind = RECIRCULATED;
        let chip = None;
        self.again.push_back(Again {
            packet,
            kept,
            kind,
            chip,
        });
        Ok(())
    }

    /// What the deparser has made, and the payload.
    fn deparsed(&mut self) -> Step<Packet> {
        if self.run.loose.is_some() || !self.run.cursor.is_multiple_of(8) {
            return Err(Stop::Unsupported("headers that are not whole bytes".into()));
        }
        let payload = &self.run.packet.bytes[self.run.cursor / 8..];
        let bytes = self.run.output.iter().chain(payload).copied().collect();
        let rest = self.run.packet.rest;
        let tail = self.run.packet.tail;
        Ok(Packet { bytes, rest, tail })
    }
}
