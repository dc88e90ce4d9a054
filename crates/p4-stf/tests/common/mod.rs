//! A switch that does what a test tells it, and remembers what a script asked of it.

use num_bigint::BigUint;
use p4_stf::*;

type Forward = Box<dyn FnMut(Port, &[u8]) -> Vec<(Port, Vec<u8>)>>;

/// Forwards as told; tables, groups and sessions are only written down.
pub struct Bench {
    pub schema: Schema,
    pub forward: Forward,
    pub entries: Vec<Entry>,
    pub log: Vec<String>,
    pub counter: (u64, u64),
    pub register: BigUint,
}

impl Bench {
    pub fn new(forward: impl FnMut(Port, &[u8]) -> Vec<(Port, Vec<u8>)> + 'static) -> Bench {
        Bench {
            schema: schema(),
            forward: Box::new(forward),
            entries: Vec::new(),
            log: Vec::new(),
            counter: (2, 128),
            register: BigUint::from(7u8),
        }
    }

    /// Sends every packet out of the port with the next number.
    pub fn next_port() -> Bench {
        Bench::new(|port, data| vec![(port + 1, data.to_vec())])
    }
}

fn schema() -> Schema {
    let key = |name: &str, kind, width| KeySchema {
        name: name.into(),
        kind,
        width,
    };
    let action = |name: &str, params: &[(&str, u32)]| ActionSchema {
        name: name.into(),
        params: params
            .iter()
            .map(|(name, width)| (name.to_string(), *width))
            .collect(),
    };
    let table = |name: &str, keys: Vec<KeySchema>| TableSchema {
        name: name.into(),
        keys,
        actions: vec![
            action("MyIngress.forward", &[("port", 9), ("mac", 48)]),
            action("MyIngress.drop", &[]),
        ],
    };
    use MatchKind::*;
    Schema {
        tables: vec![
            table(
                "MyIngress.exact",
                vec![key("hdr.a", Exact, 8), key("hdr.h.isValid()", Exact, 1)],
            ),
            table("MyIngress.lpm", vec![key("hdr.dst", Lpm, 32)]),
            table(
                "MyIngress.acl",
                vec![key("hdr.b", Ternary, 16), key("hdr.mpls[1].ttl", Exact, 8)],
            ),
            table(
                "MyIngress.ports",
                vec![key("hdr.port", Range, 16), key("hdr.opt", Optional, 8)],
            ),
            table("MyEgress.acl", vec![key("hdr.b", Ternary, 16)]),
        ],
        counters: vec!["MyIngress.seen".into()],
        registers: vec!["MyIngress.last".into()],
    }
}

impl Target for Bench {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn insert(&mut self, entry: &Entry) -> Result<(), String> {
        if self
            .entries
            .iter()
            .any(|old| (old.table, &old.keys) == (entry.table, &entry.keys))
        {
            return Err("the entry exists already".into());
        }
        self.entries.push(entry.clone());
        Ok(())
    }

    fn remove(&mut self, entry: &Entry) -> Result<(), String> {
        self.entries.retain(|old| old != entry);
        Ok(())
    }

    fn set_default(&mut self, table: usize, action: usize, args: &[BigUint]) -> Result<(), String> {
        self.log
            .push(format!("default of {table} is {action} {args:?}"));
        Ok(())
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneTo>) -> Result<(), String> {
        self.log.push(format!("session {session} {to:?}"));
        Ok(())
    }

    fn set_group(&mut self, group: u32, replicas: &[(Port, u16)]) -> Result<(), String> {
        self.log.push(format!("group {group} {replicas:?}"));
        Ok(())
    }

    fn write_register(&mut self, _: &str, _: u64, value: &BigUint) -> Result<(), String> {
        self.register = value.clone();
        Ok(())
    }

    fn read_register(&mut self, register: &str, _: u64) -> Result<BigUint, String> {
        match register {
            "last" => Ok(self.register.clone()),
            _ => Err(format!("there is no register `{register}`")),
        }
    }

    fn reset_register(&mut self, _: &str) -> Result<(), String> {
        self.register = BigUint::default();
        Ok(())
    }

    fn read_counter(&mut self, _: &str, _: CounterCell<'_>) -> Result<(u64, u64), String> {
        Ok(self.counter)
    }

    fn reset_counter(&mut self, _: &str) -> Result<(), String> {
        self.counter = (0, 0);
        Ok(())
    }

    fn process(&mut self, port: Port, data: &[u8], out: &mut dyn FnMut(Port, &[u8])) {
        for (port, data) in (self.forward)(port, data) {
            out(port, &data);
        }
    }

    fn wait(&mut self, milliseconds: u64) {
        self.log.push(format!("wait {milliseconds}"));
    }
}

/// Runs a script on a switch that sends every packet to the next port.
pub fn run_text(text: &str, mode: Mode) -> Report {
    run(&parse("t.stf", text), &mut Bench::next_port(), mode)
}
