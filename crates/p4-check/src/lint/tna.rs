//! What the compiler for Tofino refuses of programs for TNA itself, or takes without a word and does
//! otherwise. Hints quote it where it says something.

use super::program::{Blocks, Role};
use super::walk::{self, Node, Place};
use super::{constant, Findings};
use crate::types::{Kind, Type};
use crate::{CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use std::collections::{BTreeMap, BTreeSet};

const MOST_ACTIONS: usize = 4;
/// Fields of the packet that the ALU of a register takes in.
const MOST_INPUTS: usize = 2;
const MOST_COMPARISONS: usize = 2;
const MIRROR_BITS: u64 = 32 * 8;
const RESUBMIT_BITS: u64 = 64;
const EGRESS_PARSE_BITS: u64 = 160 * 8;

/// Externs of the match-action stages, of deparsers and of parsers.
const STAGES: &[&str] = &[
    "Register",
    "DirectRegister",
    "RegisterAction",
    "DirectRegisterAction",
    "SelectorAction",
    "Hash",
    "Random",
    "Counter",
    "DirectCounter",
    "Meter",
    "DirectMeter",
    "Lpf",
    "DirectLpf",
    "Wred",
    "DirectWred",
];
const DEPARSERS: &[&str] = &["Mirror", "Resubmit", "Digest"];
const PARSERS: &[&str] = &["ParserCounter", "ParserPriority"];

pub(super) fn lint<'a>(checked: &Checked<'a>, blocks: &Blocks<'a>, found: &mut Findings) {
    let mut lints = Tna {
        checked,
        found,
        actions: BTreeMap::new(),
    };
    let visit = &mut |node: Node<'a>, place: Place<'a>| match node {
        Node::Decl(decl) => lints.declaration(decl),
        Node::Expr(expr) => lints.call(expr, place),
        Node::Stmt(_) | Node::State(_) => {}
    };
    walk::program(&checked.program.decls, blocks, visit);
    for parser in &blocks.egress_parsers {
        lints.egress_depth(parser);
    }
}

struct Tna<'c, 'a> {
    checked: &'c Checked<'a>,
    found: &'c mut Findings,
    /// For each register how many actions it has
    actions: BTreeMap<NodeId, usize>,
}

/// For each variable of a method, or field of one, the fields of the packet that it was given
type Copies = BTreeMap<String, BTreeSet<String>>;

pub(super) fn first_name(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}

/// The name of the extern that an instance is of.
pub(super) fn extern_of<'c>(checked: &'c Checked<'_>, instance: NodeId) -> Option<&'c str> {
    match checked.expr_type(instance) {
        Type::Named(Kind::Extern, _, name, _) => Some(name),
        _ => None,
    }
}

impl<'a> Tna<'_, 'a> {
    fn declaration(&mut self, decl: &'a Decl) {
        let DeclKind::Instance { args, body, .. } = &decl.kind else {
            return;
        };
        match extern_of(self.checked, decl.id) {
            Some("RegisterAction" | "DirectRegisterAction") => {}
            _ => return,
        }
        let register = args
            .first()
            .and_then(|arg| self.checked.defs.get(&arg.value.id));
        if let Some(Def::Instance(register)) = register {
            let actions = self.actions.entry(register.id).or_default();
            *actions += 1;
            if *actions == MOST_ACTIONS + 1 {
                self.found.push(
                    Diagnostic::warning(
                        "W0718",
                        decl.name.span,
                        format!("not portable to Tofino: a register has at most {MOST_ACTIONS} RegisterActions"),
                    )
                    .label(register.name.span, "the register")
                    .hint("join some of them by a condition; the chip's compiler says `too many RegisterActions attached to the Register`"),
                );
            }
        }
        for method in body.iter().flatten() {
            if let DeclKind::Function { params, .. } = &method.kind {
                let own: Vec<&str> = params.iter().map(|param| &*param.name.name).collect();
                let copies = self.copies(method, &own);
                self.comparisons(method, &own, &copies);
                self.inputs(method, &own, &copies);
                super::tna_registers::reads(self.checked, method, self.found);
            }
        }
    }

    /// The comparisons in the body of a RegisterAction.
    fn comparisons(&mut self, method: &'a Decl, own: &[&str], copies: &Copies) {
        let mut different: BTreeMap<String, Span> = BTreeMap::new();
        let mut two_fields: Vec<Span> = Vec::new();
        let mut sums: Vec<Span> = Vec::new();
        walk::expressions_of(method, &mut |expr| {
            let ExprKind::Binary(op, a, b) = &expr.kind else {
                return;
            };
            let compares = matches!(
                op,
                BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne
            );
            if !compares {
                return;
            }
            different.entry(self.text(expr)).or_insert(expr.span);
            let mut fields = BTreeSet::new();
            self.fields(a, own, copies, &mut fields);
            self.fields(b, own, copies, &mut fields);
            if fields.len() > 1 {
                two_fields.push(expr.span);
            }
            if self.is_unsigned_sum(a) || self.is_unsigned_sum(b) {
                sums.push(expr.span);
            }
        });
        let mut spans: Vec<Span> = different.into_values().collect();
        spans.sort_unstable();
        if let Some(span) = spans.get(MOST_COMPARISONS) {
            let hint = format!(
                "subtract and look at the sign; the chip's compiler says `needs {} comparisons but the device only has {MOST_COMPARISONS} comparison units`",
                spans.len()
            );
            self.found.warn(
                "W0719",
                *span,
                format!("not portable to Tofino: a RegisterAction compares at most {MOST_COMPARISONS} times"),
                &hint,
            );
        }
        for span in sums {
            self.found.warn(
                "W0736",
                span,
                "not portable to Tofino: a RegisterAction compares this sum before it wraps, P4 compares it afterwards",
                "cast the sum to int<32>, as in `(int<32>)(a - b) > c`: then both look at the sign of its low bits; the chip's compiler says nothing",
            );
        }
        for span in two_fields {
            self.found.warn(
                "W0723",
                span,
                "not portable to Tofino: a RegisterAction compares its cell with one field of the packet, not fields with each other",
                "compare them before, and hand the result over; the chip's assembler says `Can't have more than one phv_ixb operand to an SALU compare`",
            );
        }
    }

    /// The fields of the packet that the body of a RegisterAction takes.
    fn inputs(&mut self, method: &'a Decl, own: &[&str], copies: &Copies) {
        let mut taken = BTreeSet::new();
        let mut beyond = None;
        walk::nodes_of(method, &mut |node| {
            let value = match node {
                Node::Decl(decl) => match &decl.kind {
                    DeclKind::Variable { init, .. } => init.as_ref(),
                    _ => None,
                },
                Node::Stmt(stmt) => match &stmt.kind {
                    StmtKind::Assign { rhs, .. } | StmtKind::AssignOp { rhs, .. } => Some(rhs),
                    StmtKind::If { cond, .. } => Some(cond),
                    _ => None,
                },
                _ => None,
            };
            if let Some(value) = value {
                self.fields(value, own, copies, &mut taken);
                if taken.len() > MOST_INPUTS && beyond.is_none() {
                    beyond = Some(value.span);
                }
            }
        });
        if let Some(span) = beyond {
            let fields: Vec<String> = taken.into_iter().collect();
            self.found.warn(
                "W0743",
                span,
                format!(
                    "not portable to Tofino: a RegisterAction takes at most {MOST_INPUTS} fields of the packet, not {}",
                    fields.join(", ")
                ),
                "compute before what can be computed before, and hand over the results; the chip's compiler says `requires more than 2 PHV inputs`",
            );
        }
    }

    fn is_unsigned_sum(&self, expr: &Expr) -> bool {
        let ty = self.checked.underlying(self.checked.expr_type(expr.id));
        matches!(expr.kind, ExprKind::Binary(BinOp::Add | BinOp::Sub, ..))
            && matches!(ty, Type::Bit(_))
            && constant(self.checked, expr).is_none()
    }

    /// The variables of the method, each with the fields of the packet that it was given.
    fn copies(&self, method: &'a Decl, own: &[&str]) -> Copies {
        let mut copies = Copies::new();
        walk::nodes_of(method, &mut |node| {
            let (to, value) = match node {
                Node::Decl(decl) => match &decl.kind {
                    DeclKind::Variable { init, .. } => {
                        (Some(decl.name.name.to_string()), init.as_ref())
                    }
                    _ => return,
                },
                Node::Stmt(stmt) => match &stmt.kind {
                    StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
                        (super::tofino::written_path(lhs), Some(rhs))
                    }
                    _ => return,
                },
                _ => return,
            };
            let is_variable = matches!(node, Node::Decl(_));
            let Some(to) = to.filter(|to| is_variable || copies.contains_key(first_name(to)))
            else {
                return;
            };
            let mut fields = BTreeSet::new();
            if let Some(value) = value {
                self.fields(value, own, &copies, &mut fields);
            }
            copies.entry(to).or_default().extend(fields);
        });
        copies
    }

    /// Fields of the packet in an operand: paths that do not begin with a parameter of the method. In
    /// the place of a variable of the method stand the fields it was given.
    fn fields(&self, expr: &Expr, own: &[&str], copies: &Copies, fields: &mut BTreeSet<String>) {
        if constant(self.checked, expr).is_some() {
            return;
        }
        if let Some(path) = super::tofino::written_path(expr) {
            let first = first_name(&path);
            if copies.contains_key(first) {
                let whole = |outer: &str, inner: &str| {
                    inner
                        .strip_prefix(outer)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                for (written, given) in copies {
                    if whole(written, &path) || whole(&path, written) {
                        fields.extend(given.iter().cloned());
                    }
                }
            } else if !own.contains(&first) {
                fields.insert(path);
            }
            return;
        }
        // What is called is no field; what it is called with may be.
        let called = match &expr.kind {
            ExprKind::Call { func, .. } => Some(func.id),
            _ => None,
        };
        for child in expr.children() {
            if Some(child.id) != called {
                self.fields(child, own, copies, fields);
            }
        }
    }

    /// An expression as text, the same for what is the same.
    fn text(&self, expr: &Expr) -> String {
        if let Some(value) = constant(self.checked, expr).and_then(|v| v.as_int().cloned()) {
            return value.to_string();
        }
        if let Some(path) = super::tofino::written_path(expr) {
            return path;
        }
        let what = match &expr.kind {
            ExprKind::Binary(op, ..) => format!("{op:?}"),
            ExprKind::Unary(op, _) => format!("{op:?}"),
            ExprKind::Cast(..) => "Cast".to_string(),
            _ => format!("{:?}", expr.id),
        };
        let parts: Vec<String> = expr.children().into_iter().map(|e| self.text(e)).collect();
        format!("{what}({})", parts.join(","))
    }

    fn call(&mut self, expr: &'a Expr, place: Place<'a>) {
        let Some(info) = self.checked.calls.get(&expr.id) else {
            return;
        };
        let CallKind::Method { object, method } = info.kind else {
            return;
        };
        let name = &*object.name.name;
        self.placement(name, &method.name.name, expr.span, place);
        let ExprKind::Call { args, .. } = &expr.kind else {
            return;
        };
        let data = match (name, &*method.name.name) {
            ("Mirror", "emit") => args.get(1),
            ("Resubmit", "emit") | ("Digest", "pack") => args.first(),
            _ => return,
        };
        let Some(data) = data.map(|arg| &arg.value) else {
            return;
        };
        self.constants_in(data);
        let sent_as = info.type_args.first();
        let sent = sent_as.and_then(|ty| self.checked.size_in_bits(ty));
        let bits = sent.map_or_else(|| self.bits(data), |(_, most)| most);
        if name == "Mirror" && bits > MIRROR_BITS {
            self.found.warn(
                "W0720",
                data.span,
                format!("not portable to Tofino: the header of a mirror has at most 32 bytes, but this has {}", bits.div_ceil(8)),
                "send less along (an index of a table entry, say); the chip's compiler says `mirror digest limited to 32 bytes`",
            );
        }
        if name == "Resubmit" && bits != RESUBMIT_BITS {
            self.found.warn(
                "W0722",
                data.span,
                format!("not portable to Tofino: the data of a resubmission must have exactly 8 bytes, but these have {}", bits.div_ceil(8)),
                "fill them up with a field of zeros; the chip's compiler says nothing, and the parser then reads the packet at the wrong place",
            );
        }
    }

    fn bits(&self, data: &Expr) -> u64 {
        if let ExprKind::List { items, .. } = &data.kind {
            return items.iter().map(|item| self.bits(item)).sum();
        }
        let ty = self.checked.expr_type(data.id);
        self.checked.size_in_bits(ty).map_or(0, |(_, most)| most)
    }

    fn constants_in(&mut self, data: &Expr) {
        let ExprKind::List { items, .. } = &data.kind else {
            return;
        };
        for item in items {
            let value = constant(self.checked, item).and_then(|v| v.as_int().cloned());
            if value.is_some_and(|value| value != 0.into()) {
                self.found.warn(
                    "W0724",
                    item.span,
                    "not portable to Tofino: a deparser cannot put a number other than zero into the data of a mirror, resubmission or digest",
                    "write it to a field of the metadata in a control; the chip's compiler says `Non-zero constant value in digest field list is not supported on tofino`",
                );
            }
        }
    }

    fn placement(&mut self, object: &str, method: &str, span: Span, place: Place<'a>) {
        let is_in = |list: &[&str]| list.contains(&object);
        let wrong = match place.role {
            Role::Deparser if is_in(STAGES) || is_in(PARSERS) => "a deparser",
            Role::Ingress | Role::Egress if is_in(DEPARSERS) || is_in(PARSERS) => {
                "a match-action control"
            }
            Role::Ingress | Role::Egress if object == "Checksum" => "a match-action control",
            Role::Parser if is_in(DEPARSERS) => "a parser",
            _ => return,
        };
        let hint = match (is_in(STAGES), is_in(PARSERS), object) {
            (true, ..) => "do it in ingress or egress",
            (_, true, _) => "do it in the parser",
            (_, _, "Checksum") => "verify in the parser, compute in the deparser",
            _ => "do it in the deparser, and say in a control whether to",
        };
        self.found.warn(
            "W0721",
            span,
            format!("not portable to Tofino: `{object}.{method}` does not work in {wrong}"),
            hint,
        );
    }

    /// The most that the egress parser reads on any way.
    fn egress_depth(&mut self, parser: &'a Decl) {
        let DeclKind::Parser { states, .. } = &parser.kind else {
            return;
        };
        let start = states.iter().find(|state| &*state.name.name == "start");
        let mut way = Vec::new();
        let deepest = start.map_or(0, |start| self.depth(states, start, &mut way));
        if deepest > EGRESS_PARSE_BITS {
            self.found.warn(
                "W0725",
                parser.name.span,
                format!("not portable to Tofino: the egress parser reads at most 160 bytes, but this one reads up to {}", deepest.div_ceil(8)),
                "leave headers that egress does not change to the payload",
            );
        }
    }

    /// Bits read from here on; a state is passed once on each way.
    fn depth(&self, states: &'a [State], state: &'a State, way: &mut Vec<Span>) -> u64 {
        const LONGEST: usize = 64;
        if way.len() >= LONGEST || way.contains(&state.name.span) {
            return 0;
        }
        way.push(state.name.span);
        let mut own = 0;
        for stmt in &state.body {
            walk::expressions_in(stmt, &mut |expr| own += self.extracted(expr));
        }
        let next: Vec<&Ident> = match &state.transition {
            Transition::Missing(_) => Vec::new(),
            Transition::Direct(next) => vec![next],
            Transition::Select { cases, .. } => cases.iter().map(|case| &case.next).collect(),
        };
        let mut deepest = 0;
        for name in next {
            let found = states.iter().find(|state| state.name.name == name.name);
            deepest = deepest.max(found.map_or(0, |state| self.depth(states, state, way)));
        }
        way.pop();
        own + deepest
    }

    fn extracted(&self, expr: &Expr) -> u64 {
        let Some(CallKind::Method { object, method }) =
            self.checked.calls.get(&expr.id).map(|call| call.kind)
        else {
            return 0;
        };
        let ExprKind::Call { args, .. } = &expr.kind else {
            return 0;
        };
        match (&*object.name.name, &*method.name.name, args.first()) {
            ("packet_in", "extract", Some(arg)) => self.bits(&arg.value),
            ("packet_in", "advance", Some(arg)) => {
                let bits = constant(self.checked, &arg.value).and_then(|v| v.as_int().cloned());
                bits.and_then(|bits| u64::try_from(bits).ok()).unwrap_or(0)
            }
            _ => 0,
        }
    }
}
