//! Egress, and where its packets go: out of a port, or back to ingress through a looped one.

use super::events::{without_checksum, Core, Passing};
use super::metadata::EGRESS_BYTES;
use super::parsing::Gress;
use super::ports::Queued;
use super::queue::{Arrival, Copy, Origin};
use super::switch::Switch;
use crate::segments::Architecture;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::{Port, Sink};

/// Puts a number of `n` bytes, at most 8, at the byte `at` of big-endian words.
#[inline(always)]
fn put(words: &mut [u64; 4], at: usize, n: usize, number: u64) {
    let (word, end) = (at / 8, (at % 8 + n) * 8);
    match end <= 64 {
        true => words[word] |= number << (64 - end),
        false => {
            words[word] |= number >> (end - 64);
            words[word + 1] |= number << (128 - end);
        }
    }
}

/// Bytes that egress fills a shorter packet up to: its parser reads 65, its metadata included.
const SHORTEST: usize = 33;

impl Switch {
    /// A packet whose turn has come.
    pub(super) fn egress_of<F: Follow>(
        &mut self,
        copy: &mut Copy,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let (origin, port, queue) = (copy.origin, copy.port, copy.queue);
        follow.resume(origin.id);
        let pipeline = self.core.pipes.at(port);
        let segment = pipeline.map(|pipeline| pipeline.egress(port));
        let Some(segment) = segment.filter(|_| self.core.ports.leads_somewhere(port)) else {
            return self.core.dropped(Drop::BadPort { port }, follow);
        };
        if !copy.bypass_egress && copy.bytes.len() < SHORTEST {
            copy.bytes.resize(SHORTEST, 0);
        }
        let packet = Passing {
            origin,
            port,
            bytes: copy.bytes.len(),
            front: EGRESS_BYTES,
            queue,
            gress: Gress::Egress,
        };
        if copy.bypass_egress {
            self.core.leave(&packet, &copy.bytes, out, follow);
        } else {
            self.front_of_egress(copy);
            self.bytes.extend_from_slice(&copy.bytes);
            self.pass(segment, &packet, out, follow);
        }
        self.core.keep_blank(std::mem::take(&mut copy.bytes));
    }

    /// `egress_intrinsic_metadata_t` on the wire. Queue id and class are those of the traffic
    /// manager's own maps, which are empty; depths count cells of 80 bytes.
    fn front_of_egress(&mut self, copy: &Copy) {
        const CELL: u64 = 80;
        let nanos = |picos: u64| (picos / 1000) & 0x3_ffff;
        let enqueued = copy.enqueued.picos();
        let waited = self.core.now.picos().saturating_sub(enqueued);
        let depth = |bytes: u64| bytes.div_ceil(CELL).min(0x7_ffff);
        let backlog = self.core.ports.backlog(copy.port);
        // Written word by word, as the parser will read it: a load of what several stores have just written
        // would have to wait for them.
        let mut front = [0; 4];
        put(&mut front, 0, 2, (copy.port & 0x1ff).into());
        put(&mut front, 2, 3, depth(copy.depth));
        put(&mut front, 6, 4, nanos(enqueued));
        put(&mut front, 10, 3, depth(backlog));
        put(&mut front, 15, 4, nanos(waited));
        put(&mut front, 19, 2, copy.rid.into());
        put(&mut front, 21, 1, copy.rid_first.into());
        put(&mut front, 25, 2, copy.length.into());
        self.bytes.clear();
        for word in &front {
            self.bytes.extend_from_slice(&word.to_be_bytes());
        }
        self.bytes.truncate(EGRESS_BYTES);
    }

    /// Puts a packet into the queue of a looped port with a rate, or sends it on at once.
    #[inline]
    pub(super) fn queue_or_send<F: Follow>(
        &mut self,
        mut copy: Copy,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        if !self.core.ports.has_rate(copy.port) {
            return self.egress_of(&mut copy, out, follow);
        }
        follow.resume(copy.origin.id);
        match self.core.ports.gathered(self.core.now, copy) {
            None => follow.note("it waits for others that its port can take".to_string()),
            Some(copy) => self.enqueue(copy, out, follow),
        }
    }

    /// Puts a packet into the queue of a looped port with a rate.
    pub(super) fn enqueue<F: Follow>(&mut self, copy: Copy, out: &mut dyn Sink, follow: &mut F) {
        let port = copy.port;
        match self.core.ports.enqueue(self.core.now, copy) {
            Queued::Waits { displaced } => {
                follow.note("it waits in the queue of its port".to_string());
                for copy in displaced {
                    self.core.externs.stats.count_drop(Drop::QueueFull);
                    self.core.keep_blank(copy.bytes);
                }
            }
            Queued::Full(copy) => {
                self.core.keep_blank(copy.bytes);
                return self.core.dropped(Drop::QueueFull, follow);
            }
        }
        self.pump(port, out, follow);
    }

    /// Lets a looped port send, if it is free and packets wait. One that egress drops takes no time.
    pub(super) fn pump<F: Follow>(&mut self, port: Port, out: &mut dyn Sink, follow: &mut F) {
        while let Some(mut copy) = self.next_to_send(port) {
            self.egress_of(&mut copy, out, follow);
        }
    }

    fn next_to_send(&mut self, port: Port) -> Option<Copy> {
        self.core.ports.loop_mut(port)?.next_to_send()
    }
}

impl Core {
    /// Takes the checksum off and sends the packet where its port leads.
    pub(super) fn leave<F: Follow>(
        &mut self,
        packet: &Passing,
        bytes: &[u8],
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let (port, bytes) = (packet.port, without_checksum(bytes));
        if !self.ports.is_looped(port) {
            self.externs.stats.sent += 1;
            self.externs.stats.sent_bytes += bytes.len() as u64;
            follow.fate(|| Fate::Sent {
                port,
                data: bytes.to_vec(),
            });
            return out.transmit_with_priority(port, packet.queue, bytes);
        }
        let bytes = self.filled(bytes);
        let (now, origin) = (self.now, packet.origin);
        match self.ports.loop_mut(port).filter(|looped| looped.has_rate()) {
            Some(looped) => {
                let copy = Copy {
                    origin,
                    port,
                    bytes,
                    ..Copy::default()
                };
                looped.send(now, copy);
                follow.note("it is on its way back through a looped port".to_string());
            }
            None => self.come_back(origin, port, bytes, follow),
        }
    }

    /// A looped port gives a packet back to its own ingress, as a new one.
    pub(super) fn come_back<F: Follow>(
        &mut self,
        before: Origin,
        port: Port,
        bytes: Vec<u8>,
        follow: &mut F,
    ) {
        if let Some(mut origin) = self.born_again(before, port, Kind::Recirculated, follow) {
            origin.looped |= self.ports.arbitrates(port);
            self.externs.stats.recirculated += 1;
            self.generator.recirculated(self.now, port, &bytes);
            self.to_ingress.push_back(Arrival {
                origin,
                port,
                bytes,
                resubmitted: None,
            });
        }
    }
}
