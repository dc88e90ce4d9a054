//! Values in a machine's frame, as architectures and externs read and write them.

use p4_ir::ir::{mask, words, Place, Program, Slot, ValueKind};

/// Frame words that go together: start and number.
pub type Region = (Slot, u32);

/// A field of at most 64 bits of an architecture's metadata; absent if the program has none.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    slot: Slot,
    mask: u64,
}

impl Field {
    /// The field `name` of the storage that the architecture calls `storage`.
    pub fn named(program: &Program, storage: &str, name: &str) -> Option<Field> {
        let var = program.storage(storage)?.leaf(name)?;
        let place = program.vars[var as usize].place;
        (place.width <= 64).then(|| Field {
            slot: place.slot,
            mask: value_mask(&place),
        })
    }

    pub fn slot(self) -> Slot {
        self.slot
    }

    pub fn mask(self) -> u64 {
        self.mask
    }

    #[inline]
    pub fn set(field: Option<Field>, frame: &mut [u64], value: u64) {
        if let Some(field) = field {
            frame[field.slot as usize] = value & field.mask;
        }
    }

    #[inline]
    pub fn get(field: Option<Field>, frame: &[u64]) -> u64 {
        field.map_or(0, |field| frame[field.slot as usize])
    }
}

/// Errors and enums are indices, whatever width they are said to have.
fn value_mask(place: &Place) -> u64 {
    match place.kind {
        ValueKind::Bit | ValueKind::Int | ValueKind::SerEnum(_) => mask(place.width),
        _ => u64::MAX,
    }
}

pub(crate) fn place_slice<'a>(place: &Place, frame: &'a [u64]) -> &'a [u64] {
    &frame[place.slot as usize..][..p4_ir::place_words(place)]
}

/// Stores the low bits of `number` at `place`.
pub(crate) fn store(place: &Place, number: u64, frame: &mut [u64]) {
    let slot = place.slot as usize;
    let n = words(place.width) as usize;
    frame[slot..slot + n].fill(0);
    frame[slot] = number & mask(place.width);
}

/// Copies the words of `values` to the places, one after the other.
pub(crate) fn unpack(values: &[u64], places: &[Place], frame: &mut [u64]) {
    let mut rest = values;
    for place in places {
        let (own, after) = rest.split_at((words(place.width) as usize).min(rest.len()));
        frame[place.slot as usize..][..own.len()].copy_from_slice(own);
        rest = after;
    }
}

/// Copies the words at the places to `values`, one after the other.
pub(crate) fn pack(places: &[Place], frame: &[u64], values: &mut [u64]) {
    let mut rest = values;
    for place in places {
        let (own, after) = rest.split_at_mut((words(place.width) as usize).min(rest.len()));
        own.copy_from_slice(&frame[place.slot as usize..][..own.len()]);
        rest = after;
    }
}
