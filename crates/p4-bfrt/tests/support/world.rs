//! A switch, what is kept beside its tables, and a client's short words.

use p4_arch::tna::{Config, Image, Switch};
use p4_arch::{Port, Time};
use p4_bfrt::messages::*;
use p4_bfrt::server::{read, write, Chip, Done, Scope, ALL_PIPES};
use p4_bfrt::Schema;
use p4_ir::ir::Program;
use p4_runtime::Refusal;
use prost::Message as _;
use std::sync::Arc;

pub struct World {
    pub switch: Switch,
    pub chip: Chip,
    /// Of the program and the chip
    pub schema: Schema,
    pub now: Time,
}

/// No update was refused.
pub const NOTHING: [i32; 0] = [];
impl World {
    pub fn new((program, mut schema): (Program, Schema)) -> World {
        schema.tables.extend(Schema::fixed().tables);
        let image = Image::new(Arc::new(program)).expect("an image");
        let switch = Switch::new(Arc::new(image), Config::default()).expect("a switch");
        let chip = Chip::default();
        World {
            switch,
            chip,
            schema,
            now: Time::ZERO,
        }
    }

    pub fn write_in(&mut self, pipe: u32, updates: Vec<Update>, atomicity: Atomicity) -> Vec<i32> {
        let results = self.results(pipe, updates, atomicity, false).into_iter();
        let codes = results.map(|result| result.map_or_else(|error| error.code as i32, |_| 0));
        let codes: Vec<i32> = codes.collect();
        match codes.iter().all(|code| *code == 0) {
            true => Vec::new(),
            false => codes,
        }
    }

    /// What became of each update of a client that does not mind, if `lenient`, to delete nothing.
    pub fn results(
        &mut self,
        pipe: u32,
        updates: Vec<Update>,
        atomicity: Atomicity,
        lenient: bool,
    ) -> Vec<Result<Done, Refusal>> {
        let request = WriteRequest {
            updates,
            atomicity: atomicity as i32,
            ..WriteRequest::default()
        };
        // As it comes over the wire.
        let request = WriteRequest::decode(&*request.encode_to_vec()).expect("a request");
        let scope = Scope {
            schema: &self.schema,
            pipe,
            direction: 0xff,
            parser: 0xff,
            now: self.now,
        };
        write(&mut self.switch, &mut self.chip, scope, &request, lenient)
    }

    pub fn write(&mut self, updates: Vec<Update>) -> Vec<i32> {
        self.write_in(ALL_PIPES, updates, Atomicity::ContinueOnError)
    }

    pub fn read_in(&self, pipe: u32, entry: TableEntry) -> Vec<TableEntry> {
        let asked = Entity {
            kind: Some(EntityKind::Entry(entry)),
        };
        let scope = Scope {
            schema: &self.schema,
            pipe,
            direction: 0xff,
            parser: 0xff,
            now: self.now,
        };
        let found = read(&self.switch, &self.chip, scope, &asked)
            .expect("entries")
            .into_iter();
        let found = found.filter_map(|own| match own.kind {
            Some(EntityKind::Entry(entry)) => Some(entry),
            _ => None,
        });
        found.collect()
    }

    /// A port loses its link, or has it again.
    #[allow(dead_code)] // not all tests have cables
    pub fn link(&mut self, port: Port, up: bool) {
        self.chip.set_link(&mut self.switch, self.now, port, up);
    }

    pub fn id(&self, name: &str) -> u32 {
        self.schema.table_named(name).expect("a table").id
    }

    /// The egress ports of a packet.
    pub fn send(&mut self, dst: u8, src: u8) -> Vec<Port> {
        self.send_from(1, dst, src)
    }

    pub fn send_from(&mut self, port: Port, dst: u8, src: u8) -> Vec<Port> {
        let mut frame = vec![0u8; 64];
        (frame[5], frame[11]) = (dst, src);
        let mut out = Vec::new();
        let mut sink = |port: Port, _: &[u8]| out.push(port);
        self.switch.process(self.now, port, &frame, &mut sink);
        out
    }
}

pub fn update(kind: UpdateType, entry: TableEntry) -> Update {
    Update {
        update_type: kind as i32,
        entity: Some(Entity {
            kind: Some(EntityKind::Entry(entry)),
        }),
    }
}

pub fn stream(id: u32, bytes: &[u8]) -> DataField {
    DataField {
        field_id: id,
        value: Some(DataValue::Stream(bytes.to_vec())),
    }
}

pub fn exact(id: u32, bytes: &[u8]) -> KeyField {
    let value = Exact {
        value: bytes.to_vec(),
    };
    KeyField {
        field_id: id,
        value: Some(KeyValue::Exact(value)),
    }
}
