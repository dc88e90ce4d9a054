//! What the data plane changes while nobody knows yet whether it may.
//!
//! A packet on a fast path may leave it midway and begin again elsewhere. Until then cells change in place, so
//! that later reads of the same packet see them, and a [`Journal`] notes what they held before.

use crate::cells::Meter;
use crate::matcher::Place;
use crate::state::{Cells, State};
use crate::table::Measured;
use p4_ir::ir::{InstanceId, TableId};

/// What cells held, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    is_open: bool,
    notes: Vec<Note>,
    /// Words of registers, in the order of their notes
    words: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Note {
    /// The last words of the journal, as many as a cell has
    Register(InstanceId, u64),
    Meter(InstanceId, u64, Meter),
    /// What a table keeps with an entry
    Entry(TableId, Place, Measured),
}

impl Journal {
    #[inline]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    #[inline]
    pub fn note_register(&mut self, id: InstanceId, index: u64, cell: &[u64]) {
        if self.is_open {
            self.notes.push(Note::Register(id, index));
            self.words.extend_from_slice(cell);
        }
    }

    #[inline]
    pub fn note_meter(&mut self, id: InstanceId, index: u64, cell: &Meter) {
        if self.is_open {
            self.notes.push(Note::Meter(id, index, *cell));
        }
    }

    #[inline]
    pub fn note_entry(&mut self, id: TableId, place: Place, measured: Measured) {
        if self.is_open {
            self.notes.push(Note::Entry(id, place, measured));
        }
    }
}

impl State {
    /// Whether changes are being noted.
    #[inline]
    pub fn has_journal(&self) -> bool {
        self.journal.is_open
    }

    /// What packets change from now on can be taken back.
    #[inline]
    pub fn open_journal(&mut self) {
        self.journal.is_open = true;
    }

    /// What has been changed since the journal was opened stays.
    #[inline]
    pub fn close_journal(&mut self) {
        self.journal.is_open = false;
        self.journal.notes.clear();
        self.journal.words.clear();
    }

    /// Takes back what packets have changed since the journal was opened, and closes it.
    pub fn roll_back(&mut self) {
        let Journal {
            notes, mut words, ..
        } = std::mem::take(&mut self.journal);
        for note in notes.iter().rev() {
            match note {
                Note::Register(id, index) => {
                    if let Some(cell) = self.register_mut(*id, *index) {
                        let from = words.len() - cell.len();
                        cell.copy_from_slice(&words[from..]);
                        words.truncate(from);
                    }
                }
                Note::Meter(id, index, old) => {
                    if let Some(Cells::Meters(_, cells)) = self.cells.get_mut(*id as usize) {
                        if let Some(cell) = cells.get_mut(*index) {
                            *cell = *old;
                        }
                    }
                }
                Note::Entry(id, place, old) => {
                    if let Some(entry) = self.tables[*id as usize].entry_mut(*place) {
                        *entry.measured_mut() = *old;
                    }
                }
            }
        }
        // Their memory is used again.
        self.journal.notes = notes;
        self.journal.words = words;
        self.close_journal();
    }
}
