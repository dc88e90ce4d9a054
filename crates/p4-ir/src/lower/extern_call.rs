//! Calls of externs: arguments and results as places that the host reads and writes.

use super::call::argument;
use super::lvalue::Loc;
use super::{InstanceRef, Lowerer};
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::CallInfo;
use p4_syntax::ast::{Arg, Decl, DeclKind, Direction, Expr, ExprKind, Param};

impl<'a> Lowerer<'a, '_> {
    /// A call of the host: arguments are described once, in `Program::calls`.
    pub(super) fn call_extern(
        &mut self,
        decl: &'a Decl,
        object: Option<(&'a Decl, InstanceId)>,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        call: &'a Expr,
    ) -> Option<Slot> {
        let (proto, name) = match (&decl.kind, object) {
            (DeclKind::Method { proto, .. }, Some((object, _))) => {
                (proto, format!("{}.{}", object.name.name, decl.name.name))
            }
            (DeclKind::ExternFunction(proto), _) => (proto, decl.name.name.to_string()),
            _ => return None,
        };
        if object.is_none() && name == "verify" {
            let c = self.value(&args.first()?.value);
            let skip = self.emit(Op::JmpIf { c, t: 0 });
            let err = self.value(&args.get(1)?.value);
            self.emit(Op::Reject { err });
            self.patch(skip);
            return None;
        }
        if name == "static_assert" {
            return Some(self.number(1));
        }
        let mut extern_args = Vec::new();
        let mut outputs = Vec::new();
        for (i, param) in proto.params.iter().enumerate() {
            let value = match argument(param, i, &info.args, args) {
                Some(expr) => self.extern_arg(param, expr, args, &mut outputs),
                None => ArgValue::Missing,
            };
            extern_args.push(ExternArg {
                name: param.name.name.clone(),
                is_in: param.direction != Direction::Out,
                is_out: matches!(param.direction, Direction::Out | Direction::InOut),
                value,
            });
        }
        let result_type = self.type_of(call);
        let n = self.words_of(&result_type);
        let d = (n > 0).then(|| self.scratch(n));
        let result = match d {
            Some(d) => self
                .leaves(&result_type)
                .into_iter()
                .map(|l| Place {
                    slot: d + l.offset,
                    width: l.width,
                    kind: l.kind,
                })
                .collect(),
            None => Vec::new(),
        };
        let types = info
            .type_args
            .iter()
            .map(|t| self.concrete(t))
            .collect::<Vec<_>>();
        let types = types.iter().map(|t| self.type_shape(t)).collect();
        let id = self.program.calls.len() as CallId;
        let instance = object.map(|(_, id)| id);
        self.program.calls.push(ExternCall {
            name: name.as_str().into(),
            instance,
            types,
            args: extern_args,
            result,
            source: call.id,
            span: call.span,
        });
        self.call_chunks.push(self.current);
        self.emit(Op::Extern { call: id });
        for (place, slot) in outputs {
            self.write(&place, slot);
        }
        d
    }

    fn extern_arg(
        &mut self,
        param: &'a Param,
        expr: &'a Expr,
        args: &'a [Arg],
        outputs: &mut Vec<(Loc, Slot)>,
    ) -> ArgValue {
        let ty = self.target_type(expr);
        if let Some(p4_check::value::Value::String(text)) = self.eval(expr) {
            return ArgValue::String(text);
        }
        if let Type::Named(Kind::Extern, ..) = ty {
            return match self.instance_of(expr) {
                Some(InstanceRef::Extern(id)) => ArgValue::Instance(id),
                _ => ArgValue::Missing,
            };
        }
        if matches!(param.direction, Direction::Out | Direction::InOut) {
            return match self.extern_output(param, expr, args, outputs) {
                Some(slot) => self.places_as_argument(slot, &ty),
                None => ArgValue::Missing,
            };
        }
        if let ExprKind::List { items, rest: false } = &expr.kind {
            let pure = !items.iter().any(|item| self.has_side_effects(item));
            if pure && self.eval(expr).is_none() {
                return self.list_argument(items);
            }
        }
        let slot = self.value(expr);
        self.places_as_argument(slot, &ty)
    }

    /// Where an extern puts a value: the argument itself, or, if that is a field of a header or
    /// another argument speaks of it, words that are copied there afterwards.
    fn extern_output(
        &mut self,
        param: &'a Param,
        expr: &'a Expr,
        args: &'a [Arg],
        outputs: &mut Vec<(Loc, Slot)>,
    ) -> Option<Slot> {
        if let Some(Loc::Static {
            slot,
            ty,
            valid: None,
            union: None,
        }) = self.fixed_place(expr)
        {
            let words = (slot, slot + self.words_of(&ty));
            let others = args.iter().filter(|arg| arg.value.id != expr.id);
            if !others
                .into_iter()
                .any(|arg| self.touches(&arg.value, words))
            {
                return Some(slot);
            }
        }
        let place = self.place(expr)?;
        let n = self.words_of(&place.ty());
        let slot = self.scratch(n);
        if param.direction == Direction::InOut {
            let s = self.read(&place);
            self.move_words(slot, s, n);
        } else if n > 0 {
            self.emit(Op::Zero { d: slot, n });
        }
        outputs.push((place, slot));
        Some(slot)
    }

    /// A list as an argument: the extern reads its items where they are.
    fn list_argument(&mut self, items: &'a [Expr]) -> ArgValue {
        let mut leaves = Vec::new();
        for item in items {
            let slot = self.value(item);
            let ty = self.target_type(item);
            match self.places_as_argument(slot, &ty) {
                ArgValue::Scalar(place) => leaves.push((place, None)),
                ArgValue::List(inner) => leaves.extend(inner),
                _ => {}
            }
        }
        ArgValue::List(leaves)
    }

    /// The value of type `ty` at `slot`, as externs see it.
    fn places_as_argument(&mut self, slot: Slot, ty: &Type) -> ArgValue {
        if let Some((width, kind)) = self.scalar(ty) {
            return ArgValue::Scalar(Place { slot, width, kind });
        }
        if *ty == Type::Int {
            return ArgValue::Scalar(Place {
                slot,
                width: 64,
                kind: ValueKind::Bit,
            });
        }
        let leaves = self.leaves(ty);
        let value = leaves
            .iter()
            .filter(|l| !matches!(l.kind, ValueKind::Valid | ValueKind::NextIndex))
            .map(|l| {
                (
                    Place {
                        slot: slot + l.offset,
                        width: l.width,
                        kind: l.kind,
                    },
                    l.header.map(|h| slot + h),
                )
            })
            .collect();
        ArgValue::List(value)
    }

    pub(super) fn type_shape(&mut self, ty: &Type) -> TypeShape {
        let leaves = self
            .leaves(ty)
            .into_iter()
            .map(|l| (l.name.as_str().into(), l.width, l.kind))
            .collect();
        TypeShape {
            name: ty.written().into(),
            leaves,
        }
    }
}
