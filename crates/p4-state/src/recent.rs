//! What each table answered last.
//!
//! Packets of a flow come one after the other and ask the same of a table. In a network of a thousand
//! switches the way from a key to an answer would miss the cache at every step, so the last answers are kept
//! with their keys, each in one cache line. There are two, since the two copies of a packet ask two things in
//! turn.

use p4_ir::interp::Plain;

/// Words of the longest key, and of the longest list of parameters, that are kept
const KEY: usize = 3;
const DATA: usize = 4;

/// The last two answers of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recent {
    kept: [Kept; 2],
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Kept {
    /// Words of the key, and 1; 0 if nothing is kept
    key_words: u8,
    data_words: u8,
    hit: bool,
    /// Of the first one: the other is to make room next.
    stays: bool,
    action: u32,
    key: [u64; KEY],
    data: [u64; DATA],
}

impl Recent {
    /// Which of the answers is that to `key`, if one is
    #[inline]
    pub fn of(&self, key: &[u64]) -> Option<usize> {
        match &self.kept {
            [first, _] if first.is_of(key) => Some(0),
            [_, second] if second.is_of(key) => Some(1),
            _ => None,
        }
    }

    /// The answer that [`Recent::of`] has found.
    #[inline]
    pub fn answer(&self, which: usize) -> Plain<'_> {
        self.kept[which % 2].answer()
    }

    /// Keeps an answer if it is short enough, in place of the older one.
    #[inline]
    pub fn keep(&mut self, key: &[u64], answer: &Plain<'_>) {
        if key.len() > KEY || answer.data.len() > DATA {
            return;
        }
        let [first, second] = &mut self.kept;
        first.stays = !first.stays;
        match first.stays {
            true => first.keep(key, answer),
            false => second.keep(key, answer),
        }
    }

    /// The table is about to change.
    pub fn forget(&mut self) {
        self.kept = Default::default();
    }
}

impl Kept {
    #[inline]
    fn is_of(&self, key: &[u64]) -> bool {
        // A comparison of slices would be a call.
        let same = |(own, key): (&u64, &u64)| own == key;
        usize::from(self.key_words) == key.len() + 1 && self.key.iter().zip(key).all(same)
    }

    #[inline]
    fn answer(&self) -> Plain<'_> {
        Plain {
            hit: self.hit,
            action: self.action,
            data: &self.data[..usize::from(self.data_words).min(DATA)],
        }
    }

    #[inline]
    fn keep(&mut self, key: &[u64], answer: &Plain<'_>) {
        let Plain { hit, action, data } = *answer;
        self.key[..key.len()].copy_from_slice(key);
        self.data[..data.len()].copy_from_slice(data);
        (self.key_words, self.data_words) = (key.len() as u8 + 1, data.len() as u8);
        (self.hit, self.action) = (hit, action);
    }
}
