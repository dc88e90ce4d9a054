//! Batches of updates.

use crate::messages::{Atomicity, Update};
use crate::place::Place;
use crate::plan::{Plan, Planner, Ports};
use crate::schema::Schema;
use crate::status::{Code, Refusal, Status};
use crate::store::Store;
use p4_arch::v1model::Switch;

/// So many updates are done between two packets where a batch need not be atomic: a packet then
/// waits for a fraction of a millisecond.
const AT_ONCE: usize = 256;

/// Applies a batch; the error tells what became of each update.
pub fn write(
    schema: &Schema,
    store: &mut Store,
    ports: Ports,
    mut place: Place<'_>,
    updates: &[Update],
    atomicity: Atomicity,
) -> Result<(), Status> {
    let planner = Planner {
        schema,
        store,
        ports,
    };
    let results = match atomicity {
        Atomicity::ContinueOnError => one_by_one(planner, &mut place, updates)?,
        // What is atomic for packets also has no trace of a batch that failed.
        Atomicity::RollbackOnError | Atomicity::DataplaneAtomic => {
            all_or_none(planner, &mut place, updates)?
        }
    };
    match results.iter().all(Result::is_ok) {
        true => Ok(()),
        false => Err(Status::of_batch("update", &results)),
    }
}

type Results = Vec<Result<(), Refusal>>;

fn one_by_one(
    mut planner: Planner<'_>,
    place: &mut Place<'_>,
    updates: &[Update],
) -> Result<Results, Refusal> {
    let mut results = Vec::with_capacity(updates.len());
    let mut rest = updates;
    while !rest.is_empty() {
        let plain = rest
            .iter()
            .take(AT_ONCE)
            .take_while(|update| planner.is_plain(update))
            .count();
        if plain == 0 {
            results.push(alone(&mut planner, place, &rest[0])?);
            rest = &rest[1..];
        } else {
            together(&mut planner, place, &rest[..plain], &mut results)?;
            rest = &rest[plain..];
        }
    }
    Ok(results)
}

/// An update that has something to remember or depends on what was remembered.
fn alone(
    planner: &mut Planner<'_>,
    place: &mut Place<'_>,
    update: &Update,
) -> Result<Result<(), Refusal>, Refusal> {
    let Plan { updates, effect } = match planner.plan(update) {
        Ok(plan) => plan,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if !updates.is_empty() {
        let done = place.with(move |switch| run(switch, &updates))?;
        if done.is_err() {
            return Ok(done);
        }
    }
    if let Some(effect) = effect {
        effect(planner.store);
    }
    Ok(Ok(()))
}

/// Updates that leave nothing to remember.
fn together(
    planner: &mut Planner<'_>,
    place: &mut Place<'_>,
    updates: &[Update],
    results: &mut Results,
) -> Result<(), Refusal> {
    let plans: Vec<_> = updates
        .iter()
        .map(|update| planner.plan(update).map(|plan| plan.updates))
        .collect();
    let done = place.with(move |switch| {
        let one = |plan: Result<Vec<_>, Refusal>| plan.and_then(|updates| run(switch, &updates));
        plans.into_iter().map(one).collect::<Results>()
    })?;
    results.extend(done);
    Ok(())
}

fn run(switch: &mut Switch, updates: &[p4_state::Update]) -> Result<(), Refusal> {
    switch.write(updates).map_err(|error| {
        let first = error.errors.into_iter().next();
        first.map_or_else(
            || Refusal::new(Code::Internal, "the switch refused the update"),
            |(_, error)| error.into(),
        )
    })
}

fn all_or_none(
    mut planner: Planner<'_>,
    place: &mut Place<'_>,
    updates: &[Update],
) -> Result<Results, Refusal> {
    let before = planner.store.clone();
    let mut results = Vec::with_capacity(updates.len());
    let mut batch = Vec::with_capacity(updates.len());
    let mut sources = Vec::with_capacity(updates.len());
    for (index, update) in updates.iter().enumerate() {
        results.push(planner.plan(update).map(|plan| {
            sources.resize(sources.len() + plan.updates.len(), index);
            batch.extend(plan.updates);
            if let Some(effect) = plan.effect {
                effect(planner.store);
            }
        }));
    }
    if results.iter().all(Result::is_ok) {
        let done = place.with(move |switch| switch.write(&batch));
        let refused = match done {
            Ok(Ok(())) => return Ok(results),
            Ok(Err(error)) => error.errors,
            Err(refusal) => {
                *planner.store = before;
                return Err(refusal);
            }
        };
        // Of several errors of an update the first is told.
        for (at, error) in refused.into_iter().rev() {
            if let Some(result) = sources.get(at).and_then(|index| results.get_mut(*index)) {
                *result = Err(error.into());
            }
        }
    }
    *planner.store = before;
    for result in results.iter_mut().filter(|result| result.is_ok()) {
        let message = "not done, since another update of the batch failed";
        *result = Err(Refusal::new(Code::Aborted, message));
    }
    Ok(results)
}
