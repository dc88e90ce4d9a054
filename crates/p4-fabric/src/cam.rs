//! The VOQ sync CAM of a port: how far each VOQ is ahead of its siblings (section 3.1).

/// A VOQ and the cells it is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    pub(crate) voq: u32,
    pub(crate) cells: u32,
}

/// A small table, in order of use: the last entry is the most recently used.
#[derive(Clone, Debug)]
pub(crate) struct Cam {
    entries: Vec<Ahead>,
    most: usize,
}

/// What an update led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advanced {
    /// How far ahead the VOQ is now
    pub(crate) cells: u32,
    /// The VOQ whose entry had to go
    pub(crate) evicted: Option<u32>,
}

impl Cam {
    pub(crate) fn new(most: u64) -> Cam {
        Cam {
            entries: Vec::with_capacity(most as usize),
            most: most as usize,
        }
    }

    pub(crate) fn entries(&self) -> &[Ahead] {
        &self.entries
    }

    /// A VOQ has sent so many cells before others did.
    pub(crate) fn advance(&mut self, voq: u32, cells: u32) -> Advanced {
        let mut evicted = None;
        let mut entry = match self.entries.iter().position(|one| one.voq == voq) {
            Some(at) => self.entries.remove(at),
            None => {
                if self.entries.len() == self.most {
                    evicted = Some(self.entries.remove(0).voq);
                }
                Ahead { voq, cells: 0 }
            }
        };
        entry.cells += cells;
        self.entries.push(entry);
        let cells = entry.cells;
        Advanced { cells, evicted }
    }

    /// The others have caught up by so many cells: how far ahead a VOQ is now, if it has an entry,
    /// which goes at zero.
    pub(crate) fn caught_up(&mut self, voq: u32, cells: u32) -> Option<u32> {
        let at = self.entries.iter().position(|one| one.voq == voq)?;
        let left = self.entries[at].cells.saturating_sub(cells);
        self.entries[at].cells = left;
        if left == 0 {
            self.entries.remove(at);
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a VOQ waits for nothing, or an evicted one is never let go.
    #[test]
    fn counts_evicts_and_forgets() {
        let mut cam = Cam::new(2);
        assert_eq!(cam.advance(1, 6).cells, 6);
        assert_eq!(cam.advance(2, 6).cells, 6);
        assert_eq!(cam.advance(1, 6).cells, 12);
        let third = cam.advance(3, 6);
        assert_eq!((third.cells, third.evicted), (6, Some(2)));
        assert_eq!(cam.caught_up(2, 6), None);
        assert_eq!(cam.caught_up(1, 6), Some(6));
        assert_eq!(cam.caught_up(1, 7), Some(0));
        assert_eq!(cam.entries(), [Ahead { voq: 3, cells: 6 }]);
    }
}
