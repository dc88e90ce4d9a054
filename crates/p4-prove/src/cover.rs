//! Packets that take the branches of two programs, and whether the programs differ there.
//!
//! One packet is followed after the other. On its way each branch that no packet has taken is asked
//! for, and the answer is the next packet to follow. So a program that waits for a rare value is met
//! by its own condition. For each such packet the solver is asked as well for one that goes the same
//! way, takes the same branch, and of which the programs do not make the same.

use crate::branches::{values, Branch, Fate, Lead, Seen};
use crate::compare::Counterexample;
use crate::concrete::confirm;
use crate::differ::{counts_differ, packets_differ, registers_differ};
use crate::evaluate::Model;
use crate::find::{definitions, example, make_small, real};
use crate::journey::{travel, Ground, Journey, PASSES};
use crate::path::{Answer, Ask, Base, Paths, Shared, Solver, Step, Stop};
use crate::run::{Code, Target};
use crate::setting::Setting;
use crate::term::{Term, Terms};
use crate::world::{is_register, Bounds, World};
use p4_ir::ir::{ConstArg, Program};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::rc::Rc;

/// A packet that leads somewhere new.
#[derive(Clone, Debug)]
pub struct Visit {
    /// What the programs send is not said.
    pub packet: Counterexample,
    /// It takes that way only if registers that one program alone has hold what they may never hold.
    pub is_supposed: bool,
    /// It was found where one program asks for something that the other does not ask for.
    pub is_strange: bool,
}

/// On how many ways from a place differences are looked for, at first and later
const FEW: u32 = 12;
const MANY: u32 = 60;

/// What was found out about the branches of two programs.
#[derive(Debug, Default)]
pub struct Covered {
    /// Of the first program and of the second
    pub branches: [Vec<(Branch, Fate)>; 2],
    pub visits: Vec<Visit>,
    /// The first difference that was found
    pub difference: Option<Counterexample>,
    /// Why not everything was tried, if so
    pub why: String,
}

/// Takes the branches of both programs, the second one's first, until there is a difference, nothing
/// is left to try, or no time. `Err` if the second program does not fit the first one's entries.
pub fn cover(
    both: [Target<'_>; 2],
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
) -> Result<Covered, String> {
    solver.forget();
    let solver = Shared::new(solver);
    let mut search = Search::new(both, bounds, &solver, has_time)?;
    let mut covered = Covered::default();
    if let Err(stop) = search.all(&mut covered) {
        covered.why = match stop {
            Stop::Budget => "the time is up".into(),
            Stop::Unsupported(what) => format!("the prover does not follow {what}"),
            Stop::Bound(name) => format!("the bound of {name} was met"),
        };
    }
    covered.branches = search.seen.map(|seen| seen.fates.into_iter().collect());
    Ok(covered)
}

struct Search<'a, 's> {
    both: [Target<'a>; 2],
    codes: [Code<'a>; 2],
    terms: Terms,
    paths: Paths<'s>,
    world: World,
    bounds: &'a Bounds,
    /// The same, with fewer passes at first
    staged: Bounds,
    /// Values of packets that are kept
    visited: Vec<Rc<Model>>,
    registers: Vec<String>,
    seen: [Seen; 2],
    /// Decisions that could be others: what was decided before, and the other side
    turns: VecDeque<(Vec<Term>, Term)>,
    /// Those that have been among them
    turned: FxHashSet<Term>,
    /// Places from which more passes may still show a difference
    later: Vec<Lead>,
    /// Registers of one program hold anything, too.
    is_supposing: bool,
}

impl<'a, 's> Search<'a, 's> {
    fn new(
        both: [Target<'a>; 2],
        bounds: &'a Bounds,
        solver: &'s dyn Ask,
        has_time: &'s dyn Fn() -> bool,
    ) -> Result<Search<'a, 's>, String> {
        let Setting {
            codes,
            terms,
            world,
            mut paths,
        } = Setting::new(both, bounds, solver, has_time)?;
        paths.is_led = true;
        Ok(Search {
            both,
            codes,
            terms,
            paths,
            world,
            bounds,
            staged: bounds.clone(),
            visited: Vec::new(),
            registers: Vec::new(),
            seen: both.map(|target| Seen::new(target.program())),
            turns: VecDeque::new(),
            later: Vec::new(),
            turned: FxHashSet::default(),
            is_supposing: false,
        })
    }

    fn all(&mut self, covered: &mut Covered) -> Step<()> {
        let length = self.world.length;
        let Some(first) = values(&[], length, &mut self.terms, &mut self.paths)? else {
            return Ok(());
        };
        let first = Lead {
            literals: Vec::new(),
            model: Rc::new(first),
            condition: None,
            is_within: true,
        };
        // What shows in one pass is told as that, whatever comes later.
        let mut passes = vec![1, self.bounds.passes];
        passes.dedup();
        let mut known = vec![first];
        let mut strange = Vec::new();
        for passes in passes {
            self.staged.passes = passes;
            for seen in &mut self.seen {
                seen.forget_refusals();
            }
            known = self.take(1, known)?;
            strange = self.compare_conditions(&known, covered)?;
            strange.append(&mut self.later);
            self.suppose(covered)?;
            self.search(&strange, FEW, covered)?;
            self.look(&known, covered)?;
            self.turn(covered)?;
            if covered.difference.is_some() {
                return Ok(());
            }
        }
        self.search(&strange, MANY, covered)?;
        if covered.difference.is_none() {
            let mut all = self.take(0, known.clone())?;
            let new = all.split_off(known.len());
            self.try_leads(new, covered)?;
        }
        Ok(())
    }

    /// Follows leads of either program through the second one, and looks for differences.
    fn try_leads(&mut self, leads: Vec<Lead>, covered: &mut Covered) -> Step<()> {
        let leads = self.take(1, leads)?;
        let strange = self.compare_conditions(&leads, covered)?;
        self.search(&strange, FEW, covered)?;
        self.later.extend(strange);
        self.look(&leads, covered)
    }

    /// Leads of the second program for which the first one does not ask on the same way. All are
    /// packets to be tried.
    fn compare_conditions(&mut self, leads: &[Lead], covered: &mut Covered) -> Step<Vec<Lead>> {
        // What the other program takes with the same packets, nobody needs to ask for.
        self.seen[0].is_asking = false;
        let mut are_within = Vec::new();
        for lead in leads {
            are_within.push(self.follow(0, lead)? && lead.is_within);
        }
        self.seen[0].is_asking = true;
        let free = std::mem::take(&mut self.seen[1].free);
        let conditions = std::mem::take(&mut self.seen[0].conditions);
        let is_strange = |lead: &Lead| lead.condition.is_some_and(|own| !conditions.contains(&own));
        for (lead, _) in leads
            .iter()
            .zip(are_within)
            .filter(|(_, is_within)| *is_within)
        {
            if self.visited.iter().all(|own| !Rc::ptr_eq(own, &lead.model)) {
                self.visited.push(Rc::clone(&lead.model));
                let visit = self.visit(lead, is_strange(lead));
                covered.visits.push(visit);
            }
        }
        let all = leads.iter().chain(&free);
        let strange = all.filter(|lead| is_strange(lead)).cloned().collect();
        self.seen[0].conditions = conditions;
        Ok(strange)
    }

    fn visit(&mut self, lead: &Lead, is_strange: bool) -> Visit {
        let nowhere = Journey::default();
        let (terms, world) = (&mut self.terms, &self.world);
        let packet = example([&nowhere; 2], terms, &lead.model, world, &self.registers);
        Visit {
            packet: self.possible(packet),
            is_supposed: self.is_supposing,
            is_strange,
        }
    }

    /// Looks for differences where the second program asks for something that the first does not ask
    /// for, on at most so many ways from each such place.
    fn search(&mut self, strange: &[Lead], most: u32, covered: &mut Covered) -> Step<()> {
        for lead in strange {
            if covered.difference.is_none() {
                self.search_from(lead, most, covered)?;
            }
        }
        Ok(())
    }

    fn search_from(&mut self, lead: &Lead, most: u32, covered: &mut Covered) -> Step<()> {
        self.paths.restart(&self.terms, base(lead));
        self.paths.is_led = false;
        let found = self.search_here(most);
        self.paths.is_led = true;
        match found? {
            None => {}
            Some(found) if self.is_supposing => covered.visits.push(Visit {
                packet: self.possible(found),
                is_supposed: true,
                is_strange: true,
            }),
            Some(found) => covered.difference = Some(found),
        }
        Ok(())
    }

    fn search_here(&mut self, most: u32) -> Step<Option<Counterexample>> {
        for _ in 0..most {
            if !self.paths.begin() {
                break;
            }
            match self.differs_here() {
                Err(Stop::Bound(_) | Stop::Unsupported(_)) | Ok(None) => {}
                found => return found,
            }
        }
        Ok(None)
    }

    /// Takes branches of the second program as if registers that it alone has held anything.
    fn suppose(&mut self, covered: &mut Covered) -> Step<()> {
        let own = self.own_registers();
        if own.is_empty() || self.seen[1].has_all() || covered.difference.is_some() {
            return Ok(());
        }
        let before = self.seen[1].fates.clone();
        self.seen[1].forget_refusals();
        let registers = self.world.registers.clone();
        self.world.registers.extend(own);
        self.is_supposing = true;
        let mut closed = std::mem::take(&mut self.seen[1].closed);
        closed.dedup_by(|a, b| Rc::ptr_eq(a, b));
        let leads = closed.into_iter().map(|model| Lead {
            literals: Vec::new(),
            model,
            condition: None,
            is_within: true,
        });
        let taken = self.take_supposed(leads.collect(), covered);
        self.is_supposing = false;
        self.world.registers = registers;
        for (branch, fate) in &mut self.seen[1].fates {
            *fate = match (before[branch], *fate) {
                (Fate::Unmet | Fate::Refused(_), Fate::Taken) => Fate::Supposed,
                (before, _) => before,
            };
        }
        taken
    }

    fn take_supposed(&mut self, known: Vec<Lead>, covered: &mut Covered) -> Step<()> {
        let before = known.len();
        let all = self.take(1, known)?;
        self.compare_conditions(&all[before..], covered)?;
        self.search(&all[before..], FEW, covered)
    }

    /// Registers that the second program alone has
    fn own_registers(&self) -> Vec<String> {
        let names = |target: Target<'_>| -> Vec<String> {
            let instances = target.program().instances.iter();
            let registers = instances.filter(|own| is_register(own));
            registers.map(|own| own.name.to_string()).collect()
        };
        let [reference, mut own] = self.both.map(names);
        own.retain(|name| !reference.contains(name));
        own
    }

    /// Follows the leads through one program and those that turn up on the way.
    fn take(&mut self, side: usize, leads: Vec<Lead>) -> Step<Vec<Lead>> {
        let mut ahead = VecDeque::from(leads);
        let mut followed = Vec::new();
        while let Some(mut lead) = ahead.pop_front() {
            lead.is_within &= self.follow(side, &lead)?;
            ahead.extend(self.seen[side].leads.drain(..));
            followed.push(lead);
        }
        Ok(followed)
    }

    /// Decides otherwise what could have been decided otherwise, one after the other, as long as there
    /// are branches left.
    fn turn(&mut self, covered: &mut Covered) -> Step<()> {
        while let Some((mut literals, other)) = self.turns.pop_front() {
            let is_done = self.seen.iter().all(Seen::is_done);
            if is_done || covered.difference.is_some() {
                break;
            }
            let mut before = Base::default();
            before.literals.clone_from(&literals);
            self.paths.restart(&self.terms, before);
            self.paths.begin();
            let length = self.world.length;
            let Some(model) = values(&[other], length, &mut self.terms, &mut self.paths)? else {
                continue;
            };
            literals.push(other);
            let lead = Lead {
                literals,
                model: Rc::new(model),
                condition: None,
                is_within: true,
            };
            let before = self.seen.each_ref().map(Seen::taken);
            for side in [1, 0] {
                self.follow(side, &lead)?;
            }
            if before != self.seen.each_ref().map(Seen::taken) {
                let mut leads = vec![lead];
                for seen in &mut self.seen {
                    leads.append(&mut seen.leads);
                }
                self.try_leads(leads, covered)?;
            }
        }
        Ok(())
    }

    fn ground(&mut self, side: usize) -> (&mut Code<'a>, Ground<'_, 's>) {
        let ground = Ground {
            terms: &mut self.terms,
            paths: &mut self.paths,
            world: &self.world,
            bounds: &self.staged,
            registers: &mut self.registers,
        };
        (&mut self.codes[side], ground)
    }

    /// Walks where the values lead; whether that is within the bounds.
    fn follow(&mut self, side: usize, lead: &Lead) -> Step<bool> {
        let mut base = Base::default();
        base.model = Some(Rc::clone(&lead.model));
        self.paths.restart(&self.terms, base);
        self.paths.begin();
        self.paths.turns.clear();
        let seen = std::mem::take(&mut self.seen[side]);
        let (code, mut ground) = self.ground(side);
        code.seen = Some(Box::new(seen));
        let walked = travel(code, &mut ground);
        if let Some(seen) = self.codes[side].seen.take() {
            self.seen[side] = *seen;
        }
        if !self.is_supposing {
            for (length, other) in std::mem::take(&mut self.paths.turns) {
                if self.turned.insert(other) {
                    let before = self.paths.literals.iter().take(length).copied();
                    self.turns.push_back((before.collect(), other));
                }
            }
        }
        match walked {
            Ok(_) => Ok(true),
            Err(Stop::Bound(_)) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    /// Looks for differences on the very ways that packets have been led.
    fn look(&mut self, leads: &[Lead], covered: &mut Covered) -> Step<()> {
        for lead in leads {
            if covered.difference.is_some() {
                break;
            }
            self.paths.restart(&self.terms, base(lead));
            self.paths.begin();
            covered.difference = match self.differs_here() {
                // What goes beyond a bound is nothing that programs are judged by.
                Err(Stop::Bound(_) | Stop::Unsupported(_)) => None,
                found => found?,
            };
        }
        Ok(())
    }

    /// Without cells that one of the programs has not: the solver is asked of other cells as well.
    fn possible(&self, mut packet: Counterexample) -> Counterexample {
        let programs = self.both.map(Target::program);
        packet
            .cells
            .retain(|(name, index, _)| programs.iter().all(|own| has_cell(own, name, *index)));
        packet
    }

    /// A packet that goes the present way, of which the programs do not make the same.
    fn differs_here(&mut self) -> Step<Option<Counterexample>> {
        self.paths.turns.clear();
        let mut journeys = Vec::new();
        for side in [0, 1] {
            let (code, mut ground) = self.ground(side);
            match travel(code, &mut ground) {
                Ok(journey) => journeys.push(journey),
                Err(Stop::Bound(PASSES)) if side == 1 && !self.is_supposing => {
                    let always = self.terms.truth(true);
                    return self.example(always);
                }
                Err(stop) => return Err(stop),
            }
        }
        let (own, other) = (&journeys[0], &journeys[1]);
        let terms = &mut self.terms;
        let mut difference = packets_differ(&own.sent, &other.sent, terms)?;
        if !self.is_supposing {
            let writes = (&own.writes, &other.writes);
            let kept = registers_differ(writes.0, writes.1, terms, &self.world, &self.registers);
            difference = terms.or(difference, kept);
        }
        let counters = &self.world.counters;
        let counted = counts_differ(&own.writes, &other.writes, terms, counters);
        let difference = terms.or(difference, counted);
        let difference = self.paths.simplify(terms, difference);
        if terms.small(difference) == Some(0) {
            return Ok(None);
        }
        match self.paths.ask_by_the_way(terms, &[difference])? {
            Answer::No | Answer::Unknown => Ok(None),
            Answer::Yes(_) => self.example(difference),
        }
    }

    /// Values on this path for which `wanted` holds, if the programs differ with them.
    fn example(&mut self, wanted: Term) -> Step<Option<Counterexample>> {
        let mut wanted = vec![wanted];
        let (terms, paths) = (&mut self.terms, &mut self.paths);
        wanted.extend(definitions(&wanted, terms, paths));
        let Some(mut model) = real(&wanted, terms, paths)? else {
            return Ok(None);
        };
        if self.is_supposing {
            // Whether packets can lead there is not for the solver to say.
            let nowhere = Journey::default();
            let (world, registers) = (&self.world, &self.registers);
            let found = example([&nowhere; 2], terms, &model, world, registers);
            return Ok(Some(found));
        }
        let Some(found) = confirm(self.both, self.bounds, terms, &model, &self.registers) else {
            return Ok(None);
        };
        make_small(&mut wanted, &mut model, terms, paths, &self.world)?;
        let small = confirm(self.both, self.bounds, terms, &model, &self.registers);
        Ok(Some(small.unwrap_or(found)))
    }
}

/// Where a lead has led, with its values
fn base(lead: &Lead) -> Base {
    let mut base = Base::default();
    base.literals.clone_from(&lead.literals);
    base.model = Some(Rc::clone(&lead.model));
    base
}

/// Whether a program has such a cell; the name ends with the number of a leaf.
fn has_cell(program: &Program, name: &str, index: u64) -> bool {
    let register = name.split('#').next().unwrap_or(name);
    let mut instances = program.instances.iter();
    let own = instances.find(|own| &*own.name == register);
    match own.and_then(|own| own.args.first()) {
        Some(ConstArg::Int(size)) => *size > index.into(),
        _ => false,
    }
}
