//! Who is next: round robin over bits, iSLIP for crossbars, deficit round robin for credits.

use std::collections::VecDeque;

/// Inputs or outputs as bits.
pub type Mask = u128;

/// The first set bit at or after `from`, around the end; none of an empty mask.
#[inline]
pub(crate) fn next_bit(mask: Mask, from: u8) -> Option<u8> {
    if mask == 0 {
        return None;
    }
    let later = mask & (Mask::MAX << from);
    let chosen = if later != 0 { later } else { mask };
    Some(chosen.trailing_zeros() as u8)
}

/// All set bits, from the least.
#[inline]
pub(crate) fn bits(mut mask: Mask) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = next_bit(mask, 0)?;
        mask &= mask - 1;
        Some(bit)
    })
}

/// iSLIP (McKeown, IEEE/ACM Trans. Netw. 1999): every free output grants an input in turn, every input
/// accepts an output in turn, and a pointer moves only when its grant was accepted in the first round.
#[derive(Clone, Debug, Hash)]
pub struct Islip {
    grant: Vec<u8>,
    accept: Vec<u8>,
    /// Inputs that may serve several outputs at once: what they send is in a cache
    many: Mask,
    offers: Vec<Mask>,
}

impl Islip {
    /// `many` are the inputs that may serve several outputs in one slot. Up to 128 of each.
    pub fn new(inputs: usize, outputs: usize, many: Mask) -> Islip {
        Islip {
            grant: vec![0; outputs],
            accept: vec![0; inputs],
            many,
            offers: vec![0; inputs],
        }
    }

    /// Matches inputs to outputs for one slot. `wants[output]` are the inputs that have a cell for it,
    /// `free` the outputs that can take one. Calls `matched(input, output)` for each pair.
    pub fn run(
        &mut self,
        wants: &[Mask],
        mut free: Mask,
        rounds: usize,
        mut matched: impl FnMut(u8, u8),
    ) {
        let mut taken: Mask = 0;
        for round in 0..rounds {
            let mut offered: Mask = 0;
            for output in bits(free) {
                let open = wants[output as usize] & !taken;
                if let Some(input) = next_bit(open, self.grant[output as usize]) {
                    self.offers[input as usize] |= 1 << output;
                    offered |= 1 << input;
                }
            }
            if offered == 0 {
                return;
            }
            for input in bits(offered) {
                let own = std::mem::take(&mut self.offers[input as usize]);
                if self.many >> input & 1 == 1 {
                    for output in bits(own) {
                        self.grant[output as usize] = self.after(input, self.accept.len());
                        matched(input, output);
                    }
                    free &= !own;
                    continue;
                }
                let Some(output) = next_bit(own, self.accept[input as usize]) else {
                    continue;
                };
                if round == 0 {
                    self.grant[output as usize] = self.after(input, self.accept.len());
                    self.accept[input as usize] = self.after(output, self.grant.len());
                }
                taken |= 1 << input;
                free &= !(1 << output);
                matched(input, output);
            }
        }
    }

    #[inline]
    fn after(&self, one: u8, count: usize) -> u8 {
        ((usize::from(one) + 1) % count) as u8
    }
}

/// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) over queues that are numbers.
#[derive(Clone, Debug, Default, Hash)]
pub struct Drr {
    ring: VecDeque<u32>,
    /// What the first of the ring may still take, in bytes; none until its turn has begun
    turn: Option<u64>,
}

impl Drr {
    /// A queue that was empty has something now. Its deficit begins at zero.
    pub fn add(&mut self, queue: u32) {
        self.ring.push_back(queue);
    }

    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    pub fn first(&self) -> Option<u32> {
        self.ring.front().copied()
    }

    /// Whose turn it is. `size` tells the bytes of a queue's first item, `deficit` holds what it has
    /// saved from former turns.
    pub fn next(
        &mut self,
        quantum: u64,
        size: impl Fn(u32) -> u64,
        deficits: &mut [u64],
    ) -> Option<u32> {
        loop {
            let queue = self.first()?;
            let deficit = &mut deficits[queue as usize];
            if self.turn.is_none() {
                *deficit += quantum;
                self.turn = Some(*deficit);
            }
            if size(queue) <= *deficit {
                return Some(queue);
            }
            self.ring.rotate_left(1);
            self.turn = None;
        }
    }

    /// The first queue has given an item of so many bytes, and has more or is empty now.
    pub fn took(&mut self, bytes: u64, more: bool, deficits: &mut [u64]) {
        let Some(queue) = self.first() else { return };
        deficits[queue as usize] -= bytes;
        if !more {
            deficits[queue as usize] = 0;
            self.ring.pop_front();
            self.turn = None;
        }
    }

    /// The first queue turned out to be empty.
    pub fn skip(&mut self, deficits: &mut [u64]) {
        if let Some(queue) = self.ring.pop_front() {
            deficits[queue as usize] = 0;
            self.turn = None;
        }
    }
}
