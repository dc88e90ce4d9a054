//! Statements (specification 12).

use crate::coerce::article;
use crate::types::{Kind, Type};
use crate::wellformed::is_instance;
use crate::{Checker, Def};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::HashMap;

impl<'a> Checker<'a> {
    pub(crate) fn block(&mut self, block: &'a Block) {
        self.scopes.push();
        self.statements(&block.stmts);
        self.scopes.pop();
    }

    pub(crate) fn statements(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.statement(stmt);
        }
    }

    pub(crate) fn statement(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Empty => {}
            StmtKind::Decl(decl) => {
                match &decl.kind {
                    DeclKind::Variable { ty, init } => {
                        self.hides_parameter(&decl.name);
                        return self.variable(decl, ty, init.as_ref(), true);
                    }
                    DeclKind::Instance { .. } => self.instance_among_statements(decl),
                    _ => {}
                }
                self.local(decl);
            }
            StmtKind::Call(call) => {
                self.expr(call);
            }
            StmtKind::Assign { lhs, rhs } => {
                let target = self.value_expr(lhs);
                self.value_expr(rhs);
                if self.lvalue(lhs) {
                    if matches!(
                        target,
                        Type::Named(
                            Kind::Extern | Kind::Package | Kind::Parser | Kind::Control,
                            ..
                        )
                    ) {
                        self.error("E0324", lhs.span, "instances cannot be assigned");
                    } else {
                        self.coerce(rhs, &target);
                    }
                }
            }
            StmtKind::AssignOp { op, lhs, rhs } => self.assign_op(stmt, *op, lhs, rhs),
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.value_expr(cond);
                self.coerce(cond, &Type::Bool);
                self.scoped(then);
                if let Some(otherwise) = otherwise {
                    self.scoped(otherwise);
                }
            }
            StmtKind::Switch { value, cases } => self.switch(stmt, value, cases),
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => {
                self.scopes.push();
                self.statements(init);
                self.value_expr(cond);
                self.coerce(cond, &Type::Bool);
                self.statements(update);
                self.context.loops += 1;
                self.scoped(body);
                self.context.loops -= 1;
                self.scopes.pop();
            }
            StmtKind::ForIn { var, range, body } => self.for_in(var, range, body),
            StmtKind::Break | StmtKind::Continue => {
                if self.context.loops == 0 {
                    let word = if matches!(stmt.kind, StmtKind::Break) {
                        "break"
                    } else {
                        "continue"
                    };
                    self.error(
                        "E0346",
                        stmt.span,
                        format!("`{word}` has a meaning inside loops only"),
                    );
                }
            }
            StmtKind::Return(value) => self.return_stmt(stmt, value.as_ref()),
            StmtKind::Exit => {
                if self.context.in_parser {
                    self.error("E0347", stmt.span, "`exit` cannot be used in a parser");
                } else if self.context.in_function {
                    self.error("E0347", stmt.span, "`exit` cannot be used in a function");
                }
            }
            StmtKind::Block(block) => self.block(block),
        }
    }

    /// Instances exist before packets do. In actions and functions none can be declared at all.
    fn instance_among_statements(&mut self, decl: &'a Decl) {
        if !self.context.in_action && !self.context.in_function {
            self.report(
                Diagnostic::error(
                    "E0343",
                    decl.span,
                    format!("`{}` cannot be made among statements", decl.name.name),
                )
                .hint("declare the instance above, next to the actions and tables"),
            );
        }
    }

    fn scoped(&mut self, stmt: &'a Stmt) {
        self.scopes.push();
        self.statement(stmt);
        self.scopes.pop();
    }

    fn assign_op(&mut self, stmt: &'a Stmt, op: BinOp, lhs: &'a Expr, rhs: &'a Expr) {
        let target = self.value_expr(lhs);
        let value = self.value_expr(rhs);
        if !self.lvalue(lhs) || target == Type::Unknown || value == Type::Unknown {
            return;
        }
        let shift = matches!(op, BinOp::Shl | BinOp::Shr);
        let base = self.out.underlying(&target);
        if !base.is_numeric() || base != target {
            self.error(
                "E0308",
                stmt.span,
                format!(
                    "`{}=` does not work on {target}",
                    crate::operator_symbol(op)
                ),
            );
        } else if shift {
            if !matches!(value, Type::Bit(_) | Type::Int) {
                self.error(
                    "E0503",
                    rhs.span,
                    "a shift amount must be an unsigned number",
                );
            }
        } else if self.coerce(rhs, &target) && matches!(op, BinOp::Div | BinOp::Mod) {
            let divisor = self.const_value(rhs);
            if divisor
                .as_ref()
                .and_then(|v| v.as_int())
                .is_some_and(|n| n.bits() == 0)
            {
                self.error("E0502", rhs.span, "division by zero");
            } else {
                self.division_at_run_time(stmt.span, divisor.as_ref());
            }
        }
    }

    fn switch(&mut self, stmt: &'a Stmt, value: &'a Expr, cases: &'a [SwitchCase]) {
        if self.context.in_parser {
            self.report(
                Diagnostic::error("E0348", stmt.span, "`switch` cannot be used in a parser")
                    .hint("parsers branch by `transition select(...)`"),
            );
        }
        let ty = self.value_expr(value);
        let mut default_seen: Option<p4_syntax::span::Span> = None;
        let mut labels: HashMap<String, p4_syntax::span::Span> = HashMap::default();
        for case in cases {
            if let Some(default) = default_seen {
                self.report(
                    Diagnostic::error(
                        "E0349",
                        case.span,
                        "`default` must be the last label of a switch",
                    )
                    .label(default, "`default` is here"),
                );
            }
            match &case.label {
                SwitchLabel::Default(span) => {
                    default_seen = Some(*span);
                }
                SwitchLabel::Expr(label) => {
                    let key = match &ty {
                        Type::ActionRun(table) => self.action_label(*table, label),
                        Type::Unknown => {
                            self.expr(label);
                            None
                        }
                        other => {
                            self.value_expr(label);
                            let wanted = other.clone();
                            self.coerce(label, &wanted);
                            let constant = self.const_value(label).map(|v| format!("{v:?}"));
                            if constant.is_none() {
                                self.require_constant(label, "a label of a switch");
                            }
                            constant
                        }
                    };
                    if let Some(first) = key.and_then(|k| labels.insert(k, label.span)) {
                        self.report(
                            Diagnostic::error(
                                "E0349",
                                label.span,
                                "this label appears twice in the switch",
                            )
                            .label(first, "the first is here"),
                        );
                    }
                }
            }
            if let Some(body) = &case.body {
                self.block(body);
            }
        }
        let known = matches!(
            ty,
            Type::ActionRun(_)
                | Type::Unknown
                | Type::Named(Kind::Enum | Kind::SerEnum, ..)
                | Type::Int
        ) || ty.fixed_width().is_some();
        if !known {
            let mut diagnostic = Diagnostic::error(
                "E0404",
                value.span,
                format!(
                    "`switch` works on `table.apply().action_run`, numbers and enums, not on {ty}"
                ),
            );
            if ty == Type::Bool {
                diagnostic = diagnostic.hint("choose by `if`");
            } else if ty.is_kind(Kind::NewType) {
                let base = self.out.underlying(&ty);
                diagnostic = diagnostic.hint(format!("cast it to {base}"));
            }
            self.report(diagnostic);
        }
    }

    fn action_label(&mut self, table: NodeId, label: &'a Expr) -> Option<String> {
        let ExprKind::Path(path) = &label.kind else {
            self.error(
                "E0413",
                label.span,
                "the labels of this switch must be names of the table's actions",
            );
            return None;
        };
        let names = self.table_actions(table);
        if !names.iter().any(|(name, _)| *name == path.ident.name) {
            let list: Vec<String> = names.iter().map(|(n, _)| format!("`{n}`")).collect();
            self.report(
                Diagnostic::error(
                    "E0413",
                    label.span,
                    format!("`{}` is not an action of this table", path.ident.name),
                )
                .hint(format!("the table has {}", list.join(", "))),
            );
            return None;
        }
        if let Some(def) = self.resolve_quietly(path) {
            self.out.defs.insert(label.id, def);
        }
        Some(path.ident.name.to_string())
    }

    fn for_in(&mut self, var: &'a ForVar, range: &'a Expr, body: &'a Stmt) {
        self.scopes.push();
        let range_type = self.value_expr(range);
        let variable = match var {
            ForVar::Decl(decl) => {
                self.local(decl);
                match &decl.kind {
                    DeclKind::Variable { ty, .. } => self.out.type_ref(ty.id).clone(),
                    _ => Type::Unknown,
                }
            }
            ForVar::Name(name) => {
                self.report(
                    Diagnostic::error(
                        "E0350",
                        name.span,
                        "the variable of `for ... in` must be declared in the loop",
                    )
                    .hint("write its type in front, as in `for (bit<8> i in 1..6)`"),
                );
                self.value_expr(name)
            }
        };
        match range_type {
            Type::Set(_) => {
                if let ExprKind::Range(lo, hi) = &range.kind {
                    self.coerce(lo, &variable);
                    self.coerce(hi, &variable);
                }
            }
            Type::Stack(element, _) | Type::List(element) => {
                if !self.unify(&variable, &element) {
                    self.error(
                        "E0302",
                        range.span,
                        format!("this holds {element}, but the variable is {variable}"),
                    );
                }
            }
            Type::Unknown => {}
            other => self.error(
                "E0350",
                range.span,
                format!("`for ... in` runs over ranges, lists and stacks, not over {other}"),
            ),
        }
        self.context.loops += 1;
        self.scoped(body);
        self.context.loops -= 1;
        self.scopes.pop();
    }

    fn return_stmt(&mut self, stmt: &'a Stmt, value: Option<&'a Expr>) {
        if self.context.in_parser {
            self.error("E0351", stmt.span, "`return` cannot be used in a parser");
        }
        let wanted = self.context.return_type.clone().unwrap_or(Type::Void);
        match (value, wanted) {
            (Some(value), Type::Void) => {
                self.value_expr(value);
                self.error(
                    "E0351",
                    value.span,
                    "nothing can be returned here: it is not a function with a result",
                );
            }
            (Some(value), wanted) => {
                self.value_expr(value);
                self.coerce(value, &wanted);
            }
            (None, Type::Void | Type::Unknown) => {}
            (None, wanted) => self.error(
                "E0351",
                stmt.span,
                format!("a value of type {wanted} must be returned here"),
            ),
        }
    }

    /// An instance that is declared like a variable: `counter c;`
    fn instance_as_variable(&mut self, decl: &Decl, declared: &Type, among_statements: bool) {
        let name = &decl.name.name;
        let Type::Named(_, id, type_name, _) = declared else {
            return;
        };
        let packet = match &**type_name {
            "packet_in" => Some("read from the packet in the parser, which has it as a parameter"),
            "packet_out" => {
                Some("emit headers in the deparser, which has the packet as a parameter")
            }
            _ => None,
        };
        let (message, hint) = match packet {
            Some(hint) => (
                format!("`{name}` is {declared}, and a program cannot make a packet of its own"),
                hint.to_string(),
            ),
            None => {
                let params = self
                    .out
                    .decls
                    .get(id)
                    .map_or(&[][..], |d| longest_constructor(d));
                let params: Vec<&str> = params.iter().map(|p| &*p.name.name).collect();
                let place = match among_statements {
                    true => "declare it above, outside of the statements:",
                    false => "write",
                };
                let written = declared.written();
                (
                    format!(
                        "`{name}` is an instance of {declared}, so it needs constructor arguments"
                    ),
                    format!("{place} `{written}({}) {name};`", params.join(", ")),
                )
            }
        };
        self.report(Diagnostic::error("E0352", decl.span, message).hint(hint));
    }

    fn variable(
        &mut self,
        decl: &'a Decl,
        ty: &'a TypeRef,
        init: Option<&'a Expr>,
        among_statements: bool,
    ) {
        self.out.decls.insert(decl.id, decl);
        self.annotations(&decl.annotations);
        let declared = self.type_ref(ty);
        if is_instance(&declared) {
            self.instance_as_variable(decl, &declared, among_statements);
        } else if matches!(
            declared,
            Type::Int | Type::Void | Type::String | Type::MatchKind
        ) {
            let message = format!("a variable cannot be of type {declared}");
            let hint = match declared {
                Type::Int => "give it a width, as in `bit<16>` or `int<16>`",
                _ => "use bit<W>, int<W>, bool, an enum, a header or a struct",
            };
            self.report(Diagnostic::error("E0302", ty.span, message).hint(hint));
        }
        if let Some(init) = init {
            self.value_expr(init);
            self.coerce(init, &declared);
        }
        self.declare(&decl.name, Def::Var(decl));
    }

    /// A declaration inside a parser, control, block or instance body.
    pub(crate) fn local(&mut self, decl: &'a Decl) {
        match &decl.kind {
            DeclKind::Variable { ty, init } => self.variable(decl, ty, init.as_ref(), false),
            DeclKind::Const { .. } | DeclKind::Instance { .. } | DeclKind::Function { .. } => {
                self.declaration(decl)
            }
            DeclKind::Action { .. } => self.declaration(decl),
            DeclKind::Table(properties) => self.table(decl, properties),
            DeclKind::ValueSet { element, size } => {
                self.out.decls.insert(decl.id, decl);
                self.annotations(&decl.annotations);
                let ty = self.type_ref(element);
                if !self.set_element_allowed(&ty) {
                    let message = format!("a value set cannot hold {}", article(&ty));
                    self.error("E0318", element.span, message);
                }
                self.expr(size);
                if self.const_value(size).is_none() {
                    self.require_constant_size(size, "the size of a value set");
                }
                self.declare(&decl.name, Def::ValueSet(decl));
            }
            // Out of place, as the parser has said.
            _ => {}
        }
    }
}

/// Whether every way through the statements ends in `return` or `exit`.
pub(crate) fn always_returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Exit => true,
        StmtKind::Block(block) => always_returns(&block.stmts),
        StmtKind::If {
            then,
            otherwise: Some(otherwise),
            ..
        } => {
            always_returns(std::slice::from_ref(then))
                && always_returns(std::slice::from_ref(otherwise))
        }
        StmtKind::Switch { cases, .. } => {
            let default = cases
                .iter()
                .any(|c| matches!(c.label, SwitchLabel::Default(_)));
            let falls_off = cases.last().is_some_and(|c| c.body.is_none());
            default
                && !falls_off
                && cases
                    .iter()
                    .filter_map(|c| c.body.as_ref())
                    .all(|b| always_returns(&b.stmts))
        }
        _ => false,
    })
}

/// The parameters of the constructor that has the most.
fn longest_constructor(decl: &Decl) -> &[Param] {
    match &decl.kind {
        DeclKind::ExternObject { methods, .. } => {
            let constructors = methods.iter().filter_map(|method| match &method.kind {
                DeclKind::Method {
                    proto,
                    is_constructor: true,
                    ..
                } => Some(proto.params.as_slice()),
                _ => None,
            });
            constructors
                .max_by_key(|params| params.len())
                .unwrap_or(&[])
        }
        DeclKind::Parser { ctor_params, .. } | DeclKind::Control { ctor_params, .. } => ctor_params,
        DeclKind::Package { params, .. } => params,
        _ => &[],
    }
}
