//! Egress, checksum update and deparser, and what simple_switch does when egress ends, in its order:
//! clone, drop, recirculate, transmit.

use super::fields::instance;
use super::queue::{restore, Copy, Instance, Origin, Wait};
use super::switch::{Switch, DROP_PORT};
use crate::frame::Field;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::{Port, Sink};
use p4_state::CloneSession;

/// What egress is told of a packet.
struct Departure {
    packet: Instance,
    port: Port,
    /// `None` for a packet that ingress sent on: it keeps what ingress wrote.
    rid: Option<u16>,
    kind: u64,
    /// Value of `packet_length`
    length: u64,
    /// Bytes it is cut to when sent
    truncate: Option<u32>,
    wait: Wait,
}

impl Switch {
    /// The packet that has just left ingress.
    pub(super) fn unicast<F: Follow>(
        &mut self,
        packet: Instance,
        port: Port,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let (length, truncate) = (self.length(), self.externs.requests.truncate);
        let kind = instance::NORMAL;
        self.leave(
            Departure {
                packet,
                port,
                rid: None,
                kind,
                length,
                truncate,
                wait: Wait {
                    enqueued: self.now,
                    ..Wait::default()
                },
            },
            out,
            follow,
        );
    }

    /// A packet that has waited.
    pub(super) fn egress_of<F: Follow>(&mut self, copy: Copy, out: &mut impl Sink, follow: &mut F) {
        follow.resume(copy.instance.id);
        self.machine.reset(&self.image.prepared);
        self.machine.packet.load(&copy.bytes);
        let mut length = copy.length;
        let kind = match copy.origin {
            Some(Origin::IngressClone) => {
                self.parse_again(&copy, follow);
                length = self.length();
                instance::INGRESS_CLONE
            }
            Some(Origin::EgressClone) => {
                self.restore_carried(&copy);
                self.forget_metadata();
                instance::EGRESS_CLONE
            }
            Some(Origin::Replica) => {
                self.restore_carried(&copy);
                instance::REPLICA
            }
            Some(Origin::Unicast) | None => {
                self.restore_carried(&copy);
                instance::NORMAL
            }
        };
        let is_clone = matches!(
            copy.origin,
            Some(Origin::IngressClone | Origin::EgressClone)
        );
        if is_clone {
            if !self.config.bmv2_compat {
                let port = copy.instance.ingress_port.into();
                Field::set(
                    self.image.standard.ingress_port,
                    &mut self.machine.frame,
                    port,
                );
            }
            self.put_back(copy.kept.list, &copy.kept.words);
        }
        let departure = Departure {
            packet: copy.instance,
            port: copy.port,
            rid: copy
                .origin
                .filter(|origin| *origin != Origin::Unicast)
                .map(|_| copy.rid),
            kind,
            length,
            truncate: copy.truncate,
            wait: match self.held.limited {
                true => copy.wait,
                false => Wait {
                    enqueued: self.now,
                    ..Wait::default()
                },
            },
        };
        self.queues.done_copy(copy);
        self.leave(departure, out, follow);
    }

    fn restore_carried(&mut self, copy: &Copy) {
        self.machine.packet.set_cursor(copy.cursor);
        restore(&self.image.carried, &copy.carried, &mut self.machine.frame);
        self.machine.put_undefined(&copy.unset);
    }

    /// An ingress clone has the headers of its bytes and no metadata, whatever its parser has set.
    fn parse_again<F: Follow>(&mut self, copy: &Copy, follow: &mut F) {
        let frame = &mut self.machine.frame;
        let port = copy.instance.ingress_port.into();
        Field::set(self.image.standard.ingress_port, frame, port);
        self.externs.begin(self.now.picos(), copy.instance.bytes);
        self.parse(follow, false);
        self.forget_metadata();
    }

    fn leave<F: Follow>(&mut self, departure: Departure, out: &mut impl Sink, follow: &mut F) {
        let standard = self.image.standard;
        let frame = &mut self.machine.frame;
        Field::set(standard.instance_type, frame, departure.kind);
        Field::set(standard.egress_port, frame, departure.port.into());
        if let Some(rid) = departure.rid {
            Field::set(standard.egress_rid, frame, rid.into());
        }
        Field::set(standard.egress_spec, frame, 0);
        Field::set(standard.packet_length, frame, departure.length);
        let wait = departure.wait;
        let waited = self.now.micros().saturating_sub(wait.enqueued.micros());
        Field::set(standard.enq_timestamp, frame, wait.enqueued.micros());
        Field::set(standard.enq_qdepth, frame, wait.depth_before);
        Field::set(standard.deq_timedelta, frame, waited);
        Field::set(standard.deq_qdepth, frame, wait.depth_after);
        Field::set(standard.egress_global_timestamp, frame, self.now.micros());
        self.machine.length_delta = departure.length as i64 - self.machine.packet.length() as i64;
        self.externs.begin(self.now.picos(), departure.packet.bytes);
        if let Err(reason) = self.control(self.image.blocks.egress, follow) {
            return self.dropped(reason, follow);
        }
        self.end_of_egress(departure, out, follow);
    }

    fn end_of_egress<F: Follow>(
        &mut self,
        departure: Departure,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let requests = self.externs.requests;
        if let Some(request) = requests.clone {
            match self.externs.state.session(request.session) {
                Some(session) => self.clone_at_egress(&departure, session, request.list, follow),
                None => self.no_session(request.session, follow),
            }
        }
        self.keep_digest();
        let spec = Field::get(self.image.standard.egress_spec, &self.machine.frame);
        if spec == DROP_PORT {
            return self.dropped(Drop::EgressDrop, follow);
        }
        for block in [self.image.blocks.compute, self.image.blocks.deparser] {
            if let Err(reason) = self.control(block, follow) {
                return self.dropped(reason, follow);
            }
        }
        self.machine.packet.append_payload();
        if let Some(list) = requests.recirculate {
            let mut again = self.queues.blank_again();
            again.bytes.extend_from_slice(self.machine.packet.output());
            self.keep(Some(list), &mut again.kept);
            again.recirculated = true;
            return self.send_back(departure.packet, again, follow);
        }
        let shortest = departure
            .truncate
            .into_iter()
            .chain(requests.truncate)
            .min();
        self.transmit(departure.port, shortest, out, follow);
    }

    fn transmit<F: Follow>(
        &mut self,
        port: Port,
        truncate: Option<u32>,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let data = self.machine.packet.output();
        let length = truncate.map_or(data.len(), |n| data.len().min(n as usize));
        let data = &data[..length];
        self.externs.stats.sent += 1;
        self.externs.stats.sent_bytes += length as u64;
        follow.fate(|| Fate::Sent {
            port,
            data: data.to_vec(),
        });
        out.transmit(port, data);
    }

    /// The packet as egress has left it, without its metadata.
    fn clone_at_egress<F: Follow>(
        &mut self,
        departure: &Departure,
        session: CloneSession,
        list: Option<u32>,
        follow: &mut F,
    ) {
        for (port, rid) in self.clone_targets(session) {
            if !self.may_become_more(follow) {
                return;
            }
            self.externs.stats.clones += 1;
            let packet = departure.packet;
            let mut copy = self.queues.blank_copy();
            copy.instance = packet;
            copy.instance.id = follow.born(Some(packet.id), Kind::EgressClone, packet.passes, None);
            copy.origin = Some(Origin::EgressClone);
            (copy.port, copy.rid) = (port, rid);
            copy.bytes.extend_from_slice(self.machine.packet.bytes());
            copy.cursor = self.machine.packet.cursor();
            copy.priority = 0;
            self.save_carried(&mut copy);
            copy.length = self.length();
            copy.truncate = session.truncate;
            self.keep(list, &mut copy.kept);
            self.queues.queue_for_egress(copy);
        }
    }
}
