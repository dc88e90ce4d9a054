//! Types as P4Info describes them; the declarations behind names are noted in `TypeInfo`.

use crate::model::{BitString, DataType, NewType, Representation, SerializableEnum, TypeInfo};
use crate::notes;
use num_bigint::BigInt;
use p4_check::types::{Kind, Type};
use p4_check::Checked;
use p4_syntax::ast::{Annotation, Decl, DeclKind, NodeId};
use p4_syntax::{Diagnostic, Span};

/// Types nested deeper than the checker lets through do not reach this crate; this is a backstop.
const MAX_DEPTH: u32 = 128;

pub(crate) struct Types<'a, 'c> {
    pub checked: &'c Checked<'a>,
    pub info: Option<TypeInfo>,
    pub diagnostics: Vec<Diagnostic>,
    depth: u32,
}

impl<'a, 'c> Types<'a, 'c> {
    pub fn new(checked: &'c Checked<'a>) -> Types<'a, 'c> {
        Types {
            checked,
            info: None,
            diagnostics: Vec::new(),
            depth: 0,
        }
    }

    /// `type_info` is part of the result from now on, be it empty.
    pub fn touch(&mut self) -> &mut TypeInfo {
        self.info.get_or_insert_with(TypeInfo::default)
    }

    fn decl(&self, id: NodeId) -> Option<&'a Decl> {
        self.checked.decls.get(&id).copied()
    }

    /// The name by which the control plane knows a type.
    pub fn name(&self, ty: &Type) -> String {
        let Type::Named(_, id, name, args) = ty else {
            return ty.written();
        };
        let annotated = self
            .decl(*id)
            .and_then(|d| notes::text_of(self.checked, &d.annotations, "name"));
        let annotated_or_plain = annotated.is_some() || args.is_empty();
        let base = match annotated {
            Some(text) => text.trim_start_matches('.').to_string(),
            None => name.to_string(),
        };
        if annotated_or_plain {
            return base;
        }
        // A generic type that is used with these arguments is a type of its own, which p4c names
        // after them: `pair<bit<8>, bool>` is `pair_bit8_bool`.
        let mut name = base;
        for arg in args {
            name.push('_');
            let written = arg.written();
            let kept = written.chars().filter(|c| !matches!(c, '<' | '>' | ' '));
            name.extend(kept.map(|c| if matches!(c, ',' | '.') { '_' } else { c }));
        }
        name
    }

    /// Describes `ty`; what cannot be described is reported at `span`.
    pub fn describe(&mut self, ty: &Type, span: Span) -> DataType {
        self.touch();
        self.depth += 1;
        let described = match self.depth > MAX_DEPTH {
            true => None,
            false => self.known(ty, span),
        };
        self.depth -= 1;
        described.unwrap_or_else(|| {
            self.diagnostics.push(
                Diagnostic::error(
                    "E0703",
                    span,
                    format!("P4Info cannot describe the type {ty}."),
                )
                .hint("Use numbers, bools, headers, structs, enums or tuples of them."),
            );
            DataType::Tuple(Vec::new())
        })
    }

    fn known(&mut self, ty: &Type, span: Span) -> Option<DataType> {
        Some(match ty {
            Type::Bool => DataType::Bool,
            Type::Error => {
                let errors = self.checked.errors.iter().map(|e| e.to_string()).collect();
                self.touch().errors = Some(errors);
                DataType::Error
            }
            Type::Tuple(items) => {
                DataType::Tuple(items.iter().map(|t| self.describe(t, span)).collect())
            }
            Type::StructLit(fields) => {
                DataType::Tuple(fields.iter().map(|(_, t)| self.describe(t, span)).collect())
            }
            Type::Stack(element, size) => {
                let size = i32::try_from(*size).ok()?;
                match self.describe(element, span) {
                    DataType::Header(name) => DataType::HeaderStack(name, size),
                    DataType::HeaderUnion(name) => DataType::HeaderUnionStack(name, size),
                    _ => return None,
                }
            }
            Type::Named(kind, id, ..) => self.named(*kind, *id, ty, span)?,
            other => DataType::BitString(bit_string(other)?),
        })
    }

    fn named(&mut self, kind: Kind, id: NodeId, ty: &Type, span: Span) -> Option<DataType> {
        let name = self.name(ty);
        Some(match kind {
            Kind::Struct => {
                if !self.touch().structs.contains_key(&name) {
                    let fields = self.checked.fields_of(ty)?;
                    let members = fields
                        .into_iter()
                        .map(|(field, ty, list)| {
                            (self.field_name(&field, list), self.describe(&ty, span))
                        })
                        .collect();
                    self.touch().structs.insert(name.clone(), members);
                }
                DataType::Struct(name)
            }
            Kind::Header => {
                if !self.touch().headers.contains_key(&name) {
                    let mut members = Vec::new();
                    for flat in self.flat_fields(ty)? {
                        let bits = bit_string(&self.checked.underlying(&flat.ty))
                            .unwrap_or(BitString::Bit(1));
                        members.push((flat.name, bits));
                    }
                    self.touch().headers.insert(name.clone(), members);
                }
                DataType::Header(name)
            }
            Kind::Union => {
                if !self.touch().header_unions.contains_key(&name) {
                    let fields = self.checked.fields_of(ty)?;
                    let mut members = Vec::new();
                    for (field, ty, list) in fields {
                        self.describe(&ty, span);
                        members.push((self.field_name(&field, list), self.name(&ty)));
                    }
                    self.touch().header_unions.insert(name.clone(), members);
                }
                DataType::HeaderUnion(name)
            }
            Kind::Enum => {
                let DeclKind::Enum { members, .. } = &self.decl(id)?.kind else {
                    return None;
                };
                let members = members.iter().map(|m| m.name.name.to_string()).collect();
                self.touch().enums.entry(name.clone()).or_insert(members);
                DataType::Enum(name)
            }
            Kind::SerEnum => {
                let described = self.serializable(id, ty)?;
                let enums = &mut self.touch().serializable_enums;
                enums.entry(name.clone()).or_insert(described);
                DataType::SerializableEnum(name)
            }
            Kind::NewType => {
                if !self.touch().new_types.contains_key(&name) {
                    let described = self.new_type(id, ty, span)?;
                    self.touch().new_types.insert(name.clone(), described);
                }
                DataType::NewType(name)
            }
            _ => return None,
        })
    }

    fn field_name(&self, name: &str, annotations: &[Annotation]) -> String {
        notes::text_of(self.checked, annotations, "name").unwrap_or_else(|| name.to_string())
    }

    fn serializable(&mut self, id: NodeId, ty: &Type) -> Option<SerializableEnum> {
        let decl = self.decl(id)?;
        let DeclKind::Enum { members, .. } = &decl.kind else {
            return None;
        };
        let width = self.checked.underlying(ty).fixed_width()?;
        let mut described = SerializableEnum {
            width: i32::try_from(width).ok()?,
            members: Vec::new(),
        };
        for member in members {
            let value = self.checked.enum_member_value(decl, &member.name.name)?;
            match bytes(value.as_int()?, width) {
                Some(bytes) => described
                    .members
                    .push((member.name.name.to_string(), bytes)),
                None => self.diagnostics.push(
                    Diagnostic::error(
                        "E0703",
                        member.name.span,
                        "P4Info has no negative values for members of an enum.",
                    )
                    .hint("Give the enum a `bit<W>` type."),
                ),
            }
        }
        Some(described)
    }

    fn new_type(&mut self, id: NodeId, ty: &Type, span: Span) -> Option<NewType> {
        let decl = self.decl(id)?;
        // Only the last of a chain of new types counts.
        let mut original = ty.clone();
        while let Type::Named(Kind::NewType, id, ..) = &original {
            let DeclKind::Typedef { ty, .. } = &self.decl(*id)?.kind else {
                return None;
            };
            original = self.checked.type_ref(ty.id).clone();
        }
        let described = self.describe(&original, span);
        let representation = match translation(&decl.annotations) {
            None => Representation::Original(described),
            Some((uri, bitwidth)) => {
                if !matches!(original, Type::Bit(_)) {
                    self.diagnostics.push(
                        Diagnostic::error(
                            "E0703",
                            decl.name.span,
                            format!("P4Runtime translates types that stand for `bit<W>`, not for {original}."),
                        )
                        .hint("Leave `@p4runtime_translation` out, or declare the type as one of `bit<W>`."),
                    );
                }
                Representation::Translated { uri, bitwidth }
            }
        };
        let left_out = ["p4runtime_translation"];
        let notes = notes::notes(
            self.checked,
            &decl.annotations,
            &left_out,
            &mut self.diagnostics,
        );
        Some(NewType {
            representation,
            notes,
        })
    }

    /// The name of a new type, `None` for other types.
    pub fn new_type_name(&self, ty: &Type) -> Option<String> {
        ty.is_kind(Kind::NewType).then(|| self.name(ty))
    }

    /// Width for the control plane in bits: that of the controller's numbers where a type is
    /// translated, 0 where it sees strings.
    pub fn width(&self, ty: &Type) -> u32 {
        if let Type::Named(Kind::NewType, id, ..) = ty {
            let decl = self.decl(*id);
            if let Some((_, bitwidth)) = decl.and_then(|d| translation(&d.annotations)) {
                return bitwidth.and_then(|w| u32::try_from(w).ok()).unwrap_or(0);
            }
        }
        self.stored_width(ty)
    }

    /// Width of a value in a packet, in bits.
    pub fn stored_width(&self, ty: &Type) -> u32 {
        match self.checked.underlying(ty) {
            Type::Bool => 1,
            Type::Bit(width) | Type::Signed(width) => width,
            _ => 0,
        }
    }

    /// The fields of a header, with those of structs inside in their places.
    pub fn flat_fields(&self, ty: &Type) -> Option<Vec<FlatField>> {
        let mut flat = Vec::new();
        let mut nested = false;
        self.flatten(ty, "", &[], 0, &mut flat, &mut nested)?;
        if nested {
            // The leaves of nested fields have names of their own, which dots join.
            for field in &mut flat {
                field.name = field.path.clone();
            }
        }
        Some(flat)
    }

    fn flatten(
        &self,
        ty: &Type,
        prefix: &str,
        around: &[&'a [Annotation]],
        depth: u32,
        flat: &mut Vec<FlatField>,
        nested: &mut bool,
    ) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        for (name, ty, annotations) in self.checked.fields_of(ty)? {
            let path = format!("{prefix}{name}");
            let mut lists = vec![annotations];
            lists.extend_from_slice(around);
            if ty.is_kind(Kind::Struct) {
                *nested = true;
                self.flatten(&ty, &format!("{path}."), &lists, depth + 1, flat, nested)?;
                continue;
            }
            // What is said of the field itself goes before what is said of the structs around it.
            let mut merged: Vec<Annotation> = Vec::new();
            for annotation in lists.iter().flat_map(|list| list.iter()) {
                if merged.iter().all(|a| a.name.name != annotation.name.name) {
                    merged.push(annotation.clone());
                }
            }
            flat.push(FlatField {
                name: self.field_name(&name, annotations),
                path,
                ty,
                annotations: merged,
            });
        }
        Some(())
    }
}

/// A field of a header without structs.
pub(crate) struct FlatField {
    pub name: String,
    path: String,
    pub ty: Type,
    pub annotations: Vec<Annotation>,
}

fn bit_string(ty: &Type) -> Option<BitString> {
    let width = |width: &u32| i32::try_from(*width).ok();
    Some(match ty {
        Type::Bit(bits) => BitString::Bit(width(bits)?),
        Type::Signed(bits) => BitString::Int(width(bits)?),
        Type::Varbit(bits) => BitString::Varbit(width(bits)?),
        _ => return None,
    })
}

/// URI and width (`None` for strings) of a `@p4runtime_translation`.
fn translation(annotations: &[Annotation]) -> Option<(String, Option<i32>)> {
    let [uri, _, rest @ ..] = notes::tokens_of(annotations, "p4runtime_translation") else {
        return None;
    };
    let digits = rest
        .iter()
        .find(|t| t.text.starts_with(|c: char| c.is_ascii_digit()));
    let width = digits.and_then(|t| t.text.parse().ok());
    Some((uri.text.to_string(), width))
}

/// `value` in as many bytes as `width` bits need; `None` if it is negative.
pub(crate) fn bytes(value: &BigInt, width: u32) -> Option<Vec<u8>> {
    let digits = value.to_biguint()?.to_bytes_be();
    let size = width.div_ceil(8) as usize;
    let mut bytes = vec![0; size.saturating_sub(digits.len())];
    bytes.extend_from_slice(&digits);
    Some(bytes)
}
