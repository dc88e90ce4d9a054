//! Whether a parser or control fits the parser or control type that a package or constructor
//! asks for, and if not, why (specification 17.1).

use crate::decl::has_annotation;
use crate::hints::counted;
use crate::types::Type;
use crate::wellformed::direction_word;
use crate::Checker;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// Why a block does not fit, and the parameter that it is about.
pub(crate) struct Misfit {
    reason: String,
    at: Option<Span>,
}

impl Misfit {
    fn new(reason: impl Into<String>) -> Misfit {
        Misfit {
            reason: reason.into(),
            at: None,
        }
    }
}

impl<'a> Checker<'a> {
    /// Unifies the parameters of the parser or control `actual` with those of the parser or
    /// control type `wanted`.
    pub(crate) fn fit_block(&mut self, wanted: &Type, actual: &Type) -> Result<(), Misfit> {
        let (Type::Named(_, wanted_id, _, wanted_args), Type::Named(_, actual_id, _, actual_args)) =
            (wanted, actual)
        else {
            return Err(Misfit::new("it is something else"));
        };
        let decl = |c: &Self, id| c.out.decls.get(id).copied();
        let (Some(wanted_decl), Some(actual_decl)) = (decl(self, wanted_id), decl(self, actual_id))
        else {
            return Err(Misfit::new("it is something else"));
        };
        let (wanted_proto, proto) = match (&wanted_decl.kind, &actual_decl.kind) {
            (DeclKind::ParserType(wanted), DeclKind::Parser { proto, .. })
            | (DeclKind::ControlType(wanted), DeclKind::Control { proto, .. }) => (wanted, proto),
            (DeclKind::ParserType(_), _) => {
                return Err(Misfit::new("a parser is needed, but it is a control"))
            }
            _ => return Err(Misfit::new("a control is needed, but it is a parser")),
        };
        // A generic parser or control without type arguments takes those that fit.
        let actual_args: Vec<Type> = if actual_args.is_empty() {
            proto.type_params.iter().map(|_| self.fresh()).collect()
        } else {
            actual_args.clone()
        };
        parameter_count(wanted_proto, proto)?;
        for (w, p) in wanted_proto.params.iter().zip(&proto.params) {
            let wanted_type = self
                .out
                .type_ref(w.ty.id)
                .substitute(*wanted_id, wanted_args);
            let actual_type = self
                .out
                .type_ref(p.ty.id)
                .substitute(*actual_id, &actual_args);
            if w.direction == p.direction && self.unify(&wanted_type, &actual_type) {
                continue;
            }
            let (wanted_type, actual_type) =
                (self.resolved(&wanted_type), self.resolved(&actual_type));
            return Err(Misfit {
                reason: format!(
                    "its parameter `{}` is {}, but {} is needed",
                    p.name.name,
                    described(p.direction, &actual_type),
                    described(w.direction, &wanted_type)
                ),
                at: Some(p.span),
            });
        }
        Ok(())
    }

    pub(crate) fn report_misfit(&mut self, at: Span, wanted: &Type, actual: &Type, why: Misfit) {
        let mut diagnostic = Diagnostic::error(
            "E0326",
            at,
            format!("{actual} does not fit {wanted}: {}", why.reason),
        );
        if let Some(param) = why.at {
            diagnostic = diagnostic.label(param, "this parameter");
        }
        self.report(diagnostic.hint(
            "a block must have the parameters that its architecture declares, in the same order and directions",
        ));
    }
}

fn parameter_count(wanted: &ParserProto, actual: &ParserProto) -> Result<(), Misfit> {
    let optional = |p: &Param| p.default.is_some() || has_annotation(&p.annotations, "optional");
    let (want, have) = (wanted.params.len(), actual.params.len());
    if have > want || !wanted.params.iter().skip(have).all(optional) {
        let names: Vec<String> = wanted
            .params
            .iter()
            .map(|p| p.name.name.to_string())
            .collect();
        return Err(Misfit::new(format!(
            "it has {}, but needs {want} ({})",
            counted(have, "parameter"),
            names.join(", ")
        )));
    }
    Ok(())
}

fn described(direction: Direction, ty: &Type) -> String {
    match direction {
        Direction::None => format!("{ty} without direction"),
        _ => format!("`{} {}`", direction_word(direction), ty.written()),
    }
}
