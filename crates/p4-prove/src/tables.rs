//! Tables of which a lab says more than that their entries are unknown: what it fixes, and what it
//! derives from the entries of others.

use num_bigint::BigUint;

/// An entry that is always there; a table with such entries has no others.
#[derive(Clone, Debug)]
pub struct Fixed {
    pub table: String,
    /// Keys, which are exact
    pub matches: Vec<(String, BigUint)>,
    pub action: String,
    pub params: Vec<(String, BigUint)>,
}

/// A table that has an entry for each entry of others, and no more. Where two of them say the same of
/// all its keys, they say the same of its parameters.
#[derive(Clone, Debug)]
pub struct Derived {
    pub table: String,
    pub action: String,
    /// Tables whose entries it follows; an entry counts if its action has all parameters named.
    pub from: Vec<String>,
    /// Own keys and parameters, and the others' parameters that they are equal to
    pub same: Vec<(String, String)>,
}
