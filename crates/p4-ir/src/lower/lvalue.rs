//! Places: what can be read and written.

use super::layout::ShapeKind;
use super::Lowerer;
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::Def;
use p4_syntax::ast::{Expr, ExprKind};

/// A place in the frame.
#[derive(Clone, Debug)]
pub(super) enum Loc {
    /// At a fixed slot. `valid`: the valid word of the header it is a field of. `union`: the
    /// union it is a member of, as type and slot.
    Static {
        slot: Slot,
        ty: Type,
        valid: Option<Slot>,
        union: Option<Box<(Slot, Type)>>,
    },
    /// `offset` words into the element number `idx` of the array at `base`
    Dynamic {
        base: Slot,
        stack: Type,
        idx: Slot,
        offset: u32,
        ty: Type,
        valid: Option<u32>,
    },
    /// `at`, a place in the words from `copy` on, which a value of the place `of` is copied to and
    /// back from: an element of an array that lies in an element picked at run time
    Inside {
        of: Box<Loc>,
        copy: Slot,
        at: Box<Loc>,
    },
    /// Bits `lo .. lo+width-1` of a place
    Slice { of: Box<Loc>, lo: u32, width: u32 },
}

impl Loc {
    pub fn at(slot: Slot, ty: Type) -> Loc {
        Loc::Static {
            slot,
            ty,
            valid: None,
            union: None,
        }
    }

    /// This place, as a part of the header with that valid word.
    fn in_header(mut self, header: Option<Slot>) -> Loc {
        if let Loc::Static { valid, .. } = &mut self {
            *valid = header;
        }
        self
    }

    pub fn ty(&self) -> Type {
        match self {
            Loc::Static { ty, .. } | Loc::Dynamic { ty, .. } => ty.clone(),
            Loc::Inside { at, .. } => at.ty(),
            Loc::Slice { width, .. } => Type::Bit(*width),
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// The place that `expr` denotes, if it denotes one. Indices are evaluated, once.
    pub(super) fn place(&mut self, expr: &'a Expr) -> Option<Loc> {
        match &expr.kind {
            ExprKind::Path(_) => match self.checked.defs.get(&expr.id)? {
                Def::Var(decl) => self.env.places.get(&decl.id).cloned(),
                Def::Param(param) => self.env.places.get(&param.id).cloned(),
                _ => None,
            },
            ExprKind::Member(base, member) => {
                if let Type::Stack(..) = self.type_of(base) {
                    return self.stack_member(base, &member.name);
                }
                let base = self.place(base)?;
                self.field(base, &member.name)
            }
            ExprKind::Index(base, index) => {
                let ty = self.type_of(base);
                let place = self.place(base)?;
                if let Type::Tuple(_) = ty {
                    let number = self.eval(index)?.as_int()?.to_string();
                    return self.field(place, &number);
                }
                let stack = place.ty();
                match place {
                    // The elements of an array in a header are as valid as that.
                    Loc::Static { slot, valid, .. }
                        if valid.is_none() || self.eval(index).is_some() =>
                    {
                        let element = self.picked(slot, &stack, index)?;
                        Some(element.in_header(valid))
                    }
                    Loc::Slice { .. } => None,
                    Loc::Static { .. } | Loc::Dynamic { .. } | Loc::Inside { .. } => {
                        let n = self.words_of(&stack);
                        let copy = self.alloc(n); // stacks are at fixed slots
                        let at = self.picked(copy, &stack, index)?;
                        Some(Loc::Inside {
                            of: Box::new(place),
                            copy,
                            at: Box::new(at),
                        })
                    }
                }
            }
            ExprKind::Slice(base, hi, lo) => {
                let of = self.place(base)?;
                let hi: u32 = self.eval(hi)?.as_int()?.try_into().ok()?;
                let lo: u32 = self.eval(lo)?.as_int()?.try_into().ok()?;
                Some(Loc::Slice {
                    of: Box::new(of),
                    lo,
                    width: hi - lo + 1,
                })
            }
            ExprKind::PlusSlice(base, lo, width) => {
                let of = self.place(base)?;
                let lo: u32 = self.eval(lo)?.as_int()?.try_into().ok()?;
                let width: u32 = self.eval(width)?.as_int()?.try_into().ok()?;
                Some(Loc::Slice {
                    of: Box::new(of),
                    lo,
                    width,
                })
            }
            _ => None,
        }
    }

    /// The element of the stack at `slot` that an index names.
    pub(super) fn picked(&mut self, slot: Slot, stack: &Type, index: &'a Expr) -> Option<Loc> {
        if let Some(value) = self.eval(index) {
            let number: u32 = value.as_int()?.try_into().ok()?;
            return self.element(slot, stack, number);
        }
        let idx = self.narrow_index(index);
        self.dynamic(slot, stack, idx)
    }

    /// Where the value of a place lies: there, or in a copy that is made now.
    pub(super) fn looked_at(&mut self, place: &Loc) -> Slot {
        if let Loc::Static { slot, .. } = place {
            return *slot;
        }
        let n = self.words_of(&place.ty());
        let copy = self.alloc(n); // stacks are at fixed slots
        self.take_out(place, copy);
        copy
    }

    /// Works on an entry of [`Program::stacks`] for the stack at a place; one that was picked at run
    /// time is taken out and put back.
    pub(super) fn edit_stack(&mut self, place: &Loc, work: impl FnOnce(&mut Self, u32)) {
        let slot = self.looked_at(place);
        let Some(stack) = self.stack_at(slot, &place.ty(), "") else {
            return;
        };
        work(self, stack);
        if !matches!(place, Loc::Static { .. }) {
            self.write(place, slot);
        }
    }

    /// Copies the value at `of` to `copy`.
    pub(super) fn take_out(&mut self, of: &Loc, copy: Slot) {
        let n = self.words_of(&of.ty());
        let whole = self.read(of);
        self.move_words(copy, whole, n);
    }

    /// An index that is only known at run time, as one word; anything too large stays too large.
    fn narrow_index(&mut self, index: &'a Expr) -> Slot {
        let ty = self.type_of(index);
        let slot = self.value(index);
        let idx = self.scratch(1);
        self.emit(Op::Mov { d: idx, s: slot });
        if let Some((width, ValueKind::Bit | ValueKind::Int)) = self.scalar(&ty) {
            if width > 64 {
                // Any high bit puts the index out of range.
                let high = self.number(u64::MAX);
                for word in 1..words(width) {
                    let skip = self.emit(Op::JmpIfNot {
                        c: slot + word,
                        t: 0,
                    });
                    self.emit(Op::Mov { d: idx, s: high });
                    self.patch(skip);
                }
            }
        }
        idx
    }

    /// `stack.next`, `stack.last`
    fn stack_member(&mut self, base: &'a Expr, name: &str) -> Option<Loc> {
        let place = self.place(base)?;
        let ty = place.ty();
        let slot = self.looked_at(&place);
        let idx = self.scratch(1);
        match name {
            "next" => {
                self.emit(Op::Mov { d: idx, s: slot });
            }
            "last" => {
                let stack = self.stack_at(slot, &ty, "")?;
                self.emit(Op::StackLast { stack, d: idx });
            }
            _ => return None,
        }
        let at = self.dynamic(slot, &ty, idx)?;
        Some(match place {
            Loc::Static { .. } => at,
            of => Loc::Inside {
                of: Box::new(of),
                copy: slot,
                at: Box::new(at),
            },
        })
    }

    pub(super) fn element(&mut self, slot: Slot, stack: &Type, number: u32) -> Option<Loc> {
        let shape = self.shape(stack);
        let ShapeKind::Stack {
            element,
            count,
            first,
            stride,
        } = &shape.kind
        else {
            return None;
        };
        if number >= *count {
            return None;
        }
        Some(Loc::at(slot + first + number * stride, element.clone()))
    }

    fn dynamic(&mut self, base: Slot, stack: &Type, idx: Slot) -> Option<Loc> {
        let shape = self.shape(stack);
        let ShapeKind::Stack { element, .. } = &shape.kind else {
            return None;
        };
        Some(Loc::Dynamic {
            base,
            stack: stack.clone(),
            idx,
            offset: 0,
            ty: element.clone(),
            valid: None,
        })
    }

    /// A field of a struct, header, union or tuple.
    pub(super) fn field(&mut self, base: Loc, name: &str) -> Option<Loc> {
        let base_type = base.ty();
        let shape = self.shape(&base_type);
        let (fields, is_header, is_union) = match &shape.kind {
            ShapeKind::Struct(fields) => (fields, false, false),
            ShapeKind::Header(fields) => (fields, true, false),
            ShapeKind::Union(fields) => (fields, false, true),
            _ => return None,
        };
        let (_, at, ty) = fields.iter().find(|(field, ..)| &**field == name)?;
        Some(match base {
            Loc::Static { slot, valid, .. } => Loc::Static {
                slot: slot + at,
                ty: ty.clone(),
                valid: if is_header { Some(slot) } else { valid },
                union: is_union.then(|| Box::new((slot, base_type))),
            },
            Loc::Dynamic {
                base,
                stack,
                idx,
                offset,
                valid,
                ..
            } => Loc::Dynamic {
                base,
                stack,
                idx,
                offset: offset + at,
                ty: ty.clone(),
                valid: if is_header { Some(offset) } else { valid },
            },
            Loc::Inside { of, copy, at } => Loc::Inside {
                of,
                copy,
                at: Box::new(self.field(*at, name)?),
            },
            Loc::Slice { .. } => return None,
        })
    }

    fn dynamic_ref(
        &mut self,
        base: Slot,
        stack: &Type,
        offset: u32,
        ty: &Type,
        valid: Option<u32>,
    ) -> u32 {
        let shape = self.shape(stack);
        let (count, first, stride) = match &shape.kind {
            ShapeKind::Stack {
                count,
                first,
                stride,
                ..
            } => (*count, base + first, *stride),
            _ => (0, base, 1),
        };
        let n = self.words_of(ty);
        let entry = DynamicRef {
            base: first + offset,
            stride,
            count,
            n,
            valid: valid.map(|v| first + v),
        };
        let known = self.program.dynamic.iter().position(|r| *r == entry);
        known.unwrap_or_else(|| {
            self.program.dynamic.push(entry);
            self.program.dynamic.len() - 1
        }) as u32
    }

    /// The slot of a place's value; the place itself where it has a fixed slot.
    pub(super) fn read(&mut self, place: &Loc) -> Slot {
        match place {
            Loc::Static { slot, .. } => *slot,
            Loc::Dynamic {
                base,
                stack,
                idx,
                offset,
                ty,
                valid,
            } => {
                let r = self.dynamic_ref(*base, stack, *offset, ty, *valid);
                let size = self.words_of(ty);
                let d = self.scratch(size);
                self.emit(Op::LoadAt { r, d, idx: *idx });
                d
            }
            Loc::Inside { of, copy, at } => {
                self.take_out(of, *copy);
                self.read(at)
            }
            Loc::Slice { of, lo, width } => {
                let of_width = self.width_of(&of.ty());
                let whole = self.read(of);
                let d = self.scratch(words(*width));
                self.slice_op(d, whole, of_width, *lo, *width);
                d
            }
        }
    }

    /// Stores the value at `s`, which has the place's type.
    pub(super) fn write(&mut self, place: &Loc, s: Slot) {
        match place {
            Loc::Static {
                slot,
                ty,
                valid,
                union,
            } => {
                let n = self.words_of(ty);
                match valid {
                    Some(c) if n == 1 => {
                        self.emit(Op::MovIf { d: *slot, s, c: *c });
                    }
                    Some(c) => {
                        let n = n as u16;
                        self.emit(Op::MovNIf {
                            d: *slot,
                            s,
                            c: *c,
                            n,
                        });
                    }
                    None => self.move_words(*slot, s, n),
                }
                if let Some(union) = union {
                    // A header that is not valid makes the union invalid; bmv2 leaves the others.
                    let when = self.binding.as_bmv2().then_some(*slot);
                    self.keep_one_member(&union.1.clone(), union.0, *slot, when);
                }
            }
            Loc::Dynamic {
                base,
                stack,
                idx,
                offset,
                ty,
                valid,
            } => {
                let r = self.dynamic_ref(*base, stack, *offset, ty, *valid);
                self.emit(Op::StoreAt { r, s, idx: *idx });
            }
            Loc::Inside { of, copy, at } => {
                self.take_out(of, *copy);
                self.write(at, s);
                self.write(of, *copy);
            }
            Loc::Slice { of, lo, width } => {
                let ty = of.ty();
                let of_width = self.width_of(&ty);
                let whole = self.read(of);
                let size = self.words_of(&ty);
                let copy = self.scratch(size);
                self.move_words(copy, whole, size);
                if of_width <= 64 {
                    self.emit(Op::Insert {
                        lo: *lo as u8,
                        w: *width as u8,
                        d: copy,
                        s,
                    });
                } else {
                    let kind = WideKind::Insert { lo: *lo };
                    self.wide(WideOp {
                        kind,
                        d: copy,
                        dw: of_width,
                        a: s,
                        aw: *width,
                        b: s,
                        bw: *width,
                    });
                }
                self.write(of, copy);
            }
        }
    }

    /// Makes the other members of a union invalid; if `when` is given, only if that valid word is
    /// set.
    pub(super) fn keep_one_member(
        &mut self,
        union: &Type,
        base: Slot,
        member: Slot,
        when: Option<Slot>,
    ) {
        let shape = self.shape(union);
        let ShapeKind::Union(fields) = &shape.kind else {
            return;
        };
        let skip = when.map(|c| self.emit(Op::JmpIfNot { c, t: 0 }));
        for (_, at, ty) in fields {
            if base + at != member && ty.is_kind(Kind::Header) {
                let layout = self.header_layout(ty);
                self.emit(Op::SetInvalid {
                    layout,
                    base: base + at,
                });
            }
        }
        if let Some(skip) = skip {
            self.patch(skip);
        }
    }

    pub(super) fn move_words(&mut self, d: Slot, s: Slot, n: u32) {
        if d == s || n == 0 || self.redirect(d, s, n) {
            return;
        }
        if n == 1 {
            self.emit(Op::Mov { d, s });
        } else {
            self.emit(Op::MovN { d, s, n });
        }
    }

    pub(super) fn width_of(&mut self, ty: &Type) -> u32 {
        self.scalar(ty).map_or(0, |(width, _)| width)
    }
}
