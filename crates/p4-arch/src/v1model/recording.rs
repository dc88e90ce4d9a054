//! Packets that are recorded to learn their paths.

use super::image::Image;
use super::stages::Event;
use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::Port;
use p4_ir::ir::Op;
use p4_ir::native::Inline;
use p4_ir::paths::{Path, Record, Step};

/// Follows a packet to learn its path and those of what is made from it.
#[derive(Debug, Default)]
pub(super) struct Recording {
    packets: Vec<Recorded>,
    current: usize,
    record: Record,
}

#[derive(Debug, Default)]
struct Recorded {
    parent: Option<u32>,
    /// Where it began
    segment: Option<usize>,
    path: Path,
    /// What ended it, if something did
    end: Option<Event>,
    failed: bool,
    is_cloned: bool,
    /// Blocks that it had met when it came to a queue
    queued: Option<usize>,
}

impl Recording {
    /// Gives the packet under way what was recorded since the last time.
    pub fn collect(&mut self) {
        let blocks = self.record.take();
        if let Some(packet) = self.packets.get_mut(self.current) {
            match blocks {
                Some(blocks) => packet.path.blocks.extend(blocks),
                None => packet.failed = true,
            }
        }
    }

    /// The paths of all packets and their segments; where queues hold packets back, they end there.
    pub fn paths(&self, image: &Image, are_limited: bool) -> Vec<(usize, Path)> {
        let mut paths = Vec::new();
        for packet in &self.packets {
            let made = self.made(packet, image, are_limited);
            paths.extend(packet.begun(image, are_limited));
            paths.extend(made);
        }
        paths
    }

    /// The path of a packet that was made from another one, as part of that one's.
    fn made(&self, packet: &Recorded, image: &Image, are_limited: bool) -> Option<(usize, Path)> {
        let (event, path, origin) = match packet.queued.filter(|_| are_limited) {
            Some(at) => {
                let mut path = packet.whole()?;
                path.blocks.drain(..at.min(path.blocks.len()));
                let has_left = path.end != Event::Queue as u8;
                (Some(Event::Queue).filter(|_| has_left)?, path, packet)
            }
            None => {
                let event = image.stages(false).made_by(packet.segment?)?;
                let origin = self.packets.get(packet.parent? as usize)?;
                (event, packet.whole()?, origin)
            }
        };
        let (segment, mut begun) = origin.begun(image, are_limited)?;
        begun.made.push((event as u8, path));
        Some((segment, begun))
    }
}

impl Recorded {
    /// Its path, if it can be one.
    fn whole(&self) -> Option<Path> {
        let end = self.end.filter(|_| !self.failed)? as u8;
        let (blocks, made) = (self.path.blocks.clone(), Vec::new());
        Some(Path { blocks, end, made })
    }

    /// Its path from the parser on.
    fn begun(&self, image: &Image, are_limited: bool) -> Option<(usize, Path)> {
        let (stages, segment) = (image.stages(false), self.segment?);
        if stages.made_by(segment).is_some() {
            return None;
        }
        let mut path = self.whole()?;
        if let Some(at) = self.queued.filter(|_| are_limited) {
            path.blocks.truncate(at);
            path.end = Event::Queue as u8;
            return Some((segment, path));
        }
        // Its clones leave before it does.
        let ingress = stages.stage(segment).ingress();
        let late = path.blocks.get(ingress.map_or(0, |at| at + 1)..);
        let in_order = !self.is_cloned || !change_cells(image, late.unwrap_or_default());
        in_order.then_some((segment, path))
    }
}

/// Whether something in these blocks changes what later packets see.
pub(super) fn change_cells(image: &Image, blocks: &[Vec<Step>]) -> bool {
    let program = image.program();
    let changes = |step: &Step| match program.code.get(step.pc as usize) {
        Some(Op::Extern { call }) => image.prepared.inline(*call) == Some(&Inline::Undoable),
        Some(Op::Apply { table }) => {
            let table = &program.tables[*table as usize];
            // A property may be a timeout, for which hits are noted.
            !table.instances.is_empty() || !table.properties.is_empty()
        }
        _ => false,
    };
    blocks.iter().flatten().any(changes)
}

impl Follow for Recording {
    type Tracer = Record;

    fn born(&mut self, parent: Option<u32>, _: Kind, _: u32, _: Option<Port>) -> u32 {
        self.packets.push(Recorded {
            parent,
            ..Recorded::default()
        });
        self.packets.len() as u32 - 1
    }

    fn resume(&mut self, id: u32) {
        self.collect();
        self.current = id as usize;
    }

    fn tracer(&mut self, _: u32) -> &mut Record {
        self.record.begin();
        &mut self.record
    }

    fn note(&mut self, _: String) {}
    fn fate(&mut self, _: impl FnOnce() -> Fate) {}
    fn dropped(&mut self, _: Drop) {}

    /// A packet that had to wait goes on from its queue, but its path is the same.
    fn begins(&mut self, segment: usize) {
        if let Some(packet) = self.packets.get_mut(self.current) {
            packet.segment.get_or_insert(segment);
        }
    }

    fn event(&mut self, event: u8) {
        let event = Event::numbered(event);
        if let Some(packet) = self.packets.get_mut(self.current) {
            if event == Event::Queue {
                let blocks = packet.path.blocks.len() + self.record.blocks.len();
                packet.queued.get_or_insert(blocks);
            }
            packet.is_cloned |= event == Event::IngressClone;
            if event.ends() {
                packet.end = Some(event);
            }
        }
    }
}
