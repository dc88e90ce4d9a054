//! A packet for each path of one program, with the state that leads it there and what is sent.

use crate::compare::Counterexample;
use crate::find::{definitions, example, real};
use crate::journey::{travel, Ground};
use crate::path::{Paths, Shared, Solver, Step, Stop};
use crate::run::{Code, Target};
use crate::term::Terms;
use crate::world::{Bounds, World};

/// Walks at most `most` paths of a program to their end; the values are not made small.
pub fn witnesses(
    image: Target<'_>,
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
    most: usize,
) -> Result<Vec<Counterexample>, String> {
    solver.forget();
    let solver = Shared::new(solver);
    let mut terms = Terms::default();
    let (world, axioms) = World::new(image.program(), bounds, &mut terms)?;
    let mut code = Code::new(image, &mut terms)?;
    let mut registers = Vec::new();
    let mut paths = Paths::new(&solver, has_time);
    paths.axioms = axioms;
    let mut found = Vec::new();
    while found.len() < most && paths.begin() {
        let mut ground = Ground {
            terms: &mut terms,
            paths: &mut paths,
            world: &world,
            bounds,
            registers: &mut registers,
        };
        match witness(&mut code, &mut ground) {
            Ok(Some(witness)) => found.push(witness),
            Ok(None) | Err(Stop::Bound(_)) => {}
            Err(Stop::Budget) => break,
            Err(Stop::Unsupported(what)) => {
                return Err(format!("the prover does not follow {what}"));
            }
        }
    }
    Ok(found)
}

fn witness(code: &mut Code<'_>, ground: &mut Ground<'_, '_>) -> Step<Option<Counterexample>> {
    let journey = travel(code, ground)?;
    let wanted = definitions(&[], ground.terms, ground.paths);
    let Some(model) = real(&wanted, ground.terms, ground.paths)? else {
        return Ok(None);
    };
    let both = [&journey, &journey];
    let witness = example(both, ground.terms, &model, ground.world, ground.registers);
    Ok(Some(witness))
}
