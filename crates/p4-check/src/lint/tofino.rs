//! What Tofino cannot do in one pass of its stages. The facts come from its open compiler and from
//! what its model did with small programs; whether a program fits as a whole only that compiler can
//! say.

use super::paths::{paths, What};
use super::program::{Blocks, Role};
use super::tofino_actions::{action_body, conditions};
use super::walk::{self, Node, Place};
use super::{constant, Findings};
use crate::types::{Kind, Type};
use crate::{CallKind, Checked};
use num_traits::One;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashSet;
use std::collections::BTreeMap;

/// A gateway compares by order only what fits into its 12 hash bits.
const ORDER_BITS: u32 = 12;
/// A gateway reads 4 bytes and 12 bits of fields.
const GATEWAY_BITS: u32 = 44;
/// A table reads 128 bytes for exact matches, 66 for ternary ones.
const EXACT_BITS: u64 = 128 * 8;
const TERNARY_BITS: u64 = 66 * 8;

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let called = checked.calls.values().filter_map(|call| match call.kind {
        CallKind::Action(action) => Some(action.id),
        _ => None,
    });
    let listed: HashSet<NodeId> = checked
        .action_refs
        .values()
        .map(|action| action.id)
        .collect();
    let mut lints = Tofino {
        checked,
        found,
        used: called.chain(listed.iter().copied()).collect(),
        listed,
        two_fields: HashSet::default(),
    };
    walk::program(
        &checked.program.decls,
        blocks,
        &mut |node, place| match node {
            Node::Decl(decl) => lints.declaration(decl),
            Node::Stmt(stmt) => lints.statement(stmt, place),
            Node::Expr(expr) => lints.expression(expr, place),
            Node::State(state) => lints.state(state),
        },
    );
    for (_, block) in &blocks.top {
        lints.ways(block);
    }
}

struct Tofino<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
    /// Actions that anything runs; the compiler forgets the others.
    used: HashSet<NodeId>,
    /// Actions of tables
    listed: HashSet<NodeId>,
    /// Left sides of comparisons that have been reported as being of two fields
    two_fields: HashSet<NodeId>,
}

impl<'a> Tofino<'_, 'a> {
    fn declaration(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Header { .. } => self.header(decl),
            DeclKind::Action { body, .. } if self.used.contains(&decl.id) => {
                action_body(self.checked, body, self.found);
                if self.listed.contains(&decl.id) {
                    conditions(self.checked, decl, self.found);
                }
            }
            DeclKind::Table(properties) => self.table(properties),
            DeclKind::Instance { .. } => self.register_cells(decl),
            _ => {}
        }
    }

    fn header(&mut self, decl: &Decl) {
        let ty = Type::Named(Kind::Header, decl.id, decl.name.name.clone(), Vec::new());
        if let Some((_, bits)) = self.checked.size_in_bits(&ty).filter(|(_, n)| n % 8 != 0) {
            self.found.warn(
                "W0716",
                decl.name.span,
                format!("not portable to Tofino: the header `{}` has {bits} bits, which is not a whole number of bytes", decl.name.name),
                "add a field that fills up the last byte",
            );
        }
    }

    fn table(&mut self, properties: &'a [TableProperty]) {
        let mut lpm = false;
        for property in properties {
            match &property.value {
                PropertyValue::Key(keys) => {
                    lpm = keys.iter().any(|key| &*key.match_kind.name == "lpm");
                    self.key_width(property.span, keys);
                }
                PropertyValue::Entries(entries) if lpm && !entries.is_empty() => {
                    self.found.warn(
                        "W0714",
                        property.name.span,
                        "not portable to Tofino: a table with an `lpm` key cannot have entries in the program there",
                        "match as `ternary`, longest prefixes first, or let the control plane add the entries",
                    );
                }
                _ => {}
            }
        }
    }

    fn key_width(&mut self, span: Span, keys: &[KeyElement]) {
        let bits = |key: &KeyElement| {
            let ty = self.checked.expr_type(key.expr.id);
            self.checked.size_in_bits(ty).map_or(0, |(_, most)| most)
        };
        let (mut exact, mut ternary) = (0, 0);
        for key in keys {
            match &*key.match_kind.name {
                "exact" => exact += bits(key),
                "ternary" | "lpm" | "range" | "optional" => ternary += bits(key),
                _ => {}
            }
        }
        let (read, most) = match ternary {
            0 => (exact, EXACT_BITS),
            _ => (exact + ternary, TERNARY_BITS),
        };
        if read > most {
            self.found.warn(
                "W0709",
                span,
                format!("not portable to Tofino: the key has {read} bits, but a table of this kind compares at most {most} there"),
                "match on fewer fields, on a hash of them, or in two tables",
            );
        }
    }

    fn register_cells(&mut self, decl: &Decl) {
        let Type::Named(Kind::Extern, _, name, args) = self.checked.expr_type(decl.id) else {
            return;
        };
        let Some(cell) = args
            .first()
            .filter(|_| matches!(&**name, "register" | "Register"))
        else {
            return;
        };
        let bits = self.checked.size_in_bits(cell).map(|(_, most)| most);
        if !matches!(bits, None | Some(1 | 8 | 16 | 32 | 64)) {
            self.found.warn(
                "W0713",
                decl.name.span,
                "not portable to Tofino: the cells of a register have 1, 8, 16, 32 or 64 bits there",
                "use the next larger width, or several registers",
            );
        }
    }

    fn state(&mut self, state: &State) {
        if let Some(next) = walk::reject_in(&state.transition) {
            self.found.warn(
                "W0712",
                next.span,
                "not portable to Tofino: the packet goes on there as with `accept`",
                "set a flag in the metadata, and drop the packet in ingress",
            );
        }
    }

    fn statement(&mut self, stmt: &Stmt, place: Place<'a>) {
        match &stmt.kind {
            StmtKind::AssignOp { op, lhs, rhs } => self.operator(*op, lhs, rhs, stmt.span, place),
            StmtKind::If { cond, .. } if place.role != Role::Parser && !place.in_method => {
                if place.routine.is_none() {
                    self.compared(cond);
                }
                self.condition(cond)
            }
            StmtKind::For { .. } => self.runtime_loop(stmt.span),
            StmtKind::ForIn { range, .. } => {
                let constant = |e: &Expr| constant(self.checked, e).is_some();
                let counted = match &range.kind {
                    ExprKind::Range(low, high) => constant(low) && constant(high),
                    _ => true,
                };
                if !counted {
                    self.runtime_loop(stmt.span);
                }
            }
            StmtKind::Assign { lhs, .. } if place.role != Role::Parser => self.varbit(lhs),
            _ => {}
        }
    }

    fn runtime_loop(&mut self, span: Span) {
        self.found.warn(
            "W0707",
            span,
            "not portable to Tofino: a loop whose rounds are not known when compiling",
            "run over a range of constants, or send the packet round again (recirculation)",
        );
    }

    fn expression(&mut self, expr: &Expr, place: Place<'a>) {
        match &expr.kind {
            ExprKind::Binary(op, a, b) => self.operator(*op, a, b, expr.span, place),
            ExprKind::Index(base, index) => {
                let is_stack = matches!(self.checked.expr_type(base.id), Type::Stack(..));
                if is_stack && constant(self.checked, index).is_none() {
                    self.found.warn(
                        "W0705",
                        index.span,
                        "not portable to Tofino: an index that is computed at run time",
                        "use `next` and `last` in the parser, constants in a control, or a table with an action for each index",
                    );
                }
            }
            _ => {}
        }
        let in_parser = place.role == Role::Parser && place.routine.is_none();
        match self.checked.calls.get(&expr.id).map(|call| call.kind) {
            Some(CallKind::Method { object, method }) if in_parser => {
                let name = &*object.name.name;
                if !matches!(
                    name,
                    "packet_in" | "packet_out" | "Checksum" | "ParserCounter" | "ParserPriority"
                ) {
                    self.not_in_parsers(&method.name.name, expr.span);
                }
            }
            Some(CallKind::ExternFunction(decl)) if in_parser => {
                let name = &*decl.name.name;
                if !matches!(
                    name,
                    "verify" | "log_msg" | "static_assert" | "port_metadata_unpack"
                ) {
                    self.not_in_parsers(name, expr.span);
                }
            }
            _ => {}
        }
    }

    fn not_in_parsers(&mut self, name: &str, span: Span) {
        self.found.warn(
            "W0715",
            span,
            format!("not portable to Tofino: `{name}` works in the match-action stages only there"),
            "do it in ingress or egress",
        );
    }

    fn operator(&mut self, op: BinOp, a: &Expr, b: &Expr, span: Span, place: Place<'a>) {
        let value = |e: &Expr| constant(self.checked, e).and_then(|v| v.as_int().cloned());
        match op {
            BinOp::Mul => {
                let power =
                    |e: &Expr| value(e).is_some_and(|n| n.magnitude().count_ones().is_one());
                let known = value(a).is_some() && value(b).is_some();
                if !known && !power(a) && !power(b) {
                    self.found.warn(
                        "W0701",
                        span,
                        "not portable to Tofino: its stages do not multiply",
                        "shift and add, or look the product up in a table",
                    );
                }
            }
            BinOp::Shl | BinOp::Shr if value(b).is_none() => self.found.warn(
                "W0702",
                b.span,
                "not portable to Tofino: it shifts by constants only",
                "choose among shifts by constants with a table or `if`",
            ),
            // A RegisterAction compares whole cells.
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge if !place.in_method => {
                if self.two_fields.contains(&a.id) {
                    return;
                }
                let width = |e: &Expr| self.checked.expr_type(e.id).fixed_width();
                let sign_only = |e: &Expr| value(e).is_some_and(|n| n == 0.into());
                let signed = matches!(self.checked.expr_type(a.id), Type::Signed(_));
                let width = width(a).or_else(|| width(b)).unwrap_or(0);
                if width > ORDER_BITS && !(signed && sign_only(b)) {
                    self.found.warn(
                        "W0703",
                        span,
                        format!("not portable to Tofino: `<` and `>` compare at most {ORDER_BITS} bits there, but this has {width}"),
                        "match the value in a table with a `range` or `ternary` key, or subtract and test the sign",
                    );
                }
            }
            _ => {}
        }
    }

    /// Comparisons by size of two fields, of which the condition of a control has none.
    fn compared(&mut self, cond: &Expr) {
        if let ExprKind::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge, a, b) = &cond.kind {
            if constant(self.checked, a).is_none() && constant(self.checked, b).is_none() {
                self.two_fields.insert(a.id);
                self.found.warn(
                    "W0739",
                    cond.span,
                    "not portable to Tofino: `<` and `>` compare a field with a constant there, not with another field",
                    "subtract first, with `|-|`, which stops at 0: `bit<16> more = y |-| x; if (more != 0)` is `if (x < y)`; the chip's compiler says `condition too complex, one operand of ... must be constant`",
                );
            }
        }
        for child in cond.children() {
            self.compared(child);
        }
    }

    /// The fields that one condition reads.
    fn condition(&mut self, cond: &Expr) {
        let mut fields = BTreeMap::new();
        self.fields_in(cond, &mut fields);
        let bits: u32 = fields.values().sum();
        let mut ordered = Vec::new();
        self.ordered_in(cond, &mut ordered);
        let ranges: u32 = ordered.iter().sum();
        if ranges > ORDER_BITS && ordered.iter().all(|width| *width <= ORDER_BITS) {
            self.found.warn(
                "W0704",
                cond.span,
                format!("not portable to Tofino: the `<` and `>` of one condition compare at most {ORDER_BITS} bits together there, but these compare {ranges}"),
                "nest several `if`s; the chip's compiler says `condition too complex, limit of 4 bytes + 12 bits of PHV input exceeded`",
            );
            return;
        }
        if bits > GATEWAY_BITS {
            self.found.warn(
                "W0704",
                cond.span,
                format!("not portable to Tofino: a condition reads at most 4 bytes and 12 bits of fields there, but this one reads {bits} bits"),
                "nest several `if`s, or match in a table and look at `hit`; the chip's compiler says `condition too complex, limit of 4 bytes + 12 bits of PHV input exceeded`",
            );
        }
    }

    /// Widths of the comparisons by order that are no question of the sign alone.
    fn ordered_in(&self, expr: &Expr, widths: &mut Vec<u32>) {
        if let ExprKind::Binary(BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge, a, b) = &expr.kind {
            let ty = self.checked.expr_type(a.id);
            let zero = constant(self.checked, b).and_then(|v| v.as_int().cloned());
            let sign_only = matches!(ty, Type::Signed(_)) && zero.is_some_and(|n| n == 0.into());
            if !sign_only {
                let width = |e: &Expr| self.checked.expr_type(e.id).fixed_width();
                widths.push(width(a).or_else(|| width(b)).unwrap_or(0));
            }
        }
        for child in expr.children() {
            self.ordered_in(child, widths);
        }
    }

    fn fields_in(&self, expr: &Expr, fields: &mut BTreeMap<String, u32>) {
        if constant(self.checked, expr).is_some() {
            return;
        }
        if let (Some(name), Some(width)) = (
            written_path(expr),
            self.checked.expr_type(expr.id).fixed_width(),
        ) {
            fields.insert(name, width);
            return;
        }
        // Of a slice the bits that it has, not those of the field.
        if let ExprKind::Slice(of, high, low) = &expr.kind {
            let number = |e: &Expr| constant(self.checked, e).and_then(|v| v.as_int().cloned());
            let width = self.checked.expr_type(expr.id).fixed_width();
            if let (Some(name), Some(high), Some(low), Some(width)) =
                (written_path(of), number(high), number(low), width)
            {
                fields.insert(format!("{name}[{high}:{low}]"), width);
                return;
            }
        }
        for child in expr.children() {
            self.fields_in(child, fields);
        }
    }

    fn varbit(&mut self, lhs: &Expr) {
        if matches!(self.checked.expr_type(lhs.id), Type::Varbit(_)) {
            self.found.warn(
                "W0708",
                lhs.span,
                "not portable to Tofino: a varbit field can only be extracted and emitted there",
                "extract the options into a stack of small headers",
            );
        }
    }

    fn ways(&mut self, block: &'a Decl) {
        for again in paths(self.checked, block).again {
            let (code, message, hint) = match again.what {
                What::Apply => (
                    "W0717",
                    "not portable to Tofino: a packet can come to this table twice, but it has one place in the stages",
                    "declare a second table with the same keys and actions",
                ),
                What::Read | What::Write => (
                    "W0706",
                    "not portable to Tofino: a register can be accessed once for each packet there",
                    "read, change and write one cell in one step (a RegisterAction), or use two registers; the chip's compiler says nothing of a second `execute`, and the two fall together on one cell",
                ),
            };
            self.found.push(
                Diagnostic::warning(code, again.span, message)
                    .label(again.first, "the first time")
                    .hint(hint),
            );
        }
    }
}

/// `hdr.ipv4.ttl` as text, if the expression is a variable, a field or an element with a constant
/// index.
pub(super) fn written_path(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Path(path) => Some(path.ident.name.to_string()),
        ExprKind::Member(base, member) => Some(format!("{}.{}", written_path(base)?, member.name)),
        ExprKind::Index(base, index) => match &index.kind {
            ExprKind::Int { value, .. } => Some(format!("{}[{value}]", written_path(base)?)),
            _ => None,
        },
        _ => None,
    }
}
