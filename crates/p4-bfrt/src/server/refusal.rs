//! Why something cannot be done.

use p4_state::UpdateError;
use std::fmt;

/// gRPC's canonical codes, as far as they are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    InvalidArgument = 3,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Unavailable = 14,
}

/// A code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub message: String,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            message: message.into(),
        }
    }

    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::InvalidArgument, message)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<UpdateError> for Refusal {
    fn from(error: UpdateError) -> Refusal {
        use UpdateError::*;
        let code = match &error {
            Duplicate { .. } => Code::AlreadyExists,
            NotFound { .. } | NoMember { .. } | NoMemberGroup { .. } => Code::NotFound,
            Full { .. } | SetTooLarge { .. } => Code::ResourceExhausted,
            ConstTable { .. } | ConstDefault { .. } => Code::PermissionDenied,
            InUse { .. } => Code::FailedPrecondition,
            _ => Code::InvalidArgument,
        };
        Refusal::new(code, error.to_string())
    }
}
