//! What tells the rules of a table apart, as a key of a hash map.

use crate::matcher::Pattern;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A pattern and a priority, which no two rules of a table share. The pattern is the entry's own; to look a
/// rule up, references do ([`Named`]).
#[derive(Clone, Debug)]
pub(crate) struct Name(pub Arc<Pattern>, pub u32);

/// Whatever has a pattern and a priority.
pub(crate) trait Named {
    fn parts(&self) -> (&Pattern, u32);
}

impl Named for Name {
    fn parts(&self) -> (&Pattern, u32) {
        (&self.0, self.1)
    }
}

impl Named for (&Pattern, u32) {
    fn parts(&self) -> (&Pattern, u32) {
        *self
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Named + '_ {}

impl Hash for dyn Named + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl<'a> Borrow<dyn Named + 'a> for Name {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}
