//! Packets that go on from where another one is: copies of a group, for example. What is known there is
//! known to their paths, too. The code of both is one function, which begins at a fork if it is told so.

use crate::flow::Unsupported;
use crate::walk::{Here, Walker};
use cranelift_codegen::ir::{Block, InstBuilder};
use cranelift_frontend::Switch;
use p4_ir::glue::Segment;
use p4_ir::ir::Slot;
use p4_ir::paths::{Fork, Kept, Path};
use std::sync::Arc;

/// Where packets go on.
#[derive(Default)]
pub(crate) struct Forks<'a> {
    /// The blocks of all forks that there may be, in the order of their numbers
    blocks: Vec<Block>,
    found: Vec<Branch<'a>>,
}

/// What is known at a fork, and what packets meet from there.
struct Branch<'a> {
    here: Here,
    words: Vec<(Slot, Kept)>,
    /// Words that are given before those kept
    given: usize,
    segment: &'a Segment,
    paths: Vec<&'a Path>,
}

impl<'a> Walker<'a> {
    /// Begins where the caller says.
    pub fn begin(&mut self) {
        let most = self.paths.iter().map(|path| path.made.len()).sum();
        if most == 0 {
            return;
        }
        let mut switch = Switch::new();
        for number in 1..=most {
            let block = self.e.builder.create_block();
            switch.set_entry(number as u128, block);
            self.forks.blocks.push(block);
        }
        let start = self.e.builder.create_block();
        let from = self.e.fuel();
        switch.emit(&mut self.e.builder, from, start);
        self.e.builder.switch_to_block(start);
    }

    /// Keeps what packets need that go on from an event, if some do.
    pub fn fork(
        &mut self,
        here: &mut Here,
        event: u8,
        list: Option<u64>,
        paths: &[usize],
    ) -> Option<Arc<Fork>> {
        let mut all = self.segment.copies.iter();
        let copies = all.find(|copies| copies.event == event && copies.list == list)?;
        let first = here.n_told;
        let mut words = Vec::new();
        let regions = copies.regions.iter();
        for slot in regions.flat_map(|(slot, n)| *slot..*slot + *n) {
            let Some(value) = self.e.known.get(&slot).copied() else {
                continue; // It is zero.
            };
            let source = self.sources.get(&value).copied();
            let kept = match (self.e.constant_of(value), source) {
                (Some(0), _) => continue,
                (Some(number), _) => Kept::Number(number),
                (None, Some((from, n))) => Kept::Packet { from, n },
                (None, None) => {
                    self.tell(here, value);
                    Kept::Told(here.n_told - 1 - first)
                }
            };
            words.push((slot, kept));
        }
        let mut made: Vec<&Path> = Vec::new();
        for (own, path) in paths.iter().flat_map(|path| &self.paths[*path].made) {
            if *own == event && !made.contains(&path) {
                made.push(path);
            }
        }
        let is_known = !made.is_empty() && self.forks.found.len() < self.forks.blocks.len();
        let mut number = 0;
        if is_known {
            self.forks.found.push(Branch {
                here: Here {
                    cursor: here.cursor,
                    have: here.have,
                    delta: here.delta,
                    n_told: copies.segment.told,
                    ..Here::default()
                },
                words: words.clone(),
                given: copies.given,
                segment: &copies.segment,
                paths: made,
            });
            number = self.forks.found.len();
        }
        Some(Arc::new(Fork {
            number,
            cursor: here.cursor as usize,
            length_delta: here.delta,
            words,
            kept: (first, here.n_told - first),
        }))
    }

    /// Follows the paths of packets that go on from forks.
    pub fn go_on_from_forks(&mut self) -> Result<(), Unsupported> {
        self.all_given.push(std::mem::take(&mut self.given));
        let found = std::mem::take(&mut self.forks.found);
        let blocks = std::mem::take(&mut self.forks.blocks);
        let (own, unused) = blocks.split_at(found.len());
        for (block, branch) in own.iter().zip(found) {
            self.e.builder.switch_to_block(*block);
            self.go_on(branch)?;
            self.all_given.push(std::mem::take(&mut self.given));
        }
        for block in unused {
            self.e.builder.switch_to_block(*block);
            let miss = self.miss;
            self.e.ins().jump(miss, &[]);
        }
        Ok(())
    }

    fn go_on(&mut self, branch: Branch<'a>) -> Result<(), Unsupported> {
        self.e.known.clear();
        for (slot, kept) in branch.words {
            let value = match kept {
                Kept::Number(number) => self.e.number(number),
                Kept::Packet { from, n } => {
                    let value = self.bits(&branch.here, from, n);
                    self.sources.insert(value, (from, n));
                    value
                }
                Kept::Told(index) => self.word_given(branch.given + index),
            };
            self.e.set(slot, value);
        }
        (self.segment, self.paths) = (branch.segment, branch.paths);
        let all = (0..self.paths.len()).collect();
        self.follow(branch.here, all)
    }
}
