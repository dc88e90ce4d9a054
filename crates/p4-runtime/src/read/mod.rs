//! Reads: each request is a filter, and unset parts of a key stand for anything.
//!
//! A request becomes a question, the switch answers it between two packets, and the answer, with
//! what is remembered, becomes entities.

mod entities;
mod question;

pub use entities::entities;
pub use question::{answer, question};

use crate::status::{Code, Refusal};
use p4_state::UpdateError;

/// Turns what the engine refuses into what a client is told.
pub fn refused(error: UpdateError) -> Refusal {
    let refusal = Refusal::from(error);
    match refusal.code {
        Code::NotFound => refusal,
        _ => Refusal::new(Code::Internal, refusal.message),
    }
}
