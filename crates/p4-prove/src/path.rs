//! One path at a time: what has been decided on it, and which others there are.

use crate::evaluate::{operands, Evaluation, Model};
use crate::term::{Binary, Node, Term, Terms};
use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What a solver says of assumptions.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Values that fulfil them
    Yes(Model),
    No,
    /// Not within the time for one question
    Unknown,
}

/// Decides whether truth values can hold together.
pub trait Solver {
    /// Other terms follow, which are numbered from 0 again.
    fn forget(&mut self);

    /// Whether the assumptions can hold together with the facts, of which there are only more from
    /// question to question.
    fn ask(&mut self, terms: &Terms, facts: &[Term], assumptions: &[Term]) -> Answer;
}

/// A solver that several explorations ask in turns.
pub struct Shared<'x>(RefCell<&'x mut (dyn Solver + 'x)>);

impl<'x> Shared<'x> {
    pub fn new(solver: &'x mut (dyn Solver + 'x)) -> Shared<'x> {
        Shared(RefCell::new(solver))
    }
}

/// What is asked of a shared solver.
pub trait Ask {
    fn forget(&self);
    fn ask(&self, terms: &Terms, facts: &[Term], assumptions: &[Term]) -> Answer;
}

impl Ask for Shared<'_> {
    fn forget(&self) {
        self.0.borrow_mut().forget();
    }

    fn ask(&self, terms: &Terms, facts: &[Term], assumptions: &[Term]) -> Answer {
        self.0.borrow_mut().ask(terms, facts, assumptions)
    }
}

/// Why a path ends before both programs have come to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The path goes beyond a bound; the text names it.
    Bound(&'static str),
    /// The programs do what is not followed; the text names it.
    Unsupported(String),
    /// There is no time left.
    Budget,
}

pub type Step<T> = Result<T, Stop>;

/// A path that is still to be walked: the decisions that lead to it.
#[derive(Debug)]
struct Ahead {
    script: Vec<Decision>,
    model: Option<Rc<Model>>,
}

/// Where paths begin: what was decided before, and values that fulfil it, if some are known.
#[derive(Clone, Debug, Default)]
pub struct Base {
    pub literals: Vec<Term>,
    /// Truth values of which only one side can hold then
    forced: Vec<(Term, bool)>,
    pub model: Option<Rc<Model>>,
}

#[derive(Clone, Copy, Debug)]
struct Decision {
    value: bool,
    /// The other side cannot hold.
    forced: bool,
}

/// Some hundred megabytes
const MOST_TERMS: usize = 3_000_000;

/// The paths that a comparison has still to walk, and where it is on the present one.
pub struct Paths<'s> {
    pub solver: &'s dyn Ask,
    /// Called before each question: whether there is time left
    pub has_time: &'s dyn Fn() -> bool,
    /// What holds on all paths
    pub axioms: Vec<Term>,
    ahead: VecDeque<Ahead>,
    is_odd: bool,
    script: Vec<Decision>,
    at: usize,
    known: FxHashMap<Term, bool>,
    /// Truth values of which only one side could hold
    forced: FxHashSet<Term>,
    /// Terms that are a constant on this path
    values: FxHashMap<Term, Term>,
    /// What was decided on this path
    pub literals: Vec<Term>,
    base: Base,
    promised: FxHashSet<Term>,
    /// What is known on all paths
    supposed: (FxHashMap<Term, bool>, FxHashMap<Term, Term>),
    model: Option<Rc<Model>>,
    /// Each path goes where its values lead, and nothing is asked on the way.
    pub is_led: bool,
    /// What such a path could have decided otherwise: how much was decided before, and the other side
    pub turns: Vec<(usize, Term)>,
    /// Terms under the values of `model`
    computed: FxHashMap<Term, BigUint>,
    ticks: u64,
    pub questions: u64,
    /// Questions that the solver left open
    pub open: u64,
}

impl<'s> Paths<'s> {
    pub fn new(solver: &'s dyn Ask, has_time: &'s dyn Fn() -> bool) -> Paths<'s> {
        let first = Ahead {
            script: Vec::new(),
            model: None,
        };
        Paths {
            solver,
            has_time,
            axioms: Vec::new(),
            ahead: VecDeque::from([first]),
            is_odd: false,
            script: Vec::new(),
            at: 0,
            known: FxHashMap::default(),
            forced: FxHashSet::default(),
            values: FxHashMap::default(),
            literals: Vec::new(),
            base: Base::default(),
            promised: FxHashSet::default(),
            supposed: Default::default(),
            model: None,
            is_led: false,
            turns: Vec::new(),
            computed: FxHashMap::default(),
            ticks: 0,
            questions: 0,
            open: 0,
        }
    }

    /// Begins the next path; `false` if all have been walked. The one found last and the one found
    /// first take turns: what differs may be near the first decisions or the last ones.
    pub fn begin(&mut self) -> bool {
        self.is_odd = !self.is_odd;
        let ahead = match self.is_odd {
            true => self.ahead.pop_back(),
            false => self.ahead.pop_front(),
        };
        let Some(ahead) = ahead else {
            return false;
        };
        self.script = ahead.script;
        self.believe(ahead.model);
        self.at = 0;
        self.known.clone_from(&self.supposed.0);
        self.forced.clear();
        self.values.clone_from(&self.supposed.1);
        self.literals.clone_from(&self.base.literals);
        true
    }

    fn believe(&mut self, model: Option<Rc<Model>>) {
        self.model = model;
        self.computed.clear();
    }

    /// Walks the paths from there on.
    pub fn restart(&mut self, terms: &Terms, base: Base) {
        self.known.clear();
        self.values.clear();
        for literal in &base.literals {
            self.learn(terms, *literal, true);
        }
        for (term, value) in &base.forced {
            self.learn(terms, *term, *value);
        }
        self.supposed = (self.known.clone(), self.values.clone());
        self.ahead.clear();
        self.ahead.push_back(Ahead {
            script: Vec::new(),
            model: base.model.clone(),
        });
        self.is_odd = false;
        self.base = base;
    }

    /// What has been decided on this path.
    pub fn here(&self) -> Base {
        let forced = self.forced.iter().filter_map(|term| {
            let value = self.known.get(term)?;
            Some((*term, *value))
        });
        Base {
            literals: self.literals.clone(),
            forced: self.base.forced.iter().copied().chain(forced).collect(),
            model: self.model.clone(),
        }
    }

    /// Notes what holds on all paths.
    pub fn believe_always(&mut self, axiom: Term) {
        if self.promised.insert(axiom) {
            self.axioms.push(axiom);
        }
    }

    pub fn left(&self) -> usize {
        self.ahead.len()
    }

    /// Called now and then by what works without asking: ends the path when there is no time left, or
    /// no memory for more terms.
    pub fn tick(&mut self, terms: &Terms) -> Step<()> {
        self.ticks += 1;
        if self.ticks.is_multiple_of(64) && !(self.has_time)() {
            return Err(Stop::Budget);
        }
        match terms.len() > MOST_TERMS {
            true => Err(Stop::Unsupported("programs of so many values".into())),
            false => Ok(()),
        }
    }

    /// Whether the assumptions can hold on this path.
    pub fn ask(&mut self, terms: &Terms, more: &[Term]) -> Step<Answer> {
        if !(self.has_time)() {
            return Err(Stop::Budget);
        }
        self.questions += 1;
        let all: Vec<Term> = self.literals.iter().chain(more).copied().collect();
        let answer = self.solver.ask(terms, &self.axioms, &all);
        if matches!(answer, Answer::Unknown) {
            self.open += 1;
        }
        Ok(answer)
    }

    /// The same, where nothing depends on an answer.
    pub fn ask_by_the_way(&mut self, terms: &Terms, more: &[Term]) -> Step<Answer> {
        let open = self.open;
        let answer = self.ask(terms, more);
        self.open = open;
        answer
    }

    /// What is known of a truth value without asking: by itself, or from what was decided.
    pub fn known(&self, terms: &Terms, term: Term) -> Option<bool> {
        self.known_within(terms, term, 8)
    }

    fn known_within(&self, terms: &Terms, term: Term, depth: u32) -> Option<bool> {
        if let Some(value) = terms.small(term) {
            return Some(value != 0);
        }
        if let Some(value) = self.known.get(&term) {
            return Some(*value);
        }
        let depth = depth.checked_sub(1)?;
        let of = |term: &Term| self.known_within(terms, *term, depth);
        match terms.node(term) {
            Node::Not(a) => of(a).map(|value| !value),
            Node::Binary(Binary::And, a, b) => match (of(a), of(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Node::Choose(c, a, b) => match of(c)? {
                true => of(a),
                false => of(b),
            },
            Node::Binary(Binary::Eq, a, b) => {
                let constant = |term: &Term| match terms.value(*term) {
                    Some(value) => Some(value),
                    None => self.values.get(term).and_then(|value| terms.value(*value)),
                };
                Some(constant(a)? == constant(b)?)
            }
            _ => None,
        }
    }

    /// Notes what follows from a decision without asking.
    fn learn(&mut self, terms: &Terms, term: Term, value: bool) {
        if self.known.insert(term, value).is_some() {
            return;
        }
        match *terms.node(term) {
            Node::Not(a) => self.learn(terms, a, !value),
            Node::Binary(Binary::And, a, b) if value => {
                self.learn(terms, a, true);
                self.learn(terms, b, true);
            }
            Node::Binary(Binary::Eq, a, b) if value => {
                if terms.value(a).is_some() {
                    self.values.insert(b, a);
                } else if terms.value(b).is_some() {
                    self.values.insert(a, b);
                }
            }
            _ => {}
        }
    }

    /// Takes one side of a truth value, one that can hold; the other one is walked later.
    pub fn decide(&mut self, terms: &mut Terms, term: Term) -> Step<bool> {
        if let Some(value) = self.known(terms, term) {
            return Ok(value);
        }
        if let Node::Not(inner) = *terms.node(term) {
            return Ok(!self.decide(terms, inner)?);
        }
        if let Some(decision) = self.script.get(self.at).copied() {
            self.take(terms, term, decision);
            return Ok(decision.value);
        }
        let first = self.guess(terms, term);
        let not = terms.not(term);
        let value = first.unwrap_or(true);
        let (own, other) = match value {
            true => (term, not),
            false => (not, term),
        };
        if self.is_led && first.is_some() {
            self.turns.push((self.literals.len(), other));
            return Ok(self.new_decision(terms, term, value, false));
        }
        if first.is_none() {
            match self.ask(terms, &[own])? {
                Answer::No => return Ok(self.new_decision(terms, term, !value, true)),
                Answer::Yes(model) => self.believe(Some(Rc::new(model))),
                Answer::Unknown => {}
            }
        }
        let model = match self.ask(terms, &[other])? {
            Answer::No => return Ok(self.new_decision(terms, term, value, true)),
            Answer::Yes(model) => Some(Rc::new(model)),
            Answer::Unknown => None,
        };
        let mut script = self.script.clone();
        script.push(Decision {
            value: !value,
            forced: false,
        });
        self.ahead.push_back(Ahead { script, model });
        Ok(self.new_decision(terms, term, value, false))
    }

    fn new_decision(&mut self, terms: &mut Terms, term: Term, value: bool, forced: bool) -> bool {
        let decision = Decision { value, forced };
        self.script.push(decision);
        self.take(terms, term, decision);
        value
    }

    /// Goes the next step of the script.
    fn take(&mut self, terms: &mut Terms, term: Term, decision: Decision) {
        self.at += 1;
        let Decision { value, forced } = decision;
        if forced {
            self.forced.insert(term);
        } else {
            let literal = match value {
                true => term,
                false => terms.not(term),
            };
            self.literals.push(literal);
        }
        self.learn(terms, term, value);
    }

    /// Whether the truth value, which was decided, could have been true.
    pub fn could(&self, term: Term) -> bool {
        self.known.get(&term) != Some(&false) || !self.forced.contains(&term)
    }

    /// The values that lead this path
    pub(crate) fn believed(&self) -> Option<Rc<Model>> {
        self.model.clone()
    }

    /// The side that the values of the last answer take, which fulfil all that was decided.
    pub(crate) fn guess(&mut self, terms: &Terms, term: Term) -> Option<bool> {
        let model = self.model.as_ref()?;
        let computed = std::mem::take(&mut self.computed);
        let mut evaluation = Evaluation::resume(terms, model, computed);
        let value = evaluation.is_true(term);
        self.computed = evaluation.computed();
        Some(value)
    }

    /// The term without what is known on this path.
    pub fn simplify(&self, terms: &mut Terms, root: Term) -> Term {
        let mut cone = FxHashSet::default();
        let mut todo = vec![root];
        while let Some(term) = todo.pop() {
            if cone.insert(term) {
                operands(terms.node(term), |operand| todo.push(operand));
            }
        }
        let mut cone: Vec<Term> = cone.into_iter().collect();
        cone.sort_unstable();
        let mut simple: FxHashMap<Term, Term> = FxHashMap::default();
        for term in cone {
            let known = match terms.width(term) {
                1 => self.known.get(&term).map(|value| terms.truth(*value)),
                _ => self.values.get(&term).copied(),
            };
            let own = match known {
                Some(known) => known,
                None => terms.with_operands(term, |operand| simple[&operand]),
            };
            simple.insert(term, own);
        }
        simple[&root]
    }

    /// The value of a term, which may have to be decided: `None` if it is none of its constants.
    pub fn concrete(&mut self, terms: &mut Terms, term: Term) -> Step<Option<BigUint>> {
        let mut tried: Vec<BigUint> = Vec::new();
        for leaf in self.leaves(terms, term) {
            if tried.contains(&leaf) {
                continue;
            }
            let width = terms.width(term);
            let constant = terms.constant(leaf.clone(), width);
            let equal = terms.equal(term, constant);
            if self.decide(terms, equal)? {
                return Ok(Some(leaf));
            }
            tried.push(leaf);
        }
        Ok(None)
    }

    /// Constants that a term may be, as far as one can see them in it.
    fn leaves(&self, terms: &Terms, term: Term) -> Vec<BigUint> {
        let one = BigUint::from(1u8);
        match terms.node(term) {
            Node::Constant(value) => vec![value.clone()],
            Node::Choose(c, a, b) => match self.known(terms, *c) {
                Some(true) => self.leaves(terms, *a),
                Some(false) => self.leaves(terms, *b),
                None => {
                    let mut all = self.leaves(terms, *a);
                    all.extend(self.leaves(terms, *b));
                    all
                }
            },
            Node::Concat(a, b) => {
                let (highs, lows) = (self.leaves(terms, *a), self.leaves(terms, *b));
                let shift = terms.width(*b);
                let join = |high: &BigUint, low: &BigUint| (high << shift) | low;
                let pairs = highs
                    .iter()
                    .flat_map(|high| lows.iter().map(move |low| (high, low)));
                pairs.map(|(high, low)| join(high, low)).collect()
            }
            Node::Slice(whole, lo) => {
                let mask = (&one << terms.width(term)) - &one;
                let wholes = self.leaves(terms, *whole);
                wholes.iter().map(|value| (value >> *lo) & &mask).collect()
            }
            _ if terms.width(term) == 1 => match self.known(terms, term) {
                Some(value) => vec![u8::from(value).into()],
                None => vec![one.clone(), one.clone() - one],
            },
            _ => Vec::new(),
        }
    }
}
