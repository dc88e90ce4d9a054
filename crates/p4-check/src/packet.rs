//! What the methods of core.p4's `packet_in` and `packet_out` can be given (specification 12.8,
//! 15.1).

use crate::types::{Kind, Type};
use crate::{CallInfo, CallKind, Checker};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;

impl<'a> Checker<'a> {
    /// Rules for packet methods that the signatures in core.p4 cannot express.
    pub(crate) fn packet_method(&mut self, call: &'a Expr, args: &'a [Arg]) {
        let Some(CallInfo {
            kind: CallKind::Method { object, method },
            type_args,
            ..
        }) = self.out.calls.get(&call.id).cloned()
        else {
            return;
        };
        match (&*object.name.name, &*method.name.name) {
            ("packet_in", "extract") => self.extract(args),
            ("packet_in", "lookahead") => self.lookahead(call, type_args.first()),
            ("packet_out", "emit") => self.emit(args, type_args.first()),
            _ => {}
        }
    }

    fn extract(&mut self, args: &'a [Arg]) {
        let Some(header) = args.first().map(|a| &a.value) else {
            return;
        };
        let ty = self.out.expr_type(header.id).clone();
        if matches!(ty, Type::Unknown | Type::Param(..) | Type::DontCare) {
            return;
        }
        if !ty.is_kind(Kind::Header) {
            let mut diagnostic = Diagnostic::error(
                "E0358",
                header.span,
                format!("only headers can be extracted, but this is {ty}"),
            );
            diagnostic = match &ty {
                Type::Stack(..) => diagnostic.hint("extract its elements one by one: `stack.next`"),
                Type::Named(Kind::Union, ..) => {
                    diagnostic.hint("extract one of the union's members")
                }
                Type::Named(Kind::Struct, ..) => {
                    diagnostic.hint("extract its headers one by one, or declare it as a `header`")
                }
                _ => diagnostic,
            };
            return self.report(diagnostic);
        }
        let varbits = self.varbit_count(&ty);
        match (varbits, args.len()) {
            (1.., 1) => self.report(
                Diagnostic::error(
                    "E0358",
                    header.span,
                    format!("{ty} has a varbit field, whose length must be given"),
                )
                .hint("write `extract(header, bits)` with the length of the varbit field in bits"),
            ),
            (0, 2) => self.report(
                Diagnostic::error(
                    "E0358",
                    header.span,
                    format!("{ty} has no varbit field, so no length can be given"),
                )
                .hint("write `extract(header)`"),
            ),
            (2.., 2) => {
                let mut diagnostic = Diagnostic::error(
                    "E0358",
                    header.span,
                    format!("{ty} has {varbits} varbit fields, but one length can be given only"),
                );
                for field in self.varbit_fields(&ty) {
                    diagnostic = diagnostic.label(field.name.span, "a varbit field");
                }
                self.report(diagnostic.hint("split the header in two"));
            }
            _ => {}
        }
    }

    /// The varbit fields of a header as they are declared, without those of structs in it.
    fn varbit_fields(&self, header: &Type) -> Vec<&'a Field> {
        let Type::Named(Kind::Header, id, ..) = header else {
            return Vec::new();
        };
        match self.out.decls.get(id).map(|decl| &decl.kind) {
            Some(DeclKind::Header { fields, .. }) => fields
                .iter()
                .filter(|f| matches!(self.out.type_ref(f.ty.id), Type::Varbit(_)))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn lookahead(&mut self, call: &'a Expr, ty: Option<&Type>) {
        let Some(ty) = ty else { return };
        if matches!(ty, Type::Unknown | Type::Param(..) | Type::Infer(_)) {
            return;
        }
        let fixed = self
            .out
            .size_in_bits(ty)
            .is_some_and(|(least, most)| least == most);
        if !fixed {
            self.report(
                Diagnostic::error(
                    "E0359",
                    call.span,
                    format!("`lookahead` cannot read {ty}, which has no fixed width"),
                )
                .hint("look at a bit<W> or at a header without varbit fields"),
            );
        }
    }

    fn emit(&mut self, args: &'a [Arg], ty: Option<&Type>) {
        let (Some(value), Some(ty)) = (args.first().map(|a| &a.value), ty) else {
            return;
        };
        if !self.can_be_emitted(ty) {
            self.report(
                Diagnostic::error(
                    "E0360",
                    value.span,
                    format!("only headers can be emitted, but this is {ty}"),
                )
                .hint("stacks, unions, structs and lists of headers work, too"),
            );
        }
    }

    fn can_be_emitted(&self, ty: &Type) -> bool {
        match ty {
            Type::Unknown | Type::Param(..) | Type::Infer(_) | Type::InvalidLit => true,
            Type::Named(Kind::Header | Kind::Union, ..) => true,
            Type::Stack(element, _) => self.can_be_emitted(element),
            Type::Tuple(items) => items.iter().all(|t| self.can_be_emitted(t)),
            Type::StructLit(fields) => fields.iter().all(|(_, t)| self.can_be_emitted(t)),
            Type::Named(Kind::Struct, ..) => self
                .fields_of(ty)
                .unwrap_or_default()
                .iter()
                .all(|(_, t, _)| self.can_be_emitted(t)),
            _ => false,
        }
    }

    fn varbit_count(&self, ty: &Type) -> usize {
        match ty {
            Type::Varbit(_) => 1,
            Type::Named(Kind::Header | Kind::Struct, ..) => self
                .fields_of(ty)
                .unwrap_or_default()
                .iter()
                .map(|(_, t, _)| self.varbit_count(t))
                .sum(),
            _ => 0,
        }
    }
}
