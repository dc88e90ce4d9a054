//! A packet for each path of one program, with the state that leads it there and what is sent.

use crate::compare::Counterexample;
use crate::concrete::Nobody;
use crate::evaluate::{Evaluation, Model};
use crate::find::{definitions, example, real};
use crate::journey::{travel, Ground, Journey};
use crate::packet::arrived;
use crate::path::{Base, Paths, Shared, Solver, Step, Stop};
use crate::run::{Code, Target};
use crate::term::{Term, Terms};
use crate::world::{Bounds, World};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};
use std::rc::Rc;

/// Packets that are drawn near that of a path
const NEAR: usize = 8;

/// Walks at most `most` paths of a program to their end; the values are not made small.
pub fn witnesses(
    image: Target<'_>,
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
    most: usize,
) -> Result<Vec<Counterexample>, String> {
    let mut found = Vec::new();
    walk(
        image,
        bounds,
        solver,
        has_time,
        &mut |walker, (journey, model), _| {
            found.push(walker.shown(&journey, &model));
            Ok(found.len() < most)
        },
    )?;
    Ok(found)
}

/// Random packets and states near those of a program's paths, at most `most`, and what its terms come
/// to with them. No solver has chosen these values, so tests hold the terms to the engine with them.
pub fn samples(
    image: Target<'_>,
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
    most: usize,
    seed: u64,
) -> Result<Vec<Counterexample>, String> {
    let mut found = Vec::new();
    let mut chance = Chance(seed);
    walk(
        image,
        bounds,
        solver,
        has_time,
        &mut |walker, (_, model), axioms| {
            for _ in 0..NEAR {
                if !has_time() {
                    break;
                }
                let near = chance.near(&model, &mut walker.terms, walker.world.length);
                found.extend(walker.with(near, axioms)?);
            }
            Ok(found.len() < most)
        },
    )?;
    Ok(found)
}

/// One program with what its paths have in common.
struct Walker<'a> {
    code: Code<'a>,
    terms: Terms,
    world: World,
    bounds: Bounds,
    registers: Vec<String>,
}

/// Told of the journey on each path, with values that lead there and what holds on all paths; whether
/// there shall be another.
type Visit<'v> =
    &'v mut dyn FnMut(&mut Walker<'_>, (Journey, Model), &[Term]) -> Result<bool, String>;

fn walk(
    image: Target<'_>,
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
    visit: Visit<'_>,
) -> Result<(), String> {
    solver.forget();
    let solver = Shared::new(solver);
    // Where P4 leaves something undefined, a switch without noise has zeros.
    let bounds = Bounds {
        undefined: false,
        ..bounds.clone()
    };
    let mut terms = Terms::default();
    let (world, axioms) = World::new(image.program(), &bounds, &mut terms)?;
    let mut walker = Walker {
        code: Code::new(image, &bounds, &mut terms)?,
        terms,
        world,
        bounds,
        registers: Vec::new(),
    };
    let mut paths = Paths::new(&solver, has_time);
    paths.axioms = axioms;
    while paths.begin() {
        match walker.witness(&mut paths) {
            Ok(Some(witness)) => {
                if !visit(&mut walker, witness, &paths.axioms)? {
                    break;
                }
            }
            Ok(None) | Err(Stop::Bound(_)) => {}
            Err(Stop::Budget) => break,
            Err(Stop::Unsupported(what)) => return Err(unfollowed(&what)),
        }
    }
    Ok(())
}

fn unfollowed(what: &str) -> String {
    format!("the prover does not follow {what}")
}

impl Walker<'_> {
    fn travel(&mut self, paths: &mut Paths<'_>) -> Step<Journey> {
        let mut ground = Ground {
            terms: &mut self.terms,
            paths,
            world: &self.world,
            bounds: &self.bounds,
            registers: &mut self.registers,
        };
        travel(&mut self.code, &mut ground)
    }

    fn witness(&mut self, paths: &mut Paths<'_>) -> Step<Option<(Journey, Model)>> {
        let journey = self.travel(paths)?;
        let wanted = definitions(&[], &mut self.terms, paths);
        let model = real(&wanted, &mut self.terms, paths)?;
        Ok(model.map(|model| (journey, model)))
    }

    fn shown(&mut self, journey: &Journey, model: &Model) -> Counterexample {
        let both = [journey, journey];
        example(both, &mut self.terms, model, &self.world, &self.registers)
    }

    /// What comes of these values, which say themselves which path is taken; nothing if they are not
    /// within the bounds.
    fn with(&mut self, values: Model, axioms: &[Term]) -> Result<Option<Counterexample>, String> {
        if !self.holds(axioms, &values) {
            return Ok(None);
        }
        let mut nobody = Nobody;
        let solver = Shared::new(&mut nobody);
        let mut paths = Paths::new(&solver, &|| true);
        paths.axioms = axioms.to_vec();
        let mut base = Base::default();
        base.model = Some(Rc::new(values.clone()));
        paths.restart(&self.terms, base);
        paths.begin();
        let journey = match self.travel(&mut paths) {
            Ok(journey) => journey,
            Err(Stop::Unsupported(what)) => return Err(unfollowed(&what)),
            Err(Stop::Bound(_) | Stop::Budget) => return Ok(None),
        };
        // Where the path asks what no other has asked, more has to hold.
        let holds = self.holds(&paths.axioms, &values);
        Ok(holds.then(|| self.shown(&journey, &values)))
    }

    /// Whether values are within the bounds. Entries of tables that nobody asks are shown as well.
    fn holds(&self, axioms: &[Term], values: &Model) -> bool {
        let mut evaluation = Evaluation::new(&self.terms, values);
        let mut all = axioms.iter().chain(self.world.axioms());
        all.all(|axiom| evaluation.is_true(*axiom))
    }
}

/// SplitMix64
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    fn value(&mut self, width: u32) -> BigUint {
        let words: Vec<u32> = (0..width.div_ceil(32))
            .map(|_| self.next() as u32)
            .collect();
        BigUint::new(words) % (BigUint::one() << width)
    }

    /// The values with one other among them, and a packet that is longer and has some other bytes.
    fn near(&mut self, model: &Model, terms: &mut Terms, length: Term) -> Model {
        let mut near = model.clone();
        let own = Evaluation::new(terms, model).value(length);
        let bytes = own.to_u32().unwrap_or_default() + self.next() as u32 % 16;
        for at in 0..bytes {
            arrived(at, terms);
        }
        // A checksum seldom survives other bytes.
        let has_others = self.once_in(2);
        let one = self.next() % terms.unknowns.len() as u64;
        for (number, unknown) in (0..).zip(&terms.unknowns) {
            let is_new = !model.values.contains_key(&number);
            let is_byte = unknown.name.starts_with("byte.");
            let value = match &*unknown.name {
                "length" => bytes.into(),
                _ if is_byte && (is_new || has_others && self.once_in(8)) => {
                    self.value(unknown.width)
                }
                _ if u64::from(number) == one => self.value(unknown.width),
                _ => continue,
            };
            near.values.insert(number, value);
        }
        near
    }
}
