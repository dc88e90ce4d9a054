//! What both switches share and nobody knows: entries, clone sessions, multicast groups.
//!
//! The reference's tables say which entries there may be. A table has a fixed number of places for
//! entries; the entry of a lower place wins. Places are filled from the first on.

use crate::assume::{Assumption, Expression, Scope};
use crate::evaluate::Evaluation;
use crate::tables::{Derived, Fixed};
use crate::term::{Binary, Term, Terms};
use crate::tna::Wiring;
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};
use p4_ir::ir::{ConstEntry, ConstMatch, Instance, Program, Table};
use std::cmp::Reverse;

/// How much of everything a comparison covers.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Entries per table
    pub entries: u32,
    /// Passes through ingress, of a packet and what becomes of it
    pub passes: u32,
    /// Lengths of each varbit field that are tried, from the shortest
    pub varbits: u32,
    /// Bytes of the longest packet
    pub bytes: u32,
    /// States that a parser may enter in one pass
    pub states: u32,
    /// Clone sessions with their ports; without a number or a port any will do
    pub sessions: Vec<(Option<u16>, Option<u16>)>,
    /// Copies that the one multicast group has at most
    pub copies: u32,
    /// The numbers that these copies may have; none named: any
    pub instances: Vec<u16>,
    /// The first and the last port with a cable: where packets arrive and where the copies of a
    /// group leave; `None`: any but the one that stands for dropping
    pub cables: Option<(u16, u16)>,
    /// Where packets arrive besides
    pub ports: Vec<u16>,
    /// What is promised of entries
    pub assumptions: Vec<Assumption>,
    /// What is promised of each cell of a register, whose name ends so: `value` is what it holds when
    /// the packet comes, `now` the time
    pub registers: Vec<(String, Expression)>,
    /// Counters of v1model whose packets are compared, by the ends of their names
    pub counters: Vec<String>,
    /// Tables without keys whose default action the control plane sets
    pub defaults: Vec<String>,
    pub fixed: Vec<Fixed>,
    pub derived: Vec<Derived>,
    /// For TNA: how the chip is wired
    pub wiring: Option<Wiring>,
    /// What P4 leaves undefined is unknown; else it is zero.
    pub undefined: bool,
}

impl Bounds {
    /// Whether programs have registers that are their own business
    pub(crate) fn has_notes(&self) -> bool {
        let mut wiring = self.wiring.iter();
        wiring.any(|wiring| !wiring.notes.is_empty())
    }

    pub(crate) fn counts_passes(&self) -> bool {
        self.wiring.as_ref().is_some_and(|own| own.counts_passes)
    }
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            entries: 2,
            passes: 4,
            varbits: 2,
            bytes: 1514,
            states: 64,
            sessions: vec![(None, None)],
            copies: 2,
            instances: Vec::new(),
            cables: None,
            ports: Vec::new(),
            assumptions: Vec::new(),
            registers: Vec::new(),
            counters: Vec::new(),
            defaults: Vec::new(),
            fixed: Vec::new(),
            derived: Vec::new(),
            wiring: None,
            undefined: true,
        }
    }
}

/// What an entry wants of one key.
#[derive(Clone, Debug)]
enum Want {
    Exact(Term),
    /// Ternary and lpm; the mask of the latter is that of a prefix.
    Masked {
        value: Term,
        mask: Term,
        is_prefix: bool,
    },
    Range {
        low: Term,
        high: Term,
    },
    Optional {
        value: Term,
        given: Term,
    },
}

#[derive(Clone, Debug)]
struct Place {
    is_there: Term,
    wants: Vec<Want>,
    /// Number in [`TableWorld::actions`]
    action: Term,
    /// For each action its parameters
    params: Vec<Vec<Term>>,
}

#[derive(Clone, Debug)]
struct TableWorld {
    name: String,
    keys: Vec<(String, String, u32)>,
    /// Names, with names and widths of parameters
    actions: Vec<(String, Vec<(String, u32)>)>,
    places: Vec<Place>,
    has_priority: bool,
    /// What holds of its entries
    axioms: Vec<Term>,
    /// Its entries are fixed, or follow from others.
    is_given: bool,
}

/// A multicast group of copies that are there or not.
#[derive(Clone, Debug)]
pub struct Group {
    pub id: Term,
    /// Whether it is there, its port and its replication id
    pub copies: Vec<(Term, Term, Term)>,
}

#[derive(Clone, Debug)]
pub struct Session {
    pub id: Term,
    pub port: Term,
}

/// Entries, sessions, groups and the port of arrival, all unknown.
#[derive(Clone, Debug)]
pub struct World {
    tables: Vec<TableWorld>,
    pub sessions: Vec<Session>,
    pub group: Group,
    pub ingress_port: Term,
    /// A port that leads back to ingress; only chips have such
    pub looped_port: Term,
    /// Bytes of the packet that arrives, 16 bits
    pub length: Term,
    /// When the packet comes, in microseconds, 48 bits; time stands still until it has left
    pub now: Term,
    /// Registers that hold anything when the packet comes, by name; others hold zeros.
    pub registers: Vec<String>,
    /// Counters that are compared, by name
    pub counters: Vec<String>,
    /// Each pipe of a chip has cells of its own.
    pub has_pipes: bool,
}

/// What a lookup comes to.
#[derive(Clone, Debug)]
pub struct Found {
    pub hit: Term,
    /// Index of an action, when it runs, and its data: one term per parameter. One of them runs.
    pub actions: Way,
}

/// An entry of a counterexample.
#[derive(Clone, Debug)]
pub struct Entry {
    pub table: String,
    pub matches: Vec<(String, Match)>,
    pub priority: i32,
    pub action: String,
    pub params: Vec<(String, BigUint)>,
}

#[derive(Clone, Debug)]
pub enum Match {
    Exact(BigUint),
    Lpm(BigUint, u32),
    Ternary(BigUint, BigUint),
    Range(BigUint, BigUint),
    Optional(BigUint),
    Any,
}

/// Microseconds (12 days), as the bounds say (prove/compare.py); later ones are not counted by all
/// that counts in smaller units.
const LAST_MOMENT: u64 = 1 << 40;

/// Whether a name is, or ends with, that one.
fn is_named(name: &str, wanted: &str) -> bool {
    name == wanted || name.ends_with(&format!(".{wanted}"))
}

/// Where a promise of a register's cell has its names.
struct CellScope {
    value: Term,
    now: Term,
}

impl Scope for CellScope {
    fn name(&self, name: &str) -> Option<Term> {
        match name {
            "value" => Some(self.value),
            "now" => Some(self.now),
            _ => None,
        }
    }

    fn mask(&self, _: &str, _: &mut Terms) -> Option<Term> {
        None
    }

    fn group(&self) -> Term {
        self.now
    }
}

pub(crate) fn is_register(own: &Instance) -> bool {
    matches!(&*own.extern_type, "register" | "Register")
}

/// The names of a program's registers, but those that are its own business
fn registers(program: &Program, bounds: &Bounds) -> Vec<String> {
    let instances = program.instances.iter();
    let registers = instances.filter(|own| is_register(own));
    let is_note = |name: &str| bounds.wiring.as_ref().is_some_and(|own| own.is_note(name));
    registers
        .filter(|own| !is_note(&own.name))
        .map(|own| own.name.to_string())
        .collect()
}

/// The widths of what a cell of that register holds, if there is such a register
fn cells_of(program: &Program, name: &str) -> Option<Vec<u32>> {
    let mut instances = program.instances.iter();
    let register = instances.find(|own| *own.name == *name && is_register(own))?;
    let leaves = register.types.first()?.leaves.iter();
    Some(leaves.map(|(_, width, _)| *width).collect())
}

/// The full names of the counters that are compared
fn counters(program: &Program, bounds: &Bounds) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for wanted in &bounds.counters {
        let mut instances = program.instances.iter();
        let counter = instances
            .find(|own| &*own.extern_type == "counter" && is_named(&own.name, wanted))
            .ok_or_else(|| format!("there is no counter {wanted} to compare"))?;
        found.push(counter.name.to_string());
    }
    Ok(found)
}

/// Whether a port of a chip leads back: 68 to 71 of each pipe, and front ports in loopback.
fn is_looped(port: Term, bounds: &Bounds, terms: &mut Terms) -> Term {
    let local = terms.slice(port, 2, 5);
    let always = terms.number(68 >> 2, 5);
    let mut any = vec![terms.equal(local, always)];
    let wiring = bounds.wiring.iter();
    for (looped, _) in wiring.flat_map(|wiring| &wiring.loops) {
        let looped = terms.number((*looped).into(), 9);
        any.push(terms.equal(port, looped));
    }
    terms.any(&any)
}

/// Whether there is a cable at a port.
fn has_cable(port: Term, bounds: &Bounds, terms: &mut Terms) -> Term {
    if bounds.wiring.is_some() {
        let local = terms.slice(port, 6, 1);
        let front = terms.not(local);
        let looped = is_looped(port, bounds, terms);
        let ends = terms.not(looped);
        let front = terms.and(front, ends);
        let Some((first, last)) = bounds.cables else {
            return front;
        };
        let (first, last) = (terms.number(first.into(), 9), terms.number(last.into(), 9));
        let within = inside(port, first, last, terms);
        return terms.and(front, within);
    }
    let (first, last) = bounds.cables.unwrap_or((0, 510));
    let (first, last) = (terms.number(first.into(), 9), terms.number(last.into(), 9));
    inside(port, first, last, terms)
}

impl World {
    /// The world of the reference's tables, and what holds in it.
    pub fn new(
        program: &Program,
        bounds: &Bounds,
        terms: &mut Terms,
    ) -> Result<(World, Vec<Term>), String> {
        let mut axioms = Vec::new();
        let mut tables = Vec::new();
        for table in program.tables.iter().filter(|table| !table.const_entries) {
            if table.keys.is_empty()
                && !bounds.defaults.iter().any(|own| is_named(&table.name, own))
            {
                continue;
            }
            tables.push(table_world(program, table, bounds, terms)?);
        }
        for derived in &bounds.derived {
            derive(derived, &mut tables, terms)?;
        }
        let sessions = sessions(bounds, terms);
        let group = group(bounds, terms, &mut axioms);
        for assumption in &bounds.assumptions {
            assume(assumption, &mut tables, group.id, terms)?;
        }
        // An entry that follows another keeps to what is promised of that one.
        for derived in &bounds.derived {
            for from in &derived.from {
                let axioms = tables[named(from, &tables)?].axioms.clone();
                let at = named(&derived.table, &tables)?;
                tables[at].axioms.extend(axioms);
            }
        }
        let ingress_port = terms.unknown("ingress_port", 9);
        let drop = terms.number(511, 9);
        let mut any = vec![has_cable(ingress_port, bounds, terms)];
        for port in &bounds.ports {
            let port = terms.number((*port).into(), 9);
            any.push(terms.equal(ingress_port, port));
        }
        axioms.push(terms.any(&any));
        for (_, port, _) in &group.copies {
            axioms.push(has_cable(*port, bounds, terms));
        }
        for session in &sessions {
            let is_drop = terms.equal(session.port, drop);
            axioms.push(terms.not(is_drop));
        }
        let looped_port = terms.unknown("looped_port", 9);
        axioms.push(is_looped(looped_port, bounds, terms));
        let length = terms.unknown("length", 16);
        let beyond = terms.number(u64::from(bounds.bytes) + 1, 16);
        axioms.push(terms.less(length, beyond));
        let now = terms.unknown("now", 48);
        let beyond = terms.number(LAST_MOMENT, 48);
        axioms.push(terms.less(now, beyond));
        if bounds.wiring.is_some() {
            // A chip's clock stands still.
            let start = terms.number(0, 48);
            axioms.push(terms.equal(now, start));
        }
        for (name, _) in &bounds.registers {
            let is_meant = |register: &String| is_named(register, name);
            if !registers(program, bounds).iter().any(is_meant) {
                return Err(format!(
                    "there is no register {name} to assume something of"
                ));
            }
        }
        let world = World {
            tables,
            sessions,
            group,
            ingress_port,
            looped_port,
            length,
            now,
            registers: registers(program, bounds),
            counters: counters(program, bounds)?,
            has_pipes: bounds.wiring.is_some(),
        };
        Ok((world, axioms))
    }

    /// What is promised of a cell of that register, as one truth value
    pub fn promised(
        &self,
        register: &str,
        value: Term,
        bounds: &Bounds,
        terms: &mut Terms,
    ) -> Term {
        let now = self.now;
        let scope = CellScope { value, now };
        let meant = bounds.registers.iter();
        let meant = meant.filter(|(name, _)| is_named(register, name));
        let all: Vec<Term> = meant
            .filter_map(|(_, holds)| holds.term(&scope, terms, 1))
            .collect();
        let all: Vec<Term> = all.into_iter().map(|holds| terms.is_set(holds)).collect();
        terms.all(&all)
    }

    /// Registers that not both programs have, with the same cells, hold zeros: what is in them would
    /// have come there by packets, and no packet has come to the program that lacks them.
    pub fn share_registers(&mut self, both: [&Program; 2]) {
        let [own, other] = both;
        self.registers
            .retain(|name| cells_of(own, name) == cells_of(other, name));
    }

    /// Whether a port of a chip leads back to its own ingress
    pub fn is_looped(&self, port: Term, bounds: &Bounds, terms: &mut Terms) -> Term {
        is_looped(port, bounds, terms)
    }

    /// Why the entries of this world do not fit `program`, if they do not.
    pub fn misfit(&self, program: &Program) -> Option<String> {
        for name in &self.counters {
            if !program.instances.iter().any(|own| *own.name == **name) {
                return Some(format!("there is no counter {name}"));
            }
        }
        for own in &self.tables {
            let Some(table) = program.tables.iter().find(|t| *t.name == *own.name) else {
                return Some(format!("there is no table {}", own.name));
            };
            if keys(table) != own.keys {
                return Some(format!("the table {} has other keys", own.name));
            }
            for (name, params) in &own.actions {
                let actions = table.actions.iter();
                let mut actions = actions.map(|a| &program.actions[a.action as usize]);
                let Some(action) = actions.find(|action| *action.name == **name) else {
                    return Some(format!("the table {} has no action {name}", own.name));
                };
                if parameters(action) != *params {
                    return Some(format!("the action {name} has other parameters"));
                }
            }
        }
        None
    }

    /// What holds of the entries of all tables
    pub fn axioms(&self) -> impl Iterator<Item = &Term> {
        self.tables.iter().flat_map(|own| &own.axioms)
    }

    /// What holds of the entries of a table. Nobody needs to know of a table that no path asks.
    pub fn axioms_of(&self, table: &str) -> &[Term] {
        let own = self.tables.iter().find(|own| *own.name == *table);
        own.map_or(&[], |own| &own.axioms)
    }

    /// The lookup of `key` (one term per key) in a table of either program.
    pub fn lookup(
        &self,
        program: &Program,
        table: &Table,
        key: &[Term],
        terms: &mut Terms,
    ) -> Result<Found, String> {
        let mut hit = terms.truth(false);
        let mut actions: Way = Vec::new();
        let mut take = |terms: &mut Terms, hits: Term, way: Way| {
            let missed = terms.not(hit);
            let first = terms.and(hits, missed);
            hit = terms.or(hit, hits);
            for (index, when, data) in way {
                actions.push((index, terms.and(first, when), data));
            }
        };
        for entry in ordered(table)? {
            let hits = const_hit(&entry.matches, key, terms);
            let data = data_terms(program, table, &entry.call, terms);
            let always = terms.truth(true);
            let index = entry.call.action as usize;
            take(terms, hits, vec![(index, always, data)]);
        }
        if let Some(own) = self.tables.iter().find(|own| *own.name == *table.name) {
            for place in &own.places {
                let mut hits = vec![place.is_there];
                for (want, key) in place.wants.iter().zip(key) {
                    hits.push(want.hit(*key, terms));
                }
                let hits = terms.all(&hits);
                let mut way = Vec::new();
                for (number, (name, _)) in own.actions.iter().enumerate() {
                    let position = |listed: &p4_ir::ir::TableAction| {
                        *program.actions[listed.action as usize].name == **name
                    };
                    let index = table.actions.iter().position(position);
                    let index = index.ok_or_else(|| format!("no action {name}"))?;
                    let when = own.is_action(place, number, terms);
                    way.push((index, when, place.params[number].clone()));
                }
                take(terms, hits, way);
            }
        }
        let missed = terms.not(hit);
        let data = data_terms(program, table, &table.default, terms);
        actions.push((table.default.action as usize, missed, data));
        if table.keys.is_empty() {
            // What runs is the default action, whoever chose it.
            hit = terms.truth(false);
        }
        Ok(Found { hit, actions })
    }

    /// For each place whether it is filled, in the order in which it is good to try without.
    pub fn occupied(&self) -> Vec<Term> {
        let places = self
            .tables
            .iter()
            .filter(|table| !table.is_given)
            .flat_map(|table| table.places.iter().rev());
        let copies = self.group.copies.iter().skip(1).rev().map(|copy| copy.0);
        places.map(|place| place.is_there).chain(copies).collect()
    }

    /// The entries as a control plane would write them.
    pub fn entries(&self, evaluation: &mut Evaluation<'_>) -> Vec<Entry> {
        let mut entries = Vec::new();
        for table in &self.tables {
            for (number, place) in table.places.iter().enumerate() {
                if !evaluation.is_true(place.is_there) {
                    continue;
                }
                let action = evaluation.value(place.action).to_usize().unwrap_or(0);
                let (name, params) = &table.actions[action];
                let values = place.params[action].iter();
                let wants = place.wants.iter();
                entries.push(Entry {
                    table: table.name.clone(),
                    matches: table
                        .keys
                        .iter()
                        .map(|key| key.0.clone())
                        .zip(wants.map(|want| want.value(evaluation)))
                        .collect(),
                    priority: match table.has_priority {
                        true => (table.places.len() - number) as i32,
                        false => 0,
                    },
                    action: name.clone(),
                    params: params
                        .iter()
                        .map(|param| param.0.clone())
                        .zip(values.map(|value| evaluation.value(*value)))
                        .collect(),
                });
            }
        }
        entries
    }
}

impl TableWorld {
    /// Whether the entry's action is that one; one of them is.
    fn is_action(&self, place: &Place, number: usize, terms: &mut Terms) -> Term {
        let same = |terms: &mut Terms, number: usize| {
            let number = terms.number(number as u64, 8);
            terms.equal(place.action, number)
        };
        if number + 1 < self.actions.len() {
            return same(terms, number);
        }
        let others: Vec<Term> = (0..number).map(|other| same(terms, other)).collect();
        let any = terms.any(&others);
        terms.not(any)
    }
}

/// An action's parameters and the keys of one entry
struct EntryScope<'a> {
    table: &'a TableWorld,
    place: &'a Place,
    action: usize,
    group: Term,
}

impl Scope for EntryScope<'_> {
    fn name(&self, name: &str) -> Option<Term> {
        let params = self.table.actions[self.action].1.iter();
        if let Some(at) = params.into_iter().position(|param| param.0 == name) {
            return Some(self.place.params[self.action][at]);
        }
        let at = self.table.keys.iter().position(|key| key.0 == name)?;
        Some(match self.place.wants[at] {
            Want::Exact(value) | Want::Masked { value, .. } | Want::Optional { value, .. } => value,
            Want::Range { low, .. } => low,
        })
    }

    fn mask(&self, name: &str, terms: &mut Terms) -> Option<Term> {
        let at = self.table.keys.iter().position(|key| key.0 == name)?;
        match self.place.wants[at] {
            Want::Masked { mask, .. } => Some(mask),
            Want::Exact(value) => {
                let zero = terms.number(0, terms.width(value));
                Some(terms.not(zero))
            }
            _ => None,
        }
    }

    fn group(&self) -> Term {
        self.group
    }
}

/// The table that is meant
fn named(wanted: &str, tables: &[TableWorld]) -> Result<usize, String> {
    let mut fitting = (0..tables.len()).filter(|at| is_named(&tables[*at].name, wanted));
    match (fitting.next(), fitting.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err(format!("there is no table {wanted} to assume something of")),
        _ => Err(format!("there is more than one table {wanted}")),
    }
}

/// Gives a table an entry for each entry of others.
fn derive(derived: &Derived, tables: &mut [TableWorld], terms: &mut Terms) -> Result<(), String> {
    let mut axioms = Vec::new();
    let at = named(&derived.table, tables)?;
    let own = &tables[at];
    let mut actions =
        (0..own.actions.len()).filter(|i| is_named(&own.actions[*i].0, &derived.action));
    let action = actions
        .next()
        .ok_or_else(|| format!("there is no action {}", derived.action))?;
    let number = terms.number(action as u64, 8);
    let other = |name: &str| {
        let mut same = derived.same.iter();
        let found = same.find(|own| own.0 == name).map(|own| own.1.clone());
        found.ok_or_else(|| format!("what {name} of {} follows is not said", derived.table))
    };
    let keys: Vec<String> = own
        .keys
        .iter()
        .map(|key| other(&key.0))
        .collect::<Result<_, _>>()?;
    let params = own.actions[action].1.iter();
    let params: Vec<String> = params.map(|own| other(&own.0)).collect::<Result<_, _>>()?;
    // Whether there is such an entry, its keys, its parameters
    let mut all: Vec<(Term, Vec<Term>, Vec<Term>)> = Vec::new();
    for from in &derived.from {
        let from = &tables[named(from, tables)?];
        for place in &from.places {
            for (index, (_, described)) in from.actions.iter().enumerate() {
                let param = |name: &String| {
                    let at = described.iter().position(|own| own.0 == *name)?;
                    Some(place.params[index][at])
                };
                let wants = keys.iter().map(param).collect::<Option<Vec<Term>>>();
                let gives = params.iter().map(param).collect::<Option<Vec<Term>>>();
                if let (Some(wants), Some(gives)) = (wants, gives) {
                    let is_action = from.is_action(place, index, terms);
                    let is_there = terms.and(place.is_there, is_action);
                    all.push((is_there, wants, gives));
                }
            }
        }
    }
    let mut places: Vec<Place> = Vec::new();
    for (number_of, (is_there, wants, gives)) in all.iter().enumerate() {
        let mut first = vec![*is_there];
        for (before, others, given) in &all[..number_of] {
            let mut same = vec![*before, *is_there];
            for (a, b) in wants.iter().zip(others) {
                same.push(terms.equal(*a, *b));
            }
            let same = terms.all(&same);
            first.push(terms.not(same));
            let mut agree = Vec::new();
            for (a, b) in gives.iter().zip(given) {
                agree.push(terms.equal(*a, *b));
            }
            let agree = terms.all(&agree);
            let disagree = terms.not(agree);
            let broken = terms.and(same, disagree);
            axioms.push(terms.not(broken));
        }
        let mut own_params: Vec<Vec<Term>> = Vec::new();
        for (_, described) in &tables[at].actions {
            own_params.push(described.iter().map(|own| terms.number(0, own.1)).collect());
        }
        own_params[action] = gives.clone();
        places.push(Place {
            is_there: terms.all(&first),
            wants: wants.iter().map(|want| Want::Exact(*want)).collect(),
            action: number,
            params: own_params,
        });
    }
    tables[at].places = places;
    tables[at].axioms = axioms;
    tables[at].is_given = true;
    Ok(())
}

/// The place of an entry that is always there
fn fixed_place(own: &TableWorld, fixed: &Fixed, terms: &mut Terms) -> Result<Place, String> {
    let odd = |what: &str| format!("an entry of {} that is fixed: {what}", own.name);
    let value = |given: &[(String, BigUint)], name: &str| {
        let mut given = given.iter();
        let found = given.find(|one| one.0 == name).map(|one| one.1.clone());
        found.ok_or_else(|| odd(&format!("{name} is missing")))
    };
    let mut wants = Vec::new();
    for (name, kind, width) in &own.keys {
        if kind != "exact" {
            return Err(odd("its keys are not all exact"));
        }
        wants.push(Want::Exact(
            terms.constant(value(&fixed.matches, name)?, *width),
        ));
    }
    let mut actions =
        (0..own.actions.len()).filter(|i| is_named(&own.actions[*i].0, &fixed.action));
    let action = actions
        .next()
        .ok_or_else(|| odd("there is no such action"))?;
    let mut params = Vec::new();
    for (index, (_, described)) in own.actions.iter().enumerate() {
        let mut data = Vec::new();
        for (name, width) in described {
            data.push(match index == action {
                true => terms.constant(value(&fixed.params, name)?, *width),
                false => terms.number(0, *width),
            });
        }
        params.push(data);
    }
    Ok(Place {
        is_there: terms.truth(true),
        wants,
        action: terms.number(action as u64, 8),
        params,
    })
}

/// Adds what an assumption says of each entry of its table.
fn assume(
    assumption: &Assumption,
    tables: &mut [TableWorld],
    group: Term,
    terms: &mut Terms,
) -> Result<(), String> {
    let at = named(&assumption.table, tables)?;
    let table = &mut tables[at];
    let mut axioms = Vec::new();
    for place in &table.places {
        for (action, (name, _)) in table.actions.iter().enumerate() {
            let is_meant =
                |wanted: &String| name == wanted || name.ends_with(&format!(".{wanted}"));
            if !assumption.action.as_ref().is_none_or(is_meant) {
                continue;
            }
            let scope = EntryScope {
                table: &*table,
                place,
                action,
                group,
            };
            let Some(holds) = assumption.holds.term(&scope, terms, 1) else {
                continue;
            };
            let holds = terms.is_set(holds);
            let is_action = table.is_action(place, action, terms);
            let is_there = terms.and(place.is_there, is_action);
            let not = terms.not(holds);
            let broken = terms.and(is_there, not);
            axioms.push(terms.not(broken));
        }
    }
    table.axioms.extend(axioms);
    Ok(())
}

/// Which action runs when, with what data
pub type Way = Vec<(usize, Term, Vec<Term>)>;

fn keys(table: &Table) -> Vec<(String, String, u32)> {
    let key = |key: &p4_ir::ir::Key| {
        let (name, kind) = (key.name.to_string(), key.match_kind.to_string());
        (name, kind, key.place.width)
    };
    table.keys.iter().map(key).collect()
}

fn parameters(action: &p4_ir::ir::Action) -> Vec<(String, u32)> {
    let params = action.params.iter();
    params
        .map(|param| (param.name.to_string(), param.place.width.max(1)))
        .collect()
}

fn table_world(
    program: &Program,
    table: &Table,
    bounds: &Bounds,
    terms: &mut Terms,
) -> Result<TableWorld, String> {
    let mut axioms = Vec::new();
    let given = table.actions.iter().filter(|action| !action.default_only);
    let actions: Vec<_> = given
        .map(|listed| &program.actions[listed.action as usize])
        .map(|action| (action.name.to_string(), parameters(action)))
        .collect();
    let kind_is = |kinds: &[&str]| {
        let mut keys = table.keys.iter();
        keys.any(|key| kinds.contains(&&*key.match_kind))
    };
    let has_priority = kind_is(&["ternary", "range", "optional"]);
    let mut own = TableWorld {
        name: table.name.to_string(),
        keys: keys(table),
        actions,
        places: Vec::new(),
        has_priority,
        axioms: Vec::new(),
        is_given: true,
    };
    if own.actions.is_empty() {
        return Ok(own);
    }
    let fixed = bounds.fixed.iter();
    for fixed in fixed.filter(|fixed| is_named(&own.name, &fixed.table)) {
        own.places.push(fixed_place(&own, fixed, terms)?);
    }
    if !own.places.is_empty() {
        return Ok(own);
    }
    if own.keys.is_empty() {
        let mut place = place(&own, 0, terms, &mut axioms)?;
        place.is_there = terms.truth(true);
        own.places.push(place);
        own.axioms = axioms;
        return Ok(own);
    }
    own.is_given = false;
    for number in 0..bounds.entries {
        let place = place(&own, number, terms, &mut axioms)?;
        if let Some(before) = own.places.last() {
            let gap = {
                let not = terms.not(before.is_there);
                terms.and(place.is_there, not)
            };
            axioms.push(terms.not(gap));
            if !has_priority {
                ordered_prefixes(before, &place, terms, &mut axioms);
            }
        }
        for before in &own.places {
            let both = terms.and(before.is_there, place.is_there);
            let mut same = vec![both];
            for (a, b) in before.wants.iter().zip(&place.wants) {
                same.push(a.same(b, terms));
            }
            let same = terms.all(&same);
            axioms.push(terms.not(same));
        }
        own.places.push(place);
    }
    own.axioms = axioms;
    Ok(own)
}

/// Longer prefixes come first.
fn ordered_prefixes(before: &Place, place: &Place, terms: &mut Terms, axioms: &mut Vec<Term>) {
    for (a, b) in before.wants.iter().zip(&place.wants) {
        if let (
            Want::Masked {
                mask: a,
                is_prefix: true,
                ..
            },
            Want::Masked {
                mask: b,
                is_prefix: true,
                ..
            },
        ) = (a, b)
        {
            let longer = terms.less(*a, *b);
            axioms.push(terms.not(longer));
        }
    }
}

fn place(
    table: &TableWorld,
    number: u32,
    terms: &mut Terms,
    axioms: &mut Vec<Term>,
) -> Result<Place, String> {
    let name = format!("{}.{number}", table.name);
    let mut wants = Vec::new();
    for (key, kind, width) in &table.keys {
        let key = format!("{name}.{key}");
        let value = terms.unknown(&format!("{key}.value"), *width);
        wants.push(match &**kind {
            "exact" => Want::Exact(value),
            "ternary" => {
                let mask = terms.unknown(&format!("{key}.mask"), *width);
                within(value, mask, terms, axioms);
                let is_prefix = false;
                Want::Masked {
                    value,
                    mask,
                    is_prefix,
                }
            }
            "lpm" => {
                let mask = terms.unknown(&format!("{key}.mask"), *width);
                within(value, mask, terms, axioms);
                // Behind the last one of a prefix there are only zeros.
                let rest = terms.not(mask);
                let one = terms.number(1, *width);
                let after = terms.binary(Binary::Add, rest, one);
                let both = terms.and(rest, after);
                let any = terms.is_set(both);
                axioms.push(terms.not(any));
                let is_prefix = true;
                Want::Masked {
                    value,
                    mask,
                    is_prefix,
                }
            }
            "range" => {
                let high = terms.unknown(&format!("{key}.high"), *width);
                let empty = terms.less(high, value);
                axioms.push(terms.not(empty));
                Want::Range { low: value, high }
            }
            "optional" => {
                let given = terms.unknown(&format!("{key}.given"), 1);
                Want::Optional { value, given }
            }
            other => return Err(format!("{}: keys of kind {other}", table.name)),
        });
    }
    let action = terms.unknown(&format!("{name}.action"), 8);
    let count = terms.number(table.actions.len() as u64, 8);
    axioms.push(terms.less(action, count));
    let mut params = Vec::new();
    for (action, own) in &table.actions {
        let unknown = |(param, width): &(String, u32)| {
            terms.unknown(&format!("{name}.{action}.{param}"), *width)
        };
        params.push(own.iter().map(unknown).collect());
    }
    Ok(Place {
        is_there: terms.unknown(&name, 1),
        wants,
        action,
        params,
    })
}

/// No bit of the value is outside the mask.
fn within(value: Term, mask: Term, terms: &mut Terms, axioms: &mut Vec<Term>) {
    let outside = terms.not(mask);
    let outside = terms.and(value, outside);
    let any = terms.is_set(outside);
    axioms.push(terms.not(any));
}

impl Want {
    fn hit(&self, key: Term, terms: &mut Terms) -> Term {
        match *self {
            Want::Exact(value) => terms.equal(key, value),
            Want::Masked { value, mask, .. } => {
                let masked = terms.and(key, mask);
                terms.equal(masked, value)
            }
            Want::Range { low, high } => inside(key, low, high, terms),
            Want::Optional { value, given } => {
                let equal = terms.equal(key, value);
                let any = terms.not(given);
                terms.or(any, equal)
            }
        }
    }

    /// Whether two entries want the same of a key.
    fn same(&self, other: &Want, terms: &mut Terms) -> Term {
        match (self, other) {
            (Want::Exact(a), Want::Exact(b)) => terms.equal(*a, *b),
            (
                Want::Masked { value, mask, .. },
                Want::Masked {
                    value: v, mask: m, ..
                },
            ) => {
                let (a, b) = (terms.equal(*value, *v), terms.equal(*mask, *m));
                terms.and(a, b)
            }
            (Want::Range { low, high }, Want::Range { low: l, high: h }) => {
                let (a, b) = (terms.equal(*low, *l), terms.equal(*high, *h));
                terms.and(a, b)
            }
            (Want::Optional { value, given }, Want::Optional { value: v, given: g }) => {
                let both = terms.equal(*given, *g);
                let none = terms.not(*given);
                let equal = terms.equal(*value, *v);
                let equal = terms.or(none, equal);
                terms.and(both, equal)
            }
            _ => terms.truth(false),
        }
    }

    fn value(&self, evaluation: &mut Evaluation<'_>) -> Match {
        match *self {
            Want::Exact(value) => Match::Exact(evaluation.value(value)),
            Want::Masked {
                value,
                mask,
                is_prefix: true,
            } => {
                let length = evaluation.value(mask).count_ones() as u32;
                Match::Lpm(evaluation.value(value), length)
            }
            Want::Masked { value, mask, .. } => {
                let mask = evaluation.value(mask);
                match mask.is_zero() {
                    true => Match::Any,
                    false => Match::Ternary(evaluation.value(value), mask),
                }
            }
            Want::Range { low, high } => {
                Match::Range(evaluation.value(low), evaluation.value(high))
            }
            Want::Optional { value, given } => match evaluation.is_true(given) {
                true => Match::Optional(evaluation.value(value)),
                false => Match::Any,
            },
        }
    }
}

fn inside(key: Term, low: Term, high: Term, terms: &mut Terms) -> Term {
    let (below, above) = (terms.less(key, low), terms.less(high, key));
    let outside = terms.or(below, above);
    terms.not(outside)
}

/// The entries of the program in the order in which they win.
fn ordered(table: &Table) -> Result<Vec<&ConstEntry>, String> {
    let mut entries: Vec<_> = table.entries.iter().collect();
    let of_kind = |kinds: &[&str]| {
        let fits = |key: &&p4_ir::ir::Key| kinds.contains(&&*key.match_kind);
        table.keys.iter().filter(fits).count()
    };
    let prefixes = of_kind(&["lpm"]);
    if entries.is_empty() {
        return Ok(entries);
    }
    if prefixes > 0 && !table.const_entries {
        let table = &table.name;
        return Err(format!(
            "{table}: prefixes among entries that others may be added to"
        ));
    }
    if prefixes == 1 && of_kind(&["ternary", "range", "optional"]) == 0 {
        entries.sort_by_key(|entry| Reverse(prefix_of(table, entry)));
    } else if entries.iter().any(|entry| entry.priority.is_some()) {
        entries.sort_by_key(|entry| entry.priority.unwrap_or(0));
        if table.largest_priority_wins {
            entries.reverse();
        }
    }
    Ok(entries)
}

/// How many bits of its one lpm key an entry asks for.
fn prefix_of(table: &Table, entry: &ConstEntry) -> u32 {
    let keys = table.keys.iter().zip(&entry.matches);
    let lpm = keys.filter(|(key, _)| &*key.match_kind == "lpm");
    lpm.map(|(key, given)| match given {
        ConstMatch::Masked { mask, .. } => mask.iter().map(|word| word.count_ones()).sum(),
        ConstMatch::Exact(_) => key.place.width,
        ConstMatch::Any | ConstMatch::Range { .. } => 0,
    })
    .sum()
}

fn number(limbs: &[u64]) -> BigUint {
    let start = BigUint::zero();
    limbs
        .iter()
        .rev()
        .fold(start, |sum, limb| (sum << 64u32) | BigUint::from(*limb))
}

fn const_hit(matches: &[ConstMatch], key: &[Term], terms: &mut Terms) -> Term {
    let mut hits = Vec::new();
    for (want, key) in matches.iter().zip(key) {
        let width = terms.width(*key);
        let constant = |terms: &mut Terms, limbs: &[u64]| terms.constant(number(limbs), width);
        hits.push(match want {
            ConstMatch::Any => terms.truth(true),
            ConstMatch::Exact(value) => {
                let value = constant(terms, value);
                terms.equal(*key, value)
            }
            ConstMatch::Masked { value, mask } => {
                let (value, mask) = (constant(terms, value), constant(terms, mask));
                let masked = terms.and(*key, mask);
                let value = terms.and(value, mask);
                terms.equal(masked, value)
            }
            ConstMatch::Range { low, high } => {
                let (low, high) = (constant(terms, low), constant(terms, high));
                inside(*key, low, high, terms)
            }
        });
    }
    terms.all(&hits)
}

fn data_terms(
    program: &Program,
    table: &Table,
    call: &p4_ir::ir::ActionCall,
    terms: &mut Terms,
) -> Vec<Term> {
    let Some(listed) = table.actions.get(call.action as usize) else {
        return Vec::new();
    };
    let mut rest = call.data.as_slice();
    let mut data = Vec::new();
    for param in &program.actions[listed.action as usize].params {
        let n = p4_ir::ir::words(param.place.width) as usize;
        let (own, after) = rest.split_at(n.min(rest.len()));
        data.push(terms.constant(number(own), param.place.width.max(1)));
        rest = after;
    }
    data
}

fn sessions(bounds: &Bounds, terms: &mut Terms) -> Vec<Session> {
    let mut sessions = Vec::new();
    for (number, (id, port)) in bounds.sessions.iter().enumerate() {
        let id = match id {
            Some(id) => terms.number((*id).into(), 15),
            None => terms.unknown(&format!("session.{number}.id"), 15),
        };
        let port = match port {
            Some(port) => terms.number((*port).into(), 9),
            None => terms.unknown(&format!("session.{number}.port"), 9),
        };
        sessions.push(Session { id, port });
    }
    sessions
}

fn group(bounds: &Bounds, terms: &mut Terms, axioms: &mut Vec<Term>) -> Group {
    let id = terms.unknown("group.id", 16);
    axioms.push(terms.is_set(id));
    let mut copies: Vec<(Term, Term, Term)> = Vec::new();
    for number in 0..bounds.copies {
        let is_there = match number {
            0 => terms.truth(true),
            _ => terms.unknown(&format!("group.{number}"), 1),
        };
        let port = terms.unknown(&format!("group.{number}.port"), 9);
        let rid = terms.unknown(&format!("group.{number}.rid"), 16);
        for before in &copies {
            let (a, b) = (terms.equal(before.1, port), terms.equal(before.2, rid));
            let same = terms.and(a, b);
            axioms.push(terms.not(same));
        }
        if !bounds.instances.is_empty() {
            let numbers = bounds.instances.iter();
            let any: Vec<Term> = numbers
                .map(|number| {
                    let number = terms.number((*number).into(), 16);
                    terms.equal(rid, number)
                })
                .collect();
            axioms.push(terms.any(&any));
        }
        copies.push((is_there, port, rid));
    }
    Group { id, copies }
}
