//! Both programs with values for all that is unknown: do they differ, seen from outside?

use crate::compare::Counterexample;
use crate::differ::{cells, NamedWrites};
use crate::evaluate::Model;
use crate::find::{depends_on_undefined, example};
use crate::journey::{travel, Ground, Journey, PASSES};
use crate::path::{Answer, Paths, Shared, Solver, Stop};
use crate::run::{Code, Target};
use crate::term::{Term, Terms};
use crate::world::{Bounds, World};
use num_bigint::BigUint;
use rustc_hash::FxHashMap;

/// Passes after which a packet is taken to go around for ever
const ENDLESS: u32 = 128;

/// Where everything is a number, nothing is asked.
pub(crate) struct Nobody;

impl Solver for Nobody {
    fn forget(&mut self) {}

    fn ask(&mut self, _: &Terms, _: &[Term], _: &[Term]) -> Answer {
        Answer::Unknown
    }
}

/// The counterexample that these values are, if they are one. `registers` are those that `model`
/// knows the cells of.
pub(crate) fn confirm(
    both: [Target<'_>; 2],
    bounds: &Bounds,
    unknowns: &Terms,
    model: &Model,
    registers: &[String],
) -> Option<Counterexample> {
    let mut terms = Terms::of_values(unknowns, model);
    let (mut world, _) = World::new(both[0].program(), bounds, &mut terms).ok()?;
    world.share_registers(both.map(Target::program));
    let patient = Bounds {
        passes: ENDLESS,
        varbits: u32::MAX,
        ..bounds.clone()
    };
    let mut nobody = Nobody;
    let solver = Shared::new(&mut nobody);
    let mut paths = Paths::new(&solver, &|| true);
    let mut registers = registers.to_vec();
    let mut journeys = Vec::new();
    let mut is_endless = false;
    for image in both {
        let mut code = Code::new(image, bounds, &mut terms).ok()?;
        let mut ground = Ground {
            terms: &mut terms,
            paths: &mut paths,
            world: &world,
            bounds: &patient,
            registers: &mut registers,
        };
        match travel(&mut code, &mut ground) {
            Ok(journey) => journeys.push(journey),
            Err(Stop::Bound(PASSES)) if journeys.len() == 1 => {
                is_endless = true;
                journeys.push(Journey::default());
            }
            Err(_) => return None,
        }
    }
    let both = [&journeys[0], &journeys[1]];
    let mut found = example(both, &mut terms, model, &world, &registers);
    found.is_endless = is_endless;
    found.is_undefined = depends_on_undefined(unknowns, model);
    found.after = changed(both, &terms, &world);
    found.counts = counted_otherwise(both, &terms, &world);
    let is_longer = bounds.counts_passes() && found.passes[0] != found.passes[1];
    let is_left = !found.after.is_empty() || !found.counts.is_empty();
    let is_different = is_endless || is_longer || found.sent[0] != found.sent[1] || is_left;
    is_different.then_some(found)
}

/// Cells that hold something else afterwards: register and index.
fn changed(both: [&Journey; 2], terms: &Terms, world: &World) -> Vec<(String, u64)> {
    let mut changed = Vec::new();
    for name in cells(&both[0].writes, &both[1].writes, &world.registers) {
        let mut indices: Vec<u64> = both
            .iter()
            .filter_map(|journey| journey.writes.get(&name))
            .flatten()
            .filter(|write| terms.small(write.when) == Some(1))
            .filter_map(|write| terms.small(write.index))
            .collect();
        indices.sort_unstable();
        indices.dedup();
        for index in indices {
            let [own, other] = both.map(|journey| last(&journey.writes, &name, index, terms));
            // Where one has not written, the cell keeps what the engine knows: it is asked.
            if own != other {
                changed.push((name.clone(), index));
            }
        }
    }
    changed
}

/// Cells of counters that have counted other packets: counter and index.
fn counted_otherwise(both: [&Journey; 2], terms: &Terms, world: &World) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    for name in cells(&both[0].writes, &both[1].writes, &world.counters) {
        let [own, other] = both.map(|journey| counts(&journey.writes, &name, terms));
        let mut indices: Vec<u64> = own.keys().chain(other.keys()).copied().collect();
        indices.sort_unstable();
        indices.dedup();
        indices.retain(|index| own.get(index) != other.get(index));
        all.extend(indices.into_iter().map(|index| (name.clone(), index)));
    }
    all
}

/// How many packets the cells of a counter have counted
fn counts(writes: &NamedWrites, name: &str, terms: &Terms) -> FxHashMap<u64, u32> {
    let mut counts = FxHashMap::default();
    let all = writes.get(name).into_iter().flatten();
    for count in all.filter(|count| terms.small(count.when) == Some(1)) {
        if let Some(index) = terms.small(count.index) {
            *counts.entry(index).or_default() += 1;
        }
    }
    counts
}

/// What was written last to a cell, leaf by leaf.
fn last(writes: &NamedWrites, name: &str, index: u64, terms: &Terms) -> Option<Vec<BigUint>> {
    let own = writes.get(name)?.iter().rev();
    let mut own = own.filter(|write| terms.small(write.when) == Some(1));
    let write = own.find(|write| terms.small(write.index) == Some(index))?;
    let values = write.values.iter();
    Some(
        values
            .filter_map(|value| terms.value(*value).cloned())
            .collect(),
    )
}
