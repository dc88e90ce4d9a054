//! Terms under values for their unknowns, computed as the engine computes.

use crate::term::{fold, Function, Node, Term, Terms};
use num_bigint::BigUint;
use num_traits::{One, Zero};
use p4_arch::v1model::Algorithm;
use rustc_hash::FxHashMap;

/// Values of unknowns; what is not there is zero.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// By number of the unknown
    pub values: FxHashMap<u32, BigUint>,
    /// What functions are of their arguments: a solver knows no hash, and no cell has a value of its
    /// own
    pub applied: FxHashMap<(Function, BigUint), BigUint>,
}

/// Evaluates terms, each once.
#[derive(Debug)]
pub struct Evaluation<'a> {
    terms: &'a Terms,
    model: &'a Model,
    known: FxHashMap<Term, BigUint>,
    /// Hashes are computed, whatever the solver took them for.
    real: bool,
}

impl<'a> Evaluation<'a> {
    /// With hashes as they are.
    pub fn new(terms: &'a Terms, model: &'a Model) -> Evaluation<'a> {
        Evaluation {
            terms,
            model,
            known: FxHashMap::default(),
            real: true,
        }
    }

    /// With hashes as the solver took them, and with what has been computed of these values before.
    pub fn resume(
        terms: &'a Terms,
        model: &'a Model,
        known: FxHashMap<Term, BigUint>,
    ) -> Evaluation<'a> {
        Evaluation {
            real: false,
            known,
            ..Evaluation::new(terms, model)
        }
    }

    pub fn computed(self) -> FxHashMap<Term, BigUint> {
        self.known
    }

    pub fn is_true(&mut self, term: Term) -> bool {
        !self.value(term).is_zero()
    }

    pub fn value(&mut self, term: Term) -> BigUint {
        let mut todo = vec![term];
        while let Some(top) = todo.last().copied() {
            if self.known.contains_key(&top) {
                todo.pop();
                continue;
            }
            let before = todo.len();
            operands(self.terms.node(top), |operand| {
                if !self.known.contains_key(&operand) {
                    todo.push(operand);
                }
            });
            if todo.len() == before {
                let value = self.compute(top);
                self.known.insert(top, value);
                todo.pop();
            }
        }
        self.known[&term].clone()
    }

    fn compute(&self, term: Term) -> BigUint {
        let width = self.terms.width(term);
        let of = |term: &Term| &self.known[term];
        match self.terms.node(term) {
            Node::Constant(value) => value.clone(),
            Node::Unknown(number) => self.model.values.get(number).cloned().unwrap_or_default(),
            Node::Not(a) => (BigUint::one() << width) - 1u32 - of(a),
            Node::Binary(op, a, b) => fold(*op, of(a), of(b), self.terms.width(*a)),
            Node::Choose(c, a, b) => match of(c).is_zero() {
                true => of(b).clone(),
                false => of(a).clone(),
            },
            Node::Concat(a, b) => (of(a) << self.terms.width(*b)) | of(b),
            Node::Slice(a, lo) => (of(a) >> *lo) & ((BigUint::one() << width) - 1u32),
            Node::Apply(function, a) => self.apply(*function, *a, of(a), width),
        }
    }

    fn apply(&self, function: Function, argument: Term, value: &BigUint, width: u32) -> BigUint {
        let given = self.model.applied.get(&(function, value.clone()));
        match (given, self.real) {
            (Some(given), false) => given.clone(),
            _ => self
                .model
                .apply(function, value, self.terms.width(argument), width),
        }
    }
}

impl Model {
    /// A function as it really is of a value of `bits` bits; cells as they are given here.
    pub(crate) fn apply(
        &self,
        function: Function,
        value: &BigUint,
        bits: u32,
        width: u32,
    ) -> BigUint {
        let algorithm = match function {
            Function::Crc32 => Algorithm::Crc32,
            Function::Crc16 => Algorithm::Crc16,
            Function::Csum16 => Algorithm::Csum16,
            Function::Cell(_) => {
                let given = self.applied.get(&(function, value.clone()));
                return given.cloned().unwrap_or_default();
            }
        };
        let mut data = value.to_bytes_be();
        if value.is_zero() {
            data.clear();
        }
        let mut padded = vec![0; bits as usize / 8 - data.len()];
        padded.append(&mut data);
        BigUint::from(algorithm.hash(&padded)) & ((BigUint::one() << width) - 1u32)
    }
}

/// The operands of a term, in order.
pub fn operands(node: &Node, mut each: impl FnMut(Term)) {
    match node {
        Node::Constant(_) | Node::Unknown(_) => {}
        Node::Not(a) | Node::Slice(a, _) | Node::Apply(_, a) => each(*a),
        Node::Binary(_, a, b) | Node::Concat(a, b) => {
            each(*a);
            each(*b);
        }
        Node::Choose(c, a, b) => {
            each(*c);
            each(*a);
            each(*b);
        }
    }
}
