//! Values for a truth value that can hold, and small ones.

use crate::calls::internet_checksum;
use crate::compare::Counterexample;
use crate::evaluate::{operands, Evaluation, Model};
use crate::journey::{Journey, Whither};
use crate::packet::arrived;
use crate::path::{Answer, Paths, Step, Stop};
use crate::term::{Function, Node, Term, Terms};
use crate::undefined::is_undefined;
use crate::world::World;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use rustc_hash::FxHashSet;

/// Rounds in which the solver is told what a hash really is
const ROUNDS: u32 = 12;

/// Zeros where P4 leaves something undefined, fewer entries, a shorter packet, more zeros, as far as the wishes allow.
pub(crate) fn make_small(
    wanted: &mut Vec<Term>,
    model: &mut Model,
    terms: &mut Terms,
    paths: &mut Paths<'_>,
    world: &World,
) -> Step<()> {
    if depends_on_undefined(terms, model) {
        let zeros = zeros(terms);
        shrink(zeros, wanted, model, terms, paths)?;
    }
    for term in world.occupied() {
        if !Evaluation::new(terms, model).is_true(term) {
            continue;
        }
        let not = terms.not(term);
        shrink(not, wanted, model, terms, paths)?;
    }
    // The shortest packet, by halves
    let mut short = 0u64;
    loop {
        let mut evaluation = Evaluation::new(terms, model);
        let length = evaluation.value(world.length).to_u64().unwrap_or(0);
        if length <= short {
            break;
        }
        let middle = short + (length - short) / 2;
        let limit = terms.number(middle + 1, 16);
        let shorter = terms.less(world.length, limit);
        if !shrink(shorter, wanted, model, terms, paths)? {
            short = middle + 1;
        }
    }
    for number in 0..terms.unknowns.len() as u32 {
        let is_zero = |model: &Model| model.values.get(&number).is_none_or(|v| v.bits() == 0);
        if is_zero(model) {
            continue;
        }
        let unknown = terms.unknowns[number as usize].clone();
        let term = terms.unknown(&unknown.name, unknown.width);
        let zero = terms.number(0, unknown.width);
        let zero = terms.equal(term, zero);
        shrink(zero, wanted, model, terms, paths)?;
    }
    Ok(())
}

/// Whether something that P4 leaves undefined is not zero.
pub(crate) fn depends_on_undefined(terms: &Terms, model: &Model) -> bool {
    let mut values = model.values.iter();
    values.any(|(number, value)| {
        is_undefined(&terms.unknowns[*number as usize].name) && value.bits() > 0
    })
}

/// That all is zero which P4 leaves undefined
fn zeros(terms: &mut Terms) -> Term {
    let unknowns = terms.unknowns.clone().into_iter();
    let undefined = unknowns.filter(|unknown| is_undefined(&unknown.name));
    let zeros: Vec<Term> = undefined
        .map(|unknown| {
            let term = terms.unknown(&unknown.name, unknown.width);
            let zero = terms.number(0, unknown.width);
            terms.equal(term, zero)
        })
        .collect();
    terms.all(&zeros)
}

/// Adds a wish, if it can be fulfilled.
fn shrink(
    wish: Term,
    wanted: &mut Vec<Term>,
    model: &mut Model,
    terms: &mut Terms,
    paths: &mut Paths<'_>,
) -> Step<bool> {
    wanted.push(wish);
    match real(wanted, terms, paths) {
        Ok(Some(smaller)) => {
            *model = smaller;
            Ok(true)
        }
        // What was found stays good if there is no time to make it smaller.
        Ok(None) | Err(Stop::Budget) => {
            wanted.pop();
            Ok(false)
        }
        Err(other) => Err(other),
    }
}

/// Whether values fulfil the wishes, and all that is known, with hashes as they really are.
pub(crate) fn is_real(model: &Model, wanted: &[Term], terms: &Terms, paths: &Paths<'_>) -> bool {
    let mut evaluation = Evaluation::new(terms, model);
    let mut all = paths.axioms.iter().chain(&paths.literals).chain(wanted);
    all.all(|term| evaluation.is_true(*term))
}

/// Values that fulfil the wishes with hashes as they really are.
pub(crate) fn real(
    wanted: &[Term],
    terms: &mut Terms,
    paths: &mut Paths<'_>,
) -> Step<Option<Model>> {
    for _ in 0..ROUNDS {
        let model = match paths.ask(terms, wanted)? {
            Answer::Yes(model) => model,
            Answer::No | Answer::Unknown => return Ok(None),
        };
        if is_real(&model, wanted, terms, paths) {
            return Ok(Some(model));
        }
        let (lemmas, arguments) = lemmas(terms, &model);
        if lemmas.is_empty() {
            return Err(Stop::Unsupported("the solver's values".into()));
        }
        paths.axioms.extend(lemmas);
        // The same arguments, now that their hashes are known
        let again: Vec<Term> = wanted.iter().copied().chain(arguments).collect();
        if let Answer::Yes(model) = paths.ask(terms, &again)? {
            let mut evaluation = Evaluation::new(terms, &model);
            let mut all = paths.axioms.iter().chain(&paths.literals).chain(wanted);
            if all.all(|term| evaluation.is_true(*term)) {
                return Ok(Some(model));
            }
        }
    }
    paths.open += 1;
    Ok(None)
}

/// What the checksums in question are, in additions. Without need they are functions that only
/// give equal results for equal arguments.
pub(crate) fn definitions(wanted: &[Term], terms: &mut Terms, paths: &Paths<'_>) -> Vec<Term> {
    let held = paths.axioms.iter().chain(&paths.literals);
    let mut todo: Vec<Term> = held.chain(wanted).copied().collect();
    let mut seen = FxHashSet::default();
    let mut found = Vec::new();
    while let Some(term) = todo.pop() {
        if !seen.insert(term) {
            continue;
        }
        if let Node::Apply(Function::Csum16, data) = *terms.node(term) {
            found.push((term, data));
        }
        operands(terms.node(term), |operand| todo.push(operand));
    }
    let define = |(term, data): (Term, Term)| {
        let sum = internet_checksum(data, terms);
        terms.equal(term, sum)
    };
    found.into_iter().map(define).collect()
}

/// What the hashes are of the values that the solver has tried; and that these are the values.
fn lemmas(terms: &mut Terms, model: &Model) -> (Vec<Term>, Vec<Term>) {
    let mut facts = Vec::new();
    let mut evaluation = Evaluation::new(terms, model);
    for number in 0..terms.len() as u32 {
        let term = Term(number);
        if let Node::Apply(Function::Crc32 | Function::Crc16, argument) = terms.node(term) {
            let (argument, value) = (*argument, evaluation.value(term));
            facts.push((term, value, argument, evaluation.value(argument)));
        }
    }
    let (mut lemmas, mut arguments) = (Vec::new(), Vec::new());
    for (term, value, argument, given) in facts {
        let given = terms.constant(given, terms.width(argument));
        let value = terms.constant(value, terms.width(term));
        let (same, is) = (terms.equal(argument, given), terms.equal(term, value));
        let other = terms.not(same);
        lemmas.push(terms.or(other, is));
        arguments.push(same);
    }
    (lemmas, arguments)
}

pub(crate) fn example(
    both: [&Journey; 2],
    terms: &mut Terms,
    model: &Model,
    world: &World,
    registers: &[String],
) -> Counterexample {
    let length = {
        let mut evaluation = Evaluation::new(terms, model);
        evaluation.value(world.length).to_u32().unwrap_or(0)
    };
    let bytes: Vec<Term> = (0..length).map(|at| arrived(at, terms)).collect();
    let mut evaluation = Evaluation::new(terms, model);
    let small = |value: BigUint| value.to_u16().unwrap_or(0);
    let packet: Vec<u8> = bytes
        .iter()
        .map(|byte| evaluation.value(*byte).to_u8().unwrap_or(0))
        .collect();
    let sent = both.map(|journey| {
        let mut all = Vec::new();
        for sent in &journey.sent {
            let Whither::Port(port) = sent.whither else {
                continue;
            };
            let own = sent.packet.bytes.iter();
            let mut data: Vec<u8> = own
                .map(|byte| evaluation.value(*byte).to_u8().unwrap_or(0))
                .collect();
            data.extend(&packet[(sent.packet.rest as usize).min(packet.len())..]);
            all.push((small(evaluation.value(port)), data));
        }
        all.sort();
        all
    });
    let sessions = world.sessions.iter();
    let mut cells: Vec<_> = model
        .applied
        .iter()
        .filter_map(|((function, index), value)| {
            let Function::Cell(register) = function else {
                return None;
            };
            let name = registers.get(*register as usize)?;
            Some((name.clone(), index.to_u64()?, value.clone()))
        })
        .collect();
    cells.sort();
    Counterexample {
        now: evaluation.value(world.now).to_u64().unwrap_or(0),
        port: small(evaluation.value(world.ingress_port)),
        entries: world.entries(&mut evaluation),
        sessions: sessions
            .map(|s| {
                (
                    small(evaluation.value(s.id)),
                    small(evaluation.value(s.port)),
                )
            })
            .collect(),
        group: small(evaluation.value(world.group.id)),
        copies: world
            .group
            .copies
            .iter()
            .filter(|copy| evaluation.is_true(copy.0))
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
            .map(|copy| {
                (
                    small(evaluation.value(copy.1)),
                    small(evaluation.value(copy.2)),
                )
            })
            .collect(),
        packet,
        cells,
        sent,
        after: Vec::new(),
        counts: Vec::new(),
        is_endless: false,
        is_undefined: false,
        passes: both.map(|journey| journey.passes),
    }
}
