//! A switch that does what a test tells it, and remembers what a script asked of it.

use num_bigint::BigUint;
use p4_state::{EntryKey, Update};
use p4_stf::*;

type Forward = Box<dyn FnMut(Port, &[u8]) -> Vec<(Port, Vec<u8>)>>;

/// Forwards as told; what is written to it is only kept.
pub struct Bench {
    pub schema: Vec<TableSchema>,
    pub forward: Forward,
    pub updates: Vec<Update>,
    pub waited: u64,
}

impl Bench {
    pub fn new(forward: impl FnMut(Port, &[u8]) -> Vec<(Port, Vec<u8>)> + 'static) -> Bench {
        Bench {
            schema: schema(),
            forward: Box::new(forward),
            updates: Vec::new(),
            waited: 0,
        }
    }

    /// Sends every packet out of the port with the next number.
    pub fn next_port() -> Bench {
        Bench::new(|port, data| vec![(port + 1, data.to_vec())])
    }
}

fn schema() -> Vec<TableSchema> {
    let key = |name: &str, kind, width| KeySchema {
        name: name.into(),
        kind,
        width,
    };
    let table = |name: &str, keys: Vec<KeySchema>| TableSchema {
        name: name.into(),
        keys,
    };
    use MatchKind::*;
    vec![
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
    ]
}

impl Target for Bench {
    fn schema(&self) -> &[TableSchema] {
        &self.schema
    }

    fn write(&mut self, update: Update) -> Result<(), String> {
        if matches!(update, Update::SetSession { session: 99, .. }) {
            return Err("there is no session 99".into());
        }
        self.updates.push(update);
        Ok(())
    }

    /// One register, whose cells hold what was last written.
    fn read_register(&self, register: &str, index: u64) -> Result<BigUint, String> {
        let written = self.updates.iter().rev().find_map(|update| match update {
            Update::SetRegister {
                register: name,
                index: at,
                value,
            } => (name == register && *at == Some(index)).then(|| value.clone()),
            _ => None,
        });
        written.ok_or(format!("there is no register `{register}`"))
    }

    fn read_counter(&self, _: &str, _: u64) -> Result<(u64, u64), String> {
        Ok((2, 128))
    }

    fn read_direct_counter(&self, entry: &EntryKey) -> Result<(u64, u64), String> {
        Ok((entry.priority.into(), 0))
    }

    fn process(&mut self, port: Port, data: &[u8], out: &mut dyn FnMut(Port, &[u8])) {
        for (port, data) in (self.forward)(port, data) {
            out(port, &data);
        }
    }

    fn wait(&mut self, milliseconds: u64, _: &mut dyn FnMut(Port, &[u8])) {
        self.waited += milliseconds;
    }
}

/// Runs a script on a switch that sends every packet to the next port.
pub fn run_text(text: &str, mode: Mode) -> Report {
    run(&parse("t.stf", text), &mut Bench::next_port(), mode)
}
