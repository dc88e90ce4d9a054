//! Headers that the compiler for Tofino does not know, or knows in part: unions, and headers with a
//! field of variable length. And what a program says that has no effect here.

use super::program::{Blocks, Role};
use super::tofino::written_path;
use super::walk::{self, Node, Place};
use super::{constant, Findings};
use crate::types::{Kind, Type};
use crate::{Builtin, CallKind, Checked};
use p4_syntax::ast::*;
use p4_syntax::HashSet;
use std::collections::BTreeSet;

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let mut lints = Headers {
        checked,
        found,
        written: HashSet::default(),
    };
    walk::program(
        &checked.program.decls,
        blocks,
        &mut |node, place| match node {
            Node::Decl(decl) => lints.union(decl),
            Node::State(state) => lints.state(state),
            Node::Stmt(stmt) => lints.statement(stmt),
            Node::Expr(expr) => lints.expression(expr, place),
        },
    );
}

struct Headers<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
    /// Left sides of assignments, of which W0708 warns
    written: HashSet<NodeId>,
}

impl Headers<'_, '_> {
    fn union(&mut self, decl: &Decl) {
        if let DeclKind::HeaderUnion { .. } = decl.kind {
            self.found.warn(
                "W0731",
                decl.name.span,
                format!("not portable to Tofino: there are no header unions there, such as `{}`", decl.name.name),
                "declare its headers next to each other, and extract the one that is present; the chip's compiler says `Unsupported type`",
            );
        }
    }

    /// What the compiler does not do with fields of variable length; it makes a state for each
    /// length.
    fn varbit(&mut self, expr: &Expr, what: &str, hint: &str) {
        let message = format!("not portable to Tofino: {what}");
        self.found.warn("W0732", expr.span, message, hint);
    }

    fn statement(&mut self, stmt: &Stmt) {
        let (StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. }) = &stmt.kind
        else {
            return;
        };
        self.written.insert(lhs.id);
        self.coalescing(lhs);
        if self.varies(rhs) {
            self.varbit(
                rhs,
                "a header with a varbit field cannot be assigned there",
                "put the fields that you assign into a header of their own; the chip's compiler says `cannot assign header that contains a varbit field`",
            );
        }
    }

    fn expression(&mut self, expr: &Expr, place: Place<'_>) {
        let in_stages = matches!(place.role, Role::Ingress | Role::Egress);
        let is_varbit = matches!(self.checked.expr_type(expr.id), Type::Varbit(_));
        if in_stages && is_varbit && !self.written.contains(&expr.id) {
            self.varbit(
                expr,
                "a varbit field can only be read in parsers and deparsers there",
                "extract what the control looks at into fields of fixed length; the chip's compiler says `use of varbit field is only supported in parser and deparser currently`",
            );
        }
        let Some(call) = self.checked.calls.get(&expr.id) else {
            return;
        };
        let ExprKind::Call { func, args, .. } = &expr.kind else {
            return;
        };
        match (&call.kind, &func.kind) {
            (CallKind::Builtin(Builtin::SetValid), ExprKind::Member(header, _))
                if self.varies(header) =>
            {
                self.varbit(
                    header,
                    "a header with a varbit field can be extracted there, not be made valid",
                    "declare a header without the field for packets that get one; the chip's compiler says `cannot set header that contains a varbit field as valid`",
                )
            }
            (CallKind::Method { object, method }, _)
                if (&*object.name.name, &*method.name.name) == ("ParserPriority", "set") =>
            {
                self.found.warn(
                    "W0733",
                    expr.span,
                    "a parser's priority has no effect here",
                    "it decides which packets the chip drops when they come faster than its parsers read them, and that never happens in this engine",
                )
            }
            _ => {}
        }
        if self.reads_header(expr) == Some(2) {
            self.length(&args[1].value);
        }
    }

    /// A field for sessions that put several mirrors into one packet.
    fn coalescing(&mut self, lhs: &Expr) {
        let ExprKind::Member(base, field) = &lhs.kind else {
            return;
        };
        let is_field = &*field.name == "coalesce_flush";
        let of_chip = matches!(self.checked.expr_type(base.id), Type::Named(_, _, name, _)
            if &**name == "egress_intrinsic_metadata_for_deparser_t");
        if is_field && of_chip {
            self.found.warn(
                "W0733",
                lhs.span,
                "`coalesce_flush` has no effect",
                "a mirror session sends what it has collected when that is long enough, or when its time is up; the chip's model does not look at this field, and neither does this engine",
            );
        }
    }

    /// A header with a varbit field.
    fn varies(&self, expr: &Expr) -> bool {
        let ty = self.checked.expr_type(expr.id);
        let is_header = matches!(ty, Type::Named(Kind::Header, ..));
        let size = self.checked.size_in_bits(ty);
        is_header && size.is_some_and(|(least, most)| least < most)
    }

    /// How many arguments an `extract` has.
    fn reads_header(&self, expr: &Expr) -> Option<usize> {
        let CallKind::Method { object, method } = self.checked.calls.get(&expr.id)?.kind else {
            return None;
        };
        let extracts = (&*object.name.name, &*method.name.name) == ("packet_in", "extract");
        match &expr.kind {
            ExprKind::Call { args, .. } if extracts => Some(args.len()),
            _ => None,
        }
    }

    /// The length of what is extracted: a state is made for each value of one field.
    fn length(&mut self, length: &Expr) {
        let mut fields = BTreeSet::new();
        self.fields(length, &mut fields);
        match fields.len() {
            0 => self.varbit(
                length,
                "the length of a varbit field depends on a field there",
                "declare a field of this length instead; the chip's compiler says `No varbit length encoding variable`",
            ),
            1 => {}
            _ => self.varbit(
                length,
                "the length of a varbit field depends on one field alone there",
                "use one field of the packet; the chip's compiler says `contains more than one variable`",
            ),
        }
    }

    fn fields(&self, expr: &Expr, fields: &mut BTreeSet<String>) {
        if constant(self.checked, expr).is_some() {
            return;
        }
        if let Some(path) = written_path(expr) {
            fields.insert(path);
            return;
        }
        match &expr.kind {
            ExprKind::Unary(_, inner)
            | ExprKind::Cast(_, inner)
            | ExprKind::Slice(inner, _, _)
            | ExprKind::PlusSlice(inner, _, _) => self.fields(inner, fields),
            ExprKind::Binary(_, a, b) => {
                self.fields(a, fields);
                self.fields(b, fields);
            }
            _ => {}
        }
    }

    /// In a state, a header with a varbit field comes last.
    fn state(&mut self, state: &State) {
        let mut varied = false;
        for stmt in &state.body {
            let StmtKind::Call(call) = &stmt.kind else {
                continue;
            };
            let Some(arguments) = self.reads_header(call) else {
                continue;
            };
            if varied {
                let hint = match arguments {
                    2 => "extract it in a state of its own; the chip's compiler says `multiple varbit fields in a parser state are currently unsupported`",
                    _ => "extract what follows in the next state; the chip's compiler says `requires the varbit header to be extracted last in the parser state`",
                };
                self.varbit(
                    call,
                    "nothing is extracted after a varbit field in the same state there",
                    hint,
                );
            }
            varied |= arguments == 2;
        }
    }
}
