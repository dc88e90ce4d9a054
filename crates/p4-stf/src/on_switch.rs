//! A switch of either architecture as something that scripts run on.

use crate::script::Port;
use crate::target::{KeySchema, MatchKind, QueueSetting, TableSchema, Target};
use num_bigint::BigUint;
use p4_arch::v1model::CrcParameters;
use p4_arch::{Drop, Stats, Switch, Trace};
use p4_ir::ir::{Key, Program};
use p4_state::{EntryKey, State, Update};
use p4_time::Time;

/// A packet is sent this much after the one before, in picoseconds.
const STEP: u64 = 1_000_000_000;

/// A switch and its clock, which begins at zero.
pub struct OnSwitch<'a> {
    switch: &'a mut Switch,
    schema: Vec<TableSchema>,
    now: u64,
    gave_up: Option<Drop>,
    /// Where all that happens to packets is kept
    traces: Option<&'a mut Vec<Traced>>,
}

/// What happened to a packet of a script.
pub struct Traced {
    pub time: Time,
    pub port: Port,
    pub data: Vec<u8>,
    pub trace: Trace,
}

impl<'a> OnSwitch<'a> {
    /// The same, with all that happens to packets put into `traces`.
    pub fn traced(switch: &'a mut Switch, traces: &'a mut Vec<Traced>) -> OnSwitch<'a> {
        OnSwitch {
            traces: Some(traces),
            ..OnSwitch::new(switch)
        }
    }

    pub fn new(switch: &'a mut Switch) -> OnSwitch<'a> {
        let schema = tables(switch.program());
        OnSwitch {
            switch,
            schema,
            now: 0,
            gave_up: None,
            traces: None,
        }
    }
}

fn tables(program: &Program) -> Vec<TableSchema> {
    let table = |table: &p4_ir::ir::Table| TableSchema {
        name: table.name.to_string(),
        keys: table.keys.iter().map(key).collect(),
    };
    program.tables.iter().map(table).collect()
}

fn key(key: &Key) -> KeySchema {
    let kind = match &*key.match_kind {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        _ => MatchKind::Other,
    };
    KeySchema {
        name: key.name.to_string(),
        kind,
        width: key.place.width,
    }
}

/// What a switch gave a packet up for, between two of its counts.
fn given_up(before: &Stats, after: &Stats) -> Option<Drop> {
    let counts = [
        (
            Drop::TooManyPasses,
            before.too_many_passes,
            after.too_many_passes,
        ),
        (
            Drop::TooManyPackets,
            before.too_many_packets,
            after.too_many_packets,
        ),
        (Drop::OutOfFuel, before.out_of_fuel, after.out_of_fuel),
    ];
    let found = counts.into_iter().find(|(_, before, after)| after > before);
    found.map(|(why, ..)| why)
}

impl Target for OnSwitch<'_> {
    fn schema(&self) -> &[TableSchema] {
        &self.schema
    }

    fn write(&mut self, update: Update) -> Result<(), String> {
        self.switch
            .write(&[update])
            .map_err(|error| match error.errors.first() {
                Some((_, error)) => error.to_string(),
                None => error.to_string(),
            })
    }

    fn read_register(&self, register: &str, index: u64) -> Result<BigUint, String> {
        self.switch
            .state()
            .read_register(register, index)
            .map_err(|error| error.to_string())
    }

    fn read_counter(&self, counter: &str, index: u64) -> Result<(u64, u64), String> {
        self.switch
            .state()
            .counter(counter, index)
            .map_err(|error| error.to_string())
    }

    fn read_direct_counter(&self, entry: &EntryKey) -> Result<(u64, u64), String> {
        self.switch
            .state()
            .direct_counter(entry)
            .map_err(|error| error.to_string())
    }

    fn process(&mut self, port: Port, data: &[u8], out: &mut dyn FnMut(Port, &[u8])) {
        self.now += STEP;
        let mut sink = |port: Port, data: &[u8]| out(port, data);
        let before = self.switch.stats();
        let time = Time::from_picos(self.now);
        match &mut self.traces {
            Some(traces) => traces.push(Traced {
                time,
                port,
                data: data.to_vec(),
                trace: self.switch.process_traced(time, port, data, &mut sink),
            }),
            None => self.switch.process(time, port, data, &mut sink),
        }
        self.gave_up = given_up(&before, &self.switch.stats());
    }

    fn wait(&mut self, milliseconds: u64, out: &mut dyn FnMut(Port, &[u8])) {
        self.now += milliseconds * 1_000_000_000;
        let mut sink = |port: Port, data: &[u8]| out(port, data);
        self.switch.advance(Time::from_picos(self.now), &mut sink);
    }

    fn state(&self) -> Option<&State> {
        Some(self.switch.state())
    }

    fn bmv2_compat(&self) -> bool {
        self.switch.is_bmv2_compat()
    }

    fn stopped(&self) -> Option<String> {
        self.switch.stopped().map(|stop| stop.to_string())
    }

    fn gave_up(&self) -> Option<String> {
        self.gave_up.map(|why| why.to_string())
    }

    fn set_crc(&mut self, name: &str, parameters: CrcParameters) -> Result<(), String> {
        self.switch
            .set_crc(name, parameters)
            .map_err(|error| error.to_string())
    }

    fn set_queue(
        &mut self,
        port: Option<Port>,
        priority: Option<u8>,
        setting: QueueSetting,
    ) -> Result<(), String> {
        let done = match setting {
            QueueSetting::Depth(packets) => self.switch.set_queue_depth(port, priority, packets),
            QueueSetting::Rate(rate) => self.switch.set_queue_rate(port, priority, rate),
        };
        done.map_err(|error| error.to_string())
    }

    fn action_widths(&self, action: &str) -> Vec<u32> {
        let actions = &self.switch.program().actions;
        let names = actions.iter().map(|action| &*action.name);
        let found = crate::resolve::find("action", action, names).ok();
        let params = found.map(|index| actions[index].params.iter());
        params
            .into_iter()
            .flatten()
            .map(|p| p.place.width)
            .collect()
    }
}
