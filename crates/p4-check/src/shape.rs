//! What types consist of: fields, underlying types, sizes.

use crate::types::{Kind, Type};
use crate::value::{wrap, Value};
use p4_syntax::ast::*;

impl<'a> crate::Checked<'a> {
    /// Fields of a struct, header or union with type arguments put in: name, type, annotations.
    pub fn fields_of(&self, ty: &Type) -> Option<Vec<(Name, Type, &'a [Annotation])>> {
        let (id, fields, args) = self.declared_fields(ty)?;
        let field = |field: &'a Field| {
            let ty = self.type_ref(field.ty.id).substitute(id, args);
            (field.name.name.clone(), ty, field.annotations.as_slice())
        };
        Some(fields.iter().map(field).collect())
    }

    /// The type of one field, as [`Checked::fields_of`] gives it.
    pub fn field_type(&self, ty: &Type, name: &str) -> Option<Type> {
        let (id, fields, args) = self.declared_fields(ty)?;
        let field = fields.iter().find(|field| &*field.name.name == name)?;
        Some(self.type_ref(field.ty.id).substitute(id, args))
    }

    /// The declaration of a struct, header or union, its fields and the type arguments.
    fn declared_fields<'t>(&self, ty: &'t Type) -> Option<(NodeId, &'a [Field], &'t [Type])> {
        let Type::Named(Kind::Header | Kind::Union | Kind::Struct, id, _, args) = ty else {
            return None;
        };
        match &self.decls.get(id)?.kind {
            DeclKind::Header { fields, .. }
            | DeclKind::HeaderUnion { fields, .. }
            | DeclKind::Struct { fields, .. } => Some((*id, fields, args)),
            _ => None,
        }
    }

    /// The type behind a new type or an enum with an underlying type; other types are themselves.
    pub fn underlying(&self, ty: &Type) -> Type {
        let mut ty = ty;
        while let Type::Named(Kind::NewType | Kind::SerEnum, id, ..) = ty {
            match self.decls.get(id).map(|d| &d.kind) {
                Some(
                    DeclKind::Typedef { ty: inner, .. }
                    | DeclKind::Enum {
                        underlying: Some(inner),
                        ..
                    },
                ) => ty = self.type_ref(inner.id),
                _ => return Type::Unknown,
            }
        }
        ty.clone()
    }

    /// Smallest and largest size in bits, as `minSizeInBits()` and `maxSizeInBits()` give it.
    pub fn size_in_bits(&self, ty: &Type) -> Option<(u64, u64)> {
        let add = |(a, b): (u64, u64), (c, d): (u64, u64)| (a + c, b + d);
        let sum = |types: &mut dyn Iterator<Item = Type>| {
            let mut total = (0, 0);
            for ty in types {
                total = add(total, self.size_in_bits(&ty)?);
            }
            Some(total)
        };
        match ty {
            Type::Bool => Some((1, 1)),
            Type::Bit(width) | Type::Signed(width) => Some((u64::from(*width), u64::from(*width))),
            Type::Varbit(width) => Some((0, u64::from(*width))),
            Type::Named(Kind::NewType | Kind::SerEnum, ..) => {
                self.size_in_bits(&self.underlying(ty))
            }
            Type::Named(Kind::Header | Kind::Struct, ..) => {
                sum(&mut self.fields_of(ty)?.into_iter().map(|(_, field, _)| field))
            }
            Type::Named(Kind::Union, ..) => {
                let fields = self.fields_of(ty)?.into_iter();
                let sizes: Option<Vec<_>> = fields
                    .map(|(_, field, _)| self.size_in_bits(&field))
                    .collect();
                let sizes = sizes?;
                let least = sizes.iter().map(|size| size.0).min();
                let most = sizes.iter().map(|size| size.1).max();
                Some((least.unwrap_or(0), most.unwrap_or(0)))
            }
            Type::Stack(element, count) => {
                let (least, most) = self.size_in_bits(element)?;
                Some((least * u64::from(*count), most * u64::from(*count)))
            }
            Type::Tuple(items) => sum(&mut items.iter().cloned()),
            _ => None,
        }
    }

    /// The value of a member of an enum with an underlying type, wrapped to it.
    pub fn enum_member_value(&self, decl: &Decl, member: &str) -> Option<Value> {
        let DeclKind::Enum {
            underlying: Some(base),
            members,
        } = &decl.kind
        else {
            return None;
        };
        let (width, signed) = match self.underlying(self.type_ref(base.id)) {
            Type::Bit(width) => (width, false),
            Type::Signed(width) => (width, true),
            _ => return None,
        };
        let member = members.iter().find(|m| &*m.name.name == member)?;
        let value = self.values.get(&member.value.as_ref()?.id)?.as_int()?;
        Some(Value::Bits {
            width,
            signed,
            value: wrap(value, width, signed),
        })
    }
}
