//! The usual way of a packet: all its blocks in one run of native code.
//!
//! Most packets go through parser, checksum check, ingress, egress, checksum update and deparser,
//! and nothing else happens to them. What v1model does between these blocks is then so little that
//! native code need not come to an end for it. As soon as a packet asks for more (a clone, a copy, a
//! drop, a place in a queue), the run ends behind the block that asked, and the switch carries on as
//! it always does.

use super::egress::Departure;
use super::externs::{Requests, Running};
use super::fields::{instance, Leaving};
use super::queue::Instance;
use super::switch::{Switch, DROP_PORT};
use crate::frame::Field;
use crate::stats::Drop;
use crate::tree::Follow;
use crate::Sink;
use p4_ir::interp::{errors, Outcome};
use p4_time::Time;

/// Places of the blocks on the way.
pub(super) const PARSER: usize = 0;
pub(super) const VERIFY: usize = 1;
pub(super) const INGRESS: usize = 2;
pub(super) const EGRESS: usize = 3;
pub(super) const COMPUTE: usize = 4;
pub(super) const DEPARSER: usize = 5;

/// One run along the way.
#[derive(Debug)]
pub(crate) struct Way {
    /// Where it begins
    first: usize,
    now: Time,
    /// Bytes that counters count
    bytes: u64,
    /// A packet may leave at once: no other waits in front of it.
    is_free: bool,
    /// What becomes of the packet behind ingress, once that is known
    departure: Departure,
    /// What egress asked for
    asked: Requests,
}

impl Running<'_> {
    /// What v1model does when the block `last` of the run has ended well; `false` if it is more
    /// than can be done here. `length` is what `packet_length` would be.
    #[inline]
    pub(super) fn go_on(&mut self, last: usize, frame: &mut [u64], length: i64) -> bool {
        let Some(way) = &mut self.way else {
            return true;
        };
        let standard = &self.image.standard;
        match way.first + last {
            PARSER => Field::set(standard.parser_error, frame, errors::NO_ERROR.into()),
            INGRESS => {
                let port = Field::get(standard.egress_spec, frame);
                let is_unicast = port != DROP_PORT && Field::get(standard.mcast_grp, frame) == 0;
                let asked = &self.externs.requests;
                if !is_unicast || !way.is_free || asked.is_special() || length < 0 {
                    return false;
                }
                way.departure.port = port as u16;
                way.departure.priority = Field::get(standard.priority, frame) as u8;
                way.departure.truncate = asked.truncate;
                let leaving = Leaving {
                    kind: instance::NORMAL,
                    port: way.departure.port,
                    rid: None,
                    length: length as u64,
                    now: way.now,
                    enqueued: way.now,
                    depths: (0, 0),
                };
                standard.leave(&leaving, frame);
                self.externs.begin(way.now.picos(), way.bytes);
            }
            EGRESS => {
                way.asked = self.externs.requests;
                let is_sent = Field::get(standard.egress_spec, frame) != DROP_PORT;
                return is_sent && way.asked.clone.is_none() && way.asked.digest.is_none();
            }
            _ => {}
        }
        true
    }
}

impl Switch {
    /// Whether packets go this way: simple_switch's way has something to look for after each block,
    /// and a tracer wants to know which block it is in.
    pub(super) fn has_usual_way<F: Follow>(&self) -> bool {
        self.engine.is_native::<F::Tracer>() && !self.config.bmv2_compat
    }

    /// From the parser on.
    pub(super) fn usual_way<F: Follow>(
        &mut self,
        packet: Instance,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let departure = Departure {
            packet,
            port: 0,
            priority: 0,
            truncate: None,
        };
        self.walk(PARSER, departure, out, follow);
    }

    /// From egress on.
    pub(super) fn usual_way_out<F: Follow>(
        &mut self,
        departure: Departure,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        self.walk(EGRESS, departure, out, follow);
    }

    fn walk<F: Follow>(
        &mut self,
        first: usize,
        departure: Departure,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let packet = departure.packet;
        let mut way = Way {
            first,
            now: self.now,
            bytes: packet.bytes,
            is_free: self.queues.nothing_leaves() && !self.held.limited,
            departure,
            asked: Requests::default(),
        };
        let mut host = Running {
            image: &self.image,
            externs: &mut self.externs,
            way: Some(&mut way),
        };
        let entries = &self.image.entries[first..];
        let machine = &mut self.machine;
        let (last, outcome) = self.engine.run_all(entries, machine, &mut host);
        if first + last == DEPARSER && outcome == Outcome::Done {
            return self.send(&way.departure, &way.asked, out, follow);
        }
        if let Err(reason) = self.leave_the_way(first + last, outcome, &way, out, follow) {
            self.dropped(reason, follow);
        }
    }

    /// What comes behind the block `last`, which ended like this.
    fn leave_the_way<F: Follow>(
        &mut self,
        last: usize,
        outcome: Outcome,
        way: &Way,
        out: &mut impl Sink,
        follow: &mut F,
    ) -> Result<(), Drop> {
        match last {
            // A parser's error does not stop a packet.
            PARSER => self.parsed(outcome, true),
            _ => self.ended(outcome)?,
        }
        if last < VERIFY {
            self.control(self.image.blocks.verify, follow)?;
        }
        if last < INGRESS {
            self.control(self.image.blocks.ingress, follow)?;
        }
        if last <= INGRESS {
            self.end_of_ingress(way.departure.packet, out, follow);
            return Ok(());
        }
        if last == EGRESS {
            self.end_of_egress(&way.departure, out, follow);
            return Ok(());
        }
        if last == COMPUTE {
            self.control(self.image.blocks.deparser, follow)?;
        }
        self.send(&way.departure, &way.asked, out, follow);
        Ok(())
    }
}
