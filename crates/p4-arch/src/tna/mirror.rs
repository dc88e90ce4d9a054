//! Mirrors: copies that a deparser asks for, and the sessions that say where they go.

use super::coalescing::{Coalescing, Collected, Sampled};
use super::events::Core;
use super::metadata::FCS_BYTES;
use super::pre::{Choice, Replication};
use super::queue::{Copy, Origin};
use crate::tree::{Follow, Kind};
use crate::Port;
use p4_state::CloneSession;

/// Whose mirrors a session takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    Ingress,
    Egress,
    #[default]
    Both,
}

/// Where the mirrors of a session go: a port, up to two multicast groups and the CPU, all or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorSession {
    pub enabled: bool,
    pub direction: Direction,
    pub port: Option<Port>,
    /// Queue of the port
    pub queue: u8,
    pub groups: [Option<u16>; 2],
    /// `level1_mcast_hash` and `level2_mcast_hash`
    pub hashes: [u16; 2],
    /// `level1_exclusion_id` and `level2_exclusion_id`
    pub exclusions: [u16; 2],
    pub rid: u16,
    pub copy_to_cpu: bool,
    /// Copies are cut to so many bytes, their header included; `None`: they are whole.
    pub max_length: Option<u32>,
    /// It puts samples of several mirrors into one packet.
    pub coalescing: Option<Coalescing>,
}

impl Default for MirrorSession {
    fn default() -> MirrorSession {
        MirrorSession {
            enabled: true,
            direction: Direction::Both,
            port: None,
            queue: 0,
            groups: [None; 2],
            hashes: [0; 2],
            exclusions: [0; 2],
            rid: 0,
            copy_to_cpu: false,
            max_length: None,
            coalescing: None,
        }
    }
}

impl From<CloneSession> for MirrorSession {
    fn from(session: CloneSession) -> MirrorSession {
        let group = session.group.and_then(|group| u16::try_from(group).ok());
        MirrorSession {
            port: session.port,
            groups: [group, None],
            max_length: session.truncate,
            ..MirrorSession::default()
        }
    }
}

impl MirrorSession {
    fn takes(&self, kind: &Kind) -> bool {
        let own = match kind {
            Kind::EgressClone => Direction::Egress,
            _ => Direction::Ingress,
        };
        self.direction == Direction::Both || self.direction == own
    }
}

/// Where a mirror comes from.
#[derive(Clone, Copy, Debug)]
struct Birth {
    /// In the trace; `None` if it leaves when nothing else happens.
    parent: Option<u32>,
    kind: Kind,
    origin: Origin,
}

impl Core {
    /// Sends a copy where the emitted mirror's session says: its header, then `packet`. A session that
    /// coalesces takes `sample` bytes of that, or as many as it says itself.
    pub(super) fn mirror<F: Follow>(
        &mut self,
        origin: Origin,
        packet: &[u8],
        kind: Kind,
        sample: u16,
        follow: &mut F,
    ) {
        let id = self.externs.emitted.session;
        let neutral = || self.externs.state.session(id.into()).map(Into::into);
        let Some(session) = self.mirrors.get(&id).copied().or_else(neutral) else {
            self.externs.stats.unknown_session += 1;
            return follow.note(format!("no mirror: there is no session {id}"));
        };
        if !session.enabled || !session.takes(&kind) {
            let why = match session.enabled {
                true => "is for the other direction",
                false => "is not enabled",
            };
            return follow.note(format!("no mirror: session {id} {why}"));
        }
        let header = std::mem::take(&mut self.externs.emitted.header);
        let mut bytes = self.filled(&header);
        self.externs.emitted.header = header;
        bytes.extend_from_slice(packet);
        if let Some(own) = &session.coalescing {
            let taken = match own.extracted {
                0 => sample,
                own => own,
            };
            bytes.truncate(taken.into());
            self.sample(id, &session, own, &bytes, origin, follow);
            return self.keep_blank(bytes);
        }
        if let Some(most) = session.max_length.map(|most| most as usize) {
            if bytes.len() > most + FCS_BYTES {
                bytes.truncate(most);
                bytes.extend_from_slice(&[0; FCS_BYTES]);
            }
        }
        let birth = Birth {
            parent: Some(origin.id),
            kind,
            origin,
        };
        self.send_mirrored(id, &session, bytes, birth, follow);
    }

    /// Adds to the packet that a session collects, and sends it if it is long enough now.
    fn sample<F: Follow>(
        &mut self,
        id: u16,
        session: &MirrorSession,
        own: &Coalescing,
        sample: &[u8],
        origin: Origin,
        follow: &mut F,
    ) {
        if sample.is_empty() {
            let why = "it sets no length, and neither does coalesce_length";
            return follow.note(format!("no sample for session {id}: {why}"));
        }
        let place = (self.externs.pipe(), id);
        match self
            .collecting
            .add(place, self.now, session, own, sample, origin)
        {
            Sampled::Waits(count, bytes) => follow.note(format!(
                "session {id} collects: {count} samples, {bytes} bytes"
            )),
            Sampled::Closes(collected) => {
                self.send_collected(id, session, own, &collected, Some(origin.id), follow);
            }
        }
    }

    /// Sends what a session has collected in some pipe until now, when its time is up.
    pub(super) fn send_late<F: Follow>(&mut self, id: u16, collected: &Collected, follow: &mut F) {
        let Some(session) = self.mirrors.get(&id).copied() else {
            return;
        };
        if let Some(own) = &session.coalescing {
            self.send_collected(id, &session, own, collected, None, follow);
        }
    }

    fn send_collected<F: Follow>(
        &mut self,
        id: u16,
        session: &MirrorSession,
        own: &Coalescing,
        collected: &Collected,
        parent: Option<u32>,
        follow: &mut F,
    ) {
        let mut bytes = collected.packet(own);
        bytes.extend_from_slice(&[0; FCS_BYTES]);
        let birth = Birth {
            parent,
            kind: Kind::EgressClone,
            origin: collected.origin,
        };
        self.send_mirrored(id, session, bytes, birth, follow);
    }

    /// Sends a mirror where its session leads.
    fn send_mirrored<F: Follow>(
        &mut self,
        id: u16,
        session: &MirrorSession,
        mut bytes: Vec<u8>,
        birth: Birth,
        follow: &mut F,
    ) {
        let copies_to_cpu = session.copy_to_cpu && self.ports.copy_to_cpu;
        let cpu = self.ports.cpu.filter(|_| copies_to_cpu);
        let alone = |port| Replication {
            port,
            rid: 0,
            first: false,
        };
        let ports = cpu.into_iter().chain(session.port).map(alone);
        let mut copies = self.copies_for(session).into_iter().chain(ports).peekable();
        if copies.peek().is_none() {
            follow.note(format!("no mirror: session {id} leads nowhere"));
        }
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        while let Some(replica) = copies.next() {
            if !self.may_become_more(follow) {
                break;
            }
            self.externs.stats.clones += 1;
            let Birth {
                parent,
                kind,
                origin,
            } = birth;
            let id = follow.born(parent, kind, origin.passes, None);
            let copy = Copy {
                origin: Origin { id, ..origin },
                port: replica.port,
                rid: replica.rid,
                rid_first: replica.first,
                queue: session.queue,
                length,
                // Most sessions make one copy.
                bytes: match copies.peek() {
                    Some(_) => self.filled(&bytes),
                    None => std::mem::take(&mut bytes),
                },
                ..Copy::default()
            };
            self.wait_for_egress(copy);
        }
        self.keep_blank(bytes);
    }

    /// The copies that a session's groups make
    fn copies_for(&self, session: &MirrorSession) -> Vec<Replication> {
        if session.groups == [None; 2] {
            return Vec::new();
        }
        let [hash1, hash2] = session.hashes;
        let [exclusion1, exclusion2] = session.exclusions;
        let choice = Choice {
            hash1,
            hash2,
            exclusion1,
            exclusion2,
            rid: session.rid,
        };
        let groups = session.groups.into_iter().flatten();
        let copies = groups.flat_map(|group| self.copies_of(group, choice));
        copies.collect()
    }
}
