//! What is known about variables at one place of a program: whether they have a value, and whether
//! headers are valid.

use crate::types::{Kind, Type};
use crate::Checked;
use p4_syntax::ast::{Name, NodeId};
use p4_syntax::HashMap;

/// A variable or parameter, and the fields that lead to a part of it.
pub(super) type Part = (NodeId, Vec<Name>);

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

/// What is known of each part that is looked after.
pub(super) type Facts = HashMap<Part, Known>;
/// None: no way leads here.
pub(super) type Before = Option<Facts>;

pub(super) fn join(a: Before, b: Before) -> Before {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            // A part that one side does not know is not in scope behind the place.
            a.retain(|part, known| match b.get(part) {
                Some(other) => {
                    *known = known.join(*other);
                    true
                }
                None => false,
            });
            Some(a)
        }
        (one, None) | (None, one) => one,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Value,
    Header,
}

/// A variable with more parts is not looked after.
const MAX_PARTS: usize = 512;

/// The parts of a type that are looked after, with the fields that lead there.
pub(super) fn parts(checked: &Checked<'_>, ty: &Type) -> Vec<(Vec<Name>, Sort)> {
    let mut found = Vec::new();
    add_parts(checked, ty, &mut Vec::new(), &mut found);
    if found.len() > MAX_PARTS {
        found.clear();
    }
    found
}

fn add_parts(
    checked: &Checked<'_>,
    ty: &Type,
    path: &mut Vec<Name>,
    found: &mut Vec<(Vec<Name>, Sort)>,
) {
    if found.len() > MAX_PARTS {
        return;
    }
    match ty {
        Type::Bool | Type::Bit(_) | Type::Signed(_) | Type::Error => {
            found.push((path.clone(), Sort::Value));
        }
        Type::Named(Kind::Enum | Kind::SerEnum | Kind::NewType, ..) => {
            found.push((path.clone(), Sort::Value));
        }
        Type::Named(Kind::Header, ..) => found.push((path.clone(), Sort::Header)),
        Type::Named(Kind::Struct, ..) => {
            for (name, field, _) in checked.fields_of(ty).into_iter().flatten() {
                path.push(name);
                add_parts(checked, &field, path, found);
                path.pop();
            }
        }
        // Elements of stacks, unions and what has no parts at run time
        _ => {}
    }
}
