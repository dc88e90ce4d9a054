//! Where the parts of a type lie in the frame.

use super::Lowerer;
use crate::ir::*;
use num_bigint::BigInt;
use p4_check::types::{Kind, Type};
use p4_check::value::{wrap, Value};
use p4_syntax::ast::{
    Annotation as AstAnnotation, AnnotationBody, DeclKind, ExprKind, Name, TypeKind,
};
use p4_syntax::span::Span;
use std::rc::Rc;

/// A type as frame words.
#[derive(Debug)]
pub(super) struct Shape {
    pub words: u32,
    pub kind: ShapeKind,
}

#[derive(Debug)]
pub(super) enum ShapeKind {
    Scalar {
        width: u32,
        kind: ValueKind,
    },
    /// Structs and tuples (fields named by their index): name, first word, type
    Struct(Vec<(Name, u32, Type)>),
    Header(Vec<(Name, u32, Type)>),
    Union(Vec<(Name, u32, Type)>),
    /// An array. One of headers or unions is a stack, and begins with its next-index word.
    Stack {
        element: Type,
        count: u32,
        /// Words before the first element
        first: u32,
        stride: u32,
    },
    /// `void`, strings, externs: nothing at run time
    Nothing,
}

/// A scalar part of a type.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Relative to the whole, dotted; empty for a scalar
    pub name: String,
    pub offset: u32,
    pub width: u32,
    pub kind: ValueKind,
    /// Word of the valid flag of the header it belongs to, relative to the whole
    pub header: Option<u32>,
    pub field_lists: Vec<u32>,
}

impl Lowerer<'_, '_> {
    pub(super) fn shape(&mut self, ty: &Type) -> Rc<Shape> {
        if let Some(shape) = self.shapes.get(ty) {
            return shape.clone();
        }
        let shape = Rc::new(self.make_shape(ty));
        self.shapes.insert(ty.clone(), shape.clone());
        shape
    }

    pub(super) fn words_of(&mut self, ty: &Type) -> u32 {
        self.shape(ty).words
    }

    fn make_shape(&mut self, ty: &Type) -> Shape {
        if let Some((width, kind)) = self.scalar(ty) {
            let extra = u32::from(kind == ValueKind::Varbit);
            return Shape {
                words: words(width) + extra,
                kind: ShapeKind::Scalar { width, kind },
            };
        }
        match ty {
            Type::Named(Kind::Header, ..) => {
                let (fields, end) = self.place_fields(ty, 1);
                let filled = self.filling(&fields) > 0;
                Shape {
                    words: end + u32::from(filled),
                    kind: ShapeKind::Header(fields),
                }
            }
            Type::Named(Kind::Union, ..) => {
                let (fields, end) = self.place_fields(ty, 0);
                Shape {
                    words: end,
                    kind: ShapeKind::Union(fields),
                }
            }
            Type::Named(Kind::Struct, ..) | Type::StructLit(_) | Type::Tuple(_) => {
                let (fields, end) = self.place_fields(ty, 0);
                Shape {
                    words: end,
                    kind: ShapeKind::Struct(fields),
                }
            }
            Type::Stack(element, count) => {
                let stride = self.words_of(element);
                let first =
                    u32::from(element.is_kind(Kind::Header) || element.is_kind(Kind::Union));
                let kind = ShapeKind::Stack {
                    element: (**element).clone(),
                    count: *count,
                    first,
                    stride,
                };
                Shape {
                    words: first + stride.saturating_mul(*count),
                    kind,
                }
            }
            _ => Shape {
                words: 0,
                kind: ShapeKind::Nothing,
            },
        }
    }

    /// Bits behind the last of a header's fields.
    fn filling(&mut self, fields: &[(Name, u32, Type)]) -> u32 {
        if !self.binding.fills_headers(&self.program.package) {
            return 0;
        }
        let mut bits = 0u32;
        for (_, _, ty) in fields {
            bits = bits.wrapping_add(match self.shape(ty).kind {
                // What its length is nobody knows here; it is whole bytes.
                ShapeKind::Scalar {
                    kind: ValueKind::Varbit,
                    ..
                } => 0,
                ShapeKind::Scalar { width, .. } => width,
                _ => self.leaves(ty).iter().map(|leaf| leaf.width).sum(),
            });
        }
        bits.wrapping_neg() % 8
    }

    fn place_fields(&mut self, ty: &Type, first: u32) -> (Vec<(Name, u32, Type)>, u32) {
        let fields: Vec<(Name, Type)> = match ty {
            Type::Tuple(items) => items
                .iter()
                .enumerate()
                .map(|(i, t)| (i.to_string().into(), t.clone()))
                .collect(),
            Type::StructLit(fields) => fields.clone(),
            named => {
                let fields = self.checked.fields_of(named).unwrap_or_default();
                fields.into_iter().map(|(name, ty, _)| (name, ty)).collect()
            }
        };
        let mut offset = first;
        let mut placed = Vec::new();
        for (name, field) in fields {
            let size = self.words_of(&field);
            placed.push((name, offset, field));
            offset = offset.saturating_add(size);
        }
        (placed, offset)
    }

    /// Width and kind of a type that is one value.
    pub(super) fn scalar(&mut self, ty: &Type) -> Option<(u32, ValueKind)> {
        Some(match ty {
            Type::Bool => (1, ValueKind::Bool),
            Type::Bit(width) => (*width, ValueKind::Bit),
            Type::Signed(width) => (*width, ValueKind::Int),
            Type::Varbit(width) => (*width, ValueKind::Varbit),
            Type::Error => (32, ValueKind::Error),
            Type::Named(Kind::Enum, id, ..) => (32, ValueKind::Enum(self.enum_info(*id))),
            Type::Named(Kind::SerEnum, id, ..) => {
                let (width, _) = self.scalar(&self.checked.underlying(ty))?;
                (width, ValueKind::SerEnum(self.enum_info(*id)))
            }
            Type::Named(Kind::NewType, ..) => {
                let base = self.checked.underlying(ty);
                self.scalar(&base)?
            }
            _ => return None,
        })
    }

    fn enum_info(&mut self, id: p4_syntax::ast::NodeId) -> u32 {
        if let Some(index) = self.enums.get(&id) {
            return *index;
        }
        let mut info = EnumInfo {
            name: "".into(),
            members: Vec::new(),
        };
        if let Some(decl) = self.checked.decls.get(&id).copied() {
            info.name = decl.name.name.clone();
            if let DeclKind::Enum {
                members,
                underlying,
            } = &decl.kind
            {
                for (index, member) in members.iter().enumerate() {
                    let value = match (
                        underlying,
                        self.checked.enum_member_value(decl, &member.name.name),
                    ) {
                        (Some(_), Some(Value::Bits { width, value, .. })) => {
                            to_words(&value, width)
                        }
                        _ => vec![index as u64],
                    };
                    info.members.push((member.name.name.clone(), value));
                }
            }
        }
        let index = self.program.enums.len() as u32;
        self.program.enums.push(info);
        self.enums.insert(id, index);
        index
    }

    /// The layout of a header type in the frame and in the packet.
    pub(super) fn header_layout(&mut self, ty: &Type) -> LayoutId {
        if let Some(id) = self.layouts.get(ty) {
            return *id;
        }
        let shape = self.shape(ty);
        let mut fields = Vec::new();
        let mut fixed_bits = 0;
        for leaf in self.leaves(ty) {
            if leaf.kind == ValueKind::Valid {
                continue;
            }
            let varbit = leaf.kind == ValueKind::Varbit;
            if !varbit {
                fixed_bits += leaf.width;
            }
            fields.push(FieldLayout {
                name: leaf.name.as_str().into(),
                offset: leaf.offset,
                width: leaf.width,
                varbit,
                kind: leaf.kind,
            });
        }
        if fields.iter().filter(|field| field.varbit).count() > 1 {
            self.refuse_with(
                "E0603",
                self.second_varbit(ty).unwrap_or(self.span),
                "a header with two varbit fields cannot be executed",
                "make two headers of it, or one longer varbit field",
            );
        }
        let filling = match &shape.kind {
            ShapeKind::Header(parts) => self.filling(parts),
            _ => 0,
        };
        if filling > 0 {
            fixed_bits += filling;
            fields.push(FieldLayout {
                name: "$filling".into(),
                offset: shape.words - 1,
                width: filling,
                varbit: false,
                kind: ValueKind::Bit,
            });
        }
        let id = self.program.layouts.len() as LayoutId;
        let name: Name = ty.written().into();
        self.program.layouts.push(HeaderLayout {
            name,
            fields,
            words: shape.words,
            fixed_bits,
        });
        self.layouts.insert(ty.clone(), id);
        id
    }

    fn second_varbit(&self, header: &Type) -> Option<Span> {
        let Type::Named(Kind::Header, id, ..) = header else {
            return None;
        };
        let DeclKind::Header { fields, .. } = &self.checked.decls.get(id)?.kind else {
            return None;
        };
        let is_varbit =
            |field: &&p4_syntax::ast::Field| matches!(field.ty.kind, TypeKind::Varbit(_));
        Some(fields.iter().filter(is_varbit).nth(1)?.name.span)
    }

    /// The scalar parts of a type in order, valid words and next indices included.
    pub(super) fn leaves(&mut self, ty: &Type) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.add_leaves(ty, 0, "", None, &[], &mut out);
        out
    }

    fn add_leaves(
        &mut self,
        ty: &Type,
        offset: u32,
        name: &str,
        header: Option<u32>,
        lists: &[u32],
        out: &mut Vec<Leaf>,
    ) {
        let leaf = |name: String, offset, width, kind, header| Leaf {
            name,
            offset,
            width,
            kind,
            header,
            field_lists: lists.to_vec(),
        };
        let dotted = |part: &str| {
            if name.is_empty() {
                part.to_string()
            } else {
                format!("{name}.{part}")
            }
        };
        let shape = self.shape(ty);
        match &shape.kind {
            ShapeKind::Scalar { width, kind } => {
                out.push(leaf(name.to_string(), offset, *width, *kind, header))
            }
            ShapeKind::Header(fields) => {
                out.push(leaf(dotted("$valid"), offset, 1, ValueKind::Valid, None));
                let valid = Some(offset);
                for (field, at, ty) in fields {
                    self.add_leaves(ty, offset + at, &dotted(field), valid, lists, out);
                }
            }
            ShapeKind::Union(fields) => {
                for (field, at, ty) in fields {
                    self.add_leaves(ty, offset + at, &dotted(field), None, lists, out);
                }
            }
            ShapeKind::Struct(fields) => {
                let marked = self.field_lists_of(ty);
                for (i, (field, at, ty)) in fields.iter().enumerate() {
                    let mut lists = lists.to_vec();
                    lists.extend(marked.get(i).into_iter().flatten());
                    self.add_leaves(ty, offset + at, &dotted(field), header, &lists, out);
                }
            }
            ShapeKind::Stack {
                element,
                count,
                first,
                stride,
            } => {
                if *first > 0 {
                    let next = ValueKind::NextIndex;
                    out.push(leaf(dotted("$next"), offset, 32, next, None));
                }
                for i in 0..*count {
                    self.add_leaves(
                        element,
                        offset + first + i * stride,
                        &format!("{name}[{i}]"),
                        header,
                        lists,
                        out,
                    );
                }
            }
            ShapeKind::Nothing => {}
        }
    }

    /// For each field of a struct the numbers in its `@field_list(...)`.
    fn field_lists_of(&self, ty: &Type) -> Vec<Vec<u32>> {
        let fields = self.checked.fields_of(ty).unwrap_or_default();
        fields
            .iter()
            .map(|(_, _, annotations)| self.field_list_numbers(annotations))
            .collect()
    }

    fn field_list_numbers(&self, annotations: &[AstAnnotation]) -> Vec<u32> {
        let mut numbers = Vec::new();
        for annotation in annotations.iter().filter(|a| &*a.name.name == "field_list") {
            let (AnnotationBody::Unstructured { exprs, .. } | AnnotationBody::Exprs(exprs)) =
                &annotation.body
            else {
                continue;
            };
            if let AnnotationBody::Unstructured { tokens, exprs } = &annotation.body {
                if exprs.is_empty() {
                    numbers.extend(tokens.iter().filter_map(|t| t.text.parse::<u32>().ok()));
                }
            }
            for expr in exprs {
                numbers.extend(self.annotation_number(expr));
            }
        }
        numbers
    }

    /// Numbers in annotations are not checked like other expressions: literals, and names of
    /// constants and of members of enums with an underlying type.
    fn annotation_number(&self, expr: &p4_syntax::ast::Expr) -> Option<u32> {
        let top = |name: &str| {
            self.checked
                .program
                .decls
                .iter()
                .find(|d| &*d.name.name == name)
        };
        let value = match &expr.kind {
            ExprKind::Int { value, .. } => value.clone(),
            ExprKind::Path(path) => match &top(&path.ident.name)?.kind {
                DeclKind::Const { value, .. } => self.eval(value)?.as_int()?.clone(),
                _ => return None,
            },
            ExprKind::Member(base, member) => match &base.kind {
                ExprKind::Path(path) => self
                    .checked
                    .enum_member_value(top(&path.ident.name)?, &member.name)?
                    .as_int()?
                    .clone(),
                _ => return None,
            },
            _ => return None,
        };
        u32::try_from(value).ok()
    }

    /// Names the parts of `ty` at `slot` for traces; gives the indices of the new variables.
    pub(super) fn name_vars(
        &mut self,
        name: &str,
        ty: &Type,
        slot: Slot,
        span: Span,
    ) -> Vec<(Name, u32)> {
        let mut named = Vec::new();
        for leaf in self.leaves(ty) {
            let full: Name = match (name.is_empty(), leaf.name.is_empty()) {
                (false, false) if leaf.name.starts_with('[') => {
                    format!("{name}{}", leaf.name).into()
                }
                (false, false) => format!("{name}.{}", leaf.name).into(),
                (false, true) => name.into(),
                _ => leaf.name.as_str().into(),
            };
            let index = self.program.vars.len() as u32;
            self.program.vars.push(Var {
                name: full,
                place: Place {
                    slot: slot + leaf.offset,
                    width: leaf.width,
                    kind: leaf.kind,
                },
                header: leaf.header.map(|h| slot + h),
                field_lists: leaf.field_lists.clone(),
                span,
            });
            named.push((leaf.name.as_str().into(), index));
        }
        named
    }

    /// The headers in `ty` at `slot`, with their names relative to it.
    pub(super) fn headers_in(
        &mut self,
        ty: &Type,
        slot: Slot,
        name: &str,
        out: &mut Vec<HeaderInst>,
    ) {
        let dotted = |part: &str| {
            if name.is_empty() {
                part.to_string()
            } else {
                format!("{name}.{part}")
            }
        };
        let shape = self.shape(ty);
        match &shape.kind {
            ShapeKind::Header(_) => {
                let layout = self.header_layout(ty);
                out.push(HeaderInst {
                    name: name.into(),
                    layout,
                    base: slot,
                });
            }
            ShapeKind::Struct(fields) | ShapeKind::Union(fields) => {
                for (field, at, ty) in fields {
                    self.headers_in(ty, slot + at, &dotted(field), out);
                }
            }
            ShapeKind::Stack {
                element,
                count,
                first,
                stride,
            } => {
                self.stack_at(slot, ty, &dotted(""));
                for i in 0..*count {
                    let at = slot + first + i * stride;
                    self.headers_in(element, at, &format!("{name}[{i}]"), out);
                }
            }
            _ => {}
        }
    }

    /// The entry of [`Program::stacks`] for the stack at `slot`; arrays of other things have none.
    pub(super) fn stack_at(&mut self, slot: Slot, ty: &Type, name: &str) -> Option<u32> {
        if let Some(index) = self.stacks.get(&slot) {
            return Some(*index);
        }
        let shape = self.shape(ty);
        let ShapeKind::Stack {
            element,
            count,
            first: 1,
            stride,
        } = &shape.kind
        else {
            return None;
        };
        let layout = element
            .is_kind(Kind::Header)
            .then(|| self.header_layout(element));
        let index = self.program.stacks.len() as u32;
        let name: Name = name.trim_end_matches('.').into();
        self.program.stacks.push(Stack {
            name,
            next: slot,
            count: *count,
            stride: *stride,
            layout,
        });
        self.stacks.insert(slot, index);
        Some(index)
    }
}

/// The low `width` bits of `value` as frame words, least significant first.
pub(super) fn to_words(value: &BigInt, width: u32) -> Vec<u64> {
    let low = wrap(value, width, false);
    let mut out = vec![0; words(width) as usize];
    for (place, digit) in out.iter_mut().zip(low.iter_u64_digits()) {
        *place = digit;
    }
    out
}
