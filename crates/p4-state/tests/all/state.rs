//! Tables against a linear search, batches against nothing having happened, and what a control
//! plane is told.

use crate::support;

use p4_ir::ir::*;
use p4_state::*;
use p4_syntax::span::Span;
use proptest::prelude::*;
use support::{limbs, number, ones, program, set, state, Simple};

/// A match of the given kind from random numbers, as an update and for the oracle.
fn a_match(kind: &str, width: u32, a: u128, b: u128) -> (Match, Simple) {
    let all = ones(width);
    // Few different values, so that entries overlap and keys hit.
    let (a, b) = (
        a & all & 0x0f_0000_0000_0000_0003,
        b & all & 0x0f_0000_0000_0000_0003,
    );
    match kind {
        "lpm" => {
            let length = (b % u128::from(width + 1)) as u32;
            let mask = all & !ones(width - length);
            let value = a & mask;
            (
                Match::Lpm {
                    value: number(value),
                    length,
                },
                Simple::Masked(value, mask),
            )
        }
        "ternary" if b == 0 => (Match::Any, Simple::Masked(0, 0)),
        "ternary" => {
            let (value, mask) = (number(a & b), number(b));
            (Match::Ternary { value, mask }, Simple::Masked(a & b, b))
        }
        "range" => {
            let (low, high) = (a.min(b), a.max(b));
            (
                Match::Range {
                    low: number(low),
                    high: number(high),
                },
                Simple::Range(low, high),
            )
        }
        "optional" if b & 1 == 0 => (Match::Any, Simple::Masked(0, 0)),
        "optional" => (Match::Optional(number(a)), Simple::Masked(a, all)),
        _ => (Match::Exact(number(a)), Simple::Masked(a, all)),
    }
}

/// What an entry is to the oracle.
struct Known {
    matches: Vec<Simple>,
    priority: u32,
    number: u32,
}

/// Prefix lengths decide among entries without priorities.
fn specific(entry: &Known) -> u32 {
    let bits = entry.matches.iter().map(|given| match given {
        Simple::Masked(_, mask) => mask.count_ones(),
        Simple::Range(..) => 0,
    });
    bits.sum()
}

fn kinds() -> impl Strategy<Value = Vec<(&'static str, u32)>> {
    let width = prop_oneof![1u32..=9, 60u32..=70, Just(128u32)];
    let exact = prop::collection::vec((Just("exact"), width.clone()), 0..3);
    let kind = prop_oneof![
        Just("exact"),
        Just("lpm"),
        Just("ternary"),
        Just("range"),
        Just("optional")
    ];
    (
        exact,
        kind.clone(),
        kind,
        width.clone(),
        width,
        any::<bool>(),
    )
        .prop_map(|(mut keys, one, two, w1, w2, both)| {
            keys.push((one, w1));
            // Two lpm keys are not a table for anyone.
            if both && (one, two) != ("lpm", "lpm") {
                keys.push((two, w2));
            }
            keys
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // If this fails, packets meet the wrong entry: the most basic thing a student relies on.
    #[test]
    fn lookups_agree_with_a_linear_search(
        keys in kinds(),
        entries in prop::collection::vec((prop::array::uniform4(any::<u128>()), prop::array::uniform4(any::<u128>()), 1u32..4, any::<bool>()), 0..40),
        packets in prop::collection::vec(prop::array::uniform4(any::<u128>()), 1..40),
    ) {
        let general = keys.iter().any(|key| matches!(key.0, "ternary" | "range" | "optional"));
        let mut state = state(program(&keys, vec![]));
        let mut known: Vec<Known> = Vec::new();
        for (number, (a, b, priority, delete)) in entries.iter().enumerate() {
            let priority = if general { *priority } else { 0 };
            let pairs = keys.iter().enumerate().map(|(i, (kind, width))| a_match(kind, *width, a[i], b[i]));
            let (matches, simple): (Vec<_>, Vec<_>) = pairs.unzip();
            let names = (0..).map(|i| format!("k{i}"));
            let key = EntryKey { table: "t".into(), matches: names.zip(matches).collect(), priority };
            let same = known.iter().position(|k| k.matches == simple && k.priority == priority);
            let number = number as u32;
            if let Some(index) = same {
                let again = Update::Insert(Entry { key: key.clone(), target: set(number) });
                prop_assert!(state.write(&[again]).is_err());
                if *delete {
                    state.write(&[Update::Delete(key)]).expect("it is there");
                    known.remove(index);
                } else {
                    state.write(&[Update::Modify(Entry { key, target: set(number) })]).expect("it is there");
                    known[index].number = number;
                }
            } else {
                prop_assert!(state.write(&[Update::Delete(key.clone())]).is_err());
                state.write(&[Update::Insert(Entry { key, target: set(number) })]).expect("a new entry");
                known.push(Known { matches: simple, priority, number });
            }
        }
        for packet in packets {
            let mut key = Vec::new();
            let values: Vec<u128> = keys.iter().zip(packet)
                .map(|((_, width), value)| value & ones(*width) & 0x0f_0000_0000_0000_0007).collect();
            keys.iter().zip(&values).for_each(|((_, width), value)| key.extend(limbs(*value, *width)));
            let fits = |entry: &&Known| entry.matches.iter().zip(&values).all(|(given, value)| given.holds(*value));
            // The first of the best: older entries win among equals.
            let hits: Vec<&Known> = known.iter().filter(fits).collect();
            let rank = |entry: &&&Known| if general { entry.priority } else { specific(entry) };
            let best = hits.iter().map(|e| rank(&e)).max();
            let expected = hits.iter().find(|entry| Some(rank(entry)) == best).map(|entry| entry.number);
            let found = state.lookup(0, &key, 0, 0, |_, _, _| None);
            prop_assert_eq!(found.hit, expected.is_some());
            match expected {
                Some(number) => prop_assert_eq!(found.data, &[u64::from(number), 7]),
                None => prop_assert_eq!(found.action, 1),
            }
        }
    }

    // If this fails, a batch with a mistake leaves a switch half configured.
    #[test]
    fn a_batch_with_a_mistake_changes_nothing(
        before in prop::collection::vec((0u8..8, 0u8..4, 0u8..9), 0..20),
        batch in prop::collection::vec((0u8..8, 0u8..4, 0u8..9), 0..20),
        at in 0usize..20,
    ) {
        let mut state = state(program(&[("exact", 8)], vec![]));
        for (key, value, what) in before {
            // Some of them fail, which is fine here.
            let _ = state.write(&[update(key, value, what)]);
        }
        let view = |state: &State| {
            let counters: Vec<_> = (0..4).map(|i| state.counter("count", i)).collect();
            let cells: Vec<_> = (0..4).map(|i| state.read_register("cells", i)).collect();
            let groups: Vec<_> = (0..8).map(|i| state.group(i).map(<[_]>::to_vec)).collect();
            let sessions: Vec<_> = (0..8).map(|i| state.session(i)).collect();
            (state.entries("t"), state.default_action("t"), counters, cells, groups, sessions)
        };
        let old = view(&state);
        let mut updates: Vec<Update> = batch.into_iter().map(|(key, value, what)| update(key, value, what)).collect();
        let at = at.min(updates.len());
        updates.insert(at, Update::Clear { table: "nowhere".into() });
        let error = state.write(&updates).expect_err("one update is wrong");
        prop_assert!(error.errors.iter().any(|(index, _)| *index == at));
        prop_assert_eq!(view(&state), old.clone());
        for (key, entry) in (0..8u64).map(|key| (key, old.0.as_ref().ok())) {
            let has = entry.is_some_and(|entries| entries.iter().any(|e| e.matches[0].1 == Match::Exact(key.into())));
            prop_assert_eq!(state.lookup(0, &[key], 0, 0, |_, _, _| None).hit, has);
        }
    }
}

fn update(key: u8, value: u8, what: u8) -> Update {
    let entry_key = EntryKey {
        table: "C.t".into(),
        matches: vec![("hdr.k0".into(), Match::Exact(key.into()))],
        priority: 0,
    };
    let id = u32::from(key);
    match what {
        0 | 1 => Update::Insert(Entry {
            key: entry_key,
            target: set(value.into()),
        }),
        2 => Update::Modify(Entry {
            key: entry_key,
            target: set(value.into()),
        }),
        3 => Update::Delete(entry_key),
        4 => Update::Clear { table: "t".into() },
        5 => Update::SetCounter {
            counter: "count".into(),
            index: (key < 6).then_some(key.into()),
            packets: value.into(),
            bytes: 1,
        },
        6 => Update::SetRegister {
            register: "cells".into(),
            index: (key < 6).then_some(key.into()),
            value: value.into(),
        },
        7 => Update::SetGroup {
            group: id,
            replicas: (value > 0).then(|| {
                vec![Replica {
                    port: value.into(),
                    rid: 1,
                }]
            }),
        },
        _ => Update::SetSession {
            session: id,
            to: (value > 0).then(|| CloneSession {
                port: Some(value.into()),
                ..Default::default()
            }),
        },
    }
}

// If this fails, a wrong entry is swallowed, or its author is not told what is wrong with it.
#[test]
fn mistakes_are_named() {
    let entry = |matches: Vec<(&str, Match)>, priority, target| {
        let matches = matches
            .into_iter()
            .map(|(name, given)| (name.to_string(), given))
            .collect();
        Update::Insert(Entry {
            key: EntryKey {
                table: "t".into(),
                matches,
                priority,
            },
            target,
        })
    };
    let action = |name: &str, args| {
        Target::Action(ActionSpec {
            name: name.into(),
            args,
        })
    };
    let exact = || ("k0", Match::Exact(1u8.into()));
    let in_order = |args: &[u32]| Args::InOrder(args.iter().map(|n| (*n).into()).collect());
    let keys = [("exact", 8), ("ternary", 8), ("range", 8)];
    let cases: Vec<(Update, &str)> = vec![
        (
            Update::Clear { table: "u".into() },
            "there is no table u; there is C.t",
        ),
        (
            entry(vec![], 1, set(1)),
            "needs a value for its exact key hdr.k0",
        ),
        (entry(vec![("k7", Match::Any)], 1, set(1)), "no key k7"),
        (
            entry(vec![("k0", Match::Exact(256u32.into()))], 1, set(1)),
            "has 9 bits, but the field has 8",
        ),
        (entry(vec![exact(), exact()], 1, set(1)), "given twice"),
        (
            entry(vec![("k0", Match::Any)], 1, set(1)),
            "matched as exact",
        ),
        (entry(vec![exact()], 0, set(1)), "need a priority"),
        (
            entry(vec![exact()], 1, Target::Member(1)),
            "no action profile",
        ),
        (
            entry(vec![exact()], 1, action("sett", in_order(&[]))),
            "no action sett; there is C.set",
        ),
        (
            entry(vec![exact()], 1, action("set", in_order(&[1]))),
            "takes 2 values, not 1",
        ),
        (
            entry(vec![exact()], 1, action("set", in_order(&[1, 512]))),
            "port has 10 bits",
        ),
        (
            entry(vec![exact()], 1, action("set", Args::Named(vec![]))),
            "value for its parameter number",
        ),
        (
            entry(vec![exact()], 1, action("drop", in_order(&[]))),
            "only for the default",
        ),
        (
            entry(
                vec![
                    exact(),
                    (
                        "k1",
                        Match::Ternary {
                            value: 3u8.into(),
                            mask: 1u8.into(),
                        },
                    ),
                ],
                1,
                set(1),
            ),
            "outside of its mask",
        ),
        (
            entry(
                vec![
                    exact(),
                    (
                        "k2",
                        Match::Range {
                            low: 3u8.into(),
                            high: 1u8.into(),
                        },
                    ),
                ],
                1,
                set(1),
            ),
            "ends before it begins",
        ),
        (
            Update::SetRegister {
                register: "cells".into(),
                index: Some(4),
                value: 0u8.into(),
            },
            "4 cells",
        ),
        (
            Update::SetGroup {
                group: 0,
                replicas: None,
            },
            "group 0",
        ),
        (
            Update::SetSession {
                session: 1 << 15,
                to: None,
            },
            "32767",
        ),
    ];
    for (update, expected) in cases {
        let mut state = state(program(&keys, vec![]));
        let error = state.write(&[update]).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nwanted: {expected}");
    }
    let mut state = state(program(&[("exact", 8)], vec![]));
    let fill: Vec<Update> = (0..64).map(|key| update(key, 1, 0)).collect();
    state.write(&fill).expect("64 entries fit");
    let error = state
        .write(&[update(64, 1, 0)])
        .expect_err("full")
        .to_string();
    assert_eq!(error, "update 1: C.t is full: its size is 64");
}

// If this fails, entries written in a program are tried in the wrong order (P4_16, 14.2.1.4).
#[test]
fn entries_of_the_program_keep_their_order() {
    let entry = |mask: u64, number: u64, priority| ConstEntry {
        span: Span { lo: 1, hi: 2 },
        is_const: false,
        matches: vec![ConstMatch::Masked {
            value: vec![1 & mask],
            mask: vec![mask],
        }],
        call: ActionCall {
            action: 0,
            data: vec![number, 0],
        },
        priority,
    };
    let find = |program: Program, key: u64| {
        let mut state = state(program);
        state
            .lookup(0, &[key], 0, 0, |_, _, _| None)
            .data
            .first()
            .copied()
    };
    let plain = vec![entry(1, 10, None), entry(3, 20, None)];
    let mut as_const = program(&[("ternary", 8)], plain.clone());
    as_const.tables[0].const_entries = true;
    assert_eq!(find(as_const.clone(), 1), Some(10));
    let mut fixed = state(as_const);
    let error = fixed
        .write(&[Update::Clear { table: "t".into() }])
        .expect_err("const entries");
    assert!(error.to_string().contains("const"), "{error}");
    assert_eq!(find(program(&[("ternary", 8)], plain), 1), Some(10));

    let mut one = entry(1, 10, Some(2));
    one.is_const = true;
    let mut marked = state(program(&[("ternary", 8)], vec![one, entry(3, 20, Some(1))]));
    let views = marked.entries("t").expect("entries");
    assert_eq!(
        views.iter().map(|view| view.is_const).collect::<Vec<_>>(),
        [true, false]
    );
    for (view, refused) in views.into_iter().zip([true, false]) {
        let key = EntryKey {
            table: "t".into(),
            matches: view.matches,
            priority: view.priority,
        };
        let entry = Entry {
            key: key.clone(),
            target: view.target,
        };
        for update in [Update::Modify(entry), Update::Delete(key)] {
            let done = marked.write(&[update]);
            assert_eq!(
                done.err().map(|error| error.to_string()),
                refused.then(
                    || "update 1: this entry of C.t is const: only the program sets it".into()
                )
            );
        }
    }

    let given = vec![
        entry(1, 10, Some(5)),
        entry(3, 20, Some(9)),
        entry(0, 30, None),
    ];
    assert_eq!(find(program(&[("ternary", 8)], given.clone()), 1), Some(20));
    let mut smallest = program(&[("ternary", 8)], given);
    smallest.tables[0].largest_priority_wins = false;
    assert_eq!(find(smallest.clone(), 1), Some(10));
    assert_eq!(find(smallest, 4), Some(30));
}

// If this fails, routes of a control plane do other things with --bmv2-compat than on bmv2: there a
// prefix counts the zero bits that fill the key's first byte up. The oracle compares binary digits.
#[test]
fn prefixes_count_the_padding_where_bmv2_does() {
    for width in [1, 4, 7, 8, 12] {
        let padding = (8 - width % 8) % 8;
        let mut program = program(&[("lpm", width)], vec![]);
        program.tables[0].keys[0].compared.padding = padding;
        let mut state = state(program);
        // Upper bits that alternate, so that each length would have a key of its own.
        let pattern = 0b1010_1010_1010 & ones(width);
        for length in 0..=width {
            let value = number(pattern & !ones(width - length));
            let matches = vec![("k0".into(), Match::Lpm { value, length })];
            let key = EntryKey {
                table: "t".into(),
                matches,
                priority: 0,
            };
            let target = set(length);
            state
                .write(&[Update::Insert(Entry { key, target })])
                .expect("a new entry");
        }
        let digits = |value: u128| format!("{value:0n$b}", n = (width + padding) as usize);
        for packet in 0..=ones(width) {
            let longest = (0..=width).rev().find(|length| {
                let bits = *length as usize;
                let own = digits(pattern & !ones(width - length));
                digits(packet)[..bits] == own[..bits]
            });
            let found = state.lookup(0, &limbs(packet, width), 0, 0, |_, _, _| None);
            assert_eq!(
                found.data.first().copied(),
                longest.map(u64::from),
                "{packet:#b} of {width} bits"
            );
        }
    }
}

// If this fails, an entry with bits that a key `field & constant` never has is dead with
// --bmv2-compat, although it lives on bmv2.
#[test]
fn entries_are_masked_where_bmv2_masks_them() {
    let mut program = program(&[("exact", 16)], vec![]);
    program.tables[0].keys[0].compared.mask = Some(vec![0x0ff0]);
    let mut state = state(program);
    let key = |value: u32| EntryKey {
        table: "t".into(),
        matches: vec![("k0".into(), Match::Exact(value.into()))],
        priority: 0,
    };
    let insert = |value| {
        let (key, target) = (key(value), set(1));
        Update::Insert(Entry { key, target })
    };
    state.write(&[insert(0x3123)]).expect("a new entry");
    assert!(state.write(&[insert(0x0120)]).is_err(), "the same to bmv2");
    let mut hits = |key| state.lookup(0, &[key], 0, 0, |_, _, _| None).hit;
    assert!(hits(0x0120) && !hits(0x3123) && !hits(0x0130));
}

// If this fails, a table without keys goes on with the action that it had before a control plane changed it.
#[test]
fn a_table_without_keys_does_what_it_was_told_last() {
    let mut state = state(program(&[], vec![]));
    for number in [3, 4] {
        let Target::Action(action) = set(number) else {
            panic!("an action");
        };
        let told = Update::SetDefault {
            table: "t".into(),
            action: Some(action),
        };
        state.write(&[told]).expect("a default");
        for _ in 0..2 {
            let found = state.lookup_plain(0, &[]).expect("nobody need know");
            assert_eq!((found.hit, found.data[0]), (false, number.into()));
        }
    }
}
