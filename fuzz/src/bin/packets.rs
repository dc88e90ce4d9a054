//! Packets and control-plane writes against the programs of the corpus.
//!
//! The bytes choose a program, then writes and packets in turn. Every packet goes through three
//! switches with the same writes, one of them traced, one with native code that learns every path: all must
//! send the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use num_bigint::BigUint;
use p4_arch::v1model::Config;
use p4_arch::Switch;
use p4_ir::ir::{Program, Table};
use p4_state::{ActionSpec, Args, CloneSession, Entry, EntryKey, Match, Replica, Target, Update};
use p4_time::Time;
use p4lab_fuzz::{programs, Choices, Named};
use std::sync::OnceLock;

const MAX_STEPS: usize = 64;
/// Small bounds keep one input short.
const MAX_PASSES: u32 = 16;
const MAX_PACKETS: u32 = 32;

static PROGRAMS: OnceLock<Vec<Named>> = OnceLock::new();

// Compiled before the first input, which would look slow otherwise.
fuzz_target!(init: { PROGRAMS.get_or_init(programs); }, |data: &[u8]| {
    let programs = PROGRAMS.get_or_init(programs);
    let mut choices = Choices::new(data);
    let named = &programs[choices.u16() as usize % programs.len()];
    let ways = choices.byte();
    let config = Config {
        bmv2_compat: ways % 2 == 1,
        undefined: (ways % 8 > 5).then_some(7),
        max_passes: MAX_PASSES,
        max_packets: MAX_PACKETS,
        ..Config::default()
    };
    let switch = || Switch::new(&named.image, config).expect("a program that is ready");
    let (mut plain, mut traced, mut native) = (switch(), switch(), switch());
    native.set_native(named.code()).expect("its own code");
    native.set_patience(0);
    let mut now = 0u64;
    for _ in 0..MAX_STEPS {
        if choices.is_empty() {
            break;
        }
        let kind = choices.byte();
        if kind % 3 == 0 {
            let batch: Vec<Update> = (0..=kind as usize / 64)
                .map(|_| update(named.image.program(), &mut choices))
                .collect();
            let all = [&mut plain, &mut traced, &mut native].map(|own| own.write(&batch).is_ok());
            assert!(all.iter().all(|own| *own == all[0]));
        } else {
            now += u64::from(choices.byte()) * 1_000_003;
            let port = u16::from(choices.byte());
            let length = usize::from(choices.byte());
            let packet = choices.bytes(length);
            let (mut one, mut two, mut three) = (Vec::new(), Vec::new(), Vec::new());
            plain.process(
                Time::from_picos(now),
                port,
                packet,
                &mut |port, data: &[u8]| one.push((port, data.to_vec())),
            );
            let trace = traced.process_traced(
                Time::from_picos(now),
                port,
                packet,
                &mut |port, data: &[u8]| two.push((port, data.to_vec())),
            );
            assert_eq!(one, two, "traced and untraced differ in {}", named.name);
            native.process(
                Time::from_picos(now),
                port,
                packet,
                &mut |port, data: &[u8]| three.push((port, data.to_vec())),
            );
            assert_eq!(one, three, "native code differs in {}", named.name);
            assert!(trace.packets.len() <= MAX_PACKETS as usize + 1);
        }
    }
    assert_eq!(plain.stats(), traced.stats());
    assert_eq!(plain.stats(), native.stats());
    assert_eq!(cells(&plain), cells(&native), "of {}", named.name);
});

/// What registers, counters and tables hold.
fn cells(switch: &Switch) -> Vec<String> {
    let (program, state) = (switch.program(), switch.state());
    let instances = program.instances.iter().flat_map(|own| {
        let cells = (0..16).map(|at| {
            let name = &own.name;
            match &*own.extern_type {
                "register" | "Register" => format!("{:?}", state.read_register(name, at)),
                "counter" | "Counter" => format!("{:?}", state.counter(name, at)),
                _ => String::new(),
            }
        });
        cells.collect::<Vec<_>>()
    });
    let tables = program.tables.iter();
    let entries = tables.map(|table| format!("{:?}", state.entries(&table.name)));
    instances.chain(entries).collect()
}

fn update(program: &Program, choices: &mut Choices) -> Update {
    match choices.below(14) {
        0..=4 => Update::Insert(entry(program, choices)),
        5 => Update::Modify(entry(program, choices)),
        6 => Update::Delete(entry(program, choices).key),
        7 => match table(program, choices) {
            None => Update::Clear {
                table: String::new(),
            },
            Some(table) => Update::SetDefault {
                table: table.name.to_string(),
                action: (choices.byte() > 40).then(|| action(program, table, choices)),
            },
        },
        8 => Update::SetGroup {
            group: u32::from(choices.byte() % 4),
            replicas: (choices.byte() > 20).then(|| {
                let replica = |choices: &mut Choices| Replica {
                    port: u16::from(choices.byte() % 8),
                    rid: u16::from(choices.byte()),
                };
                (0..choices.below(5)).map(|_| replica(choices)).collect()
            }),
        },
        9 => Update::SetSession {
            session: u32::from(choices.byte() % 8),
            to: (choices.byte() > 20).then(|| CloneSession {
                group: (choices.byte() % 3 == 0).then(|| u32::from(choices.byte() % 4)),
                port: (choices.byte() % 3 != 0).then(|| u16::from(choices.byte() % 8)),
                truncate: (choices.byte() % 4 == 0).then(|| u32::from(choices.byte())),
            }),
        },
        10 => Update::SetRegister {
            register: instance(program, &["register", "Register"], choices),
            index: (choices.byte() > 20).then(|| u64::from(choices.byte() % 16)),
            value: choices.number(32),
        },
        11 => Update::SetMember {
            profile: profile(program, choices),
            member: u32::from(choices.byte() % 4),
            action: (choices.byte() > 40)
                .then(|| table(program, choices).map(|table| action(program, table, choices)))
                .flatten(),
        },
        12 => Update::SetMemberGroup {
            profile: profile(program, choices),
            group: u32::from(choices.byte() % 4),
            members: (choices.byte() > 40)
                .then(|| (0..choices.below(4)).map(|n| n as u32).collect()),
        },
        _ => value_set(program, choices),
    }
}

fn value_set(program: &Program, choices: &mut Choices) -> Update {
    let chosen = choices.below(program.value_sets.len());
    let Some(set) = program.value_sets.get(chosen) else {
        return Update::SetValueSet {
            set: "none".to_string(),
            members: Vec::new(),
        };
    };
    let members = (0..choices.below(4))
        .map(|_| {
            let field =
                |field: &p4_ir::ir::Key| one_match(&field.match_kind, field.place.width, choices);
            set.fields.iter().map(field).collect()
        })
        .collect();
    Update::SetValueSet {
        set: set.name.to_string(),
        members,
    }
}

fn table<'a>(program: &'a Program, choices: &mut Choices) -> Option<&'a Table> {
    program.tables.get(choices.below(program.tables.len()))
}

/// One of the instances of an extern, which either architecture has under its own name.
fn instance(program: &Program, kinds: &[&str], choices: &mut Choices) -> String {
    let all: Vec<_> = program
        .instances
        .iter()
        .filter(|instance| kinds.contains(&&*instance.extern_type))
        .collect();
    let chosen = all.get(choices.below(all.len()));
    chosen.map_or(String::new(), |instance| instance.name.to_string())
}

fn profile(program: &Program, choices: &mut Choices) -> String {
    match choices.byte() % 2 {
        0 => instance(program, &["action_profile", "ActionProfile"], choices),
        _ => instance(program, &["action_selector", "ActionSelector"], choices),
    }
}

fn entry(program: &Program, choices: &mut Choices) -> Entry {
    let Some(table) = table(program, choices) else {
        return Entry {
            key: EntryKey::default(),
            target: Target::Member(0),
        };
    };
    let mut matches: Vec<(String, Match)> = table
        .keys
        .iter()
        .filter(|key| &*key.match_kind != "selector")
        .map(|key| {
            let value = one_match(&key.match_kind, key.place.width, choices);
            (key.name.to_string(), value)
        })
        .collect();
    let flags = choices.byte();
    if flags % 16 == 1 {
        matches.pop();
    }
    let ordered = table
        .keys
        .iter()
        .any(|key| matches!(&*key.match_kind, "ternary" | "range" | "optional"));
    let target = match flags % 8 {
        2 => Target::Member(u32::from(choices.byte() % 4)),
        3 => Target::Group(u32::from(choices.byte() % 4)),
        _ => Target::Action(action(program, table, choices)),
    };
    Entry {
        key: EntryKey {
            table: table.name.to_string(),
            matches,
            priority: if ordered || flags > 250 {
                1 + u32::from(choices.byte())
            } else {
                0
            },
        },
        target,
    }
}

fn one_match(kind: &str, width: u32, choices: &mut Choices) -> Match {
    let value = choices.number(width);
    match kind {
        "lpm" => {
            let length = choices.below(width as usize + 1) as u32;
            let cut = width.saturating_sub(length);
            Match::Lpm {
                value: (value >> cut) << cut,
                length,
            }
        }
        "ternary" => {
            let mask = choices.number(width);
            Match::Ternary {
                value: value & &mask,
                mask,
            }
        }
        "range" => {
            let other = choices.number(width);
            Match::Range {
                low: value.clone().min(other.clone()),
                high: value.max(other),
            }
        }
        "optional" => match choices.byte() % 3 {
            0 => Match::Any,
            _ => Match::Optional(value),
        },
        _ => Match::Exact(value),
    }
}

fn action(program: &Program, table: &Table, choices: &mut Choices) -> ActionSpec {
    let chosen = table.actions.get(choices.below(table.actions.len()));
    let Some(action) = chosen.map(|chosen| &program.actions[chosen.action as usize]) else {
        return ActionSpec {
            name: String::new(),
            args: Args::InOrder(Vec::new()),
        };
    };
    let args: Vec<BigUint> = action
        .params
        .iter()
        .map(|param| choices.number(param.place.width))
        .collect();
    ActionSpec {
        name: action.name.to_string(),
        args: Args::InOrder(args),
    }
}
