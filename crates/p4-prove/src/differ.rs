//! What it means that two programs send something else.

use crate::journey::{Sent, Whither};
use crate::packet::arrived;
use crate::path::{Step, Stop};
use crate::run::Write;
use crate::term::{Binary, Function, Term, Terms};
use crate::tna::in_its_pipe;
use crate::world::World;
use rustc_hash::FxHashMap;

/// Writes to registers and counters, by name
pub(crate) type NamedWrites = FxHashMap<String, Vec<Write>>;

/// Most copies on a path that are compared in all orders
const MOST_IN_ALL_ORDERS: usize = 4;

/// Whether what is sent differs, in whatever order it is sent.
pub(crate) fn packets_differ(own: &[Sent], other: &[Sent], terms: &mut Terms) -> Step<Term> {
    let mut left: Vec<&Sent> = own.iter().collect();
    let mut right: Vec<Sent> = other.to_vec();
    // What both send alike needs no partner.
    left.retain(|sent| match position(&right, sent, terms) {
        Some(at) => {
            right.remove(at);
            false
        }
        None => true,
    });
    match (left.len(), right.len()) {
        (0, 0) => Ok(terms.truth(false)),
        (a, b) if a != b => Ok(terms.truth(true)),
        (n, _) if n > MOST_IN_ALL_ORDERS => Err(Stop::Unsupported(format!("{n} copies at once"))),
        _ => {
            let right: Vec<&Sent> = right.iter().collect();
            Ok(all_orders(&left, &right, terms))
        }
    }
}

/// Whether any cell of a register that both programs have is another one afterwards: the next packet
/// would meet it.
pub(crate) fn registers_differ(
    own: &NamedWrites,
    other: &NamedWrites,
    terms: &mut Terms,
    world: &World,
    registers: &[String],
) -> Term {
    let mut any = terms.truth(false);
    for name in cells(own, other, &world.registers) {
        let index = terms.unknown(&format!("cell.{name}"), 32);
        // The cells of a chip's pipes are alike before the packet.
        let alike = match world.has_pipes {
            true => in_its_pipe(index, terms),
            false => index,
        };
        let leaves = [own, other]
            .into_iter()
            .filter_map(|writes| writes.get(&name));
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
            let before = terms.apply(Function::Cell(number), alike, *width);
            let after = [own, other].map(|writes| {
                let writes = writes.get(&name).into_iter().flatten();
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

/// Whether any cell of these counters has counted other packets in one of the programs.
pub(crate) fn counts_differ(
    own: &NamedWrites,
    other: &NamedWrites,
    terms: &mut Terms,
    counters: &[String],
) -> Term {
    let mut any = terms.truth(false);
    for name in cells(own, other, counters) {
        let [mut left, mut right] = [own, other].map(|all| all.get(&name).cloned());
        let (left, right) = (left.get_or_insert_default(), right.get_or_insert_default());
        // What both count alike needs no question.
        left.retain(|count| match right.iter().position(|w| w == count) {
            Some(at) => {
                right.remove(at);
                false
            }
            None => true,
        });
        let index = terms.unknown(&format!("cell.{name}"), 32);
        let [a, b] = [left, right].map(|counts| counted(counts, index, terms));
        let equal = terms.equal(a, b);
        let apart = terms.not(equal);
        any = terms.or(any, apart);
    }
    any
}

/// Packets that a cell has counted, 16 bits
fn counted(counts: &[Write], index: Term, terms: &mut Terms) -> Term {
    let zero = terms.number(0, 16);
    let one = terms.number(1, 16);
    counts.iter().fold(zero, |sum, count| {
        let same = terms.equal(index, count.index);
        let when = terms.and(count.when, same);
        let own = terms.choose(when, one, zero);
        terms.binary(Binary::Add, sum, own)
    })
}

/// The registers of both programs that one of them has written, each once.
pub(crate) fn cells(own: &NamedWrites, other: &NamedWrites, shared: &[String]) -> Vec<String> {
    let names = own.keys().chain(other.keys());
    let mut names: Vec<String> = names
        .filter(|name| shared.contains(name))
        .cloned()
        .collect();
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
