//! Messages to other partitions, until the end of a window.

use p4_time::Time;

/// A message, when it happens at its receiver, and the number of the partition that sent it.
#[derive(Clone, Copy, Debug)]
pub struct Letter<M> {
    pub time: Time,
    pub from: u32,
    pub message: M,
}

/// What one partition sends, by receiver.
#[derive(Clone, Debug)]
pub struct Outbox<M> {
    letters: Vec<Vec<Letter<M>>>,
    /// Receivers that get something
    used: Vec<u32>,
    earliest: Time,
}

impl<M> Default for Outbox<M> {
    fn default() -> Outbox<M> {
        Outbox {
            letters: Vec::new(),
            used: Vec::new(),
            earliest: Time::MAX,
        }
    }
}

impl<M> Outbox<M> {
    #[inline]
    pub fn send(&mut self, to: u32, letter: Letter<M>) {
        if self.letters.len() <= to as usize {
            self.letters.resize_with(to as usize + 1, Vec::new);
        }
        self.earliest = self.earliest.min(letter.time);
        let letters = &mut self.letters[to as usize];
        if letters.is_empty() {
            self.used.push(to);
        }
        letters.push(letter);
    }

    /// Hands all letters out, those to one receiver at a time; the earliest moment among them, which
    /// is the last of all times if there are none. The callee empties each.
    pub fn empty(&mut self, mut hand: impl FnMut(usize, &mut Vec<Letter<M>>)) -> Time {
        for to in self.used.drain(..) {
            hand(to as usize, &mut self.letters[to as usize]);
        }
        std::mem::replace(&mut self.earliest, Time::MAX)
    }
}
