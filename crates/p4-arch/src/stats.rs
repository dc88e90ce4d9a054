//! What a switch counts about itself.

use p4_syntax::span::Span;
use std::fmt;

/// Why a packet went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drop {
    /// `egress_spec` was the dropping port at the end of ingress: `mark_to_drop`, or an assignment.
    IngressDrop,
    /// The same at the end of egress.
    EgressDrop,
    /// The multicast group does not exist or has no copies to make.
    NoGroup { group: u32 },
    /// Resubmitted or recirculated more often than [`max_passes`](crate::v1model::Config::max_passes).
    TooManyPasses,
    /// One arriving packet became more than [`max_packets`](crate::v1model::Config::max_packets).
    TooManyPackets,
    /// A control took too many instructions.
    OutOfFuel,
    /// `assert` or `assume` of something false.
    AssertionFailed,
    /// `priority` beyond the port's only queue (simple_switch's way only).
    NoQueue,
    /// The egress queue holds as many packets as it may.
    QueueFull,
    /// The switch has stopped: see [`Stop`].
    Stopped,
    /// The program's code is not well formed.
    IllFormed,
    /// TNA: bit 0 of `drop_ctl` at the end of ingress
    IngressDropCtl,
    /// TNA: the same at the end of egress
    EgressDropCtl,
    /// TNA: nobody wrote an egress port or a multicast group, or the groups made no copy.
    NoTarget,
    /// TNA: a port that the chip does not have, or that nothing is plugged into inside it
    BadPort { port: u16 },
    /// TNA: the ingress parser found an error, and ingress never looks at `parser_err`.
    ParserError { error: u16 },
    /// TNA: the deparser wrote more bytes of headers than the chip can.
    HeadersTooLong { bytes: u32 },
}

impl fmt::Display for Drop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Drop::IngressDrop => {
                f.write_str("ingress dropped it (egress_spec is the dropping port)")
            }
            Drop::EgressDrop => f.write_str("egress dropped it (egress_spec is the dropping port)"),
            Drop::NoGroup { group } => {
                write!(f, "multicast group {group} does not exist or is empty")
            }
            Drop::TooManyPasses => f.write_str("it was resubmitted or recirculated too often"),
            Drop::TooManyPackets => f.write_str("one packet became too many"),
            Drop::OutOfFuel => f.write_str("a control ran for too long (a million steps is the limit)"),
            Drop::AssertionFailed => f.write_str("an assertion failed"),
            Drop::QueueFull => f.write_str("the port's queue is full"),
            Drop::Stopped => f.write_str("the switch has stopped"),
            Drop::NoQueue => f.write_str("the port has no queue of this priority"),
            Drop::IllFormed => f.write_str("the compiled program is not well formed"),
            Drop::IngressDropCtl => f.write_str("ingress dropped it (bit 0 of drop_ctl is set)"),
            Drop::EgressDropCtl => f.write_str("egress dropped it (bit 0 of drop_ctl is set)"),
            Drop::NoTarget => {
                f.write_str("ingress wrote neither ucast_egress_port nor a multicast group that makes copies")
            }
            Drop::BadPort { port } => write!(f, "port {port} leads nowhere"),
            Drop::ParserError { error } => write!(
                f,
                "the ingress parser found an error (parser_err would be {error:#06x}, but ingress never reads it)"
            ),
            Drop::HeadersTooLong { bytes } => {
                write!(f, "the deparser wrote {bytes} bytes of headers, more than the chip can")
            }
        }
    }
}

/// Why a switch takes no more packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// `assert` or `assume` of something false; its name, and where it stands
    AssertionFailed { name: &'static str, span: Span },
    /// `log_msg` with fewer values than `{}` (simple_switch's way only)
    TooFewValues { span: Span },
    /// An index so far outside of a register, counter or meter, or one past a header stack, that
    /// simple_switch does not survive it (its way only)
    OutOfRange { span: Span },
    /// A packet met a group of an action selector without members (simple_switch's way only).
    EmptyGroup,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::AssertionFailed { name, .. } => write!(f, "the switch stopped: {name} failed"),
            Stop::TooFewValues { .. } => {
                f.write_str("the switch stopped: log_msg has fewer values than `{}`")
            }
            Stop::OutOfRange { .. } => f.write_str("the switch stopped: an index is out of range"),
            Stop::EmptyGroup => {
                f.write_str("the switch stopped: a group of an action selector is empty")
            }
        }
    }
}

/// Counts since the switch began. What counts every packet comes last, beside the state of a v1model switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stats {
    pub ingress_drops: u64,
    pub egress_drops: u64,
    pub no_group: u64,
    pub too_many_passes: u64,
    pub too_many_packets: u64,
    pub out_of_fuel: u64,
    pub failed_assertions: u64,
    pub no_queue: u64,
    pub queue_full: u64,
    /// Packets that came after the switch had stopped, or stopped it
    pub stopped: u64,
    pub ill_formed: u64,
    /// TNA: sent to ports that lead nowhere
    pub bad_port: u64,
    /// TNA: dropped by the ingress parser
    pub parser_errors: u64,
    pub clones: u64,
    pub replicas: u64,
    pub resubmitted: u64,
    pub recirculated: u64,
    /// Clones asked of a session that does not exist
    pub unknown_session: u64,
    /// Uses of a register, counter or meter beyond its size, which had no effect
    pub out_of_range: u64,
    /// Digests lost because nobody took the earlier ones
    pub lost_digests: u64,
    /// Packets taken in, bytes of them
    pub received: u64,
    pub received_bytes: u64,
    pub sent: u64,
    pub sent_bytes: u64,
}

impl Stats {
    pub(crate) fn count_drop(&mut self, reason: Drop) {
        let counter = match reason {
            Drop::IngressDrop => &mut self.ingress_drops,
            Drop::EgressDrop => &mut self.egress_drops,
            Drop::NoGroup { .. } => &mut self.no_group,
            Drop::TooManyPasses => &mut self.too_many_passes,
            Drop::TooManyPackets => &mut self.too_many_packets,
            Drop::OutOfFuel => &mut self.out_of_fuel,
            Drop::AssertionFailed => &mut self.failed_assertions,
            Drop::NoQueue => &mut self.no_queue,
            Drop::QueueFull => &mut self.queue_full,
            Drop::Stopped => &mut self.stopped,
            Drop::IllFormed => &mut self.ill_formed,
            Drop::IngressDropCtl | Drop::NoTarget => &mut self.ingress_drops,
            Drop::EgressDropCtl | Drop::HeadersTooLong { .. } => &mut self.egress_drops,
            Drop::BadPort { .. } => &mut self.bad_port,
            Drop::ParserError { .. } => &mut self.parser_errors,
        };
        *counter += 1;
    }

    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.ingress_drops
            + self.egress_drops
            + self.no_group
            + self.too_many_passes
            + self.too_many_packets
            + self.out_of_fuel
            + self.failed_assertions
            + self.no_queue
            + self.queue_full
            + self.stopped
            + self.ill_formed
            + self.bad_port
            + self.parser_errors
    }
}
