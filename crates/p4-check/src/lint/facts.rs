//! What is known about variables at one place of a program: whether they have a value, and whether
//! headers are valid.

use crate::types::{Kind, Type};
use crate::Checked;
use p4_syntax::ast::Name;
use p4_syntax::HashMap;
use std::rc::Rc;

/// What a part may be, on the ways that lead to a place. A value is good if it was written, a
/// header if it is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Bad,
    Good,
    Either,
}

impl Known {
    pub fn join(self, other: Known) -> Known {
        match self == other {
            true => self,
            false => Known::Either,
        }
    }
}

/// What is known of each part that is looked after, by its number; the last one is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts(Vec<Option<Known>>);

impl Facts {
    pub fn get(&self, part: usize) -> Option<Known> {
        self.0.get(part).copied().flatten()
    }

    /// From here on the part is looked after.
    pub fn begin(&mut self, part: usize, known: Known) {
        if part >= self.0.len() {
            self.0.resize(part + 1, None);
        }
        self.0[part] = Some(known);
    }

    /// Does nothing to a part that is not looked after.
    pub fn change(&mut self, part: usize, new: Known) {
        if let Some(Some(known)) = self.0.get_mut(part) {
            *known = new;
        }
    }

    /// How much a copy of it costs.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

/// None: no way leads here.
pub(super) type Before = Option<Facts>;

pub(super) fn join(a: Before, b: Before) -> Before {
    match (a, b) {
        (Some(Facts(mut a)), Some(Facts(b))) => {
            // A part that one side does not know is not in scope behind the place.
            a.truncate(b.len());
            for (known, other) in a.iter_mut().zip(b) {
                *known = known.zip(other).map(|(known, other)| known.join(other));
            }
            let end = a.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
            a.truncate(end);
            Some(Facts(a))
        }
        (one, None) | (None, one) => one,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Value,
    Header,
}

/// The parts of a type that are looked after: the type itself, or what its fields consist of.
#[derive(Default)]
pub(super) struct Shape {
    pub parts: Vec<Sort>,
    /// Each field's name, the number of its first part and its shape
    fields: Vec<(Name, usize, Rc<Shape>)>,
}

/// A variable with more parts is not looked after.
const MAX_PARTS: usize = 512;

impl Shape {
    fn single(sort: Sort) -> Shape {
        Shape {
            parts: vec![sort],
            fields: Vec::new(),
        }
    }

    /// The only part, if it is one without fields.
    pub fn as_single(&self) -> Option<Sort> {
        match (&self.parts[..], &self.fields[..]) {
            ([sort], []) => Some(*sort),
            _ => None,
        }
    }

    /// Number of the field's first part, and its shape.
    pub fn field(&self, name: &str) -> Option<(usize, &Rc<Shape>)> {
        let (_, first, shape) = self.fields.iter().find(|(field, ..)| &**field == name)?;
        Some((*first, shape))
    }
}

/// What an expression names, as a part of a variable.
pub(super) enum Part {
    /// All of a shape, from its first part on
    Whole(usize, Rc<Shape>),
    /// A field of the header with this number
    InHeader(usize),
    /// Nothing that is looked after
    Other,
}

impl Part {
    pub fn field(self, name: &str) -> Part {
        match self {
            Part::Whole(first, shape) if shape.as_single().is_some() => Part::InHeader(first),
            Part::Whole(first, shape) => match shape.field(name) {
                Some((offset, field)) => Part::Whole(first + offset, Rc::clone(field)),
                None => Part::Other,
            },
            Part::InHeader(_) | Part::Other => Part::Other,
        }
    }

    /// The number of a part that has none within.
    pub fn single(&self) -> Option<usize> {
        match self {
            Part::Whole(first, shape) => shape.as_single().map(|_| *first),
            _ => None,
        }
    }
}

/// The shapes of the types met so far; None for one with too many parts.
#[derive(Default)]
pub(super) struct Shapes(HashMap<Type, Option<Rc<Shape>>>);

impl Shapes {
    pub fn of(&mut self, checked: &Checked<'_>, ty: &Type) -> Rc<Shape> {
        self.within_bounds(checked, ty).unwrap_or_default()
    }

    fn within_bounds(&mut self, checked: &Checked<'_>, ty: &Type) -> Option<Rc<Shape>> {
        if let Some(known) = self.0.get(ty) {
            return known.clone();
        }
        let shape = match ty {
            Type::Bool
            | Type::Bit(_)
            | Type::Signed(_)
            | Type::Error
            | Type::Named(Kind::Enum | Kind::SerEnum | Kind::NewType, ..) => {
                Some(Shape::single(Sort::Value))
            }
            Type::Named(Kind::Header, ..) => Some(Shape::single(Sort::Header)),
            Type::Named(Kind::Struct, ..) => self.of_fields(checked, ty),
            // Elements of stacks, unions and what has no parts at run time
            _ => Some(Shape::default()),
        };
        let shape = shape.map(Rc::new);
        self.0.insert(ty.clone(), shape.clone());
        shape
    }

    fn of_fields(&mut self, checked: &Checked<'_>, ty: &Type) -> Option<Shape> {
        let mut whole = Shape::default();
        for (name, field, _) in checked.fields_of(ty).into_iter().flatten() {
            let shape = self.within_bounds(checked, &field)?;
            let first = whole.parts.len();
            whole.parts.extend(&shape.parts);
            if whole.parts.len() > MAX_PARTS {
                return None;
            }
            whole.fields.push((name, first, shape));
        }
        Some(whole)
    }
}
