//! Ingress: parser, match-action stages, and what the deparser does in its order: resubmit, mirror,
//! the packet, digest.

use super::metadata::{Order, FCS_BYTES, INGRESS_BYTES, PORT_BYTES};
use super::parsing::Gress;
use super::pipes::Pipeline;
use super::ports::pipe;
use super::queue::{Arrival, Origin};
use super::switch::Switch;
use super::traffic::Packet;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::{Digest, Port};

/// Bytes of headers that a deparser writes at most.
const MOST_HEADERS: usize = 480;

impl Switch {
    /// One pass through ingress.
    pub(super) fn ingress_of<F: Follow>(&mut self, arrival: Arrival, follow: &mut F) {
        follow.resume(arrival.origin.id);
        let Some(pipeline) = self.pipes.at(arrival.port).copied() else {
            let port = arrival.port;
            return self.dropped(Drop::BadPort { port }, follow);
        };
        let mut given = std::mem::take(&mut self.given);
        self.front_of(&arrival, &mut given);
        let first = given.len();
        given.extend_from_slice(&arrival.bytes);
        given.extend_from_slice(&[0; FCS_BYTES]);
        let length = given.len() - first;
        let pipe = pipe(arrival.port);
        self.externs.begin(self.now.picos(), length as u64, pipe);
        let is_lenient = pipeline.metadata.reads_parser_error;
        let parser = pipeline.ingress_parser(arrival.port);
        let error = self.parse(parser, &given, Gress::Ingress { is_lenient }, follow);
        self.given = given;
        if error != 0 && !is_lenient {
            return self.dropped(Drop::ParserError { error }, follow);
        }
        let nanos = self.now.picos() / 1000;
        let metadata = &pipeline.metadata;
        metadata.parsed_at_ingress(&mut self.machine.frame, error, nanos);
        if let Err(reason) = self.control(pipeline.ingress, follow) {
            return self.dropped(reason, follow);
        }
        self.end_of_ingress(&pipeline, arrival, length, follow);
    }

    /// What the parser meets before the packet: intrinsic metadata, then port metadata or the data
    /// of a resubmission.
    fn front_of(&self, arrival: &Arrival, given: &mut Vec<u8>) {
        let flag = u64::from(arrival.resubmitted.is_some());
        let time = (self.now.picos() / 1000) & 0xffff_ffff_ffff;
        let word = flag << 63 | u64::from(arrival.port & 0x1ff) << 48 | time;
        given.clear();
        given.extend_from_slice(&word.to_be_bytes());
        match &arrival.resubmitted {
            Some(data) => given.extend_from_slice(data),
            None => given.extend_from_slice(&self.ports.metadata(arrival.port).to_be_bytes()),
        }
        debug_assert!(given.len() >= INGRESS_BYTES && PORT_BYTES == 8);
    }

    fn end_of_ingress<F: Follow>(
        &mut self,
        pipeline: &Pipeline,
        arrival: Arrival,
        length: usize,
        follow: &mut F,
    ) {
        let metadata = &pipeline.metadata;
        let order = metadata.ingress_order(&self.machine.frame);
        let wish = metadata.wish(&self.machine.frame);
        let made = self.deparse(pipeline.ingress_deparser, follow);
        if let Err(reason) = made {
            return self.dropped(reason, follow);
        }
        if order.resubmit && self.resubmit(&arrival, follow) {
            return;
        }
        if order.mirror {
            // The packet as it came in, whatever ingress made of it
            let mut original = std::mem::take(&mut self.scratch);
            original.clear();
            original.extend_from_slice(&arrival.bytes);
            original.extend_from_slice(&[0; FCS_BYTES]);
            self.mirror(arrival.origin, &original, Kind::IngressClone, 0, follow);
            self.scratch = original;
        }
        if order.digest {
            self.send_digest();
        }
        let packet = Packet {
            origin: arrival.origin,
            length: u16::try_from(length).unwrap_or(u16::MAX),
            queue: wish.queue,
        };
        self.manage_traffic(packet, wish, order, follow);
    }

    /// Runs a deparser: headers, then payload; says so if it cannot be done.
    pub(super) fn deparse<F: Follow>(&mut self, block: u32, follow: &mut F) -> Result<(), Drop> {
        self.machine.packet.clear_output();
        self.control(block, follow)?;
        let bytes = self.machine.packet.output().len();
        if bytes > MOST_HEADERS {
            let bytes = bytes as u32;
            return Err(Drop::HeadersTooLong { bytes });
        }
        self.machine.packet.append_payload();
        Ok(())
    }

    /// Sends the packet as it came in through ingress once more; the chip does that once.
    fn resubmit<F: Follow>(&mut self, arrival: &Arrival, follow: &mut F) -> bool {
        let Some(data) = self.externs.emitted.resubmit.take() else {
            follow.note("resubmit_type is written, but no Resubmit was emitted".to_string());
            return false;
        };
        if arrival.resubmitted.is_some() {
            follow.note("a packet can be resubmitted once; it goes on".to_string());
            return false;
        }
        let Some(origin) = self.born_again(arrival, Kind::Resubmitted, follow) else {
            return true;
        };
        self.externs.stats.resubmitted += 1;
        let again = Arrival {
            origin,
            port: arrival.port,
            bytes: arrival.bytes.clone(),
            resubmitted: Some(data),
        };
        self.wait_for_ingress(again);
        true
    }

    /// One more pass, unless there were too many.
    pub(super) fn born_again<F: Follow>(
        &mut self,
        before: &Arrival,
        kind: Kind,
        follow: &mut F,
    ) -> Option<Origin> {
        let passes = before.origin.passes + 1;
        if passes > self.config.max_passes {
            self.dropped(Drop::TooManyPasses, follow);
            return None;
        }
        if self.are_too_many() {
            self.dropped(Drop::TooManyPackets, follow);
            return None;
        }
        let id = follow.born(Some(before.origin.id), kind, passes, Some(before.port));
        follow.fate(|| Fate::Again { id });
        Some(Origin {
            id,
            passes,
            ..before.origin
        })
    }

    fn send_digest(&mut self) {
        const MOST_WAITING: usize = 4096;
        let Some((call, fields)) = self.externs.emitted.digest.take() else {
            return;
        };
        match self.digests.len() < MOST_WAITING {
            true => self.digests.push_back(Digest {
                call,
                fields,
                pipe: self.externs.pipe(),
            }),
            false => self.externs.stats.lost_digests += 1,
        }
    }

    /// A packet from outside.
    pub(super) fn arrive<F: Follow>(&mut self, port: Port, data: &[u8], follow: &mut F) {
        let id = follow.born(None, Kind::Original, 0, Some(port));
        let origin = Origin {
            id,
            ..Origin::default()
        };
        let mut bytes = self.blank();
        bytes.extend_from_slice(data);
        self.wait_for_ingress(Arrival {
            origin,
            port,
            bytes,
            resubmitted: None,
        });
    }
}

impl Order {
    /// Whether the packet itself goes on to the traffic manager.
    pub fn goes_on(&self) -> bool {
        !self.drop
    }
}
