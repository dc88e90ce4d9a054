//! Trees as short text, for tests to compare: everything in parentheses, nothing left out.
#![allow(dead_code)] // each test file uses its part

use p4_syntax::ast::*;
use p4_syntax::{parse_text, Parsed};

/// Parses a text that must have no mistakes.
pub fn clean(text: &str) -> Parsed {
    let parsed = parse_text("test.p4", text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{}",
        p4_syntax::render(&parsed.diagnostics, &parsed.sources, false)
    );
    parsed
}

/// The value of `const T name = value;`, the last declaration of the text.
pub fn last_constant(text: &str) -> String {
    let parsed = clean(text);
    match &parsed.program.decls.last().expect("a declaration").kind {
        DeclKind::Const { value, .. } => expr(value),
        other => panic!("not a constant: {other:?}"),
    }
}

pub fn value(text: &str) -> String {
    last_constant(&format!("const int x = {text};"))
}

pub fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn path(path: &Path) -> String {
    format!(
        "{}{}",
        if path.absolute { "." } else { "" },
        path.ident.name
    )
}

pub fn ty(t: &TypeRef) -> String {
    match &t.kind {
        TypeKind::Bool => "bool".into(),
        TypeKind::Error => "error".into(),
        TypeKind::MatchKind => "match_kind".into(),
        TypeKind::String => "string".into(),
        TypeKind::Void => "void".into(),
        TypeKind::Int => "int".into(),
        TypeKind::DontCare => "_".into(),
        TypeKind::Bit(None) => "bit".into(),
        TypeKind::Bit(Some(width)) => format!("bit<{}>", expr(width)),
        TypeKind::Signed(width) => format!("int<{}>", expr(width)),
        TypeKind::Varbit(width) => format!("varbit<{}>", expr(width)),
        TypeKind::Name(name) => path(name),
        TypeKind::Specialized(name, args) => format!("{}<{}>", path(name), list(args, ty)),
        TypeKind::Stack(element, size) => format!("{}[{}]", ty(element), expr(size)),
        TypeKind::Tuple(args) => format!("tuple<{}>", list(args, ty)),
        TypeKind::List(element) => format!("list<{}>", ty(element)),
    }
}

pub fn arg(a: &Arg) -> String {
    match &a.name {
        Some(name) => format!("{} = {}", name.name, expr(&a.value)),
        None => expr(&a.value),
    }
}

pub fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Int { value, width: None } => value.to_string(),
        ExprKind::Int {
            value,
            width: Some((width, signed)),
        } => {
            format!("{width}{}{value}", if *signed { "s" } else { "w" })
        }
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::String(text) => format!("{text:?}"),
        ExprKind::Path(name) => path(name),
        ExprKind::This => "this".into(),
        ExprKind::DontCare => "_".into(),
        ExprKind::Dots => "...".into(),
        ExprKind::Member(base, name) => format!("{}.{}", expr(base), name.name),
        ExprKind::TypeMember(base, name) => format!("{}.{}", ty(base), name.name),
        ExprKind::Index(base, index) => format!("{}[{}]", expr(base), expr(index)),
        ExprKind::Slice(base, hi, lo) => format!("{}[{}:{}]", expr(base), expr(hi), expr(lo)),
        ExprKind::PlusSlice(base, lo, width) => {
            format!("{}[{} +: {}]", expr(base), expr(lo), expr(width))
        }
        ExprKind::Unary(op, operand) => format!("({op:?} {})", expr(operand)),
        ExprKind::Binary(op, a, b) => format!("({} {op:?} {})", expr(a), expr(b)),
        ExprKind::Conditional(c, a, b) => format!("({} ? {} : {})", expr(c), expr(a), expr(b)),
        ExprKind::Cast(to, value) => format!("(({}) {})", ty(to), expr(value)),
        ExprKind::Call {
            func,
            type_args,
            args,
        } if type_args.is_empty() => {
            format!("{}({})", expr(func), list(args, arg))
        }
        ExprKind::Call {
            func,
            type_args,
            args,
        } => {
            format!(
                "{}<{}>({})",
                expr(func),
                list(type_args, ty),
                list(args, arg)
            )
        }
        ExprKind::Construct { ty: of, args } => format!("new {}({})", ty(of), list(args, arg)),
        ExprKind::List { items, rest } => braces(list(items, expr), *rest),
        ExprKind::Struct { fields, rest } => braces(
            list(fields, |(name, value)| {
                format!("{} = {}", name.name, expr(value))
            }),
            *rest,
        ),
        ExprKind::Invalid => "{#}".into(),
        ExprKind::Mask(value, mask) => format!("({} &&& {})", expr(value), expr(mask)),
        ExprKind::Range(lo, hi) => format!("({} .. {})", expr(lo), expr(hi)),
        ExprKind::Tuple(items) => format!("({})", list(items, expr)),
        ExprKind::Error => "<error>".into(),
    }
}

fn braces(inner: String, rest: bool) -> String {
    match (inner.is_empty(), rest) {
        (_, false) => format!("{{{inner}}}"),
        (true, true) => "{...}".into(),
        (false, true) => format!("{{{inner}, ...}}"),
    }
}

/// The statements of a block, one per line.
pub fn block(b: &Block) -> String {
    b.stmts.iter().map(stmt).collect::<Vec<_>>().join("\n")
}

fn decl(d: &Decl) -> String {
    match &d.kind {
        DeclKind::Const { ty: of, value } => {
            format!("const {} {} = {}", ty(of), d.name.name, expr(value))
        }
        DeclKind::Variable { ty: of, init: None } => format!("{} {}", ty(of), d.name.name),
        DeclKind::Variable {
            ty: of,
            init: Some(init),
        } => {
            format!("{} {} = {}", ty(of), d.name.name, expr(init))
        }
        DeclKind::Instance { ty: of, args, .. } => {
            format!("{}({}) {}", ty(of), list(args, arg), d.name.name)
        }
        other => format!("{other:?}"),
    }
}

pub fn stmt(s: &Stmt) -> String {
    match &s.kind {
        StmtKind::Empty => ";".into(),
        StmtKind::Decl(inner) => decl(inner),
        StmtKind::Call(call) => format!("call {}", expr(call)),
        StmtKind::Assign { lhs, rhs } => format!("{} = {}", expr(lhs), expr(rhs)),
        StmtKind::AssignOp { op, lhs, rhs } => format!("{} {op:?}= {}", expr(lhs), expr(rhs)),
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => format!(
            "if {} {}{}",
            expr(cond),
            stmt(then),
            otherwise
                .as_ref()
                .map_or(String::new(), |no| format!(" else {}", stmt(no)))
        ),
        StmtKind::Switch { value, cases } => format!(
            "switch {} {{ {} }}",
            expr(value),
            list(cases, |case| {
                let label = match &case.label {
                    SwitchLabel::Default(_) => "default".to_string(),
                    SwitchLabel::Expr(label) => expr(label),
                };
                match &case.body {
                    Some(body) => format!("{label}: {{{}}}", block(body)),
                    None => format!("{label}:"),
                }
            })
        ),
        StmtKind::For {
            init,
            cond,
            update,
            body,
        } => format!(
            "for ({}; {}; {}) {}",
            list(init, stmt),
            expr(cond),
            list(update, stmt),
            stmt(body)
        ),
        StmtKind::ForIn { var, range, body } => {
            let var = match var {
                ForVar::Decl(inner) => decl(inner),
                ForVar::Name(name) => expr(name),
            };
            format!("for ({var} in {}) {}", expr(range), stmt(body))
        }
        StmtKind::Break => "break".into(),
        StmtKind::Continue => "continue".into(),
        StmtKind::Return(None) => "return".into(),
        StmtKind::Return(Some(result)) => format!("return {}", expr(result)),
        StmtKind::Exit => "exit".into(),
        StmtKind::Block(inner) => {
            let marks = list(&inner.annotations, |a| format!("@{} ", a.name.name));
            format!("{marks}{{{}}}", block(inner))
        }
    }
}
