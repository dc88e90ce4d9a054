//! More of what the compiler for Tofino refuses or changes of programs for TNA: digests, hashes,
//! ranges, direct meters, and parsers that read a header twice.

use super::program::Blocks;
use super::tna::extern_of;
use super::tofino::written_path;
use super::walk::{self, Node};
use super::Findings;
use crate::{CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashSet;
use std::collections::BTreeMap;

const DIGEST_BITS: u64 = 48 * 8;
const RANGE_BITS: u64 = 20;

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let mut lints = More { checked, found };
    walk::program(&checked.program.decls, blocks, &mut |node, _| match node {
        Node::Decl(decl) => lints.declaration(decl),
        Node::Expr(expr) => lints.call(expr),
        Node::Stmt(_) | Node::State(_) => {}
    });
}

struct More<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
}

impl<'a> More<'_, 'a> {
    fn declaration(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Instance { args, .. } => self.hash(decl, args),
            DeclKind::Parser { states, .. } => self.read_twice(states),
            DeclKind::Table(properties) => {
                self.ranges(properties);
                self.direct_meter(properties);
            }
            _ => {}
        }
    }

    fn hash(&mut self, decl: &Decl, args: &[Arg]) {
        if extern_of(self.checked, decl.id) != Some("Hash") {
            return;
        }
        let Some(ExprKind::Member(_, algorithm)) = args.first().map(|arg| &arg.value.kind) else {
            return;
        };
        if matches!(&*algorithm.name, "XOR16" | "XOR32") {
            self.found.warn(
                "W0726",
                algorithm.span,
                format!("not portable to Tofino: a hash by {} may be another there", algorithm.name),
                "take a CRC; the chip's compiler says nothing, and for some layouts of the fields puts a byte into the wrong lane",
            );
        }
    }

    fn call(&mut self, expr: &'a Expr) {
        let Some(info) = self.checked.calls.get(&expr.id) else {
            return;
        };
        let CallKind::Method { object, method } = info.kind else {
            return;
        };
        let ExprKind::Call { args, .. } = &expr.kind else {
            return;
        };
        if (&*object.name.name, &*method.name.name) != ("Digest", "pack") {
            return;
        }
        let Some(data) = args.first().map(|arg| &arg.value) else {
            return;
        };
        let sent = info.type_args.first();
        let ty = sent.unwrap_or_else(|| self.checked.expr_type(data.id));
        let bits = self.checked.size_in_bits(ty);
        let bits = bits.map_or_else(|| self.list_bits(data), |(_, most)| most);
        if bits > DIGEST_BITS {
            self.found.warn(
                "W0727",
                data.span,
                format!("not portable to Tofino: a digest has at most 48 bytes, but this has {}", bits.div_ceil(8)),
                "send less: a key that the control plane can look the rest up by; the chip's compiler says `Learning quanta requires ... bytes, which is greater than the maximum permissible 48 bytes`",
            );
        }
    }

    fn list_bits(&self, data: &Expr) -> u64 {
        match &data.kind {
            ExprKind::List { items, .. } => items.iter().map(|item| self.list_bits(item)).sum(),
            _ => {
                let ty = self.checked.expr_type(data.id);
                self.checked.size_in_bits(ty).map_or(0, |(_, most)| most)
            }
        }
    }

    fn ranges(&mut self, properties: &'a [TableProperty]) {
        for property in properties {
            let PropertyValue::Key(keys) = &property.value else {
                continue;
            };
            for key in keys.iter().filter(|key| &*key.match_kind.name == "range") {
                let ty = self.checked.expr_type(key.expr.id);
                let bits = self.checked.size_in_bits(ty).map_or(0, |(_, most)| most);
                if bits > RANGE_BITS {
                    self.found.warn(
                        "W0728",
                        key.expr.span,
                        format!("not portable to Tofino: a range key has at most {RANGE_BITS} bits there, but this has {bits}"),
                        "match ranges of the upper bits, or ternary; the chip's compiler says `cannot perform a range match on key ... as the key does not fit in under 5 PHV nibbles`",
                    );
                }
            }
        }
    }

    /// Actions of a table with a direct meter that do not ask it.
    fn direct_meter(&mut self, properties: &'a [TableProperty]) {
        let meter = properties
            .iter()
            .find_map(|property| match &property.value {
                PropertyValue::Expr(value) if &*property.name.name == "meters" => {
                    match self.checked.defs.get(&value.id) {
                        Some(Def::Instance(meter)) => Some(*meter),
                        _ => None,
                    }
                }
                _ => None,
            });
        let Some(meter) = meter.filter(|m| extern_of(self.checked, m.id) == Some("DirectMeter"))
        else {
            return;
        };
        for property in properties {
            let PropertyValue::Actions(actions) = &property.value else {
                continue;
            };
            for action in actions {
                let default_only = action.annotations.iter().any(|annotation| {
                    matches!(&*annotation.name.name, "defaultonly" | "default_only")
                });
                let asks = self
                    .action_named(action)
                    .is_none_or(|decl| self.asks(decl, meter));
                if !default_only && !asks {
                    self.found.push(
                        Diagnostic::warning(
                            "W0729",
                            action.span,
                            "not portable to Tofino: every action of a table with a direct meter must execute it",
                        )
                        .label(meter.name.span, "the meter")
                        .hint("execute the meter in it, or write `@defaultonly` before it if only misses run it; the chip's compiler says `direct attached objects must be enabled in all hit actions`"),
                    );
                }
            }
        }
    }

    fn action_named(&self, action: &ActionRef) -> Option<&'a Decl> {
        self.checked.action_refs.get(&action.id).copied()
    }

    fn asks(&self, action: &'a Decl, meter: &Decl) -> bool {
        let mut asks = false;
        walk::expressions_of(action, &mut |expr| {
            if let ExprKind::Member(object, method) = &expr.kind {
                let is_meter = matches!(self.checked.defs.get(&object.id), Some(Def::Instance(own)) if own.id == meter.id);
                asks |= is_meter && &*method.name == "execute";
            }
        });
        asks
    }

    /// Headers that a way through the parser extracts twice.
    fn read_twice(&mut self, states: &'a [State]) {
        let Some(start) = states.iter().find(|state| &*state.name.name == "start") else {
            return;
        };
        let mut walk = Ways {
            checked: self.checked,
            states,
            read: BTreeMap::new(),
            way: Vec::new(),
            budget: 20_000,
            twice: Vec::new(),
        };
        walk.from(start);
        let mut said = HashSet::default();
        for (path, again, first) in walk.twice {
            if said.insert(again) {
                self.found.push(
                    Diagnostic::warning(
                        "W0730",
                        again,
                        format!("not portable to Tofino: the parser reads `{path}` twice on one way"),
                    )
                    .label(first, "the first time")
                    .hint("read into another header; the chip keeps both in one, bit by bit ORed, and its compiler warns `This re-assignment is not supported by Tofino`, or refuses the program if every way does it"),
                );
            }
        }
    }
}

/// All ways through a parser, as far as the budget reaches.
struct Ways<'c, 'a> {
    checked: &'c Checked<'a>,
    states: &'a [State],
    /// What was read on the way, and where
    read: BTreeMap<String, Span>,
    way: Vec<Span>,
    budget: u32,
    twice: Vec<(String, Span, Span)>,
}

impl<'a> Ways<'_, 'a> {
    fn from(&mut self, state: &'a State) {
        const LONGEST: usize = 64;
        if self.budget == 0 || self.way.len() >= LONGEST || self.way.contains(&state.name.span) {
            return;
        }
        self.budget -= 1;
        self.way.push(state.name.span);
        let mut own = Vec::new();
        for stmt in &state.body {
            walk::expressions_in(stmt, &mut |expr| own.extend(self.extracted(expr)));
        }
        let mut new = Vec::new();
        for (path, span) in own {
            match self.read.get(&path) {
                Some(first) => self.twice.push((path, span, *first)),
                None => {
                    self.read.insert(path.clone(), span);
                    new.push(path);
                }
            }
        }
        let next: Vec<&Ident> = match &state.transition {
            Transition::Missing(_) => Vec::new(),
            Transition::Direct(next) => vec![next],
            Transition::Select { cases, .. } => cases.iter().map(|case| &case.next).collect(),
        };
        let mut seen: Vec<&str> = Vec::new();
        for name in next {
            if seen.contains(&&*name.name) {
                continue;
            }
            seen.push(&name.name);
            let states = self.states;
            if let Some(state) = states.iter().find(|state| state.name.name == name.name) {
                self.from(state);
            }
        }
        for path in new {
            self.read.remove(&path);
        }
        self.way.pop();
    }

    /// The header that an expression extracts; elements of stacks by `next` are different ones.
    fn extracted(&self, expr: &Expr) -> Option<(String, Span)> {
        let CallKind::Method { object, method } = self.checked.calls.get(&expr.id)?.kind else {
            return None;
        };
        let ExprKind::Call { args, .. } = &expr.kind else {
            return None;
        };
        if (&*object.name.name, &*method.name.name) != ("packet_in", "extract") {
            return None;
        }
        let header = &args.first()?.value;
        let path = written_path(header)?;
        (!path.ends_with(".next")).then_some((path, header.span))
    }
}
