//! What the runner needs of a switch.

use crate::script::Port;
use num_bigint::BigUint;
use p4_arch::v1model::CrcParameters;
use p4_state::{EntryKey, State, Update};

/// A table and its keys, which say what a written value means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Full control-plane name
    pub name: String,
    pub keys: Vec<KeySchema>,
}

impl TableSchema {
    /// Whether entries of this table are told apart by priority.
    pub fn has_priorities(&self) -> bool {
        self.keys.iter().any(|key| {
            matches!(
                key.kind,
                MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
            )
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySchema {
    pub name: String,
    pub kind: MatchKind,
    /// Width in bits
    pub width: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// A kind that entries say nothing about, such as `selector`
    Other,
}

/// What can be set of an egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSetting {
    /// Packets that it holds
    Depth(u64),
    /// Packets per second that leave it; 0 for no limit
    Rate(u64),
}

/// A switch under test. Errors are one sentence for the author of the test.
pub trait Target {
    /// The program's tables.
    fn schema(&self) -> &[TableSchema];

    fn write(&mut self, update: Update) -> Result<(), String>;

    fn read_register(&self, register: &str, index: u64) -> Result<BigUint, String>;
    /// Packets and bytes
    fn read_counter(&self, counter: &str, index: u64) -> Result<(u64, u64), String>;
    /// Packets and bytes of an entry
    fn read_direct_counter(&self, entry: &EntryKey) -> Result<(u64, u64), String>;

    /// Sends a packet in and gives everything that comes out, in order.
    fn process(&mut self, port: Port, data: &[u8], out: &mut dyn FnMut(Port, &[u8]));
    /// Lets the switch's clock advance; what it sends meanwhile goes to `out`.
    fn wait(&mut self, milliseconds: u64, out: &mut dyn FnMut(Port, &[u8]));

    /// Tables and externs to be read, if the switch shows them.
    fn state(&self) -> Option<&State> {
        None
    }
    /// Whether the switch does as bmv2 does where the specification says otherwise.
    fn bmv2_compat(&self) -> bool {
        false
    }
    /// Why the switch takes no more packets, if it does not.
    fn stopped(&self) -> Option<String> {
        None
    }
    /// Why the packet that was sent last was given up, if it was: it went round for too long, say.
    fn gave_up(&self) -> Option<String> {
        None
    }
    /// Gives the custom CRC `name` other parameters.
    fn set_crc(&mut self, name: &str, _: CrcParameters) -> Result<(), String> {
        Err(format!("there is no custom CRC {name}"))
    }
    /// Sets egress queues: of all ports or one, of all priorities or one.
    fn set_queue(
        &mut self,
        _port: Option<Port>,
        _priority: Option<u8>,
        _setting: QueueSetting,
    ) -> Result<(), String> {
        Err("this switch has no queues to set".to_string())
    }
    /// Widths in bits of the parameters of an action; none if the action is not known.
    fn action_widths(&self, _action: &str) -> Vec<u32> {
        Vec::new()
    }
}
