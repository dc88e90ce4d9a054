//! A packet for each path of one program, with the state that leads it there and what is sent.

use crate::compare::{find, Counterexample};
use crate::journey::{travel, Leg};
use crate::path::{Paths, Solver, Stop};
use crate::run::Code;
use crate::term::Terms;
use crate::world::{Bounds, World};
use p4_arch::v1model::Image;

/// Walks at most `most` paths of a program to their end; the values are not made small.
pub fn witnesses(
    image: &Image,
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
    most: usize,
) -> Result<Vec<Counterexample>, String> {
    let mut terms = Terms::default();
    let (world, axioms) = World::new(image.program(), bounds, &mut terms)?;
    let mut code = Code::new(image, &mut terms)?;
    let mut registers = Vec::new();
    solver.forget();
    let mut paths = Paths::new(solver, has_time);
    paths.axioms = axioms;
    let mut found = Vec::new();
    while found.len() < most && paths.begin() {
        let (leg, world) = (Leg::Whole, &world);
        let journey = travel(
            &mut code,
            &mut terms,
            &mut paths,
            world,
            bounds,
            &mut registers,
            leg,
        );
        let witness = journey.and_then(|journey| {
            let always = terms.truth(true);
            let both = [&journey, &journey];
            find(
                both, always, &mut terms, &mut paths, world, &registers, false,
            )
        });
        match witness {
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
