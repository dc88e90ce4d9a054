//! What p4c refuses when it compiles for bmv2's simple_switch, although the language allows it.

use super::paths::{paths, Again};
use super::program::{Blocks, Role};
use super::walk::{self, Node, Place};
use super::{constant, Findings};
use crate::types::{Kind, Type};
use crate::{Builtin, CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::{HashMap, HashSet};

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let mut lints = Bmv2 {
        checked,
        found,
        used: used_headers(checked),
        meters: HashMap::default(),
        attached: HashMap::default(),
        selected: HashMap::default(),
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
    lints.unattached_meters();
    let mut checksums = blocks
        .top
        .iter()
        .filter(|(role, _)| *role == Role::Checksum);
    // One control may be given for both.
    if let (Some((_, verifies)), Some((_, updates))) = (checksums.next(), checksums.next()) {
        lints.checksums(verifies, "verify_checksum");
        lints.checksums(updates, "update_checksum");
    }
    for (role, block) in &blocks.top {
        match role {
            Role::Ingress | Role::Egress => lints.tables(block),
            Role::Deparser => lints.deparser(block),
            _ => {}
        }
    }
    if let (true, Some((_, parser))) = (blocks.v1model, blocks.top.first()) {
        lints.headers_struct(parser);
        lints.metadata_struct(parser);
    }
}

const MATCH_KINDS: [&str; 6] = ["exact", "lpm", "ternary", "range", "optional", "selector"];

struct Bmv2<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
    /// Headers that the program uses as types
    used: HashSet<NodeId>,
    /// Direct meters
    meters: HashMap<NodeId, &'a Decl>,
    /// For each direct counter or meter the table it belongs to
    attached: HashMap<NodeId, Span>,
    /// For each action selector what its first table hashes, and that table's name
    selected: HashMap<NodeId, (Span, Vec<&'a Expr>)>,
}

fn used_headers(checked: &Checked<'_>) -> HashSet<NodeId> {
    let mut used = HashSet::default();
    for ty in checked.type_refs.iter().flatten() {
        let element = match ty {
            Type::Stack(element, _) => element,
            other => other,
        };
        if let Type::Named(Kind::Header, id, ..) = element {
            used.insert(*id);
        }
    }
    used
}

impl<'a> Bmv2<'_, 'a> {
    fn declaration(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Header { fields, .. } => self.header(decl, fields),
            DeclKind::Table(properties) => self.table(decl, properties),
            DeclKind::Instance { .. } => self.instance(decl),
            _ => {}
        }
    }

    fn header(&mut self, decl: &Decl, fields: &[Field]) {
        if !self.used.contains(&decl.id) {
            return;
        }
        let ty = Type::Named(Kind::Header, decl.id, decl.name.name.clone(), Vec::new());
        if let Some((_, bits)) = self.checked.size_in_bits(&ty).filter(|(_, n)| n % 8 != 0) {
            self.found.warn(
                "W0602",
                decl.name.span,
                format!("not portable to bmv2: the header `{}` has {bits} bits, which is not a whole number of bytes", decl.name.name),
                "add a field that fills up the last byte",
            );
        }
        let is_varbit =
            |field: &&Field| matches!(self.checked.type_ref(field.ty.id), Type::Varbit(_));
        if let Some(second) = fields.iter().filter(is_varbit).nth(1) {
            self.found.warn(
                "W0613",
                second.name.span,
                "not portable to bmv2: a header can have one varbit field there",
                "make two headers of it, or one longer varbit field",
            );
        }
    }

    fn table(&mut self, decl: &'a Decl, properties: &'a [TableProperty]) {
        for property in properties {
            match &property.value {
                PropertyValue::Key(keys) => {
                    let lpm = |key: &&KeyElement| &*key.match_kind.name == "lpm";
                    if let Some(second) = keys.iter().filter(lpm).nth(1) {
                        self.found.warn(
                            "W0603",
                            second.span,
                            "not portable to bmv2: a table can have one `lpm` key there",
                            "match one of them as `ternary`, with a priority for each entry",
                        );
                    }
                    for key in keys {
                        self.match_kind(&key.match_kind);
                        self.key_of_errors(&key.expr);
                    }
                }
                PropertyValue::Actions(actions) => {
                    for action in actions {
                        if let Some(action) = self.checked.action_refs.get(&action.id) {
                            self.action_data(action);
                        }
                    }
                }
                PropertyValue::Expr(value) => {
                    if matches!(&*property.name.name, "counters" | "meters") {
                        self.attach(decl, value);
                    }
                    if &*property.name.name == "implementation" {
                        self.select(decl, properties, value);
                    }
                }
                PropertyValue::Entries(_) => {}
            }
        }
    }

    fn match_kind(&mut self, kind: &Ident) {
        if !MATCH_KINDS.contains(&&*kind.name) {
            self.found.warn(
                "W0621",
                kind.span,
                format!(
                    "not portable to bmv2: it does not know the match kind `{}`",
                    kind.name
                ),
                format!("there are {}", MATCH_KINDS.join(", ")),
            );
        }
    }

    fn key_of_errors(&mut self, key: &Expr) {
        if *self.checked.expr_type(key.id) == Type::Error {
            self.found.warn(
                "W0625",
                key.span,
                "not portable to bmv2: an error cannot be part of a key",
                "compare it with `if`, or set a number of bits by it and match that",
            );
        }
    }

    /// The hash that chooses a member belongs to the selector there, not to the table.
    fn select(&mut self, table: &Decl, properties: &'a [TableProperty], value: &Expr) {
        let Some(Def::Instance(instance)) = self.checked.defs.get(&value.id) else {
            return;
        };
        if super::tna::extern_of(self.checked, instance.id) != Some("action_selector") {
            return;
        }
        let keys = properties
            .iter()
            .filter_map(|property| match &property.value {
                PropertyValue::Key(keys) => Some(keys),
                _ => None,
            });
        let hashed = keys
            .flatten()
            .filter(|key| &*key.match_kind.name == "selector");
        let hashed: Vec<&Expr> = hashed.map(|key| &key.expr).collect();
        let Some((first, other)) = self.selected.get(&instance.id) else {
            self.selected.insert(instance.id, (table.name.span, hashed));
            return;
        };
        let mut pairs = other.iter().zip(&hashed);
        if other.len() == hashed.len() && pairs.all(|(a, b)| self.checked.same_expr(a, b)) {
            return;
        }
        let name = &instance.name.name;
        self.found.push(
            Diagnostic::warning(
                "W0622",
                value.span,
                format!(
                    "not portable to bmv2: another table chooses by other fields with `{name}`"
                ),
            )
            .label(*first, "this one")
            .hint("declare a selector for each table, or match the same fields as `selector`"),
        );
    }

    /// Data from the control plane is bit<W> or int<W>.
    fn action_data(&mut self, action: &Decl) {
        let DeclKind::Action { params, .. } = &action.kind else {
            return;
        };
        for param in params.iter().filter(|p| p.direction == Direction::None) {
            let ty = self.checked.underlying(self.checked.type_ref(param.ty.id));
            if matches!(ty, Type::Bool | Type::Error | Type::Named(..)) {
                self.found.warn(
                    "W0614",
                    param.span,
                    format!(
                        "not portable to bmv2: the control plane cannot give `{}` there, because it is not a number",
                        param.name.name
                    ),
                    "use bit<1> in place of bool, and one number for each part of a struct",
                );
            }
        }
    }

    fn attach(&mut self, table: &Decl, value: &Expr) {
        let Some(Def::Instance(instance)) = self.checked.defs.get(&value.id) else {
            return;
        };
        if let Some(first) = self.attached.insert(instance.id, table.name.span) {
            let name = &instance.name.name;
            self.found.push(
                Diagnostic::warning(
                    "W0617",
                    value.span,
                    format!("not portable to bmv2: `{name}` belongs to another table already"),
                )
                .label(first, "to this one")
                .hint("declare one for each table"),
            );
        }
    }

    fn instance(&mut self, decl: &'a Decl) {
        let Type::Named(Kind::Extern, _, name, args) = self.checked.expr_type(decl.id) else {
            return;
        };
        if &**name == "direct_meter" {
            self.meters.insert(decl.id, decl);
        }
        if &**name != "register" {
            return;
        }
        if let DeclKind::Instance { args: sizes, .. } = &decl.kind {
            let size = sizes
                .first()
                .and_then(|size| constant(self.checked, &size.value));
            if size.and_then(|size| size.as_int().cloned()) == Some(0.into()) {
                self.found.warn(
                    "W0630",
                    decl.name.span,
                    "not portable to bmv2: a register needs at least one cell there",
                    "give it a size, as in `register<bit<32>>(1)`",
                );
            }
        }
        let cell = args.first().map(|ty| self.checked.underlying(ty));
        if !matches!(cell, Some(Type::Bit(_) | Type::Signed(_)) | None) {
            self.found.warn(
                "W0615",
                decl.name.span,
                "not portable to bmv2: the cells of a register are bit<W> or int<W> there",
                "use bit<1> in place of bool, and one register for each part of a struct",
            );
        }
    }

    fn unattached_meters(&mut self) {
        for (id, meter) in &self.meters {
            if !self.attached.contains_key(id) {
                self.found.warn(
                    "W0617",
                    meter.name.span,
                    format!(
                        "not portable to bmv2: no table has the meter `{}`",
                        meter.name.name
                    ),
                    "name it in a table: `meters = name;`",
                );
            }
        }
    }

    fn state(&mut self, state: &State) {
        if let Some(next) = walk::reject_in(&state.transition) {
            self.found.warn(
                "W0605",
                next.span,
                "not portable to bmv2: simple_switch goes on as with `accept`",
                "set a flag in the metadata and drop the packet in ingress, or use `verify`",
            );
        }
    }

    fn statement(&mut self, stmt: &Stmt, place: Place<'a>) {
        match &stmt.kind {
            StmtKind::ForIn { .. } => self.found.warn(
                "W0609",
                stmt.span,
                "not portable to bmv2: there is no `for ... in` there",
                "count yourself: `for (bit<8> i = 0; i < n; i = i + 1)`",
            ),
            StmtKind::Switch { .. } if place.in_action => self.found.warn(
                "W0611",
                stmt.span,
                "not portable to bmv2: an action has no `switch` there",
                "use `if` in the action, or `switch` in the `apply` block",
            ),
            StmtKind::AssignOp {
                op: BinOp::Shl | BinOp::Shr,
                rhs,
                ..
            } => self.shift(rhs),
            _ => {}
        }
    }

    /// `a ? b : c ? d : e`: p4c takes the first three for the condition of the rest, as the grammar in
    /// the specification's appendix does, where we take what most languages mean by it. A span of an
    /// expression in parentheses holds these.
    fn chain(&mut self, whole: Span, no: &Expr) {
        let bare = |cond: &Expr| cond.span.lo == no.span.lo;
        if matches!(&no.kind, ExprKind::Conditional(cond, ..) if bare(cond)) {
            self.found.warn(
                "W0620",
                whole,
                "not portable to bmv2: p4c reads `a ? b : c ? d : e` as `(a ? b : c) ? d : e`",
                "put parentheses around the second `?:`",
            );
        }
    }

    fn expression(&mut self, expr: &Expr, place: Place<'a>) {
        if let ExprKind::Binary(BinOp::Shl | BinOp::Shr, _, amount) = &expr.kind {
            self.shift(amount);
        }
        if let ExprKind::Conditional(_, _, no) = &expr.kind {
            self.chain(expr.span, no);
        }
        let Some(call) = self.checked.calls.get(&expr.id) else {
            return;
        };
        let in_parser = place.role == Role::Parser && place.routine.is_none();
        match call.kind {
            CallKind::Function(decl) if in_parser && branches(decl) => self.found.warn(
                "W0610",
                expr.span,
                format!(
                    "not portable to bmv2: a parser cannot call `{}` there, which branches",
                    decl.name.name
                ),
                "branch with `transition select`, or call it in ingress",
            ),
            CallKind::ExternFunction(decl) => {
                self.extern_function(decl, expr, in_parser);
                self.without_effect(&decl.name.name, expr.span, place.role);
            }
            CallKind::Builtin(Builtin::PushFront | Builtin::PopFront) if in_parser => {
                if let ExprKind::Call { func, .. } = &expr.kind {
                    if let ExprKind::Member(_, method) = &func.kind {
                        self.not_in_parsers(&method.name, expr.span);
                    }
                }
            }
            CallKind::Method { object, method } => {
                let packet = matches!(&*object.name.name, "packet_in" | "packet_out");
                if in_parser && !packet {
                    self.not_in_parsers(&method.name.name, expr.span);
                }
                if packet && &*method.name.name == "length" {
                    self.found.warn(
                        "W0618",
                        expr.span,
                        "not portable to bmv2: a parser cannot ask for the packet's length there",
                        "use `standard_metadata.packet_length`",
                    );
                }
            }
            _ => {}
        }
    }

    fn not_in_parsers(&mut self, name: &str, span: Span) {
        self.found.warn(
            "W0604",
            span,
            format!("not portable to bmv2: `{name}` cannot be called in a parser there"),
            "do it in ingress; parsers have `extract`, `lookahead`, `advance`, `verify` and `log_msg`",
        );
    }

    fn extern_function(&mut self, decl: &Decl, expr: &Expr, in_parser: bool) {
        let name = &*decl.name.name;
        if in_parser && !matches!(name, "verify" | "log_msg" | "static_assert") {
            self.not_in_parsers(name, expr.span);
        }
        let ExprKind::Call { args, .. } = &expr.kind else {
            return;
        };
        if name.ends_with("_checksum") || name.ends_with("_checksum_with_payload") {
            let data = argument(args, "data", 1);
            self.checksum_fields(data);
            self.fields_in_a_list(name, data);
        }
        match name {
            "hash" => self.fields_in_a_list(name, argument(args, "data", 3)),
            "digest" => self.digested(argument(args, "data", 1)),
            "log_msg" => self.logged(argument(args, "data", 1)),
            "mark_to_drop" if args.is_empty() => self.found.warn(
                "W0627",
                expr.span,
                "not portable to bmv2: `mark_to_drop` takes the standard metadata there",
                "write `mark_to_drop(standard_metadata)`",
            ),
            _ => {}
        }
    }

    /// `hash` and checksums take several fields, in a list or struct.
    fn fields_in_a_list(&mut self, name: &str, data: Option<&Expr>) {
        let Some(data) = data else {
            return;
        };
        let ty = self.checked.underlying(self.checked.expr_type(data.id));
        if matches!(ty, Type::Bit(_) | Type::Signed(_) | Type::Bool) {
            self.found.warn(
                "W0626",
                data.span,
                format!("not portable to bmv2: what `{name}` takes is a list of fields there, or a struct"),
                "put braces around it: `{ field }`",
            );
        }
    }

    fn digested(&mut self, data: Option<&Expr>) {
        let ty = data.map(|data| (data, self.checked.expr_type(data.id)));
        if let Some((data, Type::Named(Kind::Header, ..))) = ty {
            self.found.warn(
                "W0628",
                data.span,
                "not portable to bmv2: a digest is a struct there, not a header",
                "declare a struct with these fields, and give them in a list",
            );
        }
    }

    /// What is logged is numbers.
    fn logged(&mut self, data: Option<&Expr>) {
        let Some(ExprKind::List { items, .. }) = data.map(|data| &data.kind) else {
            return;
        };
        for item in items {
            let ty = self.checked.underlying(self.checked.expr_type(item.id));
            if matches!(ty, Type::Named(..) | Type::Stack(..) | Type::Varbit(_)) {
                self.found.warn(
                    "W0629",
                    item.span,
                    "not portable to bmv2: it logs numbers and bools only",
                    "name the fields one by one",
                );
            }
        }
    }

    fn without_effect(&mut self, name: &str, span: Span, role: Role) {
        let checksum =
            is_checksum_call(name, "verify_checksum") || is_checksum_call(name, "update_checksum");
        match role {
            Role::Ingress | Role::Egress | Role::Deparser if checksum => self.found.warn(
                "W0623",
                span,
                format!("not portable to bmv2: `{name}` cannot be called here"),
                match name.starts_with("verify") {
                    true => "call it in the second block of the package, which verifies checksums",
                    false => "call it in the fifth block of the package, which updates checksums",
                },
            ),
            Role::Egress if name == "digest" => self.found.warn(
                "W0624",
                span,
                "no effect on bmv2: simple_switch sends digests at the end of ingress, so this one is lost",
                "call `digest` in ingress",
            ),
            _ => {}
        }
    }

    /// The fields of a checksum are fields, not sums of them.
    fn checksum_fields(&mut self, list: Option<&Expr>) {
        let Some(ExprKind::List { items, .. }) = list.map(|list| &list.kind) else {
            return;
        };
        for item in items {
            let computed = match &item.kind {
                ExprKind::Binary(op, ..) => *op != BinOp::Concat,
                ExprKind::Unary(..) | ExprKind::Conditional(..) | ExprKind::Call { .. } => true,
                _ => false,
            };
            if computed && constant(self.checked, item).is_none() {
                self.found.warn(
                    "W0607",
                    item.span,
                    "not portable to bmv2: a checksum takes fields and constants there, nothing computed",
                    "compute it into a field of the metadata in ingress or egress",
                );
            }
        }
    }

    /// The amount of a shift is a byte.
    fn shift(&mut self, amount: &Expr) {
        const MOST: u32 = 256;
        let ty = self.checked.expr_type(amount.id);
        let value = constant(self.checked, amount).and_then(|v| v.as_int().cloned());
        let refused = match ty {
            Type::Int => value.is_some_and(|n| n > MOST.into()),
            Type::Bit(width) => *width > 8,
            _ => false,
        };
        if refused {
            self.found.warn(
                "W0612",
                amount.span,
                "not portable to bmv2: it shifts by a number of at most 8 bits",
                "cast the amount: `x << (bit<8>) n`",
            );
        }
    }

    fn tables(&mut self, block: &'a Decl) {
        let found = paths(self.checked, block);
        let again = found
            .again
            .iter()
            .filter(|again| matches!(again.decl.kind, DeclKind::Table(_)));
        for table in again {
            self.applied_again(table, "a packet can come to this table twice");
        }
        for table in &found.diverging {
            self.applied_again(table, "different things follow where this table is applied");
        }
    }

    fn applied_again(&mut self, again: &Again<'a>, why: &str) {
        self.found.push(
            Diagnostic::warning("W0601", again.span, format!("not portable to bmv2: {why}"))
                .label(again.first, "applied here, too")
                .hint("declare a second table with the same keys and actions"),
        );
    }

    /// A checksum control calls the function that it is there for, and nothing else.
    fn checksums(&mut self, block: &'a Decl, function: &str) {
        let DeclKind::Control { apply, .. } = &block.kind else {
            return;
        };
        for stmt in &apply.stmts {
            let called = match &stmt.kind {
                StmtKind::Call(call) => self.checked.calls.get(&call.id).map(|call| call.kind),
                _ => None,
            };
            let (allowed, other) = match called {
                Some(CallKind::ExternFunction(decl)) => {
                    let name = &*decl.name.name;
                    (is_checksum_call(name, function), name.contains("_checksum"))
                }
                Some(CallKind::BlockApply(_) | CallKind::TypeApply(_)) => (true, false),
                _ => (
                    matches!(stmt.kind, StmtKind::Decl(_) | StmtKind::Empty),
                    false,
                ),
            };
            if !allowed {
                let hint = match (other, function) {
                    (true, "verify_checksum") => {
                        "the second block of the package verifies checksums, the fifth updates them"
                    }
                    (true, _) => {
                        "the fifth block of the package updates checksums, the second verifies them"
                    }
                    _ => "give conditions as the first argument of the call, and do the rest in ingress or egress",
                };
                self.found.warn(
                    "W0606",
                    stmt.span,
                    format!("not portable to bmv2: this control only calls `{function}` or `{function}_with_payload` there"),
                    hint,
                );
            }
        }
    }

    /// A deparser emits one header after the other; a condition is a header's validity.
    fn deparser(&mut self, block: &'a Decl) {
        let DeclKind::Control { apply, .. } = &block.kind else {
            return;
        };
        for stmt in &apply.stmts {
            let refused = match &stmt.kind {
                StmtKind::Call(call) => matches!(
                    self.checked.calls.get(&call.id).map(|c| c.kind),
                    Some(CallKind::TableApply(_) | CallKind::Builtin(_))
                ),
                StmtKind::If { .. }
                | StmtKind::Switch { .. }
                | StmtKind::For { .. }
                | StmtKind::Exit => true,
                _ => false,
            };
            if refused {
                self.found.warn(
                    "W0608",
                    stmt.span,
                    "not portable to bmv2: a deparser only emits there",
                    "make headers valid or invalid in egress; `emit` leaves out those that are not valid",
                );
            }
        }
    }

    /// A parameter of a parser, counted from 0, and its type.
    fn parameter<'p>(&self, parser: &'p Decl, place: usize) -> Option<(&'p Param, &Type)> {
        let DeclKind::Parser { proto, .. } = &parser.kind else {
            return None;
        };
        let param = proto.params.get(place)?;
        Some((param, self.checked.type_ref(param.ty.id)))
    }

    /// The user's metadata is a struct.
    fn metadata_struct(&mut self, parser: &Decl) {
        let Some((param, ty)) = self.parameter(parser, 2) else {
            return;
        };
        if !matches!(ty, Type::Named(Kind::Struct, ..) | Type::Param(..)) {
            self.found.warn(
                "W0631",
                param.span,
                format!("not portable to bmv2: the metadata is a struct there, but this is {ty}"),
                "declare a struct with it as a field",
            );
        }
    }

    /// The headers are a struct of headers, stacks and unions.
    fn headers_struct(&mut self, parser: &Decl) {
        let Some((_, Type::Named(Kind::Struct, id, ..))) = self.parameter(parser, 1) else {
            return;
        };
        let Some(DeclKind::Struct { fields, .. }) = self.checked.decls.get(id).map(|d| &d.kind)
        else {
            return;
        };
        for field in fields {
            let ty = self.checked.type_ref(field.ty.id);
            let is_header = matches!(
                ty,
                Type::Stack(..) | Type::Named(Kind::Header | Kind::Union, ..)
            );
            if !is_header {
                self.found.warn(
                    "W0619",
                    field.name.span,
                    "not portable to bmv2: the headers are a struct of headers, stacks and unions there",
                    "put it into the metadata",
                );
            }
        }
    }
}

/// An argument by its name, or else by its place.
fn argument<'e>(args: &'e [Arg], name: &str, place: usize) -> Option<&'e Expr> {
    let named = |arg: &&Arg| arg.name.as_ref().is_some_and(|own| &*own.name == name);
    let found = args.iter().find(named).or(args.get(place));
    found.map(|arg| &arg.value)
}

fn is_checksum_call(name: &str, function: &str) -> bool {
    let rest = name.strip_prefix(function);
    matches!(rest, Some("" | "_with_payload"))
}

/// Whether a function has statements that choose.
fn branches(function: &Decl) -> bool {
    let DeclKind::Function { body, .. } = &function.kind else {
        return false;
    };
    fn any(stmts: &[Stmt]) -> bool {
        stmts.iter().any(|stmt| match &stmt.kind {
            StmtKind::If { .. }
            | StmtKind::Switch { .. }
            | StmtKind::For { .. }
            | StmtKind::ForIn { .. } => true,
            StmtKind::Block(inner) => any(&inner.stmts),
            _ => false,
        })
    }
    any(&body.stmts)
}
