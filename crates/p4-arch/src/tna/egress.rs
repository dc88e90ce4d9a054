//! Egress, and where its packets go: out of a port, or back to ingress through a looped one.

use super::metadata::{EGRESS_BYTES, FCS_BYTES};
use super::parsing::Gress;
use super::ports::{pipe, Queued};
use super::queue::{Arrival, Copy};
use super::switch::Switch;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::{Port, Sink};

/// Bytes that egress fills a shorter packet up to: its parser reads 65, its metadata included.
const SHORTEST: usize = 33;

impl Switch {
    /// A packet whose turn has come.
    pub(super) fn egress_of<F: Follow>(
        &mut self,
        mut copy: Copy,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        follow.resume(copy.origin.id);
        if !self.ports.leads_somewhere(copy.port) {
            let port = copy.port;
            return self.dropped(Drop::BadPort { port }, follow);
        }
        if copy.bypass_egress {
            return self.leave(copy, out, follow);
        }
        let Some(pipeline) = self.pipes.at(copy.port).copied() else {
            let port = copy.port;
            return self.dropped(Drop::BadPort { port }, follow);
        };
        if copy.bytes.len() < SHORTEST {
            copy.bytes.resize(SHORTEST, 0);
        }
        let mut given = std::mem::take(&mut self.given);
        self.front_of_egress(&copy, &mut given);
        given.extend_from_slice(&copy.bytes);
        self.externs
            .begin(self.now.picos(), copy.bytes.len() as u64, pipe(copy.port));
        let parser = pipeline.egress_parser(copy.port);
        let error = self.parse(parser, &given, Gress::Egress, follow);
        self.given = given;
        let (metadata, nanos) = (&pipeline.metadata, self.now.picos() / 1000);
        metadata.parsed_at_egress(&mut self.machine.frame, error, nanos);
        if let Err(reason) = self.control(pipeline.egress, follow) {
            return self.dropped(reason, follow);
        }
        let order = metadata.egress_order(&self.machine.frame);
        if let Err(reason) = self.deparse(pipeline.egress_deparser, follow) {
            return self.dropped(reason, follow);
        }
        copy.bytes.clear();
        copy.bytes.extend_from_slice(self.machine.packet.output());
        if order.mirror {
            self.mirror(
                copy.origin,
                &copy.bytes,
                Kind::EgressClone,
                order.sample,
                follow,
            );
        }
        match order.drop {
            true => self.dropped(Drop::EgressDropCtl, follow),
            false => self.leave(copy, out, follow),
        }
    }

    /// `egress_intrinsic_metadata_t` on the wire. Queue id and class are those of the traffic
    /// manager's own maps, which are empty; depths count cells of 80 bytes.
    fn front_of_egress(&self, copy: &Copy, given: &mut Vec<u8>) {
        const CELL: u64 = 80;
        let nanos = |picos: u64| ((picos / 1000) & 0x3_ffff) as u32;
        let enqueued = copy.enqueued.picos();
        let waited = self.now.picos().saturating_sub(enqueued);
        let depth = |bytes: u64| bytes.div_ceil(CELL).min(0x7_ffff) as u32;
        given.clear();
        given.extend_from_slice(&(copy.port & 0x1ff).to_be_bytes());
        given.extend_from_slice(&depth(copy.depth).to_be_bytes()[1..]);
        given.push(0);
        given.extend_from_slice(&nanos(enqueued).to_be_bytes());
        given.extend_from_slice(&depth(self.backlog(copy.port)).to_be_bytes()[1..]);
        given.extend_from_slice(&[0; 2]);
        given.extend_from_slice(&nanos(waited).to_be_bytes());
        given.extend_from_slice(&copy.rid.to_be_bytes());
        given.push(copy.rid_first.into());
        given.extend_from_slice(&[0; 3]);
        given.extend_from_slice(&copy.length.to_be_bytes());
        debug_assert_eq!(given.len(), EGRESS_BYTES);
    }

    /// Takes the checksum off and sends the packet where its port leads.
    fn leave<F: Follow>(&mut self, mut copy: Copy, out: &mut impl Sink, follow: &mut F) {
        copy.bytes
            .truncate(copy.bytes.len().saturating_sub(FCS_BYTES));
        let port = copy.port;
        if !self.ports.is_looped(port) {
            self.externs.stats.sent += 1;
            self.externs.stats.sent_bytes += copy.bytes.len() as u64;
            follow.fate(|| Fate::Sent {
                port,
                data: copy.bytes.clone(),
            });
            out.transmit_with_priority(port, copy.queue, &copy.bytes);
            return self.keep_blank(copy.bytes);
        }
        let now = self.now;
        match self.ports.loop_mut(port).filter(|looped| looped.has_rate()) {
            Some(looped) => {
                looped.send(now, copy);
                follow.note("it is on its way back through a looped port".to_string());
            }
            None => self.come_back(port, copy, follow),
        }
    }

    /// A looped port gives a packet back to its own ingress, as a new one.
    pub(super) fn come_back<F: Follow>(&mut self, port: Port, copy: Copy, follow: &mut F) {
        let before = Arrival {
            origin: copy.origin,
            port,
            bytes: Vec::new(),
            resubmitted: None,
        };
        if let Some(mut origin) = self.born_again(&before, Kind::Recirculated, follow) {
            origin.looped |= self.ports.arbitrates(port);
            self.externs.stats.recirculated += 1;
            let bytes = copy.bytes;
            self.generator.recirculated(self.now, port, &bytes);
            self.wait_for_ingress(Arrival {
                origin,
                bytes,
                ..before
            });
        }
    }

    /// Puts a packet into the queue of a looped port with a rate, or sends it on at once.
    pub(super) fn queue_or_send<F: Follow>(
        &mut self,
        copy: Copy,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        if !self.ports.has_rate(copy.port) {
            return self.egress_of(copy, out, follow);
        }
        follow.resume(copy.origin.id);
        match self.ports.gathered(self.now, copy) {
            None => follow.note("it waits for others that its port can take".to_string()),
            Some(copy) => self.enqueue(copy, out, follow),
        }
    }

    /// Puts a packet into the queue of a looped port with a rate.
    pub(super) fn enqueue<F: Follow>(&mut self, copy: Copy, out: &mut impl Sink, follow: &mut F) {
        let port = copy.port;
        match self.ports.enqueue(self.now, copy) {
            Queued::Waits { displaced } => {
                follow.note("it waits in the queue of its port".to_string());
                for copy in displaced {
                    self.externs.stats.count_drop(Drop::QueueFull);
                    self.keep_blank(copy.bytes);
                }
            }
            Queued::Full(copy) => {
                self.keep_blank(copy.bytes);
                return self.dropped(Drop::QueueFull, follow);
            }
        }
        self.pump(port, out, follow);
    }

    /// Lets a looped port send, if it is free and packets wait. One that egress drops takes no time.
    pub(super) fn pump<F: Follow>(&mut self, port: Port, out: &mut impl Sink, follow: &mut F) {
        while let Some(copy) = self.ports.loop_mut(port).and_then(|l| l.next_to_send()) {
            self.egress_of(copy, out, follow);
        }
    }

    fn backlog(&self, port: Port) -> u64 {
        self.ports.backlog(port)
    }
}
