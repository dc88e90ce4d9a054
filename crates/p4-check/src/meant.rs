//! What was meant by a name that nothing declares: a field without what it is in, a name with a
//! letter wrong, or one with a word left out.

use crate::type_ref::MAX_WIDTH;
use crate::types::{Kind, Type};
use crate::{Checker, Def};
use p4_syntax::ast::{DeclKind, Name};
use p4_syntax::edit_distance;

/// More places than this are no help.
const MOST_PLACES: usize = 2;

impl Checker<'_> {
    /// The remedy, if there is a name in sight that is like it.
    pub(crate) fn meant(&self, name: &str) -> Option<String> {
        let words = self.places_of(name, 1);
        let methods = self.methods_named(name);
        let members = self.enums_with(name);
        let found = if let Some(word) = of_other_languages(name) {
            vec![word]
        } else if !words.is_empty() {
            words
        } else if !methods.is_empty() {
            methods
        } else if !members.is_empty() {
            members
        } else if let Some(near) = self.near(name).or_else(|| self.longer(name)) {
            vec![near]
        } else {
            self.places_of(name, 2)
        };
        if found.is_empty() || found.len() > MOST_PLACES {
            return None;
        }
        let quoted: Vec<String> = found.iter().map(|one| format!("`{one}`")).collect();
        Some(format!("did you mean {}?", quoted.join(" or ")))
    }

    /// The fields of this name in what variables and parameters hold, so many dots away.
    fn places_of(&self, name: &str, dots: usize) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for (owner, def) in self.scopes.visible() {
            if let Some(ty) = self.type_of(def) {
                self.fields_named(name, owner, &ty, dots, &mut found);
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// The methods of this name of what is in sight: `packet.extract`.
    fn methods_named(&self, name: &str) -> Vec<String> {
        let has_method = |def: &Def| match self.type_of(def) {
            Some(Type::Named(Kind::Extern, id, ..)) => self.has_method(id, name),
            _ => false,
        };
        let objects = self.scopes.visible();
        let with_method = objects.filter(|(_, def)| has_method(def));
        let mut found: Vec<String> = with_method
            .map(|(object, _)| format!("{object}.{name}"))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    /// The enums in sight, and `error`, with a member of this name: `reason_t.DISCOVERY`.
    fn enums_with(&self, name: &str) -> Vec<String> {
        let has_member = |def: &Def| match def {
            Def::Type(decl) => match &decl.kind {
                DeclKind::Enum { members, .. } => members.iter().any(|m| &*m.name.name == name),
                _ => false,
            },
            _ => false,
        };
        let types = self.scopes.visible().filter(|(_, def)| has_member(def));
        let mut found: Vec<String> = types.map(|(ty, _)| format!("{ty}.{name}")).collect();
        if self.out.errors.iter().any(|error| &**error == name) {
            found.push(format!("error.{name}"));
        }
        found.sort();
        found.dedup();
        found
    }

    fn fields_named(
        &self,
        name: &str,
        owner: &str,
        ty: &Type,
        dots: usize,
        found: &mut Vec<String>,
    ) {
        for (field, ty, _) in self.fields_of(ty).into_iter().flatten() {
            let place = format!("{owner}.{field}");
            if dots > 1 {
                self.fields_named(name, &place, &ty, dots - 1, found);
            } else if *field == *name {
                found.push(place);
            }
        }
    }

    fn type_of(&self, def: &Def) -> Option<Type> {
        let ty = match def {
            Def::Param(param) => &param.ty,
            Def::Var(decl) => match &decl.kind {
                DeclKind::Variable { ty, .. } => ty,
                _ => return None,
            },
            Def::Instance(decl) => return Some(self.out.expr_type(decl.id).clone()),
            _ => return None,
        };
        Some(self.out.type_ref(ty.id).clone())
    }

    /// The name with the fewest letters that differ.
    fn near(&self, name: &str) -> Option<String> {
        let distance = |n: &Name| edit_distance(n, name);
        self.names_in_sight()
            .min_by_key(|n| (distance(n), n.to_string()))
            .filter(|n| distance(n) <= name.len() / 3)
            .map(|n| n.to_string())
    }

    /// The shortest name of which this is a part between underscores: `PROTO_IPV4` of
    /// `BIER_PROTO_IPV4`.
    fn longer(&self, name: &str) -> Option<String> {
        let part = format!("_{name}_");
        self.names_in_sight()
            .filter(|n| name.len() > 1 && format!("_{n}_").contains(&part))
            .min_by_key(|n| (n.len(), n.to_string()))
            .map(|n| n.to_string())
    }

    fn names_in_sight(&self) -> impl Iterator<Item = &Name> {
        self.scopes
            .visible()
            .map(|(name, _)| name)
            .filter(|n| !n.is_empty())
    }
}

/// What P4 writes for a word of C or Python: `true` for `True`, `bit<8>` for `uint8_t`.
fn of_other_languages(name: &str) -> Option<String> {
    match name {
        "True" | "TRUE" => return Some("true".into()),
        "False" | "FALSE" => return Some("false".into()),
        "boolean" => return Some("bool".into()),
        _ => {}
    }
    let name = name.strip_suffix("_t").unwrap_or(name);
    let types = [("uint", "bit"), ("bit", "bit"), ("int", "int")];
    types.into_iter().find_map(|(prefix, ty)| {
        let width = name.strip_prefix(prefix)?.trim_start_matches('_');
        let bits: u32 = width.parse().ok()?;
        (1..=MAX_WIDTH)
            .contains(&bits)
            .then(|| format!("{ty}<{bits}>"))
    })
}
