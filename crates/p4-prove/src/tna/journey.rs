//! A packet's journey through a chip, until nothing of it is left.
//!
//! This is what `p4_arch::tna` does between the blocks (`ingress.rs`, `traffic.rs`, `egress.rs`,
//! `mirror.rs`), said once more for terms; the tests hold the two together with packets. Time stands
//! still at 0, no looped port has a rate, no port is down.

use super::{
    note, Arrival, Chip, Copied, Noted, Rest, EGRESS_FOR_DEPARSER, EGRESS_FROM_PARSER, FOR_TM,
    INGRESS_FOR_DEPARSER, INGRESS_FROM_PARSER,
};
use crate::journey::{
    by_name, Again, Begin, Ground, Half, Journey, Leaving, Leg, Origin, Outcome, Sent, Whither,
    Writes, PASSES, RECIRCULATED, RESUBMITTED,
};
use crate::packet::Packet;
use crate::path::{Step, Stop};
use crate::run::{Code, Parsed, Run, State};
use crate::term::Term;
use p4_arch::tna::Image;
use p4_arch::v1model::Field;
use p4_ir::interp::errors;
use p4_ir::ir::{Pc, Program};
use std::collections::VecDeque;

/// Bytes of a packet's Ethernet checksum
const FCS_BYTES: u32 = 4;
/// Bytes that egress fills a shorter packet up to, its checksum included
const SHORTEST: u32 = 33;
/// Bytes of headers that a deparser writes at most
const MOST_HEADERS: usize = 480;
/// Bits of `drop_ctl`
const PACKET: u32 = 0;
const MIRROR: u32 = 2;
/// `parser_err` of a `select` without a case that fits
const NO_MATCH: u64 = 1;

/// Where a program has its blocks and what the chip reads.
#[derive(Clone, Copy, Debug)]
struct Plan {
    ingress_parser: Pc,
    ingress: Pc,
    ingress_deparser: Pc,
    egress_parser: Pc,
    egress: Pc,
    egress_deparser: Pc,
    /// Ingress looks at `parser_err`, so that packets with errors reach it.
    is_lenient: bool,
}

impl Plan {
    fn of(program: &Program) -> Option<Plan> {
        let block = |role: &str| {
            let mut blocks = program.blocks.iter();
            let own = blocks.find(|block| block.role.rsplit('.').next() == Some(role))?;
            Some(own.entry)
        };
        let error = Field::named(program, INGRESS_FROM_PARSER, "parser_err");
        let reads = |field: Field| p4_ir::written::reads(program, field.slot());
        let is_alone = program.blocks.len() == 6;
        is_alone.then_some(Plan {
            ingress_parser: block("ingress_parser")?,
            ingress: block("ingress")?,
            ingress_deparser: block("ingress_deparser")?,
            egress_parser: block("egress_parser")?,
            egress: block("egress")?,
            egress_deparser: block("egress_deparser")?,
            is_lenient: error.is_some_and(reads),
        })
    }
}

/// The packet that a leg begins with.
pub(crate) fn beginning(ground: &mut Ground<'_, '_>, leg: Leg) -> Begin {
    let (kind, port, resubmitted) = match leg {
        Leg::Whole | Leg::First => (0, ground.world.ingress_port, None),
        Leg::Later(RESUBMITTED, _) => {
            let terms = &mut *ground.terms;
            let data = (0..8).map(|at| terms.unknown(&format!("resubmitted.{at}"), 8));
            (RESUBMITTED, ground.world.ingress_port, Some(data.collect()))
        }
        Leg::Later(kind, _) => (kind, ground.world.looped_port, None),
    };
    let arrival = Arrival { port, resubmitted };
    Begin::Arrive(Again::at_chip(kind, Packet::arriving(), arrival))
}

/// Up to the end of the control.
pub(crate) fn first_half(
    image: &Image,
    code: &mut Code<'_>,
    ground: &mut Ground<'_, '_>,
    begin: Begin,
    writes: Writes,
) -> Step<Half> {
    let mut traveller = traveller(image, code, ground, writes)?;
    let (port, (state, rest)) = match begin {
        Begin::Arrive(again) => (None, traveller.ingress(again)?),
        Begin::Leave(copy) => (Some(copy.port), traveller.egress(copy)?),
    };
    Ok(Half {
        state,
        packet: traveller.run.packet,
        cursor: traveller.run.cursor,
        writes: traveller.run.writes,
        port,
        chip: Some(rest),
    })
}

/// From the end of the control until the packet leaves, waits for egress or comes back.
pub(crate) fn second_half(
    image: &Image,
    code: &mut Code<'_>,
    ground: &mut Ground<'_, '_>,
    half: Half,
) -> Step<Outcome> {
    let mut traveller = traveller(image, code, ground, half.writes)?;
    traveller.run.packet = half.packet;
    traveller.run.cursor = half.cursor;
    let rest = half.chip.unwrap_or(Rest::Lost);
    traveller.end(half.state, rest, half.port)?;
    Ok(Outcome {
        sent: traveller.journey.sent,
        leaving: traveller.leaving.into(),
        again: traveller.again.into(),
        writes: traveller.run.writes,
    })
}

/// The packet that comes back.
pub(crate) fn come_back(again: Again) -> Sent {
    let mut values = Vec::new();
    if let Some(arrival) = again.chip {
        values.push(arrival.port);
        values.extend(arrival.resubmitted.into_iter().flatten());
    }
    Sent {
        whither: Whither::Again(again.kind, 0, values),
        packet: again.packet,
    }
}

/// Follows one program's journey of the packet on the present path.
pub(crate) fn travel(
    image: &Image,
    code: &mut Code<'_>,
    ground: &mut Ground<'_, '_>,
) -> Step<Journey> {
    let begin = beginning(ground, Leg::Whole);
    let mut traveller = traveller(image, code, ground, Writes::default())?;
    if let Begin::Arrive(again) = begin {
        traveller.again.push_back(again);
    }
    traveller.travel()?;
    let Traveller {
        run, mut journey, ..
    } = traveller;
    journey.writes = by_name(image.program(), &run.writes);
    Ok(journey)
}

fn traveller<'r, 'a, 's>(
    image: &Image,
    code: &'r mut Code<'a>,
    ground: &'r mut Ground<'_, 's>,
    writes: Writes,
) -> Step<Traveller<'r, 'a, 's>> {
    let several = || Stop::Unsupported("more than one pipeline".into());
    let plan = Plan::of(image.program()).ok_or_else(several)?;
    let run = Run {
        program: code.target.program(),
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
        chip: Chip::default(),
    };
    Ok(Traveller {
        run,
        plan,
        journey: Journey::default(),
        leaving: VecDeque::new(),
        again: VecDeque::new(),
    })
}

struct Traveller<'r, 'a, 's> {
    run: Run<'r, 'a, 's>,
    plan: Plan,
    journey: Journey,
    leaving: VecDeque<Leaving>,
    again: VecDeque<Again>,
}

impl Traveller<'_, '_, '_> {
    fn travel(&mut self) -> Step<()> {
        loop {
            let (state, rest, port) = if let Some(copy) = self.leaving.pop_front() {
                let port = copy.port;
                let (state, rest) = self.egress(copy)?;
                (state, rest, Some(port))
            } else if let Some(again) = self.again.pop_front() {
                self.journey.passes += 1;
                if self.journey.passes > self.run.bounds.passes {
                    return Err(Stop::Bound(PASSES));
                }
                let (state, rest) = self.ingress(again)?;
                (state, rest, None)
            } else {
                return Ok(());
            };
            self.end(state, rest, port)?;
        }
    }

    /// What the chip does with a packet behind a control
    fn end(&mut self, state: State, rest: Rest, port: Option<Term>) -> Step<()> {
        match (rest, port) {
            (Rest::Bypassed, Some(port)) => {
                let packet = self.run.packet.clone();
                self.leave(packet, port)
            }
            (Rest::Egress, Some(port)) => self.end_of_egress(state, port),
            (
                Rest::Ingress {
                    arrival,
                    original,
                    length,
                },
                _,
            ) => self.end_of_ingress(state, arrival, original, length),
            _ => Ok(()),
        }
    }

    fn number(&mut self, value: u64, width: u32) -> Term {
        self.run.terms.number(value, width)
    }

    fn blank(&self) -> State {
        State {
            frame: self.run.code.blank.clone(),
            guard: Vec::new(),
        }
    }

    fn decide(&mut self, term: Term) -> Step<bool> {
        self.run.paths.decide(self.run.terms, term)
    }

    fn is(&mut self, term: Term, number: u64) -> Step<bool> {
        let number = self.run.terms.number(number, self.run.terms.width(term));
        let equal = self.run.terms.equal(term, number);
        self.decide(equal)
    }

    fn field(&mut self, state: &State, storage: &str, name: &str, width: u32) -> Term {
        match Field::named(self.run.program, storage, name) {
            Some(field) => self.run.get(state, field.slot(), width),
            None => self.run.terms.number(0, width),
        }
    }

    fn set(&mut self, state: &mut State, storage: &str, name: &str, value: u64) {
        if let Some(field) = Field::named(self.run.program, storage, name) {
            let value = self.run.terms.number(value & field.mask(), 64);
            self.run.set(state, field.slot(), value);
        }
    }

    /// Whether the field was written
    fn was_written(&mut self, state: &State, which: Noted) -> Step<bool> {
        let Some(slot) = note(self.run.program, which) else {
            return Ok(false);
        };
        let written = self.run.truth(state, slot);
        self.decide(written)
    }

    fn is_set(&mut self, drop_ctl: Term, bit: u32) -> Step<bool> {
        let bit = self.run.terms.slice(drop_ctl, bit, 1);
        self.decide(bit)
    }

    /// Bytes with the zeros behind, 16 bits
    fn length(&mut self, packet: &Packet) -> Term {
        let length = packet.length(self.run.world.length, self.run.terms);
        self.run.terms.fit(length, 16)
    }

    /// Runs a control with all its branches.
    fn control(&mut self, entry: Pc, state: State) -> Step<State> {
        let ended = self.run.run_all(entry, state)?;
        let mut state = ended.ok_or_else(|| Stop::Unsupported("a control without end".into()))?;
        state.guard.clear();
        Ok(state)
    }

    /// Runs a parser on bytes of metadata and the packet behind them.
    fn parse(&mut self, entry: Pc, front: Vec<Term>, packet: &Packet) -> Step<(State, Parsed)> {
        let mut given = packet.clone();
        given.bytes.splice(0..0, front);
        self.run.packet = given;
        self.run.cursor = 0;
        self.run.chip.sums.clear();
        self.run.states = 0;
        let mut state = self.blank();
        let parsed = self.run.walk(entry, &mut state)?;
        Ok((state, parsed))
    }

    /// Intrinsic metadata, then port metadata or the data of a resubmission
    fn front_of_ingress(&mut self, arriving: &Arrival) -> Vec<Term> {
        let flag = self.number(arriving.resubmitted.is_some().into(), 1);
        let zeros = self.number(0, 6);
        let head = self.run.terms.concat(flag, zeros);
        let word = self.run.terms.concat(head, arriving.port);
        let mut front = self.run.bytes_of(word);
        let zero = self.number(0, 8);
        front.resize(8, zero);
        match &arriving.resubmitted {
            Some(data) => front.extend(data),
            None => {
                let metadata = self.port_metadata(arriving.port);
                let bytes = self.run.bytes_of(metadata);
                front.extend(bytes);
            }
        }
        front
    }

    fn port_metadata(&mut self, port: Term) -> Term {
        let terms = &mut *self.run.terms;
        let mut bits = terms.number(0, 64);
        let wiring = self.run.bounds.wiring.iter();
        for (looped, metadata) in wiring.flat_map(|wiring| &wiring.loops) {
            let own = terms.number((*looped).into(), 9);
            let same = terms.equal(port, own);
            let own = terms.number(*metadata, 64);
            bits = terms.choose(same, own, bits);
        }
        bits
    }

    /// Parser and ingress; what ingress asks for is still to be done.
    fn ingress(&mut self, again: Again) -> Step<(State, Rest)> {
        let Some(arrival) = again.chip else {
            return Ok((self.blank(), Rest::Lost));
        };
        let front = self.front_of_ingress(&arrival);
        let mut original = again.packet;
        original.tail += FCS_BYTES;
        let length = self.length(&original);
        self.run.chip.pipe = Some(self.run.terms.slice(arrival.port, 7, 2));
        let (mut state, parsed) = self.parse(self.plan.ingress_parser, front, &original)?;
        let error = match parsed {
            Parsed::Rejected(errors::NO_MATCH) => NO_MATCH,
            Parsed::Rejected(errors::PACKET_TOO_SHORT | errors::HEADER_TOO_SHORT) => {
                return match self.plan.is_lenient {
                    true => Err(Stop::Bound("packets that end within a header")),
                    false => Ok((state, Rest::Lost)),
                };
            }
            Parsed::Accepted | Parsed::Rejected(_) => 0,
        };
        if error != 0 && !self.plan.is_lenient {
            return Ok((state, Rest::Lost));
        }
        self.set(&mut state, INGRESS_FROM_PARSER, "parser_err", error);
        self.set(&mut state, INGRESS_FROM_PARSER, "global_tstamp", 0);
        let state = self.control(self.plan.ingress, state)?;
        let rest = Rest::Ingress {
            arrival,
            original,
            length,
        };
        Ok((state, rest))
    }

    fn end_of_ingress(
        &mut self,
        mut state: State,
        arrival: Arrival,
        original: Packet,
        length: Term,
    ) -> Step<()> {
        self.run.chip.mirror = None;
        self.run.chip.resubmit = None;
        let asked = &state.clone();
        let made = self.deparse(self.plan.ingress_deparser, &mut state)?;
        let drop_ctl = self.field(asked, INGRESS_FOR_DEPARSER, "drop_ctl", 3);
        let drops = self.is_set(drop_ctl, PACKET)?;
        if self.was_written(asked, Noted::Resubmit)? && !drops && arrival.resubmitted.is_none() {
            if let Some(data) = self.run.chip.resubmit.take() {
                let mut packet = original;
                packet.tail -= FCS_BYTES;
                let resubmitted = Some(data);
                let arrival = Arrival {
                    resubmitted,
                    ..arrival
                };
                let again = Again::at_chip(RESUBMITTED, packet, arrival);
                self.again.push_back(again);
                return Ok(());
            }
        }
        if self.was_written(asked, Noted::IngressMirror)? && !self.is_set(drop_ctl, MIRROR)? {
            self.mirror(Origin::IngressClone, &original)?;
        }
        if drops {
            return Ok(());
        }
        let bypasses = self.field(asked, FOR_TM, "bypass_egress", 1);
        let zero = self.number(0, 16);
        let never = self.number(0, 1);
        let copy = |origin: Origin, port: Term, rid: Term, is_first: Term| {
            let chip = Copied { is_first, bypasses };
            Leaving::in_chip((origin, port, rid), made.clone(), length, chip)
        };
        let groups = [
            (Noted::GroupA, "mcast_grp_a"),
            (Noted::GroupB, "mcast_grp_b"),
        ];
        for (which, name) in groups {
            if !self.was_written(asked, which)? {
                continue;
            }
            let group = self.field(asked, FOR_TM, name, 16);
            for (port, rid, is_first) in self.copies_of(group)? {
                let copy = copy(Origin::Replica, port, rid, is_first);
                self.leaving.push_back(copy);
            }
        }
        if self.was_written(asked, Noted::Unicast)? {
            let port = self.field(asked, FOR_TM, "ucast_egress_port", 9);
            let copy = copy(Origin::Unicast, port, zero, never);
            self.leaving.push_back(copy);
        }
        Ok(())
    }

    /// Ports, replication ids and whether they are the first of them
    fn copies_of(&mut self, group: Term) -> Step<Vec<(Term, Term, Term)>> {
        let known = self.run.world.group.clone();
        let same = self.run.terms.equal(group, known.id);
        let mut copies: Vec<(Term, Term, Term)> = Vec::new();
        if !self.decide(same)? {
            return Ok(copies);
        }
        for (is_there, port, rid) in known.copies {
            if self.decide(is_there)? {
                let is_first = match copies.last() {
                    Some(last) => {
                        let same = self.run.terms.equal(last.1, rid);
                        self.run.terms.not(same)
                    }
                    None => self.run.terms.truth(true),
                };
                copies.push((port, rid, is_first));
            }
        }
        Ok(copies)
    }

    /// Sends a copy where the emitted mirror's session says: its header, then `packet`.
    fn mirror(&mut self, origin: Origin, packet: &Packet) -> Step<()> {
        let Some((session, header)) = self.run.chip.mirror.take() else {
            return Ok(());
        };
        let Some((port, is_known)) = self.session_port(session) else {
            return Ok(());
        };
        if !self.decide(is_known)? {
            return Ok(());
        }
        let mut packet = packet.clone();
        let header = header.map_or_else(Vec::new, |header| self.run.bytes_of(header));
        packet.bytes.splice(0..0, header);
        let length = self.length(&packet);
        let (zero, never) = (self.number(0, 16), self.number(0, 1));
        let chip = Copied {
            is_first: never,
            bypasses: never,
        };
        let copy = Leaving::in_chip((origin, port, zero), packet, length, chip);
        self.leaving.push_back(copy);
        Ok(())
    }

    /// The port of a session, and whether there is one; `None` if there are no sessions at all.
    fn session_port(&mut self, session: Term) -> Option<(Term, Term)> {
        let mut sessions = self.run.world.sessions.iter().rev();
        let last = sessions.next()?;
        let terms = &mut *self.run.terms;
        let id = terms.fit(last.id, 16);
        let (mut port, mut is_known) = (last.port, terms.equal(session, id));
        for known in sessions {
            let id = terms.fit(known.id, 16);
            let same = terms.equal(session, id);
            port = terms.choose(same, known.port, port);
            is_known = terms.or(is_known, same);
        }
        Some((port, is_known))
    }

    /// Runs a deparser; headers, then what the parser has not read.
    fn deparse(&mut self, entry: Pc, state: &mut State) -> Step<Packet> {
        self.run.output.clear();
        self.run.loose = None;
        self.run.walk(entry, state)?;
        if self.run.loose.is_some() || !self.run.cursor.is_multiple_of(8) {
            return Err(Stop::Unsupported("headers that are not whole bytes".into()));
        }
        if self.run.output.len() > MOST_HEADERS {
            return Err(Stop::Bound("bytes of headers"));
        }
        let packet = &self.run.packet;
        let payload = &packet.bytes[self.run.cursor / 8..];
        let bytes = self.run.output.iter().chain(payload).copied().collect();
        Ok(Packet { bytes, ..*packet })
    }

    /// Whether a port leads back: ports 68 to 71 of a pipe, or a front port in loopback
    fn is_looped(&mut self, port: Term) -> Step<bool> {
        let looped = self
            .run
            .world
            .is_looped(port, self.run.bounds, self.run.terms);
        self.decide(looped)
    }

    /// Whether what is sent there gets anywhere
    fn leads_somewhere(&mut self, port: Term) -> Step<bool> {
        let terms = &mut *self.run.terms;
        let local = terms.slice(port, 0, 7);
        let limit = terms.number(64, 7);
        let mut any = vec![terms.less(local, limit)];
        any.push(self.run.world.is_looped(port, self.run.bounds, terms));
        if let Some(cpu) = self.run.bounds.wiring.as_ref().and_then(|own| own.cpu) {
            let cpu = terms.number(cpu.into(), 9);
            any.push(terms.equal(port, cpu));
        }
        let any = terms.any(&any);
        self.decide(any)
    }

    fn is_short(&mut self, packet: &Packet) -> Step<bool> {
        let own = packet.bytes.len() as u32 + packet.tail;
        let least = SHORTEST.saturating_sub(own) + packet.rest;
        if own >= SHORTEST {
            return Ok(false);
        }
        let least = self.number(least.into(), 16);
        let short = self.run.terms.less(self.run.world.length, least);
        self.decide(short)
    }

    /// `egress_intrinsic_metadata_t`, with empty queues
    fn front_of_egress(&mut self, copy: &Leaving, chip: Copied) -> Vec<Term> {
        let zeros = self.number(0, 7);
        let port = self.run.terms.concat(zeros, copy.port);
        let first = self.run.terms.concat(zeros, chip.is_first);
        let rid = copy.rid.unwrap_or_else(|| self.run.terms.number(0, 16));
        let zero = self.number(0, 8);
        let mut front = self.run.bytes_of(port);
        front.resize(2 + 3 + 1 + 4 + 3 + 2 + 4, zero);
        front.extend(self.run.bytes_of(rid));
        front.push(first);
        front.extend([zero; 3]);
        front.extend(self.run.bytes_of(copy.length));
        front
    }

    /// Egress of a copy; what egress asks for is still to be done.
    fn egress(&mut self, copy: Leaving) -> Step<(State, Rest)> {
        let chip = match copy.chip {
            Some(chip) if self.leads_somewhere(copy.port)? => chip,
            _ => return Ok((self.blank(), Rest::Lost)),
        };
        if self.is(chip.bypasses, 1)? {
            self.run.packet = copy.packet;
            return Ok((self.blank(), Rest::Bypassed));
        }
        if self.is_short(&copy.packet)? {
            return Err(Stop::Bound("bytes of the shortest packet"));
        }
        let front = self.front_of_egress(&copy, chip);
        self.run.chip.pipe = Some(self.run.terms.slice(copy.port, 7, 2));
        let (mut state, parsed) = self.parse(self.plan.egress_parser, front, &copy.packet)?;
        match parsed {
            Parsed::Rejected(errors::NO_MATCH) => {
                return Err(Stop::Bound("packets without a case in the egress parser"));
            }
            Parsed::Rejected(errors::PACKET_TOO_SHORT | errors::HEADER_TOO_SHORT) => {
                return Err(Stop::Bound("packets that end within a header"));
            }
            Parsed::Accepted | Parsed::Rejected(_) => {}
        }
        self.set(&mut state, EGRESS_FROM_PARSER, "parser_err", 0);
        self.set(&mut state, EGRESS_FROM_PARSER, "global_tstamp", 0);
        let state = self.control(self.plan.egress, state)?;
        Ok((state, Rest::Egress))
    }

    fn end_of_egress(&mut self, mut state: State, port: Term) -> Step<()> {
        self.run.chip.mirror = None;
        let asked = state.clone();
        let made = self.deparse(self.plan.egress_deparser, &mut state)?;
        let drop_ctl = self.field(&asked, EGRESS_FOR_DEPARSER, "drop_ctl", 3);
        if self.was_written(&asked, Noted::EgressMirror)? && !self.is_set(drop_ctl, MIRROR)? {
            self.mirror(Origin::EgressClone, &made)?;
        }
        if self.is_set(drop_ctl, PACKET)? {
            return Ok(());
        }
        self.leave(made, port)
    }

    /// Takes the checksum off and sends the packet where its port leads.
    fn leave(&mut self, mut packet: Packet, port: Term) -> Step<()> {
        let behind = packet.tail.min(FCS_BYTES);
        packet.tail -= behind;
        let kept = packet
            .bytes
            .len()
            .saturating_sub((FCS_BYTES - behind) as usize);
        packet.bytes.truncate(kept);
        if self.is_looped(port)? {
            let arrival = Arrival {
                port,
                resubmitted: None,
            };
            self.again
                .push_back(Again::at_chip(RECIRCULATED, packet, arrival));
        } else {
            let whither = Whither::Port(port);
            self.journey.sent.push(Sent { whither, packet });
        }
        Ok(())
    }
}
