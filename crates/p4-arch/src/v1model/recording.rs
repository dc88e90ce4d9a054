//! Packets that are recorded to learn their paths.

use super::image::Image;
use super::paths::Of;
use super::stages::{Event, Start};
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

    /// The paths of all packets.
    pub fn paths<'a>(&'a self, image: &'a Image) -> impl Iterator<Item = (Of, Path)> + 'a {
        let stages = image.stages(false);
        let packets = self.packets.iter();
        packets.filter_map(move |packet| {
            let own = packet.whole()?;
            let segment = packet.segment?;
            if segment != stages.index(Start::Replica) {
                // Its clones leave before it does.
                let ingress = stages.stage(segment).ingress();
                let late = &own.blocks[ingress.map_or(0, |at| at + 1).min(own.blocks.len())..];
                let in_order = !packet.is_cloned || !change_cells(image, late);
                return in_order.then_some((Of::Segment(segment), own));
            }
            // What ingress has left is known only with the packet that it was made from.
            let origin = self.packets.get(packet.parent? as usize)?;
            let blocks = [origin.whole()?.blocks, own.blocks].concat();
            let end = own.end;
            // Ingress would change them once for each copy, and copies before clones do.
            let is_pure = !change_cells(image, &blocks);
            is_pure.then_some((Of::Copies(origin.segment?), Path { blocks, end }))
        })
    }
}

/// Whether something in these blocks changes what later packets see.
fn change_cells(image: &Image, blocks: &[Vec<Step>]) -> bool {
    let program = image.program();
    let changes = |step: &Step| match program.code.get(step.pc as usize) {
        Some(Op::Extern { call }) => image.prepared.inline(*call) == Some(&Inline::Undoable),
        Some(Op::Apply { table }) => !program.tables[*table as usize].instances.is_empty(),
        _ => false,
    };
    blocks.iter().flatten().any(changes)
}

impl Recorded {
    /// Its path, if it can be one.
    fn whole(&self) -> Option<Path> {
        let end = self.end.filter(|_| !self.failed)? as u8;
        let blocks = self.path.blocks.clone();
        Some(Path { blocks, end })
    }
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
            // They take what only the frame has.
            packet.failed |= matches!(event, Event::EgressClone | Event::Digest);
            packet.is_cloned |= event == Event::IngressClone;
            if event.ends() {
                packet.end = Some(event);
            }
        }
    }
}
