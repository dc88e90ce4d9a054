//! What a reader wants to know about a name: how it is declared, its width, and the comment that its
//! author wrote.

use crate::analysis::Analysis;
use crate::scope;
use crate::target::Target;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::Checked;
use p4_syntax::ast::*;
use p4_syntax::Span;

/// A declaration longer than this is not shown whole.
const MAX_LINES: usize = 40;
const MAX_BYTES: usize = 4000;

/// The text, in Markdown.
pub(crate) fn hover(analysis: &Analysis, checked: &Checked, target: Target) -> String {
    let mut parts = Vec::new();
    let code = match target {
        Target::BuiltIn(name, _) => Some(name.to_string()),
        Target::Number(expr) => number(checked, expr),
        target => whole(analysis, target).or_else(|| short(analysis, checked, target)),
    };
    if let Some(code) = code {
        parts.push(format!("```p4\n{code}\n```"));
    }
    parts.extend(facts(checked, target));
    if let Target::BuiltIn(_, words) = target {
        parts.push(words.to_string());
    }
    parts.extend(comment(analysis, target));
    parts.join("\n\n")
}

/// The declaration in one line.
pub(crate) fn short(analysis: &Analysis, checked: &Checked, target: Target) -> Option<String> {
    Some(match target {
        Target::Param(param) => analysis.snippet(param.span),
        Target::Field(_, field) => {
            format!("{} {}", analysis.snippet(field.ty.span), field.name.name)
        }
        Target::Member(owner, name) => match &owner.kind {
            DeclKind::Enum { .. } => format!("{}.{}", owner.name.name, name.name),
            DeclKind::Error { .. } => format!("error.{}", name.name),
            _ => name.name.to_string(),
        },
        Target::TypeParam(owner, name) => {
            format!("{}, a type parameter of {}", name.name, owner.name.name)
        }
        Target::State(parser, state) => {
            format!("state {} of {}", state.name.name, parser.name.name)
        }
        Target::BuiltIn(..) | Target::Number(_) => return None,
        Target::Decl(decl) => {
            let span = head(decl);
            let text = analysis.snippet(span);
            match scope::type_of(checked, target) {
                Type::Unknown if text.is_empty() => return None,
                _ => text,
            }
        }
    })
}

/// A declaration with its body, where that says what it is.
fn whole(analysis: &Analysis, target: Target) -> Option<String> {
    let Target::Decl(decl) = target else {
        return None;
    };
    let telling = matches!(
        decl.kind,
        DeclKind::Header { .. }
            | DeclKind::HeaderUnion { .. }
            | DeclKind::Struct { .. }
            | DeclKind::Enum { .. }
            | DeclKind::Table(_)
            | DeclKind::Const { .. }
            | DeclKind::Typedef { .. }
    );
    let (file, range) = analysis.place(decl.span)?;
    let start = analysis.range_in(file, head(decl))?.start;
    let text = file.text.get(start..range.end)?;
    let small = text.len() <= MAX_BYTES && text.lines().count() <= MAX_LINES;
    (telling && small).then(|| outdented(file.text, start, text))
}

/// Without the blanks that the lines have in common with the first one.
fn outdented(file: &str, start: usize, text: &str) -> String {
    let line = file[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &file[line..start];
    let indent = before.len() - before.trim_start().len();
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().to_string();
    for line in lines {
        let blanks = line.len() - line.trim_start().len();
        out.push('\n');
        out.push_str(&line[blanks.min(indent)..]);
    }
    out
}

/// From behind the annotations up to the body.
fn head(decl: &Decl) -> Span {
    let lo = decl.annotations.last().map_or(decl.span.lo, |a| a.span.hi);
    let body = |span: Span| Span { lo, hi: span.lo };
    let through = |params: &[Param], or: Span| {
        let last = params.last().map_or(or, |param| param.span);
        // The closing parenthesis
        Span {
            lo,
            hi: last.hi + 1,
        }
    };
    match &decl.kind {
        DeclKind::Action { body: block, .. } | DeclKind::Function { body: block, .. } => {
            body(block.span)
        }
        DeclKind::Parser { proto, .. } | DeclKind::Control { proto, .. } => {
            through(&proto.params, decl.name.span)
        }
        DeclKind::Table(_)
        | DeclKind::Header { .. }
        | DeclKind::HeaderUnion { .. }
        | DeclKind::Struct { .. }
        | DeclKind::Enum { .. }
        | DeclKind::ExternObject { .. } => Span {
            lo,
            hi: decl.name.span.hi,
        },
        DeclKind::Instance { body: Some(_), .. } => Span {
            lo,
            hi: decl.name.span.hi,
        },
        _ => Span {
            lo,
            hi: decl.span.hi,
        },
    }
}

/// Sentences about widths and values.
fn facts(checked: &Checked, target: Target) -> Vec<String> {
    let mut facts = Vec::new();
    match target {
        Target::Field(owner, field) => {
            let name = &owner.name.name;
            match offset_in(checked, owner, field) {
                Some((first, least, most)) if least == most && most > 0 => facts.push(format!(
                    "Field of `{name}`: {}, bits {first} to {}.",
                    bits(most),
                    first + most - 1
                )),
                _ => facts.push(format!("Field of `{name}`.")),
            }
            if let Type::Varbit(most) = checked.type_ref(field.ty.id) {
                facts.push(format!("At most {most} bits."));
            }
            facts.extend(behind_name(
                checked,
                checked.type_ref(field.ty.id),
                &field.ty,
            ));
        }
        Target::Param(param) => {
            let ty = checked.type_ref(param.ty.id);
            facts.extend(width(checked, ty));
            facts.extend(behind_name(checked, ty, &param.ty));
        }
        Target::Decl(decl) => match &decl.kind {
            DeclKind::Const { ty, value } => {
                let known = checked.eval(value, &|_| None);
                facts.extend(known.and_then(|value| spelled(&value)));
                facts.extend(behind_name(checked, checked.type_ref(ty.id), ty));
            }
            DeclKind::Variable { ty, .. } => {
                facts.extend(width(checked, checked.type_ref(ty.id)));
                facts.extend(behind_name(checked, checked.type_ref(ty.id), ty));
            }
            DeclKind::Typedef { ty, .. } => facts.extend(width(checked, checked.type_ref(ty.id))),
            _ => {
                if let Some(kind @ (Kind::Header | Kind::Union | Kind::Struct | Kind::SerEnum)) =
                    Kind::of(decl)
                {
                    facts.extend(width(checked, &scope::named(kind, decl)));
                }
            }
        },
        Target::Member(owner, name) => {
            let value = checked.enum_member_value(owner, &name.name);
            facts.extend(value.and_then(|value| spelled(&value)));
        }
        _ => {}
    }
    facts
}

/// Where a field begins, and its smallest and largest size. Bit 0 is sent first.
fn offset_in(checked: &Checked, owner: &Decl, field: &Field) -> Option<(u64, u64, u64)> {
    let DeclKind::Header { fields, .. } = &owner.kind else {
        return None;
    };
    let mut first = 0;
    for other in fields {
        let (least, most) = checked.size_in_bits(checked.type_ref(other.ty.id))?;
        if other.name.span == field.name.span {
            return Some((first, least, most));
        }
        if least != most {
            return None;
        }
        first += most;
    }
    None
}

fn width(checked: &Checked, ty: &Type) -> Option<String> {
    if *ty == Type::Unknown {
        return None;
    }
    let (least, most) = checked.size_in_bits(ty)?;
    Some(match least == most {
        true => format!("Width: {}.", bits(most)),
        false => format!("Width: {least} to {}.", bits(most)),
    })
}

/// `352 bits (44 bytes)`
fn bits(count: u64) -> String {
    match count {
        1 => "1 bit".to_string(),
        _ if count.is_multiple_of(8) && count > 8 => format!("{count} bits ({} bytes)", count / 8),
        _ => format!("{count} bits"),
    }
}

/// What a name of a type stands for, where that is not what is written.
fn behind_name(checked: &Checked, ty: &Type, written: &TypeRef) -> Option<String> {
    let TypeKind::Name(path) = &written.kind else {
        return None;
    };
    let name = &path.ident.name;
    match ty {
        Type::Named(kind @ (Kind::Header | Kind::Union | Kind::Struct), _, own, _)
            if own == name =>
        {
            let (_, most) = checked.size_in_bits(ty)?;
            let what = match kind {
                Kind::Header => "header",
                Kind::Union => "header_union",
                _ => "struct",
            };
            Some(format!("`{name}` is a {what} of at most {}.", bits(most)))
        }
        Type::Named(_, _, own, _) if own == name => None,
        Type::Unknown | Type::Param(..) => None,
        known => Some(format!("`{name}` is {known}.")),
    }
}

fn spelled(value: &Value) -> Option<String> {
    if let Some(number) = value.as_int() {
        let text = number.to_string();
        let hex = format!("{number:#x}");
        return Some(match text.len() > 1 && text.len() < 200 {
            true => format!("Value: {text} = {hex}"),
            false => format!("Value: {hex}"),
        });
    }
    match value {
        Value::Bool(value) => Some(format!("Value: {value}")),
        _ => None,
    }
}

fn number(checked: &Checked, expr: &Expr) -> Option<String> {
    let ExprKind::Int { value, .. } = &expr.kind else {
        return None;
    };
    let ty = checked
        .coercions
        .get(&expr.id)
        .unwrap_or(checked.expr_type(expr.id));
    let decimal = value.to_string();
    let ty = match ty {
        Type::Unknown => String::new(),
        known => format!("{} ", known.written()),
    };
    (decimal.len() < 200).then(|| format!("{ty}{decimal} = {value:#x}"))
}

/// The comment above a declaration, and behind it on its line.
pub(crate) fn comment(analysis: &Analysis, target: Target) -> Option<String> {
    let (start, name) = match target {
        Target::Decl(decl) => (decl.span, decl.name.span),
        Target::Field(_, field) => {
            let first = field.annotations.first().map_or(field.ty.span, |a| a.span);
            (first, field.name.span)
        }
        Target::Member(_, member) => (member.span, member.span),
        Target::State(_, state) => (state.span, state.name.span),
        Target::Param(_) | Target::TypeParam(..) | Target::BuiltIn(..) | Target::Number(_) => {
            return None
        }
    };
    let (file, start) = analysis.place(start)?;
    let name = analysis.range_in(file, name)?;
    let mut lines = above(file.text, start.start);
    lines.extend(behind(file.text, name.end));
    let text = lines.join("\n");
    (!text.trim().is_empty() && text.len() <= MAX_BYTES).then_some(text)
}

/// The `//` lines that end directly above the line of `start`.
fn above(text: &str, start: usize) -> Vec<String> {
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    if !text[line..start].trim().is_empty() {
        return Vec::new();
    }
    let comments = text[..line]
        .lines()
        .rev()
        .map_while(|line| line.trim().strip_prefix("//"));
    let mut found: Vec<String> = comments
        .take(MAX_LINES)
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_string())
        .collect();
    found.reverse();
    found
}

/// The `//` comment on the line of `end`, if nothing but the rest of the declaration is before it.
fn behind(text: &str, end: usize) -> Option<String> {
    let line = text[end..].lines().next()?;
    let (code, comment) = line.split_once("//")?;
    (!code.contains(['{', '"'])).then(|| comment.trim().to_string())
}

impl Analysis {
    /// The source of a span in one line.
    pub(crate) fn snippet(&self, span: Span) -> String {
        let text = self.parsed.sources.snippet(span);
        let short = text.get(..MAX_BYTES.min(text.len())).unwrap_or_default();
        let words: Vec<&str> = short.split_whitespace().collect();
        words
            .join(" ")
            .trim_end_matches([';', '{', ' '])
            .to_string()
    }
}
