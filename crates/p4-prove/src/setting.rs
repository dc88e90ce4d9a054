//! What two programs are executed in: one world, its terms, and what is known of them.

use crate::path::{Ask, Paths};
use crate::run::{Code, Target};
use crate::term::Terms;
use crate::world::{Bounds, World};

pub(crate) struct Setting<'a, 's> {
    pub codes: [Code<'a>; 2],
    pub terms: Terms,
    pub world: World,
    pub paths: Paths<'s>,
}

impl<'a, 's> Setting<'a, 's> {
    /// Fails for programs that do not have the same tables, or that are not followed.
    pub fn new(
        both: [Target<'a>; 2],
        bounds: &Bounds,
        solver: &'s dyn Ask,
        has_time: &'s dyn Fn() -> bool,
    ) -> Result<Setting<'a, 's>, String> {
        let mut terms = Terms::default();
        let (mut world, axioms) = World::new(both[0].program(), bounds, &mut terms)?;
        if let Some(misfit) = world.misfit(both[1].program()) {
            return Err(misfit);
        }
        world.share_registers(both.map(Target::program));
        let codes = [
            Code::new(both[0], bounds, &mut terms)?,
            Code::new(both[1], bounds, &mut terms)?,
        ];
        let mut paths = Paths::new(solver, has_time);
        paths.axioms = axioms;
        for code in &codes {
            paths.axioms.extend(&code.undefined.facts);
        }
        Ok(Setting {
            codes,
            terms,
            world,
            paths,
        })
    }
}
