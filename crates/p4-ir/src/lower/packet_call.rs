//! Methods that the language and core.p4 give: of headers, stacks and packets.

use super::call::ERROR_STACK_OUT_OF_BOUNDS;
use super::layout::ShapeKind;
use super::lvalue::Loc;
use super::{InstanceRef, Lowerer};
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::{Builtin, CallInfo};
use p4_syntax::ast::{Arg, Decl, DeclKind, Expr, ExprKind};

impl<'a> Lowerer<'a, '_> {
    pub(super) fn builtin(
        &mut self,
        builtin: Builtin,
        base: &'a Expr,
        args: &'a [Arg],
    ) -> Option<Slot> {
        let place = match self.place(base) {
            Some(place) => place,
            // What a function returns, a cast, a choice: a value that lies nowhere yet.
            None if builtin == Builtin::IsValid => {
                let ty = self.target_type(base);
                Loc::at(self.value(base), ty)
            }
            None => return None,
        };
        match builtin {
            Builtin::IsValid => return Some(self.is_valid(&place)),
            Builtin::SetValid => self.edit(&place, |this, slot, ty, union| {
                if let Some((base, union)) = union {
                    this.keep_one_member(&union, base, slot, None);
                }
                let layout = this.header_layout(&ty);
                this.emit(Op::SetValid { layout, base: slot });
            }),
            Builtin::SetInvalid => self.edit(&place, |this, slot, ty, union| {
                if let Some((base, union)) = union.filter(|_| !this.binding.as_bmv2()) {
                    this.keep_one_member(&union, base, slot, None);
                }
                let layout = this.header_layout(&ty);
                this.emit(Op::SetInvalid { layout, base: slot });
            }),
            Builtin::PushFront | Builtin::PopFront => {
                let count: i32 = self
                    .eval(&args.first()?.value)?
                    .as_int()?
                    .try_into()
                    .unwrap_or(i32::MAX);
                let by = if builtin == Builtin::PushFront {
                    count
                } else {
                    -count
                };
                self.edit_stack(&place, |this, stack| {
                    this.emit(Op::StackShift { stack, by });
                });
            }
            Builtin::Size(_) => {}
        }
        None
    }

    /// Works on a header where it lies; an element picked at run time is taken out and put back.
    fn edit(
        &mut self,
        place: &Loc,
        work: impl FnOnce(&mut Self, Slot, Type, Option<(Slot, Type)>),
    ) {
        match place {
            Loc::Static {
                slot, ty, union, ..
            } => work(self, *slot, ty.clone(), union.as_deref().cloned()),
            Loc::Dynamic {
                base,
                stack,
                idx,
                offset,
                ty,
                ..
            } => {
                let Type::Stack(element, _) = stack.clone() else {
                    return;
                };
                let whole = Loc::Dynamic {
                    base: *base,
                    stack: stack.clone(),
                    idx: *idx,
                    offset: 0,
                    ty: (*element).clone(),
                    valid: None,
                };
                let slot = self.read(&whole);
                let union = element
                    .is_kind(Kind::Union)
                    .then(|| (slot, (*element).clone()));
                work(self, slot + offset, ty.clone(), union);
                self.write(&whole, slot);
            }
            Loc::Inside { of, copy, at } => {
                self.take_out(of, *copy);
                self.edit(at, work);
                self.write(of, *copy);
            }
            Loc::Slice { .. } => {}
        }
    }

    pub(super) fn call_method(
        &mut self,
        object: &'a Decl,
        method: &'a Decl,
        base: &'a Expr,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        call: &'a Expr,
    ) -> Option<Slot> {
        match (&*object.name.name, &*method.name.name) {
            ("packet_in", "extract") => {
                let header = &args.first()?.value;
                let bits = args.get(1).map(|arg| self.value(&arg.value));
                self.extract(header, bits, info);
                None
            }
            ("packet_in", "lookahead") => {
                let ty = self.concrete(info.type_args.first()?);
                Some(self.lookahead(&ty))
            }
            ("packet_in", "advance") => {
                let bits = self.value(&args.first()?.value);
                self.emit(Op::Advance { bits });
                None
            }
            ("packet_in", "length") => {
                let d = self.scratch(1);
                self.emit(Op::PacketLength { d });
                Some(d)
            }
            ("packet_out", "emit") => {
                let header = &args.first()?.value;
                let ty = self.target_type(header);
                let slot = match self.place(header) {
                    Some(place) => self.read(&place),
                    None => self.value(header),
                };
                self.emit_headers(slot, &ty);
                None
            }
            _ => match self.instance_of(base) {
                Some(InstanceRef::Extern(id)) => {
                    let key = (id, method.name.name.clone());
                    if let (Some(routine), DeclKind::Method { proto, .. }) =
                        (self.methods.get(&key).cloned(), &method.kind)
                    {
                        return self.call_implemented(&proto.params, &routine, info, args);
                    }
                    self.call_extern(method, Some((object, id)), info, args, call)
                }
                _ => {
                    self.refuse(
                        "E0603",
                        call.span,
                        "this extern instance is not known at compile time",
                    );
                    None
                }
            },
        }
    }

    fn extract(&mut self, header: &'a Expr, bits: Option<Slot>, info: &CallInfo<'a>) {
        if let ExprKind::DontCare = header.kind {
            let Some(ty) = info.type_args.first().map(|t| self.concrete(t)) else {
                return;
            };
            let n = self.words_of(&ty);
            let base = self.scratch(n);
            return self.extract_at(&ty, base, bits);
        }
        if let ExprKind::Member(stack, member) = &header.kind {
            if let (Type::Stack(..), "next") = (self.type_of(stack), &*member.name) {
                let Some(place) = self.place(stack) else {
                    return self.refuse("E0603", stack.span, "nothing can be extracted into this");
                };
                return self.edit_stack(&place, |this, stack| {
                    match bits {
                        Some(bits) => this.emit(Op::ExtractNextVar { stack, bits }),
                        None => this.emit(Op::ExtractNext { stack }),
                    };
                });
            }
        }
        let Some(place) = self.place(header) else {
            return self.refuse("E0603", header.span, "nothing can be extracted into this");
        };
        let next = self.union_next(header);
        if let (
            Some(next),
            Loc::Dynamic {
                idx,
                stack: Type::Stack(_, count),
                ..
            },
        ) = (next, &place)
        {
            let limit = self.number(u64::from(*count));
            let c = self.scratch(1);
            self.emit(Op::Alu {
                op: Alu::Lt,
                w: 64,
                d: c,
                a: *idx,
                b: limit,
            });
            let room = self.emit(Op::JmpIf { c, t: 0 });
            let err = self.number(ERROR_STACK_OUT_OF_BOUNDS);
            self.emit(Op::Reject { err });
            self.patch(room);
            self.edit(&place, |this, slot, ty, union| {
                this.extract_in_union(&ty, slot, bits, union)
            });
            let one = self.number(1);
            self.emit(Op::Alu {
                op: Alu::Add,
                w: 32,
                d: next,
                a: next,
                b: one,
            });
            return;
        }
        self.edit(&place, |this, slot, ty, union| {
            this.extract_in_union(&ty, slot, bits, union)
        });
    }

    /// The next-index word, for `stack.next.member` of a stack of unions.
    fn union_next(&mut self, header: &'a Expr) -> Option<Slot> {
        let ExprKind::Member(element, _) = &header.kind else {
            return None;
        };
        let ExprKind::Member(stack, next) = &element.kind else {
            return None;
        };
        if &*next.name != "next" || !matches!(self.type_of(stack), Type::Stack(..)) {
            return None;
        }
        match self.place(stack)? {
            Loc::Static { slot, .. } => Some(slot),
            _ => None,
        }
    }

    fn extract_in_union(
        &mut self,
        ty: &Type,
        slot: Slot,
        bits: Option<Slot>,
        union: Option<(Slot, Type)>,
    ) {
        self.extract_at(ty, slot, bits);
        if let Some((base, union)) = union {
            self.keep_one_member(&union, base, slot, Some(slot));
        }
    }

    fn extract_at(&mut self, ty: &Type, base: Slot, bits: Option<Slot>) {
        let layout = self.header_layout(ty);
        match bits {
            Some(bits) => self.emit(Op::ExtractVar { layout, base, bits }),
            None => self.emit(Op::Extract { layout, base }),
        };
    }

    fn lookahead(&mut self, ty: &Type) -> Slot {
        if let Some((w, _)) = self.scalar(ty) {
            let d = self.scratch(words(w));
            self.emit(Op::Lookahead { w, d });
            return d;
        }
        let leaves = self.leaves(ty);
        let total: u32 = leaves
            .iter()
            .filter(|l| is_on_wire(l.kind))
            .map(|l| l.width)
            .sum();
        let raw = self.scratch(words(total));
        self.emit(Op::Lookahead { w: total, d: raw });
        let n = self.words_of(ty);
        let d = self.scratch(n);
        self.emit(Op::Zero { d, n });
        let mut left = total;
        for leaf in leaves {
            if leaf.kind == ValueKind::NextIndex {
                continue; // of a stack into which nothing was extracted
            }
            if leaf.kind == ValueKind::Valid {
                let one = self.number(1);
                self.emit(Op::Mov {
                    d: d + leaf.offset,
                    s: one,
                });
                continue;
            }
            left -= leaf.width;
            self.slice_op(d + leaf.offset, raw, total, left, leaf.width);
        }
        d
    }

    /// `emit` of a header, or of the headers in a struct, union or stack.
    fn emit_headers(&mut self, slot: Slot, ty: &Type) {
        let shape = self.shape(ty);
        match &shape.kind {
            ShapeKind::Header(_) => {
                let layout = self.header_layout(ty);
                self.emit(Op::Emit { layout, base: slot });
            }
            ShapeKind::Struct(fields) | ShapeKind::Union(fields) => {
                for (_, at, ty) in fields {
                    self.emit_headers(slot + at, ty);
                }
            }
            ShapeKind::Stack {
                element,
                count,
                first,
                stride,
            } => {
                for i in 0..*count {
                    self.emit_headers(slot + first + i * stride, element);
                }
            }
            _ => {}
        }
    }
}

/// Whether a part of a type stands in a packet.
fn is_on_wire(kind: ValueKind) -> bool {
    !matches!(kind, ValueKind::Valid | ValueKind::NextIndex)
}
