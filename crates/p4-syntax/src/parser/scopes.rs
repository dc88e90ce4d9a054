//! Which names are types, as far as the text read so far tells. The grammar needs to know:
//! `(T) x` casts if `T` is a type, and `a < b > (c)` calls `a` if `b` is one.

use crate::ast::Name;
use crate::HashMap;

pub(super) struct Scopes {
    /// The outermost first; a name maps to whether it is a type.
    scopes: Vec<HashMap<Name, bool>>,
}

impl Scopes {
    pub(super) fn new() -> Scopes {
        Scopes {
            scopes: vec![HashMap::default()],
        }
    }

    pub(super) fn push(&mut self) {
        self.scopes.push(HashMap::default());
    }

    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Leaves scopes until `depth` are left, whatever way out of them was taken.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.scopes.truncate(depth.max(1));
    }

    pub(super) fn declare_type(&mut self, name: &Name) {
        self.declare(name, true);
    }

    pub(super) fn declare_object(&mut self, name: &Name) {
        self.declare(name, false);
    }

    fn declare(&mut self, name: &Name, is_type: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.clone(), is_type);
        }
    }

    pub(super) fn is_type(&self, name: &str) -> bool {
        self.lookup(name) == Some(true)
    }

    pub(super) fn is_global_type(&self, name: &str) -> bool {
        self.scopes[0].get(name) == Some(&true)
    }

    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.lookup(name).is_some()
    }

    fn lookup(&self, name: &str) -> Option<bool> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name).copied())
    }
}
