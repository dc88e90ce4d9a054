//! The state from the control plane's side, for reading.

use crate::cells::MeterConfig;
use crate::error::UpdateError;
use crate::matcher::Pattern;
use crate::state::{Cells, State};
use crate::table::{KeyInfo, Kind, Leads, Stored, Table};
use crate::update::{ActionSpec, Args, EntryKey, Match, Target};
use crate::value::from_words;
use num_bigint::BigUint;
use p4_ir::ir;
use p4_syntax::span::Span;

/// An entry as a control plane would have written it, with its counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryView {
    /// The number that traces show
    pub handle: u64,
    /// Every key, in order; [`Match::Any`] where anything matches.
    pub matches: Vec<(String, Match)>,
    /// 0 in tables without priorities
    pub priority: u32,
    pub target: Target,
    /// What the table's direct counter counted
    pub packets: u64,
    pub bytes: u64,
    /// What the table's direct meter is set to; `None`: everything is green
    pub meter: Option<MeterConfig>,
    /// How long it may go without a hit, in picoseconds; `None`: for ever
    pub idle_timeout: Option<u64>,
    /// When it was last hit, or first looked at, in picoseconds; `None` if neither has happened
    pub idle_since: Option<u64>,
    /// Where the program says so, for entries written in it
    pub span: Option<Span>,
    /// Whether it is marked `const` there
    pub is_const: bool,
}

impl State {
    /// The entries of a table in the order in which they came.
    pub fn entries(&self, table: &str) -> Result<Vec<EntryView>, UpdateError> {
        let table = &self.tables[self.table_named(table)?];
        Ok(table
            .entries()
            .into_iter()
            .map(|entry| view(table, entry))
            .collect())
    }

    /// How many entries a table has.
    pub fn entry_count(&self, table: &str) -> Result<usize, UpdateError> {
        Ok(self.tables[self.table_named(table)?].len())
    }

    /// The entry with this key.
    pub fn entry(&self, key: &EntryKey) -> Result<EntryView, UpdateError> {
        let (index, pattern, priority) = self.entry_key(key)?;
        let table = &self.tables[index];
        let place = table.locate(&pattern, priority)?;
        let entry = table.entry(place).map(|entry| view(table, entry));
        entry.ok_or_else(|| UpdateError::NotFound {
            table: table.name.to_string(),
        })
    }

    /// The entry that traces show under this number.
    pub fn entry_numbered(&self, table: &str, handle: u64) -> Result<EntryView, UpdateError> {
        let table = &self.tables[self.table_named(table)?];
        let entry = table.entry_numbered(handle).map(|entry| view(table, entry));
        entry.ok_or_else(|| UpdateError::NotFound {
            table: table.name.to_string(),
        })
    }

    /// What packets meet that hit no entry of a table.
    pub fn default_target(&self, table: &str) -> Result<Target, UpdateError> {
        let index = self.table_named(table)?;
        let table = &self.tables[index];
        Ok(match &table.default_leads {
            Some(Leads::Member(member)) => Target::Member(*member),
            Some(Leads::Group(group)) => Target::Group(*group),
            Some(Leads::Action(..)) | None => {
                Target::Action(spec(table, table.default.action, &table.default.data))
            }
        })
    }

    /// The members of an action profile by their numbers.
    pub fn members(&self, profile: &str) -> Result<Vec<(u32, ActionSpec)>, UpdateError> {
        let id = self.profile_named(profile)?;
        let mut tables = self.tables.iter();
        let user = tables.find(|table| table.direct.profile == Some(id as ir::InstanceId));
        let (Some(table), Cells::Profile(cells)) = (user, &self.cells[id]) else {
            return Ok(Vec::new()); // a profile without a table has no actions
        };
        let members = cells.members.iter();
        Ok(members
            .map(|(number, member)| (*number, spec(table, member.action, &member.data)))
            .collect())
    }

    /// Whether an action profile has a member.
    pub fn has_member(&self, profile: &str, member: u32) -> Result<bool, UpdateError> {
        match &self.cells[self.profile_named(profile)?] {
            Cells::Profile(cells) => Ok(cells.members.contains_key(&member)),
            _ => Ok(false),
        }
    }

    /// The groups of an action selector by their numbers, with their members in ascending order.
    pub fn member_groups(&self, profile: &str) -> Result<Vec<(u32, Vec<u32>)>, UpdateError> {
        match &self.cells[self.profile_named(profile)?] {
            Cells::Profile(cells) => Ok(cells.groups.clone().into_iter().collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// The default action of a table.
    pub fn default_action(&self, table: &str) -> Result<ActionSpec, UpdateError> {
        let table = &self.tables[self.table_named(table)?];
        Ok(spec(table, table.default.action, &table.default.data))
    }

    /// Packets and bytes of a cell.
    pub fn counter(&self, counter: &str, index: u64) -> Result<(u64, u64), UpdateError> {
        let id = self.counter_named(counter)?;
        let name = self.program.instances[id].name.to_string();
        let Cells::Counters(cells) = &self.cells[id] else {
            return Err(UpdateError::Direct { name });
        };
        let size = cells.size();
        let cell = cells
            .get(index)
            .ok_or(UpdateError::IndexOutOfRange { name, index, size })?;
        Ok((cell.packets, cell.bytes))
    }

    /// Number of cells of a counter.
    pub fn counter_size(&self, counter: &str) -> Result<u64, UpdateError> {
        let id = self.counter_named(counter)?;
        match &self.cells[id] {
            Cells::Counters(cells) => Ok(cells.size()),
            _ => Err(UpdateError::Direct {
                name: self.program.instances[id].name.to_string(),
            }),
        }
    }

    /// Packets and bytes that hit an entry of a table with a direct counter.
    pub fn direct_counter(&self, key: &EntryKey) -> Result<(u64, u64), UpdateError> {
        let (index, pattern, priority) = self.entry_key(key)?;
        let table = &self.tables[index];
        if table.direct.counter.is_none() {
            let table = table.name.to_string();
            return Err(UpdateError::NotDirect {
                table,
                what: "counter",
            });
        }
        let place = table.locate(&pattern, priority)?;
        let count = table
            .entry(place)
            .map(|entry| entry.measured().count)
            .unwrap_or_default();
        Ok((count.packets, count.bytes))
    }

    /// Number of cells of a meter.
    pub fn meter_size(&self, meter: &str) -> Result<u64, UpdateError> {
        let id = self.meter_named(meter)?;
        match &self.cells[id] {
            Cells::Meters(_, cells) => Ok(cells.size()),
            _ => Err(UpdateError::Direct {
                name: self.program.instances[id].name.to_string(),
            }),
        }
    }

    /// The table whose entries a direct counter counts, if `counter` is one.
    pub fn direct_counter_table(&self, counter: &str) -> Result<Option<String>, UpdateError> {
        let id = self.counter_named(counter)? as ir::InstanceId;
        let table = self
            .tables
            .iter()
            .find(|table| table.direct.counter == Some(id));
        Ok(table.map(|table| table.name.to_string()))
    }

    /// The configuration of a meter's cell; `None` means that everything is green.
    pub fn meter_config(
        &self,
        meter: &str,
        index: u64,
    ) -> Result<Option<MeterConfig>, UpdateError> {
        let id = self.meter_named(meter)?;
        let name = self.program.instances[id].name.to_string();
        let Cells::Meters(_, cells) = &self.cells[id] else {
            return Err(UpdateError::Direct { name });
        };
        let size = cells.size();
        Ok(cells
            .get(index)
            .ok_or(UpdateError::IndexOutOfRange { name, index, size })?
            .config())
    }

    /// The table whose direct meter `meter` is, if it is one.
    pub fn direct_meter_table(&self, meter: &str) -> Result<Option<String>, UpdateError> {
        let id = self.meter_named(meter)? as ir::InstanceId;
        let mut tables = self.tables.iter();
        let table = tables.find(|table| table.direct.meter == Some(id));
        Ok(table.map(|table| table.name.to_string()))
    }

    /// The configuration of an entry's direct meter; `None` means that everything is green.
    pub fn direct_meter_config(&self, key: &EntryKey) -> Result<Option<MeterConfig>, UpdateError> {
        let (index, pattern, priority) = self.entry_key(key)?;
        let table = &self.tables[index];
        if table.direct.meter.is_none() {
            let (table, what) = (table.name.to_string(), "meter");
            return Err(UpdateError::NotDirect { table, what });
        }
        let place = table.locate(&pattern, priority)?;
        Ok(table
            .entry(place)
            .and_then(|entry| entry.measured().meter.config()))
    }

    /// The full name of an action profile or selector.
    pub fn profile_name(&self, profile: &str) -> Result<String, UpdateError> {
        let id = self.profile_named(profile)?;
        Ok(self.program.instances[id].name.to_string())
    }

    /// The value of a register's cell; fields of a struct joined, the first one uppermost.
    pub fn read_register(&self, register: &str, index: u64) -> Result<BigUint, UpdateError> {
        let id = self.register_named(register)?;
        let name = self.program.instances[id].name.to_string();
        let Cells::Registers(registers) = &self.cells[id] else {
            return Err(UpdateError::NotFound { table: name });
        };
        let size = registers.size;
        let cell =
            registers
                .cell(index)
                .ok_or(UpdateError::IndexOutOfRange { name, index, size })?;
        Ok(joined(&registers.widths, cell))
    }

    /// The value of a register's cells at first; `words` gives the words of one, `None`: zeros.
    pub fn initial_value<'a>(
        &self,
        register: &str,
        words: impl FnOnce(ir::InstanceId) -> Option<&'a [u64]>,
    ) -> Result<BigUint, UpdateError> {
        let id = self.register_named(register)?;
        match (&self.cells[id], words(id as ir::InstanceId)) {
            (Cells::Registers(registers), Some(words)) => Ok(joined(&registers.widths, words)),
            _ => Ok(BigUint::default()),
        }
    }

    /// Number of cells of a register.
    pub fn register_size(&self, register: &str) -> Result<u64, UpdateError> {
        let id = self.register_named(register)?;
        match &self.cells[id] {
            Cells::Registers(registers) => Ok(registers.size),
            _ => Ok(0),
        }
    }
}

/// The leaves of a cell as one number, the first one uppermost.
fn joined(widths: &[u32], cell: &[u64]) -> BigUint {
    let mut value = BigUint::default();
    let mut at = 0;
    for width in widths {
        let n = ir::words(*width) as usize;
        value = (value << *width) + from_words(cell.get(at..at + n).unwrap_or_default());
        at += n;
    }
    value
}

fn spec(table: &Table, action: u32, data: &[u64]) -> ActionSpec {
    let Some(info) = table.actions.get(action as usize) else {
        return ActionSpec {
            name: String::new(),
            args: Args::InOrder(Vec::new()),
        };
    };
    let mut at = 0;
    let args = info.params.iter().map(|(name, width)| {
        let n = ir::words(*width) as usize;
        let words = data.get(at..at + n).unwrap_or_default();
        at += n;
        (name.to_string(), from_words(words))
    });
    ActionSpec {
        args: Args::Named(args.collect()),
        name: info.name.to_string(),
    }
}

fn view(table: &Table, entry: &Stored) -> EntryView {
    let target = match &entry.leads {
        Leads::Action(action, data) => Target::Action(spec(table, *action, data)),
        Leads::Member(member) => Target::Member(*member),
        Leads::Group(group) => Target::Group(*group),
    };
    let matches = table
        .keys
        .iter()
        .map(|key| (key.name.to_string(), matched(key, &entry.pattern)));
    let measured = entry.measured();
    EntryView {
        handle: entry.handle,
        matches: matches.collect(),
        priority: entry.priority,
        target,
        packets: measured.count.packets,
        bytes: measured.count.bytes,
        meter: measured.meter.config(),
        idle_timeout: measured.idle.ttl(),
        idle_since: measured.idle.since(),
        span: entry.written.map(|written| written.span),
        is_const: entry.written.is_some_and(|written| written.is_const),
    }
}

fn matched(key: &KeyInfo, pattern: &Pattern) -> Match {
    let own = key.at..key.at + key.words;
    let value = from_words(&pattern.value[own.clone()]);
    let mask = from_words(&pattern.mask[own]);
    let length = mask.count_ones() as u32;
    match key.kind {
        Kind::Range => match pattern
            .ranges
            .iter()
            .find(|range| range.at as usize == key.at)
        {
            Some(range) => Match::Range {
                low: from_words(&range.low),
                high: from_words(&range.high),
            },
            None if length > 0 => Match::Exact(value),
            None => Match::Any,
        },
        Kind::Exact => Match::Exact(value),
        Kind::Lpm => Match::Lpm { value, length },
        _ if length == 0 => Match::Any,
        Kind::Optional => Match::Optional(value),
        Kind::Ternary | Kind::Selector => Match::Ternary { value, mask },
    }
}
