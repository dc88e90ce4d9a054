//! What two programs for a chip are compared by.

use crate::compare::{stage, Coverage, Verdict};
use crate::explore::Explorer;
use crate::journey::{Leg, RECIRCULATED, RESUBMITTED};
use crate::path::Shared;
use crate::run::Target;
use crate::world::Bounds;
use p4_arch::tna::{Call, Image};

/// Why programs that were not told apart are not said to be equal
const NOTES: &str =
    "what leaves is the same, but the programs keep notes of their own in other ways";

/// The legs of which all journeys consist behind their first pass, if both programs have the same
/// registers: what comes back is bytes and nothing else.
pub(crate) fn later_legs(reference: &Image, student: &Image) -> Option<Vec<Leg>> {
    let registers = |image: &Image| {
        let instances = image.program().instances.iter();
        let registers = instances.filter(|instance| &*instance.extern_type == "Register");
        let described = registers.map(|own| (own.name.clone(), own.types.clone()));
        let mut all: Vec<_> = described.collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    if registers(reference) != registers(student) {
        return None;
    }
    let mut legs = vec![Leg::Later(RECIRCULATED, 0)];
    let mut calls = reference.calls().iter().chain(student.calls());
    if calls.any(|call| matches!(call, Call::Resubmit { .. })) {
        legs.push(Leg::Later(RESUBMITTED, 0));
    }
    Some(legs)
}

/// Programs that were equal with their own registers as these begin: are they with any notes in them,
/// and do they leave the same notes? Then they are for all packets that follow.
pub(crate) fn notes(
    both: [Target<'_>; 2],
    bounds: &Bounds,
    solver: &Shared<'_>,
    has_time: &dyn Fn() -> bool,
    stages: &mut Vec<Coverage>,
) -> Result<Verdict, String> {
    let [Target::Tna(reference), Target::Tna(student)] = both else {
        return Ok(Verdict::Equal);
    };
    let mut open = bounds.clone();
    if let Some(wiring) = &mut open.wiring {
        wiring.notes.clear();
    }
    let Some(later) = later_legs(reference, student) else {
        return Ok(Verdict::Undecided(NOTES.into()));
    };
    for leg in std::iter::once(Leg::First).chain(later) {
        let mut explorer = Explorer::new(both, &open, leg, solver, has_time)?;
        explorer.resume();
        if let Some(verdict) = stage(&mut explorer, leg, &open, 1, stages) {
            return Ok(verdict);
        }
        if explorer.inside > 0 || !explorer.is_sure() {
            return Ok(Verdict::Undecided(NOTES.into()));
        }
    }
    Ok(Verdict::Equal)
}
