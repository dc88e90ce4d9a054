//! Packets that are recorded to learn their paths.

use crate::stats::Drop;
use crate::tree::{Fate, Follow, Kind};
use crate::Port;
use p4_ir::glue;
use p4_ir::paths::{Path, Record};

/// Follows a packet to learn its path and those of what is made from it.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// By their numbers
    pub packets: Vec<Recorded>,
    current: usize,
    record: Record,
}

#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub parent: Option<u32>,
    /// Where it began
    pub segment: Option<usize>,
    path: Path,
    /// What happened to it, and how many blocks it had met by then
    pub events: Vec<(u8, usize)>,
    /// What ended it, if something did
    end: Option<u8>,
    failed: bool,
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
}

impl Recorded {
    /// Its path, if it can be one.
    pub fn whole(&self) -> Option<Path> {
        let end = self.end.filter(|_| !self.failed)?;
        let (blocks, made) = (self.path.blocks.clone(), Vec::new());
        Some(Path { blocks, end, made })
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

    fn event(&mut self, event: &glue::Event) {
        if let Some(packet) = self.packets.get_mut(self.current) {
            let blocks = packet.path.blocks.len() + self.record.blocks.len();
            packet.events.push((event.id, blocks));
            if event.ends {
                packet.end = Some(event.id);
            }
        }
    }
}
