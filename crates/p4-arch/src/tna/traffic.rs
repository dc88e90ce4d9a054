//! The traffic manager: one packet from ingress becomes copies for egress, or none.

use super::metadata::{Order, Wish};
use super::pre::{Choice, Replication};
use super::queue::{Copy, Origin};
use super::switch::Switch;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::Port;

/// The packet that the ingress deparser has made; its bytes are the machine's output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub origin: Origin,
    /// Bytes as received, checksum included
    pub length: u16,
    /// Queue of the egress port
    pub queue: u8,
}

impl Switch {
    /// Unicast, both multicast groups and the copy to the CPU stand beside each other.
    pub(super) fn manage_traffic<F: Follow>(
        &mut self,
        packet: Packet,
        wish: Wish,
        order: Order,
        follow: &mut F,
    ) {
        if order.drop && !wish.copy_to_cpu {
            return self.dropped(Drop::IngressDropCtl, follow);
        }
        let mut ids = Vec::new();
        let mut last_group = None;
        for group in wish
            .groups
            .into_iter()
            .flatten()
            .filter(|_| order.goes_on())
        {
            last_group = Some(group);
            self.replicate(packet, group, &wish, &mut ids, follow);
        }
        let to_cpu = wish.copy_to_cpu && !order.no_copy_to_cpu && self.ports.copy_to_cpu;
        if let Some(cpu) = self.ports.cpu.filter(|_| to_cpu) {
            let bypass = wish.bypass_egress;
            self.copy(packet, cpu, None, bypass, &mut ids, follow);
        }
        match wish.unicast.filter(|_| order.goes_on()) {
            Some(port) if !self.ports.leads_somewhere(port) => {
                if ids.is_empty() {
                    return self.dropped(Drop::BadPort { port }, follow);
                }
                self.externs.stats.bad_port += 1;
            }
            Some(port) => {
                let bytes = self.output();
                return self.wait_for_egress(Copy {
                    origin: packet.origin,
                    port,
                    bytes,
                    length: packet.length,
                    queue: packet.queue,
                    bypass_egress: wish.bypass_egress,
                    ..Copy::default()
                });
            }
            None => {}
        }
        match (ids.is_empty(), last_group) {
            (false, group) => follow.fate(|| Fate::Replicated {
                group: group.unwrap_or(0).into(),
                ids,
            }),
            (true, Some(group)) if order.goes_on() => {
                let group = group.into();
                self.dropped(Drop::NoGroup { group }, follow)
            }
            (true, _) if order.drop => self.dropped(Drop::IngressDropCtl, follow),
            (true, _) => self.dropped(Drop::NoTarget, follow),
        }
    }

    fn replicate<F: Follow>(
        &mut self,
        packet: Packet,
        group: u16,
        wish: &Wish,
        ids: &mut Vec<u32>,
        follow: &mut F,
    ) {
        let choice = Choice {
            hash1: wish.hash1,
            hash2: wish.hash,
            exclusion1: wish.exclusion1,
            exclusion2: wish.exclusion2,
            rid: wish.rid,
        };
        for copy in self.copies_of(group, choice) {
            self.externs.stats.replicas += 1;
            self.copy(
                packet,
                copy.port,
                Some(copy),
                wish.bypass_egress,
                ids,
                follow,
            );
        }
    }

    fn copy<F: Follow>(
        &mut self,
        packet: Packet,
        port: Port,
        replication: Option<Replication>,
        bypass_egress: bool,
        ids: &mut Vec<u32>,
        follow: &mut F,
    ) {
        if !self.may_become_more(follow) {
            return;
        }
        let origin = packet.origin;
        let id = follow.born(Some(origin.id), Kind::Replica, origin.passes, None);
        ids.push(id);
        let bytes = self.output();
        self.wait_for_egress(Copy {
            origin: Origin { id, ..origin },
            port,
            bytes,
            length: packet.length,
            queue: packet.queue,
            rid: replication.map_or(0, |copy| copy.rid),
            rid_first: replication.is_some_and(|copy| copy.first),
            bypass_egress,
            ..Copy::default()
        });
    }

    /// The copies that a multicast group makes of a packet.
    pub(super) fn copies_of(&self, group: u16, packet: Choice) -> Vec<Replication> {
        let plain = self.externs.state.group(group.into()).unwrap_or_default();
        self.pre.copies(group, plain, packet)
    }

    /// The packet that the deparser has made.
    fn output(&mut self) -> Vec<u8> {
        let mut bytes = self.blank();
        bytes.extend_from_slice(self.machine.packet.output());
        bytes
    }
}
