//! What the tests of tables share: a program with one table, and matches as plain numbers.

use num_bigint::BigUint;
use p4_ir::ir::*;
use p4_state::*;
use p4_syntax::span::Span;
use std::sync::Arc;

/// A program with one table, a counter and a register; keys are (kind, width).
pub fn program(keys: &[(&str, u32)], entries: Vec<ConstEntry>) -> Program {
    let mut slot = 0;
    let keys: Vec<Key> = keys
        .iter()
        .enumerate()
        .map(|(i, (kind, width))| {
            let place = Place {
                slot,
                width: *width,
                kind: ValueKind::Bit,
            };
            slot += words(*width);
            Key {
                name: format!("hdr.k{i}").as_str().into(),
                match_kind: (*kind).into(),
                place,
                compared: Compared::default(),
                span: Span::NONE,
                annotations: vec![],
            }
        })
        .collect();
    let param = |name: &str, width| ActionParam {
        name: name.into(),
        place: Place {
            slot: 0,
            width,
            kind: ValueKind::Bit,
        },
        annotations: vec![],
    };
    let action = |name: &str, params| Action {
        name: name.into(),
        span: Span::NONE,
        params,
        entry: 0,
        annotations: vec![],
    };
    let listed = |action, default_only| TableAction {
        action,
        default_only,
        table_only: false,
    };
    let instance = |name: &str| Instance {
        name: name.into(),
        extern_type: "x".into(),
        methods: Default::default(),
        types: vec![],
        args: vec![],
        annotations: vec![],
        span: Span::NONE,
    };
    let table = Table {
        name: "C.t".into(),
        span: Span::NONE,
        keys,
        key: 0,
        key_words: slot,
        actions: vec![listed(0, false), listed(1, true)],
        default: ActionCall {
            action: 1,
            data: vec![],
        },
        const_default: false,
        const_entries: false,
        entries,
        largest_priority_wins: true,
        size: Some(64),
        hit: 0,
        chosen: 0,
        instances: vec![],
        properties: vec![],
        annotations: vec![],
    };
    Program {
        package: "Test".into(),
        code: vec![Op::Ret],
        spans: vec![Span::NONE],
        frame_words: 1,
        constant_base: 1,
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
        tables: vec![table],
        actions: vec![
            action("C.set", vec![param("number", 32), param("port", 9)]),
            action("C.drop", vec![]),
        ],
        instances: vec![instance("C.count"), instance("C.cells")],
        calls: vec![],
        value_sets: vec![],
        enums: vec![],
        errors: vec![],
        keeps_invalid: false,
        same: vec![],
        inner: vec![],
    }
}

pub fn state(program: Program) -> State {
    let resources = [
        Resource::Counter { size: 4 },
        Resource::Register {
            size: 4,
            widths: vec![8, 100],
        },
    ];
    State::new(Arc::new(program), &resources).expect("a state")
}

pub fn number(value: u128) -> BigUint {
    BigUint::from(value)
}

pub fn set(given: u32) -> Target {
    let args = Args::Named(vec![
        ("port".into(), number(7)),
        ("number".into(), given.into()),
    ]);
    Target::Action(ActionSpec {
        name: "set".into(),
        args,
    })
}

pub fn limbs(value: u128, width: u32) -> Vec<u64> {
    let all = [value as u64, (value >> 64) as u64];
    all[..words(width) as usize].to_vec()
}

/// A match as numbers, for the oracle.
#[derive(Clone, Debug, PartialEq)]
pub enum Simple {
    Masked(u128, u128),
    Range(u128, u128),
}

impl Simple {
    pub fn holds(&self, key: u128) -> bool {
        match self {
            Simple::Masked(value, mask) => key & mask == *value,
            Simple::Range(low, high) => (*low..=*high).contains(&key),
        }
    }
}

pub fn ones(width: u32) -> u128 {
    if width == 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}
