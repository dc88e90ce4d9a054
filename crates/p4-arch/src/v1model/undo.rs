//! Taking back what a packet has changed on a fast path that it did not stay on.

use super::externs::Externs;
use crate::random::Random;
use p4_ir::ir::InstanceId;

/// What the externs held before a path, besides the cells that the journal of the state notes.
#[derive(Debug)]
pub(super) struct Before {
    random: Random,
    out_of_range: u64,
    /// Of the direct meters that have been asked, oldest first
    pub colors: Vec<(InstanceId, u64)>,
}

impl Before {
    pub fn new(random: Random) -> Before {
        Before {
            random,
            out_of_range: 0,
            colors: Vec::new(),
        }
    }
}

impl Externs {
    /// Starts a path of a packet with so many bytes; what it changes can be taken back.
    #[inline]
    pub fn try_path(&mut self, now: u64, bytes: u64) {
        (self.now, self.bytes) = (now, bytes);
        self.before.random = self.random;
        self.before.out_of_range = self.stats.out_of_range;
        self.state.open_journal();
    }

    /// The packet has stayed on the path.
    #[inline]
    pub fn keep(&mut self) {
        self.before.colors.clear();
        self.state.close_journal();
    }

    /// The packet has left the path, and was never there.
    pub fn take_back(&mut self) {
        self.random = self.before.random;
        self.stats.out_of_range = self.before.out_of_range;
        for (meter, color) in self.before.colors.drain(..).rev() {
            self.colors[meter as usize] = color;
        }
        self.state.roll_back();
    }
}
