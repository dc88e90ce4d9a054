//! The traffic manager: one packet from ingress becomes copies for egress, or none.

use super::events::{At, Copied, Core};
use super::pre::{Choice, Replication};
use super::queue::Copy;
use super::stages::told;
use crate::segments::Architecture;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::Port;

impl Core {
    /// The copies for a group
    pub(super) fn replicate<F: Follow>(&mut self, at: &At<'_>, group: u16, follow: &mut F) {
        self.copied.group = Some(group);
        let word = |index: usize| at.told[index] as u16;
        let choice = Choice {
            hash1: word(told::HASH1),
            hash2: word(told::HASH2),
            exclusion1: word(told::EXCLUSION1),
            exclusion2: word(told::EXCLUSION2),
            rid: word(told::RID),
        };
        for copy in self.copies_of(group, choice) {
            self.externs.stats.replicas += 1;
            self.copy(at, copy.port, Some(copy), follow);
        }
    }

    pub(super) fn copy_to_cpu<F: Follow>(&mut self, at: &At<'_>, follow: &mut F) {
        let cpu = self.ports.cpu.filter(|_| self.ports.copy_to_cpu);
        if let Some(cpu) = cpu {
            self.copy(at, cpu, None, follow);
        }
    }

    fn copy<F: Follow>(
        &mut self,
        at: &At<'_>,
        port: Port,
        replication: Option<Replication>,
        follow: &mut F,
    ) {
        if !self.may_become_more(follow) {
            return;
        }
        let origin = at.packet.origin;
        let id = follow.born(Some(origin.id), Kind::Replica, origin.passes, None);
        self.copied.ids.push(id);
        let mut copy = self.made(at, port);
        copy.origin.id = id;
        copy.rid = replication.map_or(0, |copy| copy.rid);
        copy.rid_first = replication.is_some_and(|copy| copy.first);
        self.wait_for_egress(copy);
    }

    pub(super) fn unicast<F: Follow>(&mut self, at: &At<'_>, follow: &mut F) {
        let port = at.told[told::PORT] as Port;
        if self.ports.leads_somewhere(port) {
            let copy = self.made(at, port);
            return self.wait_for_egress(copy);
        }
        if !self.copied.ids.is_empty() {
            self.externs.stats.bad_port += 1;
        }
        self.rest(Drop::BadPort { port }, follow);
    }

    /// The packet is no more itself: copies of it go on, or nothing does for this reason.
    pub(super) fn rest<F: Follow>(&mut self, nothing: Drop, follow: &mut F) {
        if self.copied.ids.is_empty() {
            return self.dropped(nothing, follow);
        }
        let Copied { ids, group } = &mut self.copied;
        let (ids, group) = (std::mem::take(ids), group.unwrap_or(0).into());
        follow.fate(|| Fate::Replicated { group, ids });
    }

    /// The packet that the deparser has made, for a port
    #[inline]
    fn made(&mut self, at: &At<'_>, port: Port) -> Copy {
        Copy {
            origin: at.packet.origin,
            port,
            bytes: self.filled(at.output),
            length: u16::try_from(at.packet.bytes).unwrap_or(u16::MAX),
            queue: at.told[told::QUEUE] as u8,
            bypass_egress: at.told[told::BYPASS] != 0,
            ..Copy::default()
        }
    }

    /// The copies that a multicast group makes of a packet.
    pub(super) fn copies_of(&self, group: u16, packet: Choice) -> Vec<Replication> {
        let plain = self.externs.state.group(group.into()).unwrap_or_default();
        self.pre.copies(group, plain, packet)
    }
}
