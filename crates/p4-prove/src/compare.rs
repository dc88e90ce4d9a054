//! Two programs, path by path: do they send the same?

use crate::calls::internet_checksum;
use crate::evaluate::{operands, Evaluation, Model};
use crate::journey::{
    fields, travel, Journey, Leg, Sent, Whither, PASSES, RECIRCULATED, RESUBMITTED,
};
use crate::packet::arrived;
use crate::path::{Answer, Paths, Solver, Step, Stop};
use crate::run::Code;
use crate::term::{Function, Node, Term, Terms};
use crate::world::{Bounds, Entry, World};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::v1model::{Call, Image};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Values with which two programs differ.
#[derive(Clone, Debug, Default)]
pub struct Counterexample {
    pub port: u16,
    pub packet: Vec<u8>,
    pub entries: Vec<Entry>,
    /// Number and port
    pub sessions: Vec<(u16, u16)>,
    pub group: u16,
    /// Ports with their replication ids
    pub copies: Vec<(u16, u16)>,
    /// Register, leaf, index, value
    pub cells: Vec<(String, u64, BigUint)>,
    /// Cells of registers that may differ afterwards: register and index
    pub after: Vec<(String, u64)>,
    /// What the two programs send by this model: port and bytes
    pub sent: [Vec<(u16, Vec<u8>)>; 2],
    /// The reference has come to the end, and the other program goes on for many passes more; what
    /// that one sends is not known.
    pub is_endless: bool,
    /// Whether nothing of the packet comes back in either
    pub ends: bool,
    /// What was decided on the way
    path: Vec<Saved>,
}

#[derive(Debug)]
pub enum Verdict {
    /// On all paths within the bounds
    Equal,
    Different(Box<Counterexample>),
    /// The text says why.
    Undecided(String),
}

/// What was done.
#[derive(Debug)]
pub struct Coverage {
    pub leg: Leg,
    pub entries: u32,
    pub passes: u32,
    /// All paths have been walked but those beyond a bound, and the programs agreed.
    pub is_whole: bool,
    /// Paths on which both programs came to the end
    pub paths: u64,
    /// Paths that were given up, by the bound that they went beyond
    pub beyond: BTreeMap<&'static str, u64>,
    pub questions: u64,
    pub terms: u64,
    pub left: u64,
}

impl Coverage {
    fn new(leg: Leg, bounds: &Bounds) -> Coverage {
        Coverage {
            leg,
            entries: bounds.entries,
            passes: bounds.passes,
            is_whole: false,
            paths: 0,
            beyond: BTreeMap::new(),
            questions: 0,
            terms: 0,
            left: 0,
        }
    }
}

/// Most copies on a path that are compared in all orders
const MOST_IN_ALL_ORDERS: usize = 4;

/// How many times as many passes as the reference another program may need
const PATIENCE: u32 = 4;

/// Paths that are walked behind a difference inside the switch, until it is given up that somebody
/// sees it outside
const MOST_ALONG_A_PATH: u64 = 48;

/// Rounds in which the solver is told what a hash really is
const ROUNDS: u32 = 12;

/// Compares the programs; `Err` if the student's does not fit the reference's entries. `say` hears of
/// each stage that has been covered.
///
/// First one pass is compared, of any packet with any fields kept: if the programs agree on that, they
/// agree on all journeys. Then whole journeys, with more entries and more passes from stage to stage:
/// what differs there is found with few of both.
pub fn compare(
    reference: &Image,
    student: &Image,
    bounds: &Bounds,
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
) -> Result<(Verdict, Vec<Coverage>), String> {
    let mut stages = Vec::new();
    let both = [reference, student];
    if let Some(legs) = legs(reference, student) {
        let mut all_equal = true;
        for leg in legs {
            let (verdict, coverage) = stage(both, bounds, leg, &[], solver, has_time)?;
            stages.push(coverage);
            let Verdict::Different(example) = verdict else {
                all_equal &= matches!(verdict, Verdict::Equal);
                if all_equal {
                    continue;
                }
                break;
            };
            all_equal = false;
            if leg == Leg::First {
                if example.ends {
                    return Ok((Verdict::Different(example), stages));
                }
                // What differs has come back. Does anybody see it later?
                for passes in 2..=bounds.passes {
                    let (leg, path) = (Leg::Whole, &example.path);
                    let bounds = Bounds {
                        passes,
                        ..bounds.clone()
                    };
                    let (verdict, coverage) = stage(both, &bounds, leg, path, solver, has_time)?;
                    stages.push(coverage);
                    if let Verdict::Different(_) = verdict {
                        return Ok((verdict, stages));
                    }
                }
            }
            break;
        }
        if all_equal {
            return Ok((Verdict::Equal, stages));
        }
    }
    let mut last = Verdict::Undecided("there was no time at all".into());
    for (entries, passes) in steps(bounds) {
        let bounds = Bounds {
            entries,
            passes,
            ..bounds.clone()
        };
        let (verdict, coverage) = stage(both, &bounds, Leg::Whole, &[], solver, has_time)?;
        let is_equal = matches!(verdict, Verdict::Equal);
        stages.push(coverage);
        last = verdict;
        if !is_equal {
            break;
        }
    }
    Ok((last, stages))
}

/// Entries per table and passes of each stage, the smallest first.
fn steps(bounds: &Bounds) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = (1..=bounds.entries)
        .flat_map(|entries| (1..=bounds.passes).map(move |passes| (entries, passes)))
        .collect();
    all.sort_by_key(|(entries, passes)| (entries * passes, *entries));
    all
}

/// The legs of which all journeys consist, if both programs keep the same fields and registers.
fn legs(reference: &Image, student: &Image) -> Option<Vec<Leg>> {
    let registers = |image: &Image| {
        let instances = image.program().instances.iter();
        let registers = instances.filter(|instance| &*instance.extern_type == "register");
        let described = registers.map(|own| (own.name.clone(), own.types.clone()));
        let mut all: Vec<_> = described.collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    if registers(reference) != registers(student) {
        return None;
    }
    let lists = |image: &Image| image.field_lists().collect::<Vec<u32>>();
    if lists(reference) != lists(student) {
        return None;
    }
    let names = |image: &Image, list: u32| -> Vec<(String, u32)> {
        let fields = fields(image, list).into_iter();
        fields.map(|field| (field.name, field.width)).collect()
    };
    let mut legs = vec![Leg::First];
    for list in lists(reference) {
        if names(reference, list) != names(student, list) {
            return None;
        }
        let calls = [reference, student].into_iter().flat_map(Image::calls);
        for call in calls {
            let leg = match call {
                Call::Recirculate { .. } => Leg::Later(RECIRCULATED, list),
                Call::Resubmit { .. } => Leg::Later(RESUBMITTED, list),
                _ => continue,
            };
            if !legs.contains(&leg) {
                legs.push(leg);
            }
        }
    }
    Some(legs)
}

/// All paths of one leg within the bounds, of those that go along `path` first.
fn stage(
    both: [&Image; 2],
    bounds: &Bounds,
    leg: Leg,
    path: &[Saved],
    solver: &mut dyn Solver,
    has_time: &dyn Fn() -> bool,
) -> Result<(Verdict, Coverage), String> {
    let mut terms = Terms::default();
    let (world, axioms) = World::new(both[0].program(), bounds, &mut terms)?;
    if let Some(misfit) = world.misfit(both[1].program()) {
        return Err(misfit);
    }
    let mut codes = [
        Code::new(both[0], &mut terms)?,
        Code::new(both[1], &mut terms)?,
    ];
    // A program that needs some passes more than the reference is no endless one.
    let patient = Bounds {
        passes: bounds.passes * PATIENCE,
        ..bounds.clone()
    };
    let mut registers = Vec::new();
    solver.forget();
    let mut paths = Paths::new(solver, has_time);
    paths.axioms = axioms;
    let given = restore(path, &mut terms);
    paths.suppose(&terms, &given);
    let mut coverage = Coverage::new(leg, bounds);
    let mut verdict = Verdict::Equal;
    while paths.begin() {
        if !path.is_empty() && coverage.paths == MOST_ALONG_A_PATH {
            verdict = Verdict::Undecided("what differs inside was not seen outside".into());
            break;
        }
        let mut both = Vec::new();
        let mut stop = None;
        for (code, bounds) in codes.iter_mut().zip([bounds, &patient]) {
            match travel(
                code,
                &mut terms,
                &mut paths,
                &world,
                bounds,
                &mut registers,
                leg,
            ) {
                Ok(journey) => both.push(journey),
                Err(reason) => {
                    stop = Some(reason);
                    break;
                }
            }
        }
        let found = match (stop, both.as_slice()) {
            (None, [own, other]) => {
                coverage.paths += 1;
                differ(own, other, &mut terms, &mut paths, &world, &registers)
            }
            (Some(Stop::Bound(PASSES)), [own]) if leg == Leg::Whole => {
                coverage.paths += 1;
                let ends = Journey::default();
                let (both, always) = ([own, &ends], terms.truth(true));
                let found = find(
                    both, always, &mut terms, &mut paths, &world, &registers, true,
                );
                found.map(|example| {
                    example.map(|example| Counterexample {
                        is_endless: true,
                        ..example
                    })
                })
            }
            (Some(stop), _) => Err(stop),
            (None, _) => Ok(None),
        };
        match found {
            Ok(None) => {}
            Ok(Some(example)) => {
                verdict = Verdict::Different(Box::new(example));
                break;
            }
            Err(Stop::Bound(name)) => *coverage.beyond.entry(name).or_default() += 1,
            Err(Stop::Unsupported(what)) => {
                verdict = Verdict::Undecided(format!("the prover does not follow {what}"));
                break;
            }
            Err(Stop::Budget) => {
                verdict = Verdict::Undecided("the time is up".into());
                break;
            }
        }
    }
    if paths.open > 0 && matches!(verdict, Verdict::Equal) {
        verdict = Verdict::Undecided(format!("{} questions are open", paths.open));
    }
    coverage.questions = paths.questions;
    coverage.left = paths.left() as u64;
    coverage.terms = terms.len() as u64;
    coverage.is_whole = matches!(verdict, Verdict::Equal);
    Ok((verdict, coverage))
}

fn differ(
    own: &Journey,
    other: &Journey,
    terms: &mut Terms,
    paths: &mut Paths<'_>,
    world: &World,
    registers: &[String],
) -> Step<Option<Counterexample>> {
    let mut left: Vec<&Sent> = own.sent.iter().collect();
    let mut right: Vec<Sent> = other.sent.clone();
    // What both send alike needs no partner.
    left.retain(|sent| match position(&right, sent, terms) {
        Some(at) => {
            right.remove(at);
            false
        }
        None => true,
    });
    let kept_apart = registers_differ(own, other, terms, registers);
    let difference = match (left.len(), right.len()) {
        (0, 0) => terms.truth(false),
        (a, b) if a != b => terms.truth(true),
        (n, _) if n > MOST_IN_ALL_ORDERS => {
            return Err(Stop::Unsupported(format!("{n} copies at once")));
        }
        _ => {
            let right: Vec<&Sent> = right.iter().collect();
            all_orders(&left, &right, terms)
        }
    };
    let difference = terms.or(difference, kept_apart);
    if terms.small(difference) == Some(0) {
        return Ok(None);
    }
    find(
        [own, other],
        difference,
        terms,
        paths,
        world,
        registers,
        true,
    )
}

/// Whether any cell of a register that both programs have is another one afterwards: the next packet
/// would meet it.
fn registers_differ(
    own: &Journey,
    other: &Journey,
    terms: &mut Terms,
    registers: &[String],
) -> Term {
    let mut any = terms.truth(false);
    for name in cells(own, other) {
        let index = terms.unknown(&format!("cell.{name}"), 32);
        let leaves = [own, other].into_iter().filter_map(|j| j.writes.get(&name));
        let widths: Vec<u32> = leaves
            .flatten()
            .next()
            .map(|write| write.values.iter().map(|v| terms.width(*v)).collect())
            .unwrap_or_default();
        for (leaf, width) in widths.iter().enumerate() {
            let wanted = format!("{name}#{leaf}");
            let number = registers.iter().position(|other| *other == wanted);
            // A register that nobody has read may hold anything, and nobody asks.
            let number = number.unwrap_or(registers.len() + leaf) as u32;
            let before = terms.apply(Function::Cell(number), index, *width);
            let after = [own, other].map(|journey| {
                let writes = journey.writes.get(&name).into_iter().flatten();
                writes.fold(before, |value, write| {
                    let same = terms.equal(index, write.index);
                    let when = terms.and(write.when, same);
                    terms.choose(when, write.values[leaf], value)
                })
            });
            let equal = terms.equal(after[0], after[1]);
            let apart = terms.not(equal);
            any = terms.or(any, apart);
        }
    }
    any
}

/// The registers of both programs that one of the journeys has written, each once.
fn cells(own: &Journey, other: &Journey) -> Vec<String> {
    let names = own.writes.keys().chain(other.writes.keys());
    let is_shared = |name: &&String| own.registers.contains(name) && other.registers.contains(name);
    let mut names: Vec<String> = names.filter(is_shared).cloned().collect();
    names.sort();
    names.dedup();
    names
}

fn position(all: &[Sent], wanted: &Sent, terms: &mut Terms) -> Option<usize> {
    let never = terms.truth(false);
    all.iter()
        .position(|sent| apart(sent, wanted, terms) == never)
}

/// Whether no order of the copies makes them equal.
fn all_orders(left: &[&Sent], right: &[&Sent], terms: &mut Terms) -> Term {
    let Some((first, rest)) = left.split_first() else {
        return terms.truth(false);
    };
    let mut all = terms.truth(true);
    for at in 0..right.len() {
        let mut others = right.to_vec();
        let partner = others.remove(at);
        let apart = apart(first, partner, terms);
        let further = all_orders(rest, &others, terms);
        let either = terms.or(apart, further);
        all = terms.and(all, either);
    }
    all
}

/// Whether two packets differ in port, length or a byte.
fn apart(a: &Sent, b: &Sent, terms: &mut Terms) -> Term {
    let rest = a.packet.rest.max(b.packet.rest);
    let (x, y) = (whole(a, rest, terms), whole(b, rest, terms));
    if x.len() != y.len() {
        return terms.truth(true);
    }
    let Some(mut equal) = same_way(&a.whither, &b.whither, terms) else {
        return terms.truth(true);
    };
    for (x, y) in x.iter().zip(&y) {
        equal.push(terms.equal(*x, *y));
    }
    let equal = terms.all(&equal);
    terms.not(equal)
}

/// What must be equal for two packets to go the same way; `None` if nothing makes them.
fn same_way(a: &Whither, b: &Whither, terms: &mut Terms) -> Option<Vec<Term>> {
    match (a, b) {
        (Whither::Port(a), Whither::Port(b)) => Some(vec![terms.equal(*a, *b)]),
        (Whither::Again(kind, list, a), Whither::Again(k, l, b))
            if kind == k && list == l && a.len() == b.len() =>
        {
            let pairs = a.iter().zip(b);
            Some(pairs.map(|(a, b)| terms.equal(*a, *b)).collect())
        }
        _ => None,
    }
}

/// The bytes up to byte `rest` of the packet that arrived, which one of the programs has read.
fn whole(sent: &Sent, rest: u32, terms: &mut Terms) -> Vec<Term> {
    let mut bytes = sent.packet.bytes.clone();
    bytes.extend((sent.packet.rest..rest).map(|at| arrived(at, terms)));
    bytes
}

/// Values on this path for which `difference` holds; `small` ones, as far as there are.
pub(crate) fn find(
    both: [&Journey; 2],
    difference: Term,
    terms: &mut Terms,
    paths: &mut Paths<'_>,
    world: &World,
    registers: &[String],
    small: bool,
) -> Step<Option<Counterexample>> {
    let mut wanted = vec![difference];
    if let Answer::No = paths.ask(terms, &wanted)? {
        return Ok(None);
    }
    wanted.extend(definitions(&wanted, terms, paths));
    let Some(mut model) = real(&wanted, terms, paths)? else {
        return Ok(None);
    };
    if small {
        make_small(&mut wanted, &mut model, terms, paths, world)?;
    }
    let mut found = example(both, terms, &model, world, registers);
    if !found.ends {
        let mut roots = paths.literals.clone();
        roots.push(difference);
        found.path = save(&roots, terms);
    }
    Ok(Some(found))
}

/// Fewer entries, a shorter packet, more zeros, as far as the wishes allow.
fn make_small(
    wanted: &mut Vec<Term>,
    model: &mut Model,
    terms: &mut Terms,
    paths: &mut Paths<'_>,
    world: &World,
) -> Step<()> {
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

/// Values that fulfil the wishes with hashes as they really are.
fn real(wanted: &[Term], terms: &mut Terms, paths: &mut Paths<'_>) -> Step<Option<Model>> {
    for _ in 0..ROUNDS {
        let model = match paths.ask(terms, wanted)? {
            Answer::Yes(model) => model,
            Answer::No | Answer::Unknown => return Ok(None),
        };
        let mut evaluation = Evaluation::new(terms, &model);
        let mut all = paths.axioms.iter().chain(&paths.literals).chain(wanted);
        if all.all(|term| evaluation.is_true(*term)) {
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
fn definitions(wanted: &[Term], terms: &mut Terms, paths: &Paths<'_>) -> Vec<Term> {
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

fn example(
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
    let written = cells(both[0], both[1]);
    let written: Vec<(String, Term)> = written
        .into_iter()
        .map(|name| {
            let index = terms.unknown(&format!("cell.{name}"), 32);
            (name, index)
        })
        .collect();
    let mut evaluation = Evaluation::new(terms, model);
    let after = written
        .into_iter()
        .map(|(name, index)| (name, evaluation.value(index).to_u64().unwrap_or(0)))
        .collect();
    let small = |value: BigUint| value.to_u16().unwrap_or(0);
    let packet: Vec<u8> = bytes
        .iter()
        .map(|byte| evaluation.value(*byte).to_u8().unwrap_or(0))
        .collect();
    let mut ends = true;
    let sent = both.map(|journey| {
        let mut all = Vec::new();
        for sent in &journey.sent {
            let Whither::Port(port) = sent.whither else {
                ends = false;
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
        after,
        is_endless: false,
        ends,
        path: Vec::new(),
    }
}

/// A term of another stage: its node, operands by their place in the list, and unknowns by name
#[derive(Clone, Debug)]
struct Saved {
    node: Node,
    width: u32,
    unknown: String,
    is_root: bool,
}

fn save(roots: &[Term], terms: &Terms) -> Vec<Saved> {
    let mut seen = FxHashSet::default();
    let mut todo = roots.to_vec();
    while let Some(term) = todo.pop() {
        if seen.insert(term) {
            operands(terms.node(term), |operand| todo.push(operand));
        }
    }
    let mut all: Vec<Term> = seen.into_iter().collect();
    all.sort_unstable();
    let place = |term: &Term| Term(all.binary_search(term).unwrap_or_default() as u32);
    let saved = |term: &Term| Saved {
        node: match terms.node(*term) {
            Node::Not(a) => Node::Not(place(a)),
            Node::Binary(op, a, b) => Node::Binary(*op, place(a), place(b)),
            Node::Choose(c, a, b) => Node::Choose(place(c), place(a), place(b)),
            Node::Concat(a, b) => Node::Concat(place(a), place(b)),
            Node::Slice(a, lo) => Node::Slice(place(a), *lo),
            Node::Apply(function, a) => Node::Apply(*function, place(a)),
            other => other.clone(),
        },
        width: terms.width(*term),
        unknown: match terms.node(*term) {
            Node::Unknown(number) => terms.unknowns[*number as usize].name.clone(),
            _ => String::new(),
        },
        is_root: roots.contains(term),
    };
    all.iter().map(saved).collect()
}

/// The saved roots as terms of this stage.
fn restore(saved: &[Saved], terms: &mut Terms) -> Vec<Term> {
    let mut made: Vec<Term> = Vec::new();
    let mut roots = Vec::new();
    for own in saved {
        let of = |place: &Term| made[place.0 as usize];
        let term = match &own.node {
            Node::Constant(value) => terms.constant(value.clone(), own.width),
            Node::Unknown(_) => terms.unknown(&own.unknown, own.width),
            Node::Not(a) => terms.not(of(a)),
            Node::Binary(op, a, b) => terms.binary(*op, of(a), of(b)),
            Node::Choose(c, a, b) => terms.choose(of(c), of(a), of(b)),
            Node::Concat(a, b) => terms.concat(of(a), of(b)),
            Node::Slice(a, lo) => terms.slice(of(a), *lo, own.width),
            Node::Apply(function, a) => terms.apply(*function, of(a), own.width),
        };
        made.push(term);
        if own.is_root {
            roots.push(term);
        }
    }
    roots
}
