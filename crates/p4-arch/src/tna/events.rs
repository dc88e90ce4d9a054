//! What the packets of a switch share, and what happens to them between blocks. When each event happens
//! is in `stages.rs`. A packet on a fast path meets the same events as any other.

use super::coalescing::Collecting;
use super::externs::{Externs, Running};
use super::generator::Generator;
use super::image::{Image, Role};
use super::mirror::MirrorSession;
use super::parsing::Gress;
use super::pipes::Pipes;
use super::ports::{pipe, Ports};
use super::pre::Pre;
use super::programs::Elsewhere;
use super::queue::{Arrival, Copy, Origin};
use super::stages::{given, told, Event};
use super::switch::Config;
use crate::segments::{Architecture, Carrier, Open, Travel};
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::{Digest, Port, Sink};
use p4_ir::glue;
use p4_ir::interp::{Halt, Outcome};
use p4_time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Buffers kept for reuse.
const MOST_BLANKS: usize = 64;
/// Bytes of headers that a deparser writes at most.
const MOST_HEADERS: usize = 480;
/// Digests kept until somebody takes them.
const MOST_DIGESTS: usize = 4096;

/// What the packets of a switch share, whatever carries them.
pub(crate) struct Core {
    pub(super) image: Arc<Image>,
    pub(super) config: Config,
    pub(super) externs: Externs,
    pub(super) ports: Ports,
    /// The program's, unless the control plane has placed its pipelines otherwise
    pub(super) pipes: Pipes,
    pub(super) pre: Pre,
    pub(super) digests: VecDeque<Digest>,
    pub(super) now: Time,
    pub(super) mirrors: BTreeMap<u16, MirrorSession>,
    pub(super) collecting: Collecting,
    pub(super) generator: Generator,
    /// For programs in other pipes of the chip
    pub(super) elsewhere: Elsewhere,
    pub(super) to_egress: VecDeque<Copy>,
    pub(super) to_ingress: VecDeque<Arrival>,
    blanks: Vec<Vec<u8>>,
    /// Packets that the arriving packet has become so far
    pub(super) packets: u32,
    pub(super) copied: Copied,
    /// What the last parser that failed found wrong, as `parser_err` has it
    parser_error: u16,
}

/// What the traffic manager has made of the packet under way.
#[derive(Debug, Default)]
pub(super) struct Copied {
    pub ids: Vec<u32>,
    /// The last group that was asked for
    pub group: Option<u16>,
}

/// A packet on its segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    pub(super) origin: Origin,
    /// Where it came in, or where it leaves
    pub(super) port: Port,
    /// Bytes of it, checksum included, and of what its parser meets in front of it
    pub(super) bytes: usize,
    pub(super) front: usize,
    /// Of the queues at its port
    pub(super) queue: u8,
    pub(super) gress: Gress,
}

/// A packet to which something happens.
pub(super) struct At<'a> {
    pub packet: &'a Passing,
    pub told: &'a [u64],
    /// As it came, checksum included
    pub bytes: &'a [u8],
    /// As its deparser has made it, with its payload
    pub output: &'a [u8],
}

impl Architecture for Core {
    type Packet = Passing;
    type Host<'a> = Running<'a>;

    #[inline]
    fn open(&mut self, segment: usize) -> Open<'_, Running<'_>> {
        let (image, externs) = (&*self.image, &mut self.externs);
        Open {
            prepared: &image.prepared,
            stage: image.stages.stage(segment),
            host: Running {
                image,
                externs,
                between: None,
            },
        }
    }

    /// Bytes are all that goes from one segment to another, so nobody has to go first.
    #[inline]
    fn is_busy(&self) -> bool {
        false
    }

    #[inline]
    fn begin(&mut self, packet: &Passing) {
        let (now, bytes) = (self.now.picos(), packet.bytes as u64);
        self.externs.begin(now, bytes, pipe(packet.port));
        self.copied.ids.clear();
        self.copied.group = None;
    }

    #[inline]
    fn ended<F: Follow>(
        &mut self,
        carrier: &mut Carrier,
        packet: &Passing,
        block: u32,
        outcome: Outcome,
        follow: &mut F,
    ) -> Result<(), Drop> {
        match (self.image.roles[block as usize], outcome) {
            (Role::Control, Outcome::Done) | (Role::Parser, Outcome::Done) => Ok(()),
            (Role::Parser, _) => {
                let error = self.parsed(carrier, packet, block, outcome, follow);
                self.parser_error = error;
                carrier.given[given::ERROR] = error.into();
                Ok(())
            }
            (Role::Deparser, Outcome::Done | Outcome::Rejected { .. }) => {
                let made = &mut carrier.machine.packet;
                let bytes = made.output().len();
                if bytes > MOST_HEADERS {
                    let bytes = bytes as u32;
                    return Err(Drop::HeadersTooLong { bytes });
                }
                made.append_payload();
                Ok(())
            }
            (Role::Control, Outcome::Rejected { .. }) => Ok(()),
            (_, Outcome::OutOfFuel | Outcome::Halted(Halt::Call(_))) => Err(Drop::OutOfFuel),
            (_, Outcome::Halted(Halt::Trap(_))) => Err(Drop::IllFormed),
        }
    }

    fn happens<F: Follow>(
        &mut self,
        event: glue::Event,
        carrier: &mut Carrier,
        travel: &Travel<Passing>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let Carrier { machine, given, .. } = carrier;
        let event = Event::numbered(event.id);
        let packet = &travel.packet;
        let bytes = machine.packet.bytes().get(packet.front..);
        let bytes = bytes.unwrap_or_default();
        let at = At {
            packet,
            told: &given[given::TOLD..given::ALL],
            // A parser that ran out of bytes was given more.
            bytes: &bytes[..packet.bytes.min(bytes.len())],
            output: machine.packet.output(),
        };
        self.happen(event, &at, out, follow);
    }

    fn dropped<F: Follow>(&mut self, reason: Drop, follow: &mut F) {
        self.externs.stats.count_drop(reason);
        follow.dropped(reason);
    }
}

impl Core {
    pub(super) fn new(
        image: Arc<Image>,
        config: Config,
        externs: Externs,
        generator: Generator,
    ) -> Core {
        Core {
            externs,
            ports: Ports::new(config.pipes, config.seed),
            pipes: image.pipes.clone(),
            image,
            config,
            pre: Pre::default(),
            digests: VecDeque::new(),
            now: Time::ZERO,
            mirrors: BTreeMap::new(),
            collecting: Collecting::default(),
            generator,
            elsewhere: Elsewhere::default(),
            to_egress: VecDeque::new(),
            to_ingress: VecDeque::new(),
            blanks: Vec::new(),
            packets: 0,
            copied: Copied::default(),
            parser_error: 0,
        }
    }

    pub(super) fn happen<F: Follow>(
        &mut self,
        event: Event,
        at: &At<'_>,
        out: &mut dyn Sink,
        follow: &mut F,
    ) {
        let packet = at.packet;
        match event {
            Event::ParserError => {
                let error = self.parser_error;
                self.dropped(Drop::ParserError { error }, follow);
            }
            Event::Resubmit => self.resubmit(at, follow),
            Event::NoResubmit => {
                follow.note("resubmit_type is written, but no Resubmit was emitted".to_string());
            }
            Event::NotAgain => {
                follow.note("a packet can be resubmitted once; it goes on".to_string());
            }
            Event::IngressMirror => {
                self.mirror(packet.origin, at.bytes, Kind::IngressClone, 0, follow);
            }
            Event::EgressMirror => {
                let sample = at.told[told::SAMPLE] as u16 * 4;
                self.mirror(packet.origin, at.output, Kind::EgressClone, sample, follow);
            }
            Event::NoMirror => {
                follow.note("mirror_type is written, but no Mirror was emitted".to_string());
            }
            Event::Digest => self.send_digest(),
            Event::GroupA => self.replicate(at, at.told[told::GROUP_A] as u16, follow),
            Event::GroupB => self.replicate(at, at.told[told::GROUP_B] as u16, follow),
            Event::CopyToCpu => self.copy_to_cpu(at, follow),
            Event::IngressDrop => self.rest(Drop::IngressDropCtl, follow),
            Event::Unicast => self.unicast(at, follow),
            Event::Rest => {
                let nowhere = match self.copied.group {
                    Some(group) => Drop::NoGroup {
                        group: group.into(),
                    },
                    None => Drop::NoTarget,
                };
                self.rest(nowhere, follow);
            }
            Event::EgressDrop => self.dropped(Drop::EgressDropCtl, follow),
            Event::Leave => self.leave(packet, at.output, out, follow),
        }
    }

    /// Sends the packet as it came in through ingress once more.
    fn resubmit<F: Follow>(&mut self, at: &At<'_>, follow: &mut F) {
        let Passing { origin, port, .. } = *at.packet;
        let Some(origin) = self.born_again(origin, port, Kind::Resubmitted, follow) else {
            return;
        };
        self.externs.stats.resubmitted += 1;
        let again = Arrival {
            origin,
            port,
            bytes: without_checksum(at.bytes).to_vec(),
            resubmitted: Some(self.externs.emitted.resubmit.clone()),
        };
        self.to_ingress.push_back(again);
    }

    /// One more pass, unless there were too many.
    pub(super) fn born_again<F: Follow>(
        &mut self,
        before: Origin,
        port: Port,
        kind: Kind,
        follow: &mut F,
    ) -> Option<Origin> {
        let passes = before.passes + 1;
        if passes > self.config.max_passes {
            self.dropped(Drop::TooManyPasses, follow);
            return None;
        }
        if self.are_too_many() {
            self.dropped(Drop::TooManyPackets, follow);
            return None;
        }
        let id = follow.born(Some(before.id), kind, passes, Some(port));
        follow.fate(|| Fate::Again { id });
        Some(Origin {
            id,
            passes,
            ..before
        })
    }

    fn send_digest(&mut self) {
        let (call, fields) = &self.externs.emitted.digest;
        match self.digests.len() < MOST_DIGESTS {
            true => self.digests.push_back(Digest {
                call: *call,
                fields: fields.clone(),
                pipe: self.externs.pipe(),
            }),
            false => self.externs.stats.lost_digests += 1,
        }
    }

    #[inline]
    pub(super) fn wait_for_egress(&mut self, mut copy: Copy) {
        if self.elsewhere.have(copy.port) {
            return self.elsewhere.take(copy);
        }
        copy.enqueued = self.now;
        self.to_egress.push_back(copy);
    }

    /// A buffer with these bytes
    #[inline]
    pub(super) fn filled(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut own = self.blanks.pop().unwrap_or_default();
        own.extend_from_slice(bytes);
        own
    }

    #[inline]
    pub(super) fn keep_blank(&mut self, mut bytes: Vec<u8>) {
        bytes.clear();
        if bytes.capacity() > 0 && self.blanks.len() < MOST_BLANKS {
            self.blanks.push(bytes);
        }
    }

    /// Counts one packet more.
    fn are_too_many(&mut self) -> bool {
        self.packets += 1;
        self.packets > self.config.max_packets
    }

    /// Counts one copy more; false, said and counted, if they are too many.
    pub(super) fn may_become_more<F: Follow>(&mut self, follow: &mut F) -> bool {
        if self.are_too_many() {
            self.externs.stats.count_drop(Drop::TooManyPackets);
            follow.note(Drop::TooManyPackets.to_string());
            return false;
        }
        true
    }
}

pub(super) fn without_checksum(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().saturating_sub(super::metadata::FCS_BYTES)]
}
