//! A segment made ready, and glue about fields that a program may not have.

use super::ready::Ready;
use crate::frame::Field;
use p4_ir::glue::{Event, Glue, Segment, Source, Test};

/// A segment, and which blocks of the program its blocks are.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    pub segment: Segment,
    /// By the blocks of the segment
    pub blocks: Vec<u32>,
    /// Its glue, by the number of blocks that are over
    pub(super) glue: Vec<Ready>,
    /// Where the told words begin among those given
    told: usize,
}

impl Stage {
    pub fn new(segment: Segment, blocks: Vec<u32>, told: usize) -> Stage {
        let mut stage = Stage {
            segment,
            blocks,
            glue: Vec::new(),
            told,
        };
        stage.prepare();
        stage
    }

    fn prepare(&mut self) {
        let (segment, told) = (&self.segment, self.told);
        let lists = (0..=segment.blocks.len()).map(|blocks| Ready::new(segment.glue(blocks), told));
        self.glue = lists.collect();
    }

    /// Changes its glue.
    pub fn change(&mut self, change: &mut impl FnMut(&mut Vec<Glue>)) {
        change(&mut self.segment.before);
        self.segment.after.iter_mut().for_each(change);
        self.prepare();
    }
}

/// The event of this number if all tests hold.
pub(crate) fn when(id: u8, ends: bool, tests: &[Test]) -> Glue {
    let mut all = [Test::Always; 3];
    for (own, test) in all.iter_mut().zip(tests) {
        *own = *test;
    }
    let tests = all;
    Glue::Event(Event { id, tests, ends })
}

pub(crate) fn set(field: Option<Field>, source: Source) -> Option<Glue> {
    field.map(|field| Glue::Set {
        slot: field.slot(),
        mask: field.mask(),
        source,
    })
}

pub(crate) fn tell(field: Option<Field>, index: usize) -> Option<Glue> {
    field.map(|field| Glue::Tell {
        index,
        slot: field.slot(),
    })
}

pub(crate) fn is(field: Option<Field>, value: u64) -> Option<Test> {
    let (slot, mask) = (field?.slot(), u64::MAX);
    Some(Test::Is { slot, mask, value })
}

pub(crate) fn not(field: Option<Field>, value: u64) -> Option<Test> {
    let (slot, mask) = (field?.slot(), u64::MAX);
    Some(Test::Not { slot, mask, value })
}
