//! Egress, checksum update and deparser, and what simple_switch does when egress ends, in its order:
//! clone, drop, recirculate, transmit.

use super::externs::Requests;
use super::fields::{instance, Leaving};
use super::queue::{restore, Copy, Instance, Origin, Wait};
use super::switch::{Switch, DROP_PORT};
use crate::frame::Field;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::{Port, Sink};
use p4_state::CloneSession;

/// A packet behind ingress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub packet: Instance,
    pub port: Port,
    /// Of the queues at its port, as ingress has said
    pub priority: u8,
    /// Bytes it is cut to when sent
    pub truncate: Option<u32>,
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
        let truncate = self.externs.requests.truncate;
        let leaving = Leaving {
            kind: instance::NORMAL,
            port,
            rid: None,
            length: self.length(),
            now: self.now,
            enqueued: self.now,
            depths: (0, 0),
        };
        let departure = Departure {
            packet,
            port,
            priority: self.priority(),
            truncate,
        };
        self.leave(departure, &leaving, out, follow);
    }

    /// A packet that has waited.
    pub(super) fn egress_of<F: Follow>(&mut self, copy: Copy, out: &mut impl Sink, follow: &mut F) {
        follow.resume(copy.instance.id);
        self.reset::<F>();
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
        let wait = match self.held.limited {
            true => copy.wait,
            false => Wait {
                enqueued: self.now,
                ..Wait::default()
            },
        };
        let is_unicast = matches!(copy.origin, Some(Origin::Unicast) | None);
        let leaving = Leaving {
            kind,
            port: copy.port,
            rid: (!is_unicast).then_some(copy.rid),
            length,
            now: self.now,
            enqueued: wait.enqueued,
            depths: (wait.depth_before, wait.depth_after),
        };
        let departure = Departure {
            packet: copy.instance,
            port: copy.port,
            priority: copy.priority,
            truncate: copy.truncate,
        };
        self.queues.done_copy(copy);
        self.leave(departure, &leaving, out, follow);
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

    fn leave<F: Follow>(
        &mut self,
        departure: Departure,
        leaving: &Leaving,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let standard = &self.image.standard;
        standard.leave(leaving, &mut self.machine.frame);
        self.machine.length_delta = leaving.length as i64 - self.machine.packet.length() as i64;
        self.externs.begin(self.now.picos(), departure.packet.bytes);
        if self.has_usual_way::<F>() {
            return self.usual_way_out(departure, out, follow);
        }
        if let Err(reason) = self.control(self.image.blocks.egress, follow) {
            return self.dropped(reason, follow);
        }
        self.end_of_egress(&departure, out, follow);
    }

    pub(super) fn end_of_egress<F: Follow>(
        &mut self,
        departure: &Departure,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        let requests = self.externs.requests;
        if let Some(request) = requests.clone {
            match self.externs.state.session(request.session) {
                Some(session) => self.clone_at_egress(departure, session, request.list, follow),
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
        self.send(departure, &requests, out, follow);
    }

    /// What the deparser has made goes back to ingress or out; `requests` are egress's.
    pub(super) fn send<F: Follow>(
        &mut self,
        departure: &Departure,
        requests: &Requests,
        out: &mut impl Sink,
        follow: &mut F,
    ) {
        self.machine.packet.append_payload();
        if let Some(list) = requests.recirculate {
            let mut again = self.queues.blank_again();
            again.bytes.extend_from_slice(self.machine.packet.output());
            self.keep(Some(list), &mut again.kept);
            again.recirculated = true;
            return self.send_back(departure.packet, again, follow);
        }
        let limits = departure.truncate.into_iter().chain(requests.truncate);
        let (port, truncate) = (departure.port, limits.min());
        let data = self.machine.packet.output();
        let length = truncate.map_or(data.len(), |n| data.len().min(n as usize));
        let data = &data[..length];
        self.externs.stats.sent += 1;
        self.externs.stats.sent_bytes += length as u64;
        follow.fate(|| Fate::Sent {
            port,
            data: data.to_vec(),
        });
        out.transmit_with_priority(port, departure.priority, data);
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
