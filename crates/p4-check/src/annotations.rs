//! Annotations whose form the language or P4Runtime fixes (specification 20).

use crate::types::Type;
use crate::value::Value;
use crate::Checker;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashMap;

impl<'a> Checker<'a> {
    pub(crate) fn annotations(&mut self, list: &'a [Annotation]) {
        self.repeated_annotations(list);
        for annotation in list {
            match &annotation.body {
                AnnotationBody::Exprs(exprs) => {
                    for expr in exprs {
                        self.structured_value(expr);
                    }
                }
                AnnotationBody::Pairs(pairs) => self.annotation_pairs(pairs),
                AnnotationBody::None | AnnotationBody::Unstructured { .. } => {
                    self.known_annotation(annotation)
                }
            }
        }
    }

    /// An annotation in brackets is complete, so its name stands once.
    fn repeated_annotations(&mut self, list: &'a [Annotation]) {
        let structured =
            |a: &Annotation| matches!(a.body, AnnotationBody::Exprs(_) | AnnotationBody::Pairs(_));
        let mut seen: HashMap<&Name, &Annotation> = HashMap::default();
        for annotation in list {
            let Some(first) = seen.insert(&annotation.name.name, annotation) else {
                continue;
            };
            if structured(first) || structured(annotation) {
                self.report(
                    Diagnostic::error(
                        "E0366",
                        annotation.span,
                        format!("`@{}` is given twice", annotation.name.name),
                    )
                    .label(first.span, "first given here")
                    .hint("an annotation with `[...]` can appear once on a declaration"),
                );
            }
        }
    }

    fn annotation_pairs(&mut self, pairs: &'a [(Ident, Expr)]) {
        let mut seen: HashMap<&Name, Span> = HashMap::default();
        for (key, value) in pairs {
            if let Some(first) = seen.insert(&key.name, key.span) {
                self.report(
                    Diagnostic::error("E0366", key.span, format!("`{}` is given twice", key.name))
                        .label(first, "first given here"),
                );
            }
            self.structured_value(value);
        }
    }

    fn structured_value(&mut self, value: &'a Expr) {
        let ty = self.value_expr(value);
        if ty == Type::Unknown {
            return;
        }
        let allowed = matches!(
            ty,
            Type::Int | Type::Bit(_) | Type::Signed(_) | Type::Bool | Type::String
        );
        if !allowed || self.const_value(value).is_none() {
            self.report(
                Diagnostic::error(
                    "E0367",
                    value.span,
                    "an annotation in `[...]` holds numbers, bools and strings known at compile time",
                )
                .hint("for other content use parentheses: `@name(...)`"),
            );
        }
    }

    fn known_annotation(&mut self, annotation: &'a Annotation) {
        let (tokens, exprs): (&[AnnotationToken], &'a [Expr]) = match &annotation.body {
            AnnotationBody::Unstructured { tokens, exprs } => (tokens, exprs),
            _ => (&[], &[]),
        };
        match &*annotation.name.name {
            "name" | "deprecated" => {
                let text = matches!(tokens, [only] if only.is_string)
                    || matches!(exprs, [only] if self.is_constant_string(only));
                if !text {
                    self.bad_annotation(annotation, "needs one string, as in `(\"text\")`");
                }
            }
            "pkginfo" if tokens.is_empty() => {
                self.bad_annotation(annotation, "needs a body, as in `(name=\"lab\")`");
            }
            "p4runtime_translation" if !is_translation(tokens) => {
                self.bad_annotation(
                    annotation,
                    "needs a name and a width or `string`, as in `(\"lab/port\", 32)`",
                );
            }
            "match" => {
                let known = matches!(tokens, [only] if self.match_kinds.contains(&only.text));
                if !known {
                    self.bad_annotation(annotation, "needs a match kind, as in `(ternary)`");
                }
            }
            _ => {}
        }
    }

    fn is_constant_string(&mut self, expr: &'a Expr) -> bool {
        // A bare word would be looked up and reported as unknown.
        !matches!(expr.kind, ExprKind::Path(_))
            && self.value_expr(expr) == Type::String
            && matches!(self.const_value(expr), Some(Value::String(_)))
    }

    fn bad_annotation(&mut self, annotation: &Annotation, what: &str) {
        self.error(
            "E0368",
            annotation.span,
            format!("`@{}` {what}", annotation.name.name),
        );
    }
}

/// `"uri", 32`, `"uri", bit<32>` or `"uri", string`
fn is_translation(tokens: &[AnnotationToken]) -> bool {
    let [uri, comma, rest @ ..] = tokens else {
        return false;
    };
    let number = |token: &AnnotationToken| token.text.chars().all(|c| c.is_ascii_digit());
    let texts: Vec<&str> = rest.iter().map(|t| &*t.text).collect();
    uri.is_string
        && &*comma.text == ","
        && match texts.as_slice() {
            ["string"] => true,
            [_] => number(&rest[0]),
            ["bit", "<", _, ">"] => number(&rest[2]),
            _ => false,
        }
}
