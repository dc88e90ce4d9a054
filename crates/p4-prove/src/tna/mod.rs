//! Programs for TNA: a pipe of Tofino 1 on terms.
//!
//! What `p4_arch::tna` does between the blocks is said once more for terms ([`journey`]), and so are
//! its externs ([`calls`]). Bytes are all that goes from ingress to egress and from pass to pass, so a
//! packet that comes back is any packet at a looped port.

mod calls;
mod journey;
mod meeting;
mod registers;

pub(crate) use journey::{beginning, come_back, first_half, second_half, travel};
pub(crate) use meeting::{later_legs, notes};
pub(crate) use registers::in_its_pipe;

use crate::packet::Packet;
use crate::term::Term;
use p4_ir::ir::{Program, Slot};
use rustc_hash::FxHashMap;

pub(crate) const FOR_TM: &str = "ig_intr_md_for_tm";
pub(crate) const INGRESS_FOR_DEPARSER: &str = "ig_intr_md_for_dprsr";
pub(crate) const EGRESS_FOR_DEPARSER: &str = "eg_intr_md_for_dprsr";
pub(crate) const INGRESS_FROM_PARSER: &str = "ig_intr_md_from_prsr";
pub(crate) const EGRESS_FROM_PARSER: &str = "eg_intr_md_from_prsr";

/// Fields that ask for nothing until they are written, in the order of the words that say so
/// (`p4_arch::tna`'s binding).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noted {
    Unicast,
    GroupA,
    GroupB,
    Resubmit = 4,
    IngressMirror,
    EgressMirror,
}

/// Whether the field was written
pub(crate) fn note(program: &Program, which: Noted) -> Option<Slot> {
    let storage = program.storage(p4_ir::written::WRITTEN)?;
    Some(storage.base + which as Slot)
}

/// How a chip is wired.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// The port that leads to the CPU
    pub cpu: Option<u16>,
    /// Front ports in loopback, with their port metadata
    pub loops: Vec<(u16, u64)>,
    /// Registers that are a program's own business, by the ends of their names: they begin as the
    /// program says, and what they hold afterwards is not compared.
    pub notes: Vec<String>,
    /// Each pass costs the capacity of a port, so programs that take more of them differ.
    pub counts_passes: bool,
}

impl Wiring {
    pub fn is_note(&self, register: &str) -> bool {
        let mut notes = self.notes.iter();
        notes.any(|own| register == own || register.ends_with(&format!(".{own}")))
    }
}

/// What a chip knows of the packet in it, beside the frame.
#[derive(Debug, Default)]
pub struct Chip {
    /// The pipe that the packet is in, 2 bits
    pub(crate) pipe: Option<Term>,
    /// Session and header of the mirror that was emitted last
    pub(crate) mirror: Option<(Term, Option<Term>)>,
    /// Data of the resubmission that was emitted last
    pub(crate) resubmit: Option<Vec<Term>>,
    /// What the parser's checksums were given, whole words of 16 bits, by instance
    pub(crate) sums: FxHashMap<u32, Option<Term>>,
}

/// A packet at a port
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub port: Term,
    /// Data of a resubmission
    pub resubmitted: Option<Vec<Term>>,
}

/// What the traffic manager says of a copy
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// The first copy of its replication id
    pub is_first: Term,
    pub bypasses: Term,
}

/// What a chip needs of a packet behind a control.
#[derive(Debug)]
pub(crate) enum Rest {
    /// Nothing is left of it.
    Lost,
    /// It has not been to egress.
    Bypassed,
    /// Behind egress
    Egress,
    /// Behind ingress: how it came in, with its checksum
    Ingress {
        arrival: Arrival,
        original: Packet,
        length: Term,
    },
}
