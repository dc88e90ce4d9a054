//! Fields and the expressions that name them.

use crate::model::{Access, Field};
use crate::walk::{Bound, Walk};
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::Def;
use p4_syntax::ast::{Decl, DeclKind, Expr, ExprKind};

/// A place with more fields than this is not followed: no chip holds it.
const MAX_LEAVES: usize = 1 << 12;

/// Where a value lies, possibly one of several places (an element of a stack by a computed index).
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub names: Vec<String>,
    pub ty: Type,
    /// Bits `lo` to `hi` of it
    pub part: Option<(u32, u32)>,
    pub header: bool,
    pub intrinsic: bool,
}

impl Place {
    pub fn root(name: String, ty: Type, intrinsic: bool) -> Place {
        Place {
            names: vec![name],
            header: ty.is_kind(Kind::Header),
            ty,
            part: None,
            intrinsic,
        }
    }

    fn inner(&self, suffix: &str, ty: Type) -> Place {
        Place {
            names: self.names.iter().map(|n| format!("{n}{suffix}")).collect(),
            header: self.header || ty.is_kind(Kind::Header),
            ty,
            part: None,
            intrinsic: self.intrinsic,
        }
    }
}

impl<'a> Walk<'_, 'a> {
    pub fn constant(&self, expr: &Expr) -> Option<Value> {
        self.checked
            .eval(expr, &|param| self.env.values.get(&param.id).cloned())
    }

    fn number(&self, expr: &Expr) -> Option<u32> {
        u32::try_from(self.constant(expr)?.as_int()?).ok()
    }

    /// `ty` with the type arguments of the blocks around put in.
    pub fn concrete(&self, ty: &Type) -> Type {
        ty.map_params(&|decl, index| self.env.types.get(&(decl, index)).cloned())
    }

    /// Width in bits; of a varbit the largest.
    pub fn width(&self, ty: &Type) -> u32 {
        match ty {
            Type::Error => 8,
            // The chip's compiler numbers the members.
            Type::Named(Kind::Enum, ..) => 8,
            _ => {
                let bits = self.checked.size_in_bits(ty).map_or(0, |(_, most)| most);
                u32::try_from(bits).unwrap_or(u32::MAX)
            }
        }
    }

    /// What the expression names, if it names something stored.
    pub fn place(&mut self, expr: &'a Expr) -> Option<Place> {
        match &expr.kind {
            ExprKind::Path(_) => match *self.checked.defs.get(&expr.id)? {
                Def::Var(decl) => Some(self.variable(decl)),
                Def::Param(param) => match self.env.bound.get(&param.id)? {
                    Bound::Place(place) => Some(place.clone()),
                    _ => None,
                },
                _ => None,
            },
            ExprKind::Member(base, name) => {
                let base = self.place(base)?;
                if let Type::Stack(element, _) = &base.ty {
                    // `last` and `next`: whichever element it is
                    let element = (**element).clone();
                    return Some(self.any_element(&base, element));
                }
                let fields = self.checked.fields_of(&base.ty)?;
                let (_, ty, _) = fields.into_iter().find(|(field, ..)| *field == name.name)?;
                let ty = self.concrete(&ty);
                Some(base.inner(&format!(".{}", name.name), ty))
            }
            ExprKind::Index(base, index) => {
                let base = self.place(base)?;
                let Type::Stack(element, count) = &base.ty else {
                    return None;
                };
                let element = (**element).clone();
                match self.number(index) {
                    Some(i) if i < *count => Some(base.inner(&format!("[{i}]"), element)),
                    _ => Some(self.any_element(&base, element)),
                }
            }
            ExprKind::Slice(base, high, low) => {
                let base = self.place(base)?;
                let (high, low) = (self.number(high)?, self.number(low)?);
                let from = base.part.map_or(0, |(lo, _)| lo);
                let width = self.width(&base.ty);
                (low <= high && from.checked_add(high)? < width).then(|| Place {
                    part: Some((from + low, from + high)),
                    ..base
                })
            }
            _ => None,
        }
    }

    fn any_element(&self, stack: &Place, element: Type) -> Place {
        let Type::Stack(_, count) = stack.ty else {
            return stack.clone();
        };
        let most = (MAX_LEAVES / stack.names.len().max(1)) as u32;
        let names = (0..count.min(most))
            .flat_map(|i| stack.names.iter().map(move |name| format!("{name}[{i}]")))
            .collect();
        Place {
            names,
            header: stack.header || element.is_kind(Kind::Header),
            ty: element,
            part: None,
            intrinsic: stack.intrinsic,
        }
    }

    /// A local variable, under a name of its own in this instance.
    pub fn variable(&mut self, decl: &'a Decl) -> Place {
        if let Some(Bound::Place(place)) = self.env.bound.get(&decl.id) {
            return place.clone();
        }
        let ty = match &decl.kind {
            DeclKind::Variable { ty, .. } => self.concrete(self.checked.type_ref(ty.id)),
            _ => Type::Unknown,
        };
        let name = self.fresh(&decl.name.name);
        let place = Place::root(name, ty, false);
        self.env.bound.insert(decl.id, Bound::Place(place.clone()));
        let fields = self.accesses(&place);
        self.locals.extend(fields.iter().map(|access| access.field));
        place
    }

    /// A name that no other variable has.
    pub fn fresh(&mut self, own: &str) -> String {
        let wanted = format!("{}{own}", self.env.prefix);
        let count = self.names.entry(wanted.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => wanted,
            n => format!("{wanted}'{n}"),
        }
    }

    /// All fields of a place.
    pub fn accesses(&mut self, place: &Place) -> Vec<Access> {
        let mut leaves = Vec::new();
        self.leaves(&place.ty, String::new(), place.header, &mut leaves);
        let mut found = Vec::new();
        for name in &place.names {
            for (suffix, width, header) in &leaves {
                if found.len() >= MAX_LEAVES {
                    self.too_large = true;
                    return found;
                }
                let field = self.field(format!("{name}{suffix}"), *width, *header, place.intrinsic);
                let (lo, hi) = place.part.unwrap_or((0, width.saturating_sub(1)));
                found.push(Access { field, lo, hi });
            }
        }
        self.spend(found.len() as u64);
        found
    }

    /// The validity bits of a header, of the headers in a union or of all elements of a stack.
    pub fn validity(&mut self, place: &Place) -> Vec<Access> {
        let names: Vec<String> = match &place.ty {
            Type::Stack(element, _) => self.any_element(place, (**element).clone()).names,
            _ => place.names.clone(),
        };
        let bit = |field| Access {
            field,
            lo: 0,
            hi: 0,
        };
        self.spend(names.len() as u64);
        names
            .into_iter()
            .map(|name| bit(self.field(format!("{name}.$valid"), 1, true, false)))
            .collect()
    }

    fn leaves(&self, ty: &Type, at: String, header: bool, out: &mut Vec<(String, u32, bool)>) {
        if out.len() > MAX_LEAVES {
            return;
        }
        match ty {
            Type::Named(Kind::Struct | Kind::Header | Kind::Union, ..) => {
                let header = header || ty.is_kind(Kind::Header);
                for (name, field, _) in self.checked.fields_of(ty).unwrap_or_default() {
                    let field = self.concrete(&field);
                    self.leaves(&field, format!("{at}.{name}"), header, out);
                }
                if ty.is_kind(Kind::Header) {
                    out.push((format!("{at}.$valid"), 1, true));
                }
            }
            Type::Stack(element, count) => {
                for i in 0..*count {
                    if out.len() > MAX_LEAVES {
                        return;
                    }
                    self.leaves(element, format!("{at}[{i}]"), header, out);
                }
            }
            Type::Tuple(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.leaves(item, format!("{at}.{i}"), header, out);
                }
            }
            scalar => match self.width(scalar) {
                0 => {}
                width => out.push((at, width, header)),
            },
        }
    }

    pub fn field(&mut self, name: String, width: u32, header: bool, intrinsic: bool) -> u32 {
        if let Some(known) = self.by_name.get(&name) {
            return *known;
        }
        let index = self.fields.len() as u32;
        self.fields.push(Field {
            name: name.clone(),
            width,
            header,
            intrinsic,
        });
        self.by_name.insert(name, index);
        index
    }
}
