//! The branches of a program, and which of them some packet takes.
//!
//! A branch is one way that an instruction may go: both sides of a condition, each case of a
//! `select` or `switch`, each action of a table with and without a hit. While a path is walked
//! along known values, each branch that these do not take is asked for.

use crate::evaluate::Model;
use crate::find::{definitions, is_real, real};
use crate::flow::next;
use crate::path::{Answer, Paths, Step};
use crate::run::Run;
use crate::term::{Term, Terms};
use crate::world::Way;
use p4_ir::ir::{Op, Pc, Program, TableId};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How often the solver may say of a branch that no packet takes it on this path, before it is asked
/// no more
const MOST_REFUSALS: u32 = 3;

/// Bytes of a long packet
const LONG: u64 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    /// A jump
    Code(Pc),
    Table(TableId),
}

/// One way at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch {
    pub site: Site,
    /// Of a condition 1 or 0, of a switch the instruction that comes next, of a table twice the index
    /// of the action, and one more for a hit
    pub way: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// No path has come by.
    Unmet,
    /// On no path that has come by there is a packet that takes it; so often it was asked.
    Refused(u32),
    /// Only if registers that this program alone has hold something, which they may never do
    Supposed,
    Taken,
}

/// Values that lead a packet where none has been.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    /// What was decided up to there, and holds there
    pub literals: Vec<Term>,
    pub model: Rc<Model>,
    /// What it is for: the condition of a branch
    pub condition: Option<Term>,
    /// The way there stays within the bounds.
    pub is_within: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub fates: BTreeMap<Branch, Fate>,
    /// Values for branches that were not taken before
    pub leads: Vec<Lead>,
    pub is_asking: bool,
    /// Values that lead to branches which cannot be taken there
    pub closed: Vec<Rc<Model>>,
    /// The same for branches that were taken without asking
    pub free: Vec<Lead>,
    /// The conditions of all branches that were met
    pub conditions: FxHashSet<Term>,
}

impl Seen {
    pub fn new(program: &Program) -> Seen {
        let all = all(program).into_iter();
        Seen {
            fates: all.map(|branch| (branch, Fate::Unmet)).collect(),
            leads: Vec::new(),
            is_asking: true,
            closed: Vec::new(),
            free: Vec::new(),
            conditions: FxHashSet::default(),
        }
    }

    /// Whether nothing is left to ask for
    pub fn is_done(&self) -> bool {
        self.fates.values().all(|fate| match fate {
            Fate::Taken | Fate::Supposed => true,
            Fate::Refused(times) => *times >= MOST_REFUSALS,
            Fate::Unmet => false,
        })
    }

    pub fn has_all(&self) -> bool {
        self.fates.values().all(|fate| *fate == Fate::Taken)
    }

    pub fn forget_refusals(&mut self) {
        for fate in self.fates.values_mut() {
            if let Fate::Refused(_) = fate {
                *fate = Fate::Unmet;
            }
        }
    }

    /// How many have been taken
    pub fn taken(&self) -> usize {
        let fates = self.fates.values();
        fates.filter(|fate| **fate == Fate::Taken).count()
    }

    fn is_wanted(&self, branch: Branch) -> bool {
        let fate = self.fates.get(&branch);
        fate.is_some_and(|fate| *fate != Fate::Taken)
    }

    fn is_asked_for(&self, branch: Branch) -> bool {
        let is_hopeless = match self.fates.get(&branch) {
            Some(Fate::Refused(times)) => *times >= MOST_REFUSALS,
            _ => false,
        };
        self.is_asking && !is_hopeless
    }

    fn refuse(&mut self, branch: Branch) {
        let fate = self.fates.entry(branch).or_insert(Fate::Unmet);
        *fate = match *fate {
            Fate::Unmet => Fate::Refused(1),
            Fate::Refused(times) => Fate::Refused(times + 1),
            fate => fate,
        };
    }
}

/// The branches in what a program can run at all.
fn all(program: &Program) -> BTreeSet<Branch> {
    let mut branches = BTreeSet::new();
    let mut seen: FxHashSet<Pc> = FxHashSet::default();
    let mut todo: Vec<Pc> = program.blocks.iter().map(|block| block.entry).collect();
    let methods = program.instances.iter().flat_map(|own| &own.methods);
    todo.extend(methods.map(|method| method.entry));
    while let Some(pc) = todo.pop() {
        if !seen.insert(pc) {
            continue;
        }
        let at = |way| Branch {
            site: Site::Code(pc),
            way,
        };
        todo.extend(next(program, pc));
        match program.code[pc as usize] {
            Op::JmpIf { .. } | Op::JmpIfNot { .. } => branches.extend([at(0), at(1)]),
            Op::Switch { .. } => branches.extend(next(program, pc).into_iter().map(at)),
            Op::Call { t } => todo.push(t),
            Op::Apply { table } => {
                let actions = &program.tables[table as usize].actions;
                let entries = actions
                    .iter()
                    .map(|own| program.actions[own.action as usize].entry);
                todo.extend(entries);
                branches.extend(of_table(program, table));
            }
            _ => {}
        }
    }
    branches
}

/// A hit with each action that entries may have, and a miss.
fn of_table(program: &Program, id: TableId) -> Vec<Branch> {
    let table = &program.tables[id as usize];
    let given = |index: &u32| match table.const_entries {
        true => table
            .entries
            .iter()
            .any(|entry| entry.call.action == *index),
        false => !table.actions[*index as usize].default_only,
    };
    let hits: Vec<u32> = match table.keys.is_empty() {
        true => Vec::new(),
        false => (0..table.actions.len() as u32).filter(given).collect(),
    };
    let ways = hits.into_iter().map(|index| 2 * index + 1);
    let site = Site::Table(id);
    let ways = ways.chain([2 * table.default.action]);
    ways.map(|way| Branch { site, way }).collect()
}

impl Run<'_, '_, '_> {
    pub(crate) fn comes_to_jump(&mut self, pc: Pc, c: Term, guard: &[Term]) -> Step<()> {
        if self.code.seen.is_none() {
            return Ok(());
        }
        let not = self.terms.not(c);
        let site = Site::Code(pc);
        self.comes_to(Branch { site, way: 1 }, c, guard)?;
        self.comes_to(Branch { site, way: 0 }, not, guard)
    }

    /// The cases exclude each other.
    pub(crate) fn comes_to_switch(
        &mut self,
        pc: Pc,
        cases: &[(Term, Pc)],
        default: Pc,
        guard: &[Term],
    ) -> Step<()> {
        if self.code.seen.is_none() {
            return Ok(());
        }
        let mut ways: BTreeMap<Pc, Vec<Term>> = BTreeMap::new();
        for (when, target) in cases {
            ways.entry(*target).or_default().push(*when);
        }
        let conditions: Vec<Term> = cases.iter().map(|case| case.0).collect();
        let any = self.terms.any(&conditions);
        ways.entry(default).or_default().push(self.terms.not(any));
        for (target, when) in ways {
            let when = self.terms.any(&when);
            let site = Site::Code(pc);
            self.comes_to(Branch { site, way: target }, when, guard)?;
        }
        Ok(())
    }

    /// `found` ends with what happens without a hit.
    pub(crate) fn comes_to_table(&mut self, id: TableId, found: &Way, guard: &[Term]) -> Step<()> {
        if self.code.seen.is_none() {
            return Ok(());
        }
        let mut ways: BTreeMap<u32, Vec<Term>> = BTreeMap::new();
        for (at, (index, when, _)) in found.iter().enumerate() {
            let is_hit = u32::from(at + 1 < found.len());
            let way = 2 * *index as u32 + is_hit;
            ways.entry(way).or_default().push(*when);
        }
        for (way, when) in ways {
            let when = self.terms.any(&when);
            let site = Site::Table(id);
            self.comes_to(Branch { site, way }, when, guard)?;
        }
        Ok(())
    }

    /// Notes whether the branch is taken on this path, and asks for a packet that does if none has.
    fn comes_to(&mut self, branch: Branch, when: Term, guard: &[Term]) -> Step<()> {
        let Some(seen) = &mut self.code.seen else {
            return Ok(());
        };
        let own = self.terms.all(guard);
        let all = self.terms.and(own, when);
        seen.conditions.insert(all);
        if !seen.is_wanted(branch) {
            return Ok(());
        }
        let not = self.terms.not(when);
        if guard.contains(&not) || self.paths.known(self.terms, when) == Some(false) {
            return Ok(());
        }
        let wanted: Vec<Term> = guard.iter().copied().chain([when]).collect();
        if self.paths.guess(self.terms, all) == Some(true) {
            seen.fates.insert(branch, Fate::Taken);
            if let Some(model) = self.paths.believed() {
                let literals = self.paths.literals.iter().copied().chain(wanted);
                seen.free.push(Lead {
                    literals: literals.collect(),
                    model,
                    condition: Some(all),
                    is_within: true,
                });
            }
            return Ok(());
        }
        if !seen.is_asked_for(branch) {
            return Ok(());
        }
        match values(&wanted, self.world.length, self.terms, self.paths)? {
            Some(model) => {
                seen.fates.insert(branch, Fate::Taken);
                let literals = self.paths.literals.iter().copied().chain(wanted);
                seen.leads.push(Lead {
                    literals: literals.collect(),
                    model: Rc::new(model),
                    condition: Some(all),
                    is_within: true,
                });
            }
            None => {
                if seen.fates.get(&branch) == Some(&Fate::Unmet) {
                    seen.closed.extend(self.paths.believed());
                }
                seen.refuse(branch);
            }
        }
        Ok(())
    }
}

/// Values with which all of this holds on the present path, with hashes as they really are. Long
/// packets are preferred: one that ends within its headers hardly ever gets anywhere.
pub(crate) fn values(
    wanted: &[Term],
    length: Term,
    terms: &mut Terms,
    paths: &mut Paths<'_>,
) -> Step<Option<Model>> {
    let long = terms.number(LONG, terms.width(length));
    let short = terms.less(length, long);
    let mut longer = wanted.to_vec();
    longer.push(terms.not(short));
    match of_any_length(&longer, terms, paths)? {
        None => of_any_length(wanted, terms, paths),
        found => Ok(found),
    }
}

/// Checksums are said in additions only where they matter, for that takes long.
fn of_any_length(wanted: &[Term], terms: &mut Terms, paths: &mut Paths<'_>) -> Step<Option<Model>> {
    let model = match paths.ask_by_the_way(terms, wanted)? {
        Answer::Yes(model) => model,
        Answer::No | Answer::Unknown => return Ok(None),
    };
    if is_real(&model, wanted, terms, paths) {
        return Ok(Some(model));
    }
    let mut wanted = wanted.to_vec();
    wanted.extend(definitions(&wanted, terms, paths));
    real(&wanted, terms, paths)
}
