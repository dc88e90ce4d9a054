//! The payload cache in front of a leaf's crossbar: which cells are in it, and which goes next.
//!
//! Least recently used goes first. The controller evicts before the cache is full, so that a writer
//! always finds a line: section 3.1, figure 4c.

use crate::slab::NONE;

#[derive(Clone, Copy, Debug)]
struct Line {
    /// The cell that is in it, by its row
    row: u32,
    /// Neighbours by use: towards the least recent, towards the most recent
    older: u32,
    newer: u32,
}

/// The lines of one leaf. Rows are numbers of (frame, cell) that only the caller understands.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    lines: Vec<Line>,
    free: Vec<u32>,
    spare: usize,
    oldest: u32,
    newest: u32,
}

impl Cache {
    pub(crate) fn new(lines: u64, spare: u64) -> Cache {
        let blank = Line {
            row: NONE,
            older: NONE,
            newer: NONE,
        };
        Cache {
            lines: vec![blank; lines as usize],
            free: (0..lines as u32).rev().collect(),
            spare: spare as usize,
            oldest: NONE,
            newest: NONE,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(crate) fn occupied(&self) -> usize {
        self.lines.len() - self.free.len()
    }

    /// What is in it, from the least recently used.
    pub(crate) fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        let mut at = self.oldest;
        std::iter::from_fn(move || {
            let line = self.lines.get(at as usize)?;
            at = line.newer;
            Some(line.row)
        })
    }

    /// Writes a cell; its line, and the row that had to go for it.
    pub(crate) fn write(&mut self, row: u32) -> (u32, Option<u32>) {
        let gone = match self.free.len() <= self.spare {
            true => self.evict(),
            false => None,
        };
        let Some(line) = self.free.pop() else {
            return (NONE, gone); // not with a line to spare, which parameters.rs demands
        };
        self.lines[line as usize].row = row;
        self.append(line);
        (line, gone)
    }

    fn evict(&mut self) -> Option<u32> {
        let line = self.oldest;
        let row = self.lines.get(line as usize)?.row;
        self.release(line);
        Some(row)
    }

    /// A copy was made of a line.
    #[inline]
    pub(crate) fn touch(&mut self, line: u32) {
        if self.newest != line {
            self.unlink(line);
            self.append(line);
        }
    }

    /// Nothing more is to come of a line.
    pub(crate) fn release(&mut self, line: u32) {
        self.unlink(line);
        self.free.push(line);
    }

    fn append(&mut self, line: u32) {
        let last = std::mem::replace(&mut self.newest, line);
        match self.lines.get_mut(last as usize) {
            Some(before) => before.newer = line,
            None => self.oldest = line,
        }
        let own = &mut self.lines[line as usize];
        (own.older, own.newer) = (last, NONE);
    }

    fn unlink(&mut self, line: u32) {
        let Line { older, newer, .. } = self.lines[line as usize];
        match self.lines.get_mut(older as usize) {
            Some(before) => before.newer = newer,
            None => self.oldest = newer,
        }
        match self.lines.get_mut(newer as usize) {
            Some(after) => after.older = older,
            None => self.newest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails the cache evicts what is in use, or has more lines than it was given.
    #[test]
    fn the_least_recently_used_goes_when_few_are_free() {
        let mut cache = Cache::new(5, 2);
        let lines: Vec<u32> = (0..3).map(|row| cache.write(row).0).collect();
        assert_eq!(cache.occupied(), 3);
        cache.touch(lines[0]);
        assert_eq!(cache.write(3).1, Some(1), "row 0 was used after row 1");
        cache.release(lines[2]);
        assert_eq!(cache.write(4).1, None, "a line was given back");
        assert_eq!(cache.write(5).1, Some(0));
        assert_eq!(cache.occupied(), 3);
        assert_eq!(cache.rows().collect::<Vec<_>>(), [3, 4, 5]);
    }
}
