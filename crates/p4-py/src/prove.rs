//! Two programs compared for all packets (`p4-prove`), with a solver that Python brings along.

use crate::classes::{make, Class};
use crate::compile::place_dict;
use crate::program::Program;
use crate::update::insert_object;
use num_bigint::BigUint;
use p4_arch::Image;
use p4_ir::ir::Op;
use p4_prove::evaluate::operands;
use p4_prove::term::{Binary, Node, Term, Terms};
use p4_prove::{
    Answer, Assumption, Bounds, Branch, Counterexample, Coverage, Derived, Entry, Expression, Fate,
    Fixed, Leg, Match, Model, Site, Solver, Target, Verdict, Wiring,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use std::cell::RefCell;

/// `p4lab.prove.compare.Bounds`
#[derive(FromPyObject)]
pub struct Given<'py> {
    entries: u32,
    passes: u32,
    varbits: u32,
    bytes: u32,
    copies: u32,
    instances: Vec<u16>,
    sessions: Vec<(Option<u16>, Option<u16>)>,
    cables: Option<(u16, u16)>,
    ports: Vec<u16>,
    promises: Vec<(String, Option<String>, Bound<'py, PyTuple>)>,
    registers: Vec<(String, Bound<'py, PyTuple>)>,
    counters: Vec<String>,
    defaults: Vec<String>,
    fixed: Vec<(String, Numbers, String, Numbers)>,
    derived: Vec<Deriving>,
    wiring: Option<Wires>,
    undefined: bool,
}

type Numbers = Vec<(String, BigUint)>;
/// A table, its action, the tables that its entries come of, and which parameter is whose
type Deriving = (String, String, Vec<String>, Vec<(String, String)>);
/// The port of the control plane, looped ports with their metadata, notes, whether passes count
type Wires = (Option<u16>, Vec<(u16, u64)>, Vec<String>, bool);

impl Given<'_> {
    fn bounds(self) -> PyResult<Bounds> {
        let promised = self.promises.into_iter().map(|(table, action, holds)| {
            let holds = expression(&holds)?;
            Ok(Assumption {
                table,
                action,
                holds,
            })
        });
        let cells = self.registers.into_iter();
        let cells = cells.map(|(name, holds)| Ok((name, expression(&holds)?)));
        let fixed = self.fixed.into_iter();
        let fixed = fixed.map(|(table, matches, action, params)| Fixed {
            table,
            matches,
            action,
            params,
        });
        let derived = self.derived.into_iter();
        let derived = derived.map(|(table, action, from, same)| Derived {
            table,
            action,
            from,
            same,
        });
        Ok(Bounds {
            entries: self.entries,
            passes: self.passes,
            varbits: self.varbits,
            bytes: self.bytes,
            copies: self.copies,
            instances: self.instances,
            sessions: self.sessions,
            cables: self.cables,
            ports: self.ports,
            assumptions: promised.collect::<PyResult<_>>()?,
            registers: cells.collect::<PyResult<_>>()?,
            counters: self.counters,
            defaults: self.defaults,
            fixed: fixed.collect(),
            derived: derived.collect(),
            wiring: self
                .wiring
                .map(|(cpu, loops, notes, counts_passes)| Wiring {
                    cpu,
                    loops,
                    notes,
                    counts_passes,
                }),
            undefined: self.undefined,
            ..Bounds::default()
        })
    }
}

/// Compares two programs of one architecture within bounds, for at most so many seconds of one core. `solver` has
/// a method `ask(nodes, facts, assumptions, seconds)`: `nodes` are the terms that it does not know
/// yet, `(number, operator, width, operands)`, `facts` what holds from now on; it answers None (they
/// cannot hold together), False (it does not know) or the values of all unknowns and applied functions
/// that it was given, by number.
#[pyfunction]
pub fn prove<'py>(
    py: Python<'py>,
    reference: &Program,
    student: &Program,
    solver: Bound<'py, PyAny>,
    bounds: Given<'py>,
    seconds: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let bounds = bounds.bounds()?;
    let both = [target(reference), target(student)];
    let (verdict, coverage) = with_solver(solver, seconds, |solver, has_time| {
        p4_prove::compare(both, &bounds, solver, has_time)
    })?;
    let dict = PyDict::new(py);
    match &verdict {
        Verdict::Equal => dict.set_item("verdict", "equal")?,
        Verdict::Different(example) => {
            dict.set_item("verdict", "different")?;
            dict.set_item("example", example_dict(py, example)?)?;
        }
        Verdict::Undecided(why) => {
            dict.set_item("verdict", "undecided")?;
            dict.set_item("why", why)?;
        }
    }
    let stages = PyList::empty(py);
    for stage in &coverage {
        stages.append(coverage_dict(py, stage)?)?;
    }
    dict.set_item("stages", stages)?;
    Ok(dict)
}

/// A packet for each path of a program, at most `most`, as `example` of `prove`.
#[pyfunction]
pub fn follow<'py>(
    py: Python<'py>,
    program: &Program,
    solver: Bound<'py, PyAny>,
    bounds: Given<'py>,
    seconds: f64,
    most: usize,
) -> PyResult<Bound<'py, PyList>> {
    let bounds = bounds.bounds()?;
    let found = with_solver(solver, seconds, |solver, has_time| {
        p4_prove::witnesses(target(program), &bounds, solver, has_time, most)
    })?;
    example_list(py, &found)
}

/// Packets that take the branches of two programs: `visits`, each as `example` of `prove` with
/// `is_supposed`, `branches` of both programs, each with its place, `what` and `fate`, a
/// `difference` if there is one, and `why` not everything was tried.
#[pyfunction]
pub fn cover<'py>(
    py: Python<'py>,
    reference: &Program,
    student: &Program,
    solver: Bound<'py, PyAny>,
    bounds: Given<'py>,
    seconds: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let bounds = bounds.bounds()?;
    let both = [target(reference), target(student)];
    let covered = with_solver(solver, seconds, |solver, has_time| {
        p4_prove::cover(both, &bounds, solver, has_time)
    })?;
    let dict = PyDict::new(py);
    let visits = PyList::empty(py);
    for visit in &covered.visits {
        let example = example_dict(py, &visit.packet)?;
        example.set_item("is_supposed", visit.is_supposed)?;
        example.set_item("is_strange", visit.is_strange)?;
        visits.append(example)?;
    }
    dict.set_item("visits", visits)?;
    let branches = PyList::empty(py);
    for (program, own) in [reference, student].into_iter().zip(&covered.branches) {
        let list = PyList::empty(py);
        for (branch, fate) in own {
            list.append(branch_dict(py, program, *branch, *fate)?)?;
        }
        branches.append(list)?;
    }
    dict.set_item("branches", branches)?;
    let difference = covered.difference.as_ref();
    let difference = difference
        .map(|found| example_dict(py, found))
        .transpose()?;
    dict.set_item("difference", difference)?;
    dict.set_item("why", &covered.why)?;
    Ok(dict)
}

fn branch_dict<'py>(
    py: Python<'py>,
    program: &Program,
    branch: Branch,
    fate: Fate,
) -> PyResult<Bound<'py, PyDict>> {
    let ir = program.ir();
    let (span, what) = match branch.site {
        Site::Code(pc) => {
            let what = match ir.code[pc as usize] {
                Op::Switch { .. } => format!("case at {}", branch.way),
                _ => (branch.way == 1).to_string(),
            };
            (ir.spans[pc as usize], what)
        }
        Site::Table(id) => {
            let table = &ir.tables[id as usize];
            let action = table.actions.get(branch.way as usize / 2);
            let action = action.map_or("", |own| &*ir.actions[own.action as usize].name);
            let what = match branch.way % 2 {
                1 => format!("{} hits: {action}", table.name),
                _ => format!("{} misses", table.name),
            };
            (table.span, what)
        }
    };
    let dict = place_dict(py, span, &program.sources)?;
    dict.set_item("what", what)?;
    let fate = match fate {
        Fate::Unmet => "unmet",
        Fate::Refused(_) => "refused",
        Fate::Supposed => "supposed",
        Fate::Taken => "taken",
    };
    dict.set_item("fate", fate)?;
    Ok(dict)
}

/// Random packets and states near those of a program's paths, at most `most`, as `example` of `prove`.
#[pyfunction]
pub fn sample<'py>(
    py: Python<'py>,
    program: &Program,
    solver: Bound<'py, PyAny>,
    bounds: Given<'py>,
    seconds: f64,
    most: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyList>> {
    let bounds = bounds.bounds()?;
    let found = with_solver(solver, seconds, |solver, has_time| {
        p4_prove::samples(target(program), &bounds, solver, has_time, most, seed)
    })?;
    example_list(py, &found[..found.len().min(most)])
}

fn example_list<'py>(py: Python<'py>, found: &[Counterexample]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for example in found {
        list.append(example_dict(py, example)?)?;
    }
    Ok(list)
}

/// Runs `work` with the solver for so many seconds by its clock.
fn with_solver<T>(
    solver: Bound<'_, PyAny>,
    seconds: f64,
    work: impl FnOnce(&mut dyn Solver, &dyn Fn() -> bool) -> Result<T, String>,
) -> PyResult<T> {
    let clock = solver.getattr("clock")?;
    let now = || -> PyResult<f64> { clock.call0()?.extract() };
    let end = now()? + seconds;
    let failure = RefCell::new(None);
    let left = || now().map_or(0.0, |now| end - now);
    let has_time = || left() > 0.0 && failure.borrow().is_none();
    let mut asked = Asked {
        solver,
        known: Vec::new(),
        facts: 0,
        left: &left,
        failure: &failure,
    };
    let result = work(&mut asked, &has_time);
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    result.map_err(PyValueError::new_err)
}

/// `("number", n)`, `("name", key or parameter)`, `("mask", key)`, `("group",)`, `("not", x)` or an
/// operator with its two operands.
fn expression(tuple: &Bound<'_, PyTuple>) -> PyResult<Expression> {
    let part = |at: usize| -> PyResult<Box<Expression>> {
        let item = tuple.get_item(at)?;
        Ok(Box::new(expression(item.cast::<PyTuple>()?)?))
    };
    let kind: String = tuple.get_item(0)?.extract()?;
    let op = match &*kind {
        "number" => return Ok(Expression::Number(tuple.get_item(1)?.extract()?)),
        "name" => return Ok(Expression::Name(tuple.get_item(1)?.extract()?)),
        "mask" => return Ok(Expression::Mask(tuple.get_item(1)?.extract()?)),
        "group" => return Ok(Expression::Group),
        "not" => return Ok(Expression::Not(part(1)?)),
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "equal" => Binary::Eq,
        "less" => Binary::Lt,
        other => return Err(PyValueError::new_err(format!("no operator {other}"))),
    };
    Ok(Expression::Binary(op, part(1)?, part(2)?))
}

fn target(program: &Program) -> Target<'_> {
    match &program.image {
        Image::V1Model(image) => Target::V1Model(image),
        Image::Tna(image) => Target::Tna(image),
    }
}

/// A solver behind Python's border, and which terms it knows.
struct Asked<'py, 'f> {
    solver: Bound<'py, PyAny>,
    known: Vec<bool>,
    /// How many facts it has been told
    facts: usize,
    left: &'f dyn Fn() -> f64,
    failure: &'f RefCell<Option<PyErr>>,
}

impl Solver for Asked<'_, '_> {
    fn forget(&mut self) {
        self.known.clear();
        self.facts = 0;
        if let Err(error) = self.solver.call_method0("forget") {
            self.failure.replace(Some(error));
        }
    }

    fn ask(&mut self, terms: &Terms, facts: &[Term], assumptions: &[Term]) -> Answer {
        match self.try_ask(terms, facts, assumptions) {
            Ok(answer) => answer,
            Err(error) => {
                self.failure.replace(Some(error));
                Answer::Unknown
            }
        }
    }
}

impl Asked<'_, '_> {
    fn try_ask(&mut self, terms: &Terms, facts: &[Term], assumptions: &[Term]) -> PyResult<Answer> {
        let py = self.solver.py();
        let nodes = PyList::empty(py);
        let facts = &facts[self.facts..];
        self.facts += facts.len();
        let roots: Vec<Term> = facts.iter().chain(assumptions).copied().collect();
        for term in self.unseen(terms, &roots) {
            nodes.append(node_tuple(py, terms, term)?)?;
        }
        let numbers = |all: &[Term]| all.iter().map(|term| term.0).collect::<Vec<u32>>();
        let arguments = (nodes, numbers(facts), numbers(assumptions), (self.left)());
        let answer = self.solver.call_method1("ask", arguments)?;
        if answer.is_none() {
            return Ok(Answer::No);
        }
        if answer.extract::<bool>().is_ok() {
            return Ok(Answer::Unknown);
        }
        let mut model = Model::default();
        let values: Vec<(u32, BigUint, Option<BigUint>)> = answer.extract()?;
        for (number, value, argument) in values {
            match (terms.node(Term(number)), argument) {
                (Node::Unknown(unknown), _) => {
                    model.values.insert(*unknown, value);
                }
                (Node::Apply(function, _), Some(argument)) => {
                    model.applied.insert((*function, argument), value);
                }
                _ => {}
            }
        }
        Ok(Answer::Yes(model))
    }

    /// The terms that the solver has not got yet, operands first.
    fn unseen(&mut self, terms: &Terms, roots: &[Term]) -> Vec<Term> {
        self.known.resize(terms.len(), false);
        let mut todo: Vec<Term> = roots.to_vec();
        let mut unseen = Vec::new();
        while let Some(term) = todo.pop() {
            if std::mem::replace(&mut self.known[term.0 as usize], true) {
                continue;
            }
            unseen.push(term);
            operands(terms.node(term), |operand| todo.push(operand));
        }
        unseen.sort_unstable();
        unseen
    }
}

fn node_tuple<'py>(py: Python<'py>, terms: &Terms, term: Term) -> PyResult<Bound<'py, PyTuple>> {
    let (number, width) = (term.0, terms.width(term));
    match terms.node(term) {
        Node::Constant(value) => (number, "value", width, value.clone()).into_pyobject(py),
        Node::Unknown(_) => (number, "unknown", width).into_pyobject(py),
        Node::Not(a) => (number, "not", width, a.0).into_pyobject(py),
        Node::Binary(op, a, b) => (number, operator(*op), width, a.0, b.0).into_pyobject(py),
        Node::Choose(c, a, b) => (number, "choose", width, c.0, a.0, b.0).into_pyobject(py),
        Node::Concat(a, b) => (number, "concat", width, a.0, b.0).into_pyobject(py),
        Node::Slice(a, lo) => (number, "slice", width, a.0, *lo).into_pyobject(py),
        Node::Apply(function, a) => {
            let name = format!("{function:?}");
            (number, "apply", width, a.0, name).into_pyobject(py)
        }
    }
}

fn operator(op: Binary) -> &'static str {
    match op {
        Binary::And => "and",
        Binary::Or => "or",
        Binary::Xor => "xor",
        Binary::Add => "add",
        Binary::Sub => "sub",
        Binary::Mul => "mul",
        Binary::Div => "div",
        Binary::Mod => "mod",
        Binary::Shl => "shl",
        Binary::Shr => "shr",
        Binary::ShrS => "shr_signed",
        Binary::Eq => "equal",
        Binary::Lt => "less",
        Binary::LtS => "less_signed",
    }
}

/// `now` in microseconds, `port`, `packet`, `updates` as a switch takes them, `registers` (name, leaf, index, value), and
/// `sent` of both programs: (port, bytes).
fn example_dict<'py>(py: Python<'py>, example: &Counterexample) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("port", example.port)?;
    dict.set_item("now", example.now)?;
    dict.set_item("packet", PyBytes::new(py, &example.packet))?;
    let updates = PyList::empty(py);
    for (number, port) in &example.sessions {
        let replicas = ((port, 0),);
        let session = make(py, Class::CloneSession, (number, replicas))?;
        updates.append(insert_object(py, session)?)?;
    }
    let copies = PyTuple::new(py, &example.copies)?;
    let group = make(py, Class::MulticastGroup, (example.group, copies))?;
    updates.append(insert_object(py, group)?)?;
    for entry in &example.entries {
        updates.append(insert_object(py, entry_object(py, entry)?)?)?;
    }
    dict.set_item("updates", updates)?;
    dict.set_item("registers", &example.cells)?;
    dict.set_item("is_endless", example.is_endless)?;
    dict.set_item("is_undefined", example.is_undefined)?;
    dict.set_item("after", &example.after)?;
    dict.set_item("counts", &example.counts)?;
    let sent = PyList::empty(py);
    for side in &example.sent {
        let packets = side.iter();
        let packets: Vec<_> = packets
            .map(|(port, data)| (*port, PyBytes::new(py, data)))
            .collect();
        sent.append(packets)?;
    }
    dict.set_item("sent", sent)?;
    Ok(dict)
}

fn entry_object<'py>(py: Python<'py>, entry: &Entry) -> PyResult<Bound<'py, PyAny>> {
    let params = PyTuple::new(py, &entry.params)?;
    if entry.matches.is_empty() {
        let fields = (&entry.table, &entry.action, params);
        return make(py, Class::DefaultAction, fields);
    }
    let object = |(key, want): &(String, Match)| {
        let made = match want {
            Match::Exact(value) => make(py, Class::Exact, (value,)),
            Match::Lpm(value, length) => make(py, Class::Lpm, (value, length)),
            Match::Ternary(value, mask) => make(py, Class::Ternary, (value, mask)),
            Match::Range(low, high) => make(py, Class::Range, (low, high)),
            Match::Optional(value) => make(py, Class::Optional, (value,)),
            Match::Any => make(py, Class::DontCare, PyTuple::empty(py)),
        };
        (key, made?).into_pyobject(py)
    };
    let matches = entry.matches.iter().map(object);
    let matches = PyTuple::new(py, matches.collect::<PyResult<Vec<_>>>()?)?;
    let fields = (&entry.table, matches, &entry.action, params, entry.priority);
    make(py, Class::TableEntry, fields)
}

/// The `leg` of journeys that was compared, with how many `entries` per table and `passes`, and whether
/// it `is_whole`; `paths` walked to the end, those given up `beyond` a bound, by its name, `left`, `questions`.
fn coverage_dict<'py>(py: Python<'py>, coverage: &Coverage) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let leg = match coverage.leg {
        Leg::Whole => "journey",
        Leg::First => "first pass",
        Leg::Later(..) => "later pass",
    };
    dict.set_item("leg", leg)?;
    dict.set_item("entries", coverage.entries)?;
    dict.set_item("passes", coverage.passes)?;
    dict.set_item("is_whole", coverage.is_whole)?;
    dict.set_item("paths", coverage.paths)?;
    let beyond = PyDict::new(py);
    for (name, count) in &coverage.beyond {
        beyond.set_item(name, count)?;
    }
    dict.set_item("beyond", beyond)?;
    dict.set_item("left", coverage.left)?;
    dict.set_item("questions", coverage.questions)?;
    dict.set_item("terms", coverage.terms)?;
    Ok(dict)
}
