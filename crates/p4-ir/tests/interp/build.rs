//! Hand-made programs: a frame that grows as things are put into it.

use p4_ir::interp::{Halt, Host, Lookup, Machine, Outcome, Prepared};
use p4_ir::ir::*;
use p4_ir::trace::{NoTrace, Tracer};
use p4_syntax::span::Span;
use std::sync::Arc;

/// Builds a [`Program`]. Constants are given slots when the program is finished, so the code asks
/// for them first.
pub struct Builder {
    pub program: Program,
    next: Slot,
    /// First slot of the constants; variables must end before it.
    limit: Slot,
}

impl Builder {
    pub fn new(variables: u32) -> Builder {
        let program = Program {
            package: "Test".into(),
            code: vec![],
            spans: vec![],
            frame_words: variables,
            constant_base: variables,
            constants: vec![],
            wide: vec![],
            dynamic: vec![],
            switches: vec![],
            layouts: vec![],
            stacks: vec![],
            states: vec![],
            vars: vec![],
            storages: vec![],
            blocks: vec![],
            tables: vec![],
            actions: vec![],
            instances: vec![],
            calls: vec![],
            value_sets: vec![],
            enums: vec![],
            errors: vec![],
            keeps_invalid: false,
            same: vec![],
            inner: vec![],
        };
        Builder {
            program,
            next: 0,
            limit: variables,
        }
    }

    pub fn slots(&mut self, n: u32) -> Slot {
        let slot = self.next;
        self.next += n;
        assert!(
            self.next <= self.limit,
            "the builder was made with too few variables"
        );
        slot
    }

    pub fn constant(&mut self, value: u64) -> Slot {
        self.program.constants.push(value);
        self.program.frame_words += 1;
        self.program.frame_words - 1
    }

    pub fn op(&mut self, op: Op) -> Pc {
        self.program.code.push(op);
        self.program.spans.push(Span::NONE);
        self.program.code.len() as Pc - 1
    }

    pub fn layout(&mut self, fields: &[(&str, u32)]) -> LayoutId {
        let mut offset = 1;
        let mut list = vec![];
        for (name, width) in fields {
            list.push(FieldLayout {
                name: (*name).into(),
                offset,
                width: *width,
                varbit: false,
                kind: ValueKind::Bit,
            });
            offset += words(*width);
        }
        let fixed_bits = fields.iter().map(|f| f.1).sum();
        self.program.layouts.push(HeaderLayout {
            name: "h".into(),
            fields: list,
            words: offset,
            fixed_bits,
        });
        self.program.layouts.len() as LayoutId - 1
    }

    pub fn header(&mut self, layout: LayoutId) -> Slot {
        let n = self.program.layouts[layout as usize].words;
        self.slots(n)
    }

    pub fn var(&mut self, name: &str, slot: Slot, width: u32) -> u32 {
        let place = Place {
            slot,
            width,
            kind: ValueKind::Bit,
        };
        let var = Var {
            name: name.into(),
            place,
            header: None,
            field_lists: vec![],
            span: Span::NONE,
        };
        self.program.vars.push(var);
        self.program.vars.len() as u32 - 1
    }

    pub fn prepare(self) -> Prepared {
        Prepared::new(Arc::new(self.program)).expect("a well-formed program")
    }
}

/// A host whose tables always miss (action 0) and whose externs do nothing.
pub struct Bare;

impl Host for Bare {
    fn lookup(&mut self, _: TableId, _: &[u64]) -> Lookup<'_> {
        Lookup {
            hit: false,
            action: 0,
            data: &[],
            entry: None,
        }
    }
    fn call<T: Tracer>(&mut self, call: CallId, _: &mut Machine, _: &mut T) -> Result<(), Halt> {
        Err(Halt::Call(call))
    }
    fn in_value_set(&mut self, _: u32, _: &[u64]) -> bool {
        false
    }
}

/// Runs from the first instruction on `packet`.
pub fn run(prepared: &Prepared, machine: &mut Machine) -> Outcome {
    p4_ir::interp::run(prepared, 0, machine, &mut Bare, &mut NoTrace)
}
