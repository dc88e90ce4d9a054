//! Canonical codes, and what an RPC answers when it does not succeed.

use crate::messages::{Any, Error, RpcStatus};
use p4_state::UpdateError;
use prost::Message;
use std::fmt;

/// The canonical codes of gRPC that the specification uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    Ok = 0,
    Unknown = 2,
    InvalidArgument = 3,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
}

/// Why one thing cannot be done: a code for programs and a sentence for people.
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

    pub fn not_found(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::NotFound, message)
    }

    pub fn unimplemented(message: impl Into<String>) -> Refusal {
        Refusal::new(Code::Unimplemented, message)
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
            ConstTable { .. }
            | ConstEntry { .. }
            | ConstDefault { .. }
            | DefaultOnly { .. }
            | TableOnly { .. } => Code::PermissionDenied,
            IndexOutOfRange { .. } => Code::OutOfRange,
            InUse { .. } | EmptyMemberGroup { .. } | NotEmpty { .. } => Code::FailedPrecondition,
            _ => Code::InvalidArgument,
        };
        Refusal::new(code, error.to_string())
    }
}

/// How an RPC ended, if not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: Code,
    pub message: String,
    /// `google.rpc.Status` with an error for each part of the request; empty if there is none
    pub details: Vec<u8>,
}

impl Status {
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status {
            code,
            message: message.into(),
            details: Vec::new(),
        }
    }

    /// The status of a batch of which a part was refused: `results` has one item for each part, in
    /// order. Specification, 12.3: code UNKNOWN and as many `p4.Error`s as there are parts.
    pub fn of_batch(what: &str, results: &[Result<(), Refusal>]) -> Status {
        Status::of_batch_of(ERROR_TYPE, what, results)
    }

    /// The same with errors of another protocol: `error_type` is the name of a message whose first
    /// field is a code and whose second is a text.
    pub fn of_batch_of(error_type: &str, what: &str, results: &[Result<(), Refusal>]) -> Status {
        let failed = results
            .iter()
            .enumerate()
            .filter_map(|(index, result)| Some((index, result.as_ref().err()?)));
        let count = failed.clone().count();
        let parts = match what.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{what}s"),
        };
        let mut message = format!("{count} of {} {parts} failed", results.len());
        for (index, refusal) in failed.take(TOLD) {
            message.push_str(&format!("; {what} {}: {refusal}", index + 1));
        }
        if count > TOLD {
            message.push_str("; ...");
        }
        let mut status = Status::new(Code::Unknown, message);
        status.details = details(error_type, &status.message, results, true);
        if status.details.len() > DETAILS {
            status.details = details(error_type, &status.message, results, false);
        }
        status
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        Status::new(refusal.code, refusal.message)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.code, self.message)
    }
}

/// Refusals that the message of a batch tells.
const TOLD: usize = 3;
/// Details are sent in the trailer, of which clients take 8 KiB by default (specification, 21.4.1):
/// beyond, in base64, the sentences are left out, so that larger batches come through.
const DETAILS: usize = 5_500;

const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";

fn details(
    error_type: &str,
    message: &str,
    results: &[Result<(), Refusal>],
    sentences: bool,
) -> Vec<u8> {
    let any = |result: &Result<(), Refusal>| {
        let error = match result {
            Ok(()) => Error::default(),
            Err(refusal) => Error {
                canonical_code: refusal.code as i32,
                message: match sentences {
                    true => refusal.message.clone(),
                    false => String::new(),
                },
                ..Error::default()
            },
        };
        Any {
            type_url: error_type.to_string(),
            value: error.encode_to_vec(),
        }
    };
    let status = RpcStatus {
        code: Code::Unknown as i32,
        message: message.to_string(),
        details: results.iter().map(any).collect(),
    };
    status.encode_to_vec()
}
