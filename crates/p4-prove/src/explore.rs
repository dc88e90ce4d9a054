//! All paths of two programs, a control at a time.
//!
//! A packet's journey is a tree: a pass through ingress makes copies, a pass through egress sends one
//! or brings it back. Where both programs make the same copies, each copy is followed by itself, in
//! both programs side by side; so paths of copies are added, not multiplied. Only where the programs
//! make other copies are whole journeys compared.

use crate::alike::{common_words, make_alike};
use crate::compare::{Counterexample, Coverage};
use crate::concrete::confirm;
use crate::differ::{counts_differ, packets_differ, registers_differ, NamedWrites};
use crate::evaluate::Model;
use crate::find::{definitions, make_small, real};
use crate::journey::{
    beginning, by_name, come_back, first_half, second_half, travel, Begin, Ground, Half, Leaving,
    Leg, Outcome, Writes, PASSES,
};
use crate::path::{Answer, Ask, Base, Paths, Step, Stop};
use crate::run::{Code, Target};
use crate::setting::Setting;
use crate::term::{Term, Terms};
use crate::world::{Bounds, World};
use p4_ir::ir::Slot;
use std::collections::VecDeque;

/// How many times as many passes as the reference another program may need
const PATIENCE: u32 = 4;

/// Paths that are left to do.
struct Task {
    base: Base,
    /// What the programs have in hand; nothing for one that has made no such copy
    begin: [Option<Begin>; 2],
    writes: [Writes; 2],
    /// Passes through ingress so far
    passes: u32,
    /// Another copy of the packet may write to registers, too.
    has_siblings: bool,
}

pub(crate) struct Explorer<'a, 's> {
    both: [Target<'a>; 2],
    codes: [Code<'a>; 2],
    terms: Terms,
    paths: Paths<'s>,
    world: World,
    bounds: &'a Bounds,
    patient: Bounds,
    registers: Vec<String>,
    /// Words of both frames that stand for the same
    common: Vec<(Slot, Slot)>,
    leg: Leg,
    /// Copies before egress
    leaving: VecDeque<Task>,
    /// Packets before ingress
    arriving: VecDeque<Task>,
    /// Where whole journeys are compared
    whole: VecDeque<Base>,
    /// Passes that differ where nobody outside has seen it
    pub inside: u64,
    /// Why equality cannot be said although no difference was found
    pub doubt: Option<&'static str>,
}

impl<'a, 's> Explorer<'a, 's> {
    pub fn new(
        both: [Target<'a>; 2],
        bounds: &'a Bounds,
        leg: Leg,
        solver: &'s dyn Ask,
        has_time: &'s dyn Fn() -> bool,
    ) -> Result<Explorer<'a, 's>, String> {
        let Setting {
            codes,
            terms,
            world,
            paths,
        } = Setting::new(both, bounds, solver, has_time)?;
        let common = common_words(&codes);
        let mut explorer = Explorer {
            both,
            codes,
            terms,
            paths,
            world,
            bounds,
            patient: Bounds {
                passes: bounds.passes * PATIENCE,
                ..bounds.clone()
            },
            registers: Vec::new(),
            common,
            leg,
            leaving: VecDeque::new(),
            arriving: VecDeque::new(),
            whole: VecDeque::new(),
            inside: 0,
            doubt: None,
        };
        let begin = [0, 1].map(|side| {
            let (code, mut ground) = explorer.side(side);
            Some(beginning(code, &mut ground, leg))
        });
        explorer.arriving.push_back(Task {
            base: Base::default(),
            begin,
            writes: Default::default(),
            passes: 0,
            has_siblings: false,
        });
        Ok(explorer)
    }

    fn side(&mut self, side: usize) -> (&mut Code<'a>, Ground<'_, 's>) {
        let ground = Ground {
            terms: &mut self.terms,
            paths: &mut self.paths,
            world: &self.world,
            bounds: if side == 0 {
                self.bounds
            } else {
                &self.patient
            },
            registers: &mut self.registers,
        };
        (&mut self.codes[side], ground)
    }

    /// The solver has been asked about other terms.
    pub fn resume(&mut self) {
        self.paths.solver.forget();
    }

    /// Questions that the solver left open
    pub fn open(&self) -> u64 {
        self.paths.open
    }

    pub fn is_sure(&self) -> bool {
        self.open() == 0 && self.doubt.is_none()
    }

    /// Follows everything up to the end of pass `passes`, but whole journeys only after the last one.
    pub fn run(
        &mut self,
        passes: u32,
        coverage: &mut Coverage,
    ) -> Result<Option<Counterexample>, Stop> {
        let before = self.paths.questions;
        let found = self.run_tasks(passes, coverage);
        coverage.questions += self.paths.questions - before;
        coverage.terms = self.terms.len() as u64;
        let left = self.leaving.len() + self.arriving.len() + self.whole.len();
        coverage.left = (self.paths.left() + left) as u64;
        found
    }

    fn run_tasks(
        &mut self,
        passes: u32,
        coverage: &mut Coverage,
    ) -> Result<Option<Counterexample>, Stop> {
        loop {
            let is_due = self
                .arriving
                .front()
                .is_some_and(|task| task.passes < passes);
            let task = match (self.leaving.pop_front(), is_due) {
                (None, true) => self.arriving.pop_front(),
                (leaving, _) => leaving,
            };
            let found = match task {
                Some(task) => self.all_paths(&task, coverage)?,
                None if passes >= self.bounds.passes => match self.whole.pop_front() {
                    Some(base) => self.whole_journeys(base, coverage)?,
                    None => return Ok(None),
                },
                None => return Ok(None),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Whether all has been followed.
    pub fn is_done(&self) -> bool {
        self.leaving.is_empty() && self.arriving.is_empty() && self.whole.is_empty()
    }

    fn all_paths(
        &mut self,
        task: &Task,
        coverage: &mut Coverage,
    ) -> Result<Option<Counterexample>, Stop> {
        self.paths.restart(&self.terms, task.base.clone());
        while self.paths.begin() {
            match self.path(task) {
                Ok(None) => coverage.paths += 1,
                Ok(found) => return Ok(found),
                Err(Stop::Bound(name)) => *coverage.beyond.entry(name).or_default() += 1,
                Err(stop) => return Err(stop),
            }
        }
        Ok(None)
    }

    fn path(&mut self, task: &Task) -> Step<Option<Counterexample>> {
        let is_arriving = task
            .begin
            .iter()
            .flatten()
            .any(|b| matches!(b, Begin::Arrive(_)));
        let passes = task.passes + u32::from(is_arriving);
        if passes > self.bounds.passes {
            return Err(Stop::Bound(PASSES));
        }
        // Both controls run before one of them decides anything: so both make the same terms.
        let mut halves: [Option<Half>; 2] = [None, None];
        for side in [0, 1] {
            if let Some(begin) = task.begin[side].clone() {
                let (code, mut ground) = self.side(side);
                let writes = task.writes[side].clone();
                halves[side] = Some(first_half(code, &mut ground, begin, writes)?);
            }
        }
        if let [Some(own), Some(other)] = &mut halves {
            make_alike(own, other, &self.common, &mut self.terms, &mut self.paths)?;
        }
        let mut outcomes = Vec::new();
        for (side, half) in halves.into_iter().enumerate() {
            outcomes.push(match half {
                Some(half) => {
                    let (code, mut ground) = self.side(side);
                    second_half(code, &mut ground, half)?
                }
                None => Outcome {
                    writes: task.writes[side].clone(),
                    ..Outcome::default()
                },
            });
        }
        let other = outcomes.pop().unwrap_or_default();
        let own = outcomes.pop().unwrap_or_default();
        self.compare(task, passes, own, other)
    }

    /// What both have made of the packet.
    fn compare(
        &mut self,
        task: &Task,
        passes: u32,
        mut own: Outcome,
        mut other: Outcome,
    ) -> Step<Option<Counterexample>> {
        if self.leg != Leg::Whole {
            for (side, outcome) in [(0, &mut own), (1, &mut other)] {
                for again in std::mem::take(&mut outcome.again) {
                    let (code, mut ground) = self.side(side);
                    outcome.sent.push(come_back(code, &mut ground, again));
                }
            }
        }
        let is_alone = task.begin.iter().any(Option::is_none);
        let all = [&own, &other];
        if is_alone
            && all
                .iter()
                .any(|o| !(o.sent.is_empty() && o.again.is_empty()))
        {
            return self.not_alike();
        }
        let kept = self.registers_differ(task, [&own.writes, &other.writes]);
        let counts = [(0, &mut own), (1, &mut other)].map(|(side, o)| self.take_counts(side, o));
        let counted = counts_differ(
            &counts[0],
            &counts[1],
            &mut self.terms,
            &self.world.counters,
        );
        let difference = match own.sent.len() == other.sent.len() {
            true => packets_differ(&own.sent, &other.sent, &mut self.terms)?,
            false => return self.not_alike(),
        };
        let difference = self.terms.or(difference, kept);
        let difference = self.terms.or(difference, counted);
        if let Some(found) = self.look_into(difference)? {
            return Ok(Some(found));
        }
        self.follow(task, passes, own, other)
    }

    /// What this part of the journey has counted: sums do not depend on what else is counted.
    fn take_counts(&self, side: usize, outcome: &mut Outcome) -> NamedWrites {
        let program = self.both[side].program();
        let is_counter = |id: u32| &*program.instances[id as usize].extern_type == "counter";
        let (counts, rest) = std::mem::take(&mut outcome.writes)
            .into_iter()
            .partition(|(id, _)| is_counter(*id));
        outcome.writes = rest;
        by_name(program, &counts)
    }

    fn registers_differ(&mut self, task: &Task, writes: [&Writes; 2]) -> Term {
        let shared = &self.world.registers;
        let named = |side: usize, writes| {
            let mut named = by_name(self.both[side].program(), writes);
            named.retain(|name, _| shared.contains(name));
            named
        };
        let [own, other] = [0, 1].map(|side| named(side, writes[side]));
        if own.is_empty() && other.is_empty() {
            return self.terms.truth(false);
        }
        let count = |writes: &NamedWrites| writes.values().map(Vec::len).sum::<usize>();
        let before = [0, 1].map(|side| count(&named(side, &task.writes[side])));
        let has_more = before != [count(&own), count(&other)];
        if !has_more {
            return self.terms.truth(false);
        }
        if task.has_siblings {
            self.doubt = Some("several copies of a packet write to registers");
        }
        registers_differ(&own, &other, &mut self.terms, &self.world, &self.registers)
    }

    /// Follows the copies that both have made.
    fn follow(
        &mut self,
        task: &Task,
        passes: u32,
        own: Outcome,
        other: Outcome,
    ) -> Step<Option<Counterexample>> {
        if own.again.len() != other.again.len() {
            return self.not_alike();
        }
        let mut pairs: Vec<[Option<Begin>; 2]> = Vec::new();
        let mut rest = other.again;
        for again in own.again {
            let at = rest.iter().position(|b| b.kind == again.kind).unwrap_or(0);
            let partner = rest.remove(at);
            pairs.push([Some(Begin::Arrive(again)), Some(Begin::Arrive(partner))]);
        }
        for pair in self.partners(own.leaving, other.leaving)? {
            pairs.push(pair.map(|copy| copy.map(Begin::Leave)));
        }
        let base = self.paths.here();
        let has_siblings = task.has_siblings || pairs.len() > 1;
        for begin in pairs {
            let is_arriving = begin
                .iter()
                .flatten()
                .any(|b| matches!(b, Begin::Arrive(_)));
            let task = Task {
                base: base.clone(),
                begin,
                writes: [own.writes.clone(), other.writes.clone()],
                passes,
                has_siblings,
            };
            match is_arriving {
                true => self.arriving.push_back(task),
                false => self.leaving.push_back(task),
            }
        }
        Ok(None)
    }

    /// Copies for the same port, in pairs.
    fn partners(
        &mut self,
        own: Vec<Leaving>,
        mut other: Vec<Leaving>,
    ) -> Step<Vec<[Option<Leaving>; 2]>> {
        let mut pairs = Vec::new();
        let mut left = Vec::new();
        for copy in own {
            match other.iter().position(|partner| copy.is_like(partner)) {
                Some(at) => pairs.push([Some(copy), Some(other.remove(at))]),
                None => left.push(copy),
            }
        }
        for copy in left {
            let mut partner = None;
            for at in 0..other.len() {
                let same = self.terms.equal(copy.port, other[at].port);
                if self.paths.decide(&mut self.terms, same)? {
                    partner = Some(other.remove(at));
                    break;
                }
            }
            pairs.push([Some(copy), partner]);
        }
        pairs.extend(other.into_iter().map(|copy| [None, Some(copy)]));
        Ok(pairs)
    }

    /// The programs do not do the same here, one after the other; what is seen from outside decides.
    fn not_alike(&mut self) -> Step<Option<Counterexample>> {
        self.inside += 1;
        if self.leg != Leg::Whole {
            return Ok(None);
        }
        let always = self.terms.truth(true);
        let found = self.example(always)?;
        if found.is_none() {
            let base = self.paths.here();
            self.whole.push_back(base);
        }
        Ok(found)
    }

    /// Whether the difference can be, and whether it is seen from outside.
    fn look_into(&mut self, difference: Term) -> Step<Option<Counterexample>> {
        let difference = self.paths.simplify(&mut self.terms, difference);
        if self.terms.small(difference) == Some(0) {
            return Ok(None);
        }
        match self.paths.ask(&self.terms, &[difference])? {
            Answer::No | Answer::Unknown => return Ok(None),
            Answer::Yes(_) => self.inside += 1,
        }
        if self.leg != Leg::Whole {
            return Ok(None);
        }
        let open = self.paths.open;
        let found = self.example(difference)?;
        if found.is_none() {
            if self.paths.open == open {
                let mut base = self.paths.here();
                base.literals.push(difference);
                base.model = None;
                self.whole.push_back(base);
            } else {
                self.doubt = Some("a hash was not found out");
            }
        }
        Ok(found)
    }

    /// Values on this path for which `wanted` holds, if the programs differ with them.
    fn example(&mut self, wanted: Term) -> Step<Option<Counterexample>> {
        let mut wanted = vec![wanted];
        wanted.extend(definitions(&wanted, &mut self.terms, &self.paths));
        let Some(mut model) = real(&wanted, &mut self.terms, &mut self.paths)? else {
            return Ok(None);
        };
        let Some(found) = self.confirm(&model) else {
            return Ok(None);
        };
        let (terms, paths) = (&mut self.terms, &mut self.paths);
        make_small(&mut wanted, &mut model, terms, paths, &self.world)?;
        Ok(Some(self.confirm(&model).unwrap_or(found)))
    }

    fn confirm(&self, model: &Model) -> Option<Counterexample> {
        confirm(self.both, self.bounds, &self.terms, model, &self.registers)
    }

    /// Compares whole journeys on the paths from there on.
    fn whole_journeys(
        &mut self,
        base: Base,
        coverage: &mut Coverage,
    ) -> Result<Option<Counterexample>, Stop> {
        self.paths.restart(&self.terms, base);
        while self.paths.begin() {
            match self.whole_journey() {
                Ok(None) => coverage.paths += 1,
                Ok(found) => return Ok(found),
                Err(Stop::Bound(name)) => *coverage.beyond.entry(name).or_default() += 1,
                Err(stop) => return Err(stop),
            }
        }
        Ok(None)
    }

    fn whole_journey(&mut self) -> Step<Option<Counterexample>> {
        let mut journeys = Vec::new();
        for side in [0, 1] {
            let (code, mut ground) = self.side(side);
            match travel(code, &mut ground) {
                Ok(journey) => journeys.push(journey),
                Err(Stop::Bound(PASSES)) if side == 1 => {
                    let always = self.terms.truth(true);
                    let found = self.example(always)?;
                    return found.map_or(Err(Stop::Bound(PASSES)), |found| Ok(Some(found)));
                }
                Err(stop) => return Err(stop),
            }
        }
        let (own, other) = (&journeys[0], &journeys[1]);
        let packets = packets_differ(&own.sent, &other.sent, &mut self.terms)?;
        let kept = registers_differ(
            &own.writes,
            &other.writes,
            &mut self.terms,
            &self.world,
            &self.registers,
        );
        let counted = counts_differ(
            &own.writes,
            &other.writes,
            &mut self.terms,
            &self.world.counters,
        );
        let difference = self.terms.or(packets, kept);
        let difference = self.terms.or(difference, counted);
        let difference = self.paths.simplify(&mut self.terms, difference);
        if self.terms.small(difference) == Some(0) {
            return Ok(None);
        }
        if let Answer::No | Answer::Unknown = self.paths.ask(&self.terms, &[difference])? {
            return Ok(None);
        }
        let found = self.example(difference)?;
        if found.is_none() {
            self.doubt = Some("a difference that was found does not show");
        }
        Ok(found)
    }

    /// Forgets the packets that come back alike in both programs: it is known that they do the same
    /// with these.
    pub fn forget_alike(&mut self) -> Step<()> {
        for mut task in std::mem::take(&mut self.arriving) {
            let [Some(Begin::Arrive(own)), Some(Begin::Arrive(other))] = task.begin.clone() else {
                self.arriving.push_back(task);
                continue;
            };
            self.paths.restart(&self.terms, task.base.clone());
            self.paths.begin();
            let (code, mut ground) = self.side(0);
            let own = come_back(code, &mut ground, own);
            let (code, mut ground) = self.side(1);
            let other = come_back(code, &mut ground, other);
            let difference = packets_differ(&[own], &[other], &mut self.terms)?;
            let difference = self.paths.simplify(&mut self.terms, difference);
            if self.terms.small(difference) == Some(0) {
                continue;
            }
            if let Answer::No = self.paths.ask(&self.terms, &[difference])? {
                continue;
            }
            task.base.literals.push(difference);
            task.base.model = None;
            self.arriving.push_back(task);
        }
        Ok(())
    }
}
