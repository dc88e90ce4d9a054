//! What a contract says of entries beyond their types: `fbm` has the bit that the entry is for.

use crate::term::{Binary, Term, Terms};
use num_bigint::BigUint;

/// A condition on an entry of one table, which holds for each action that has all parameters named
/// in it.
#[derive(Clone, Debug)]
pub struct Assumption {
    /// The table's name, or as much of its end as is unique
    pub table: String,
    /// Only of entries with this action
    pub action: Option<String>,
    pub holds: Expression,
}

#[derive(Clone, Debug)]
pub enum Expression {
    Number(BigUint),
    /// A key or a parameter
    Name(String),
    /// What a key of an entry covers: its mask
    Mask(String),
    /// The number of the multicast group that there is
    Group,
    Not(Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
}

/// Where names have their terms; `None` for one that an action does not have.
pub(crate) trait Scope {
    fn name(&self, name: &str) -> Option<Term>;
    fn mask(&self, name: &str, terms: &mut Terms) -> Option<Term>;
    fn group(&self) -> Term;
}

impl Expression {
    /// The expression's term; `None` if a name in it means nothing here. Numbers take the width of
    /// what they are compared or joined with, `width`.
    pub(crate) fn term(&self, scope: &dyn Scope, terms: &mut Terms, width: u32) -> Option<Term> {
        Some(match self {
            Expression::Number(value) => terms.constant(value.clone(), width),
            Expression::Name(name) => scope.name(name)?,
            Expression::Mask(name) => scope.mask(name, terms)?,
            Expression::Group => scope.group(),
            Expression::Not(inner) => {
                let inner = inner.term(scope, terms, width)?;
                terms.not(inner)
            }
            Expression::Binary(op, a, b) => {
                let wide = |terms: &mut Terms, e: &Expression| {
                    let least = e.term(scope, terms, 1)?;
                    Some(match e.is_number() {
                        true => 0,
                        false => terms.width(least),
                    })
                };
                let own = wide(terms, a)?.max(wide(terms, b)?).max(1);
                let (a, b) = (a.term(scope, terms, own)?, b.term(scope, terms, own)?);
                let (a, b) = (terms.fit(a, own), terms.fit(b, own));
                terms.binary(*op, a, b)
            }
        })
    }

    fn is_number(&self) -> bool {
        match self {
            Expression::Number(_) => true,
            Expression::Not(inner) => inner.is_number(),
            _ => false,
        }
    }
}
