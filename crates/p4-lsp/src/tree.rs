//! Every name of a syntax tree, with what is written there.

use p4_syntax::ast::*;
use p4_syntax::Span;

/// What stands at a name.
#[derive(Clone, Copy)]
pub(crate) enum Site<'a> {
    /// The name in a declaration; `None` outside of any other declaration
    Decl(&'a Decl),
    Param(&'a Param),
    Field(&'a Decl, &'a Field),
    /// A member of an enum, of `error` or of `match_kind`
    Member(&'a Decl, &'a Ident),
    TypeParam(&'a Decl, &'a Ident),
    /// The name of a state, where it is declared
    State(&'a Decl, &'a State),
    /// A state named by a transition in this parser
    StateRef(&'a Decl, &'a Ident),
    /// A path in an expression
    Path(&'a Expr, &'a Ident),
    /// `base.member`; the call whose function it is
    MemberOf {
        base: &'a Expr,
        member: &'a Ident,
        call: Option<NodeId>,
    },
    /// `T.member`
    TypeMember(&'a TypeRef, &'a Ident),
    Type(&'a Ident),
    Action(&'a ActionRef),
    MatchKind(&'a Ident),
    Number(&'a Expr),
}

/// The site at `pos`: the smallest one, and of two that touch there the one that begins there.
pub(crate) fn site_at(program: &Program, pos: u32) -> Option<(Span, Site<'_>)> {
    let mut best: Option<(Span, Site)> = None;
    let mut visitor = Visitor {
        visit: &mut |span, site| {
            if span.lo <= pos && pos <= span.hi && span != Span::NONE {
                let rank = |span: Span| (span.hi == pos, span.hi - span.lo);
                if best.is_none_or(|(old, _)| rank(span) < rank(old)) {
                    best = Some((span, site));
                }
            }
        },
        parser: None,
    };
    visitor.decls(&program.decls);
    best
}

struct Visitor<'a, 'v> {
    visit: &'v mut dyn FnMut(Span, Site<'a>),
    /// The parser whose states are being visited
    parser: Option<&'a Decl>,
}

impl<'a> Visitor<'a, '_> {
    fn decls(&mut self, decls: &'a [Decl]) {
        for decl in decls {
            self.decl(decl);
        }
    }

    fn decl(&mut self, decl: &'a Decl) {
        (self.visit)(decl.name.span, Site::Decl(decl));
        self.annotations(&decl.annotations);
        match &decl.kind {
            DeclKind::Const { ty, value } => {
                self.type_ref(ty);
                self.expr(value);
            }
            DeclKind::Variable { ty, init } => {
                self.type_ref(ty);
                self.exprs(init);
            }
            DeclKind::Instance { ty, args, body } => {
                self.type_ref(ty);
                self.args(args);
                self.decls(body.as_deref().unwrap_or_default());
            }
            DeclKind::Error { members } | DeclKind::MatchKind { members } => {
                for member in members {
                    (self.visit)(member.span, Site::Member(decl, member));
                }
            }
            DeclKind::Enum {
                underlying,
                members,
            } => {
                underlying.iter().for_each(|ty| self.type_ref(ty));
                for member in members {
                    (self.visit)(member.name.span, Site::Member(decl, &member.name));
                    self.exprs(&member.value);
                }
            }
            DeclKind::Header {
                type_params,
                fields,
            }
            | DeclKind::HeaderUnion {
                type_params,
                fields,
            }
            | DeclKind::Struct {
                type_params,
                fields,
            } => {
                self.type_params(decl, type_params);
                for field in fields {
                    (self.visit)(field.name.span, Site::Field(decl, field));
                    self.annotations(&field.annotations);
                    self.type_ref(&field.ty);
                }
            }
            DeclKind::Typedef { ty, .. } => self.type_ref(ty),
            DeclKind::Action { params, body } => {
                self.params(params);
                self.block(body);
            }
            DeclKind::Function {
                ret,
                type_params,
                params,
                body,
            } => {
                self.type_ref(ret);
                self.type_params(decl, type_params);
                self.params(params);
                self.block(body);
            }
            DeclKind::ExternFunction(proto) | DeclKind::Method { proto, .. } => {
                self.type_ref(&proto.ret);
                self.type_params(decl, &proto.type_params);
                self.params(&proto.params);
            }
            DeclKind::ExternObject {
                type_params,
                methods,
            } => {
                self.type_params(decl, type_params);
                self.decls(methods);
            }
            DeclKind::ParserType(proto) | DeclKind::ControlType(proto) => self.proto(decl, proto),
            DeclKind::Parser {
                proto,
                ctor_params,
                locals,
                states,
            } => {
                self.proto(decl, proto);
                self.params(ctor_params);
                self.decls(locals);
                let outer = self.parser.replace(decl);
                states.iter().for_each(|state| self.state(decl, state));
                self.parser = outer;
            }
            DeclKind::Control {
                proto,
                ctor_params,
                locals,
                apply,
            } => {
                self.proto(decl, proto);
                self.params(ctor_params);
                self.decls(locals);
                self.block(apply);
            }
            DeclKind::Package {
                type_params,
                params,
            } => {
                self.type_params(decl, type_params);
                self.params(params);
            }
            DeclKind::Table(properties) => {
                properties
                    .iter()
                    .for_each(|property| self.property(property));
            }
            DeclKind::ValueSet { element, size } => {
                self.type_ref(element);
                self.expr(size);
            }
        }
    }

    fn proto(&mut self, decl: &'a Decl, proto: &'a ParserProto) {
        self.type_params(decl, &proto.type_params);
        self.params(&proto.params);
    }

    fn type_params(&mut self, decl: &'a Decl, names: &'a [Ident]) {
        for name in names {
            (self.visit)(name.span, Site::TypeParam(decl, name));
        }
    }

    fn params(&mut self, params: &'a [Param]) {
        for param in params {
            (self.visit)(param.name.span, Site::Param(param));
            self.annotations(&param.annotations);
            self.type_ref(&param.ty);
            self.exprs(&param.default);
        }
    }

    fn annotations(&mut self, annotations: &'a [Annotation]) {
        for annotation in annotations {
            match &annotation.body {
                AnnotationBody::None => {}
                AnnotationBody::Unstructured { exprs, .. } | AnnotationBody::Exprs(exprs) => {
                    self.exprs(exprs);
                }
                AnnotationBody::Pairs(pairs) => self.exprs(pairs.iter().map(|(_, e)| e)),
            }
        }
    }

    fn property(&mut self, property: &'a TableProperty) {
        match &property.value {
            PropertyValue::Key(elements) => {
                for element in elements {
                    self.expr(&element.expr);
                    let kind = &element.match_kind;
                    (self.visit)(kind.span, Site::MatchKind(kind));
                    self.annotations(&element.annotations);
                }
            }
            PropertyValue::Actions(actions) => actions.iter().for_each(|a| self.action(a)),
            PropertyValue::Entries(entries) => {
                for entry in entries {
                    self.exprs(&entry.priority);
                    self.exprs(&entry.keyset);
                    self.action(&entry.action);
                }
            }
            PropertyValue::Expr(expr) => self.expr(expr),
        }
    }

    fn action(&mut self, action: &'a ActionRef) {
        (self.visit)(action.path.ident.span, Site::Action(action));
        self.args(action.args.as_deref().unwrap_or_default());
    }

    fn state(&mut self, parser: &'a Decl, state: &'a State) {
        (self.visit)(state.name.span, Site::State(parser, state));
        self.stmts(&state.body);
        match &state.transition {
            Transition::Missing(_) => {}
            Transition::Direct(next) => self.state_ref(next),
            Transition::Select { keys, cases, .. } => {
                self.exprs(keys);
                for case in cases {
                    self.exprs(&case.keyset);
                    self.state_ref(&case.next);
                }
            }
        }
    }

    fn state_ref(&mut self, name: &'a Ident) {
        if let Some(parser) = self.parser {
            (self.visit)(name.span, Site::StateRef(parser, name));
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.stmts(&block.stmts);
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Empty | StmtKind::Break | StmtKind::Continue | StmtKind::Exit => {}
            StmtKind::Decl(decl) => self.decl(decl),
            StmtKind::Call(expr) => self.expr(expr),
            StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
                self.expr(lhs);
                self.expr(rhs);
            }
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => {
                self.expr(cond);
                self.stmt(then);
                otherwise.iter().for_each(|stmt| self.stmt(stmt));
            }
            StmtKind::Switch { value, cases } => {
                self.expr(value);
                for case in cases {
                    if let SwitchLabel::Expr(label) = &case.label {
                        self.expr(label);
                    }
                    case.body.iter().for_each(|body| self.block(body));
                }
            }
            StmtKind::For {
                init,
                cond,
                update,
                body,
            } => {
                self.stmts(init);
                self.expr(cond);
                self.stmts(update);
                self.stmt(body);
            }
            StmtKind::ForIn { var, range, body } => {
                match var {
                    ForVar::Decl(decl) => self.decl(decl),
                    ForVar::Name(name) => self.expr(name),
                }
                self.expr(range);
                self.stmt(body);
            }
            StmtKind::Return(value) => self.exprs(value),
            StmtKind::Block(block) => self.block(block),
        }
    }

    fn args(&mut self, args: &'a [Arg]) {
        self.exprs(args.iter().map(|arg| &arg.value));
    }

    fn type_ref(&mut self, ty: &'a TypeRef) {
        match &ty.kind {
            TypeKind::Name(path) => (self.visit)(path.ident.span, Site::Type(&path.ident)),
            TypeKind::Specialized(path, args) => {
                (self.visit)(path.ident.span, Site::Type(&path.ident));
                args.iter().for_each(|arg| self.type_ref(arg));
            }
            TypeKind::Bit(width) => self.exprs(width.iter().map(|w| &**w)),
            TypeKind::Signed(width) | TypeKind::Varbit(width) => self.expr(width),
            TypeKind::Stack(element, size) => {
                self.type_ref(element);
                self.expr(size);
            }
            TypeKind::Tuple(items) => items.iter().for_each(|item| self.type_ref(item)),
            TypeKind::List(element) => self.type_ref(element),
            _ => {}
        }
    }

    fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, expr: &'a Expr) {
        self.called(expr, None);
    }

    fn called(&mut self, expr: &'a Expr, call: Option<NodeId>) {
        match &expr.kind {
            ExprKind::Int { .. } => (self.visit)(expr.span, Site::Number(expr)),
            ExprKind::Path(path) => (self.visit)(path.ident.span, Site::Path(expr, &path.ident)),
            ExprKind::Member(base, member) => {
                (self.visit)(member.span, Site::MemberOf { base, member, call });
                self.expr(base);
            }
            ExprKind::TypeMember(ty, member) => {
                (self.visit)(member.span, Site::TypeMember(ty, member));
                self.type_ref(ty);
            }
            ExprKind::Unary(_, operand) => self.expr(operand),
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Mask(a, b)
            | ExprKind::Range(a, b) => self.exprs([&**a, b]),
            ExprKind::Slice(a, b, c)
            | ExprKind::PlusSlice(a, b, c)
            | ExprKind::Conditional(a, b, c) => self.exprs([&**a, b, c]),
            ExprKind::Cast(ty, operand) => {
                self.type_ref(ty);
                self.expr(operand);
            }
            ExprKind::Call {
                func,
                type_args,
                args,
            } => {
                self.called(func, Some(expr.id));
                type_args.iter().for_each(|ty| self.type_ref(ty));
                self.args(args);
            }
            ExprKind::Construct { ty, args } => {
                self.type_ref(ty);
                self.args(args);
            }
            ExprKind::List { items, .. } | ExprKind::Tuple(items) => self.exprs(items),
            ExprKind::Struct { fields, .. } => self.exprs(fields.iter().map(|(_, value)| value)),
            ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::This
            | ExprKind::DontCare
            | ExprKind::Dots
            | ExprKind::Invalid
            | ExprKind::Error => {}
        }
    }
}
