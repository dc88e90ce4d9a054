//! What each table answered last.
//!
//! Packets of a flow come one after the other and ask the same of a table. In a network of a thousand
//! switches the way from a key to an answer would miss the cache at every step, so the last answer is kept
//! with its key in one cache line.

use p4_ir::interp::Plain;

/// Words of the longest key, and of the longest list of parameters, that are kept
const KEY: usize = 3;
const DATA: usize = 4;

/// The last answer of a table.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Recent {
    /// Words of the key; 0 if nothing is kept
    key_words: u8,
    data_words: u8,
    hit: bool,
    pub action: u32,
    key: [u64; KEY],
    data: [u64; DATA],
}

impl Recent {
    #[inline]
    pub fn is_of(&self, key: &[u64]) -> bool {
        // A comparison of slices would be a call.
        let same = |(own, key): (&u64, &u64)| own == key;
        usize::from(self.key_words) == key.len()
            && !key.is_empty()
            && self.key.iter().zip(key).all(same)
    }

    #[inline]
    pub fn answer(&self) -> Plain<'_> {
        Plain {
            hit: self.hit,
            action: self.action,
            data: &self.data[..usize::from(self.data_words).min(DATA)],
        }
    }

    /// Keeps an answer if it is short enough.
    #[inline]
    pub fn keep(&mut self, key: &[u64], answer: &Plain<'_>) {
        let Plain { hit, action, data } = *answer;
        if key.len() > KEY || data.len() > DATA {
            return;
        }
        self.key[..key.len()].copy_from_slice(key);
        self.data[..data.len()].copy_from_slice(data);
        (self.key_words, self.data_words) = (key.len() as u8, data.len() as u8);
        (self.hit, self.action) = (hit, action);
    }

    /// The table is about to change.
    pub fn forget(&mut self) {
        self.key_words = 0;
    }
}
