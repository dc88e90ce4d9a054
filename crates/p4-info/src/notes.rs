//! Annotations, as P4Info repeats them.

use crate::model::{AnnotationValue, Documentation, Literal, Notes, StructuredAnnotation};
use crate::symbols::Sort;
use num_traits::ToPrimitive;
use p4_check::value::Value;
use p4_check::Checked;
use p4_syntax::ast::{Annotation, AnnotationBody, AnnotationToken, BinOp, Expr, ExprKind, UnOp};
use p4_syntax::{Diagnostic, Span};

/// Annotations whose arguments p4c reads as expressions, and so writes with its own spacing.
const PARSED: &[&str] = &[
    "deprecated",
    "noWarn",
    "length",
    "match",
    "synchronous",
    "field_list",
    "command_line",
    "controller_header",
    "max_group_size",
    "selector_size_semantics",
    "max_member_weight",
];

pub(crate) fn find<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|a| &*a.name.name == name)
}

fn tokens(annotation: &Annotation) -> &[AnnotationToken] {
    match &annotation.body {
        AnnotationBody::Unstructured { tokens, .. } => tokens,
        _ => &[],
    }
}

/// The tokens of the annotation `name`.
pub(crate) fn tokens_of<'a>(annotations: &'a [Annotation], name: &str) -> &'a [AnnotationToken] {
    find(annotations, name).map_or(&[], tokens)
}

/// The text of `@name("text")`; strings that are put together are put together here.
pub(crate) fn text_of(
    checked: &Checked<'_>,
    annotations: &[Annotation],
    name: &str,
) -> Option<String> {
    let AnnotationBody::Unstructured { tokens, exprs } = &find(annotations, name)?.body else {
        return None;
    };
    if let [only] = tokens.as_slice() {
        return Some(only.text.to_string());
    }
    match exprs.as_slice() {
        [only] => match checked.eval(only, &|_| None)? {
            Value::String(text) => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// The number of `@name(number)`.
pub(crate) fn number_of(annotations: &[Annotation], name: &str) -> Option<i64> {
    let [only] = tokens_of(annotations, name) else {
        return None;
    };
    number(&only.text)
}

/// A literal as in P4: `12`, `0x1f`, `8w3`, `1_000`.
fn number(text: &str) -> Option<i64> {
    let text = text.replace('_', "");
    let text = match text.find(['w', 's']) {
        Some(at) => &text[at + 1..],
        None => &text,
    };
    let lower = text.to_ascii_lowercase();
    let radix = |prefix: &str, radix| {
        let digits = lower.strip_prefix(prefix)?;
        i64::from_str_radix(digits, radix).ok()
    };
    radix("0x", 16)
        .or_else(|| radix("0b", 2))
        .or_else(|| radix("0o", 8))
        .or_else(|| radix("0d", 10))
        .or_else(|| lower.parse().ok())
}

/// The `@id` of an object as its whole id, with the prefix that its sort asks for.
pub(crate) fn object_id(
    sort: Sort,
    annotations: &[Annotation],
    out: &mut Vec<Diagnostic>,
) -> Option<(u32, Span)> {
    let span = find(annotations, "id")?.span;
    let id = written_id(annotations, out)?;
    let prefix = (sort as u32) << 24;
    if id & 0xff00_0000 != 0 && id & 0xff00_0000 != prefix {
        out.push(
            Diagnostic::error(
                "E0702",
                span,
                format!(
                    "The first byte of the id {id:#010x} is not {:#04x}, that of {}.",
                    sort as u32,
                    sort.describe()
                ),
            )
            .hint(
                "Write only the lower three bytes: the first one follows from what the id is of.",
            ),
        );
        return None;
    }
    Some((id | prefix, span))
}

/// The number in `@id`.
pub(crate) fn written_id(annotations: &[Annotation], out: &mut Vec<Diagnostic>) -> Option<u32> {
    let annotation = find(annotations, "id")?;
    let id = number_of(annotations, "id").and_then(|id| u32::try_from(id).ok());
    if id.is_none() {
        out.push(
            Diagnostic::error(
                "E0702",
                annotation.span,
                "`@id` needs one number that fits in 32 bits.",
            )
            .hint("Write it as in `@id(7)`."),
        );
    }
    id
}

/// What P4Info repeats of `annotations`, but those in `left_out`, which have fields of their own.
pub(crate) fn notes(
    checked: &Checked<'_>,
    annotations: &[Annotation],
    left_out: &[&str],
    out: &mut Vec<Diagnostic>,
) -> Notes {
    let mut notes = Notes::default();
    for annotation in annotations {
        let name = &*annotation.name.name;
        match &annotation.body {
            AnnotationBody::Exprs(exprs) => {
                let items = exprs.iter().filter_map(|e| literal(checked, e, out));
                notes.structured.push(StructuredAnnotation {
                    name: name.to_string(),
                    body: AnnotationValue::List(items.collect()),
                });
            }
            AnnotationBody::Pairs(pairs) => {
                let pairs = pairs
                    .iter()
                    .filter_map(|(key, e)| Some((key.name.to_string(), literal(checked, e, out)?)));
                notes.structured.push(StructuredAnnotation {
                    name: name.to_string(),
                    body: AnnotationValue::Pairs(pairs.collect()),
                });
            }
            AnnotationBody::None | AnnotationBody::Unstructured { .. } => match name {
                "name" | "id" => {}
                "brief" | "description" => {
                    let text = text_of(checked, annotations, name).unwrap_or_default();
                    let doc = notes.doc.get_or_insert_with(Documentation::default);
                    match name {
                        "brief" => doc.brief = text,
                        _ => doc.description = text,
                    }
                }
                _ if left_out.contains(&name) => {}
                _ => notes.annotations.push(written(annotation)),
            },
        }
    }
    notes
}

fn literal(checked: &Checked<'_>, expr: &Expr, out: &mut Vec<Diagnostic>) -> Option<Literal> {
    match checked.eval(expr, &|_| None)? {
        Value::String(text) => Some(Literal::Text(text.to_string())),
        Value::Bool(flag) => Some(Literal::Bool(flag)),
        value => {
            let number = value.as_int()?.to_i64();
            if number.is_none() {
                out.push(
                    Diagnostic::error(
                        "E0706",
                        expr.span,
                        "P4Info has no room for this number: it does not fit in 64 bits.",
                    )
                    .hint("Write it as a string."),
                );
            }
            number.map(Literal::Int)
        }
    }
}

/// `@name`, or `@name(...)` with the arguments the way p4c writes them.
fn written(annotation: &Annotation) -> String {
    let name = &annotation.name.name;
    let body = match &annotation.body {
        AnnotationBody::Unstructured { exprs, .. }
            if PARSED.contains(&&**name) && !exprs.is_empty() =>
        {
            let exprs: Vec<String> = exprs.iter().map(expr_text).collect();
            exprs.join(", ")
        }
        AnnotationBody::Unstructured { tokens, .. } => {
            let tokens: Vec<String> = tokens
                .iter()
                .map(|token| match token.is_string {
                    true => format!("\"{}\"", token.text),
                    false => token.text.to_string(),
                })
                .collect();
            tokens.join(" ")
        }
        _ => String::new(),
    };
    match body.is_empty() {
        true => format!("@{name}"),
        false => format!("@{name}({body})"),
    }
}

/// Names and literals, and what joins them.
fn expr_text(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::String(text) => format!("\"{text}\""),
        ExprKind::Int { value, width: None } => value.to_string(),
        ExprKind::Int {
            value,
            width: Some((width, signed)),
        } => format!("{width}{}{value}", if *signed { 's' } else { 'w' }),
        ExprKind::Bool(flag) => flag.to_string(),
        ExprKind::Path(path) => path.ident.name.to_string(),
        ExprKind::Member(base, member) => format!("{}.{}", expr_text(base), member.name),
        ExprKind::Index(base, index) => format!("{}[{}]", expr_text(base), expr_text(index)),
        ExprKind::Unary(op, operand) => {
            let symbol = match op {
                UnOp::Not => "!",
                UnOp::Complement => "~",
                UnOp::Neg => "-",
                UnOp::Plus => "+",
            };
            format!("{symbol}{}", expr_text(operand))
        }
        ExprKind::Binary(op, a, b) => format!("{} {} {}", expr_text(a), symbol(*op), expr_text(b)),
        _ => "...".into(),
    }
}

fn symbol(op: BinOp) -> &'static str {
    p4_check::operator_symbol(op)
}

/// The pairs of `@name(key = value, ...)` or `@name[key = value, ...]`.
pub(crate) fn pairs_of(
    checked: &Checked<'_>,
    annotations: &[Annotation],
    name: &str,
) -> Vec<(String, Value)> {
    let Some(annotation) = find(annotations, name) else {
        return Vec::new();
    };
    if let AnnotationBody::Pairs(pairs) = &annotation.body {
        let value = |e: &Expr| checked.eval(e, &|_| None);
        let pairs = pairs.iter();
        return pairs
            .filter_map(|(key, e)| Some((key.name.to_string(), value(e)?)))
            .collect();
    }
    let mut pairs = Vec::new();
    for part in tokens(annotation).split(|token| !token.is_string && &*token.text == ",") {
        let [key, equals, value] = part else { continue };
        if &*equals.text != "=" {
            continue;
        }
        let value = match value.is_string {
            true => Value::String(value.text.clone()),
            false => match number(&value.text) {
                Some(number) => Value::Int(number.into()),
                None => continue,
            },
        };
        pairs.push((key.text.to_string(), value));
    }
    pairs
}
