//! What Python hands over, as it arrives in Rust, and what is said of that which does not.
//!
//! If these fail, the engine writes something else than a controller told it to, or the controller
//! is told of the wrong place.

#[allow(dead_code, reason = "not all of it is called here")]
#[path = "../src/classes.rs"]
mod classes;
#[allow(dead_code, reason = "not all of it is called here")]
#[path = "../src/update.rs"]
mod update;

use num_bigint::BigUint;
use p4_state::{
    ActionSpec, Args, CloneSession, Entry, EntryKey, Match, MeterConfig, Replica, Target, Update,
};
use proptest::prelude::*;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySequence};
use std::ffi::CString;

/// Does something with the classes of `p4lab.model`, each under its name.
fn with_classes<R>(work: impl FnOnce(Python<'_>, &Bound<'_, PyDict>) -> PyResult<R>) -> R {
    Python::initialize();
    let done: PyResult<R> = Python::attach(|py| {
        let names = PyDict::new(py);
        for module in ["p4lab.model.entries", "p4lab.model.state"] {
            names.update(py.import(module)?.dict().as_mapping())?;
        }
        work(py, &names)
    });
    done.expect("p4lab.model is on Python's path: see tests/run.py")
}

/// The updates that a Python expression makes, or what is said of it.
fn arrived(expression: &str) -> Result<Vec<Update>, String> {
    with_classes(|py, names| {
        let code = CString::new(expression)?;
        let given = py.eval(&code, Some(names), None)?;
        let updates = update::batch(given.cast::<PySequence>()?);
        Ok(updates.map_err(|error| error.value(py).to_string()))
    })
}

fn one(expression: &str) -> Update {
    let all = arrived(&format!("[{expression}]")).expect(expression);
    let [update] = <[Update; 1]>::try_from(all).expect("one update");
    update
}

fn exact(value: u64) -> Match {
    Match::Exact(value.into())
}

fn key(matches: &[(&str, Match)], priority: u32) -> EntryKey {
    let named = |(name, one): &(&str, Match)| (name.to_string(), one.clone());
    EntryKey {
        table: "t".to_string(),
        matches: matches.iter().map(named).collect(),
        priority,
    }
}

fn action(params: &[(&str, u64)]) -> ActionSpec {
    let named = |(name, value): &(&str, u64)| (name.to_string(), BigUint::from(*value));
    ActionSpec {
        name: "a".to_string(),
        args: Args::Named(params.iter().map(named).collect()),
    }
}

const RATES: MeterConfig = MeterConfig {
    committed_rate: 1,
    committed_burst: 2,
    peak_rate: 3,
    peak_burst: 4,
};

#[test]
fn an_entry_is_put_in_changed_and_taken_out() {
    let entry =
        "TableEntry('t', (('k', Exact(7)), ('l', DontCare())), 'a', (('p', 3), ('q', 0)), 5)";
    let key = key(&[("k", exact(7)), ("l", Match::Any)], 5);
    let target = Target::Action(action(&[("p", 3), ("q", 0)]));
    let wanted = Entry {
        key: key.clone(),
        target,
    };
    let of = |kind: &str| one(&format!("Update('{kind}', {entry})"));
    assert_eq!(of("insert"), Update::Insert(wanted.clone()));
    assert_eq!(of("modify"), Update::Modify(wanted));
    assert_eq!(of("delete"), Update::Delete(key));
}

#[test]
fn an_entry_leads_to_a_member_or_a_group() {
    for (given, target) in [
        ("Member(2)", Target::Member(2)),
        ("Group(9)", Target::Group(9)),
    ] {
        let entry = Entry {
            key: key(&[("k", exact(1))], 0),
            target: target.clone(),
        };
        let text =
            format!("IndirectUpdate('insert', IndirectEntry('t', (('k', Exact(1)),), {given}))");
        assert_eq!(one(&text), Update::Insert(entry));
        let default = Update::SetDefaultTarget {
            table: "t".to_string(),
            target,
        };
        assert_eq!(one(&format!("SetIndirectDefault('t', {given})")), default);
    }
}

#[test]
fn what_is_not_an_entry_arrives_field_by_field() {
    let (table, named) = (|| "t".to_string(), |text: &str| text.to_string());
    let replica = |port, rid| Replica { port, rid };
    let wanted = [
        ("Clear('t')", Update::Clear { table: table() }),
        (
            "ResetDefault('t')",
            Update::SetDefault {
                table: table(),
                action: None,
            },
        ),
        (
            "Update('modify', DefaultAction('t', 'a', (('p', 1),)))",
            Update::SetDefault {
                table: table(),
                action: Some(action(&[("p", 1)])),
            },
        ),
        (
            "Update('insert', MulticastGroup(3, ((1, 0), (65535, 7))))",
            Update::SetGroup {
                group: 3,
                replicas: Some(vec![replica(1, 0), replica(65535, 7)]),
            },
        ),
        (
            "Update('delete', MulticastGroup(3, ()))",
            Update::SetGroup {
                group: 3,
                replicas: None,
            },
        ),
        (
            "Update('insert', CloneSession(4, ((6, 0),), 128))",
            Update::SetSession {
                session: 4,
                to: Some(CloneSession {
                    group: None,
                    port: Some(6),
                    truncate: Some(128),
                }),
            },
        ),
        (
            "SetGroupSession(4, 3, None, 0)",
            Update::SetSession {
                session: 4,
                to: Some(CloneSession {
                    group: Some(3),
                    port: None,
                    truncate: None,
                }),
            },
        ),
        (
            "Update('modify', RegisterCell('r', 2, 1 << 70))",
            Update::SetRegister {
                register: named("r"),
                index: Some(2),
                value: BigUint::from(1u8) << 70,
            },
        ),
        (
            "FillRegister('r', 5)",
            Update::SetRegister {
                register: named("r"),
                index: None,
                value: 5u8.into(),
            },
        ),
        (
            "Update('modify', MeterCell('m', 8, 1, 2, 3, 4))",
            Update::SetMeter {
                meter: named("m"),
                index: Some(8),
                config: Some(RATES),
            },
        ),
        (
            "FillMeter('m', None)",
            Update::SetMeter {
                meter: named("m"),
                index: None,
                config: None,
            },
        ),
        (
            "SetEntryMeter('t', (('k', Exact(1)),), 0, Rates(1, 2, 3, 4))",
            Update::SetDirectMeter {
                key: key(&[("k", exact(1))], 0),
                config: Some(RATES),
            },
        ),
        (
            "SetEntryCounter('t', (('k', Exact(1)),), 6, 10, 20)",
            Update::SetDirectCounter {
                key: key(&[("k", exact(1))], 6),
                packets: 10,
                bytes: 20,
            },
        ),
        (
            "SetCounter('c', None, 10, 20)",
            Update::SetCounter {
                counter: named("c"),
                index: None,
                packets: 10,
                bytes: 20,
            },
        ),
        (
            "SetIdleTimeout('t', (('k', Exact(1)),), 0, 30)",
            Update::SetIdleTimeout {
                key: key(&[("k", exact(1))], 0),
                ttl: Some(30),
            },
        ),
        (
            "SetMember('p', 1, 'a', (('p', 2),))",
            Update::SetMember {
                profile: named("p"),
                member: 1,
                action: Some(action(&[("p", 2)])),
            },
        ),
        (
            "SetMemberGroup('p', 1, (4, 2))",
            Update::SetMemberGroup {
                profile: named("p"),
                group: 1,
                members: Some(vec![4, 2]),
            },
        ),
        (
            "SetValueSet('v', ((Exact(1), DontCare()), (Ternary(2, 3), Exact(4))))",
            Update::SetValueSet {
                set: named("v"),
                members: vec![
                    vec![exact(1), Match::Any],
                    vec![
                        Match::Ternary {
                            value: 2u8.into(),
                            mask: 3u8.into(),
                        },
                        exact(4),
                    ],
                ],
            },
        ),
    ];
    for (text, update) in wanted {
        assert_eq!(one(text), update, "{text}");
    }
}

#[test]
fn a_batch_keeps_its_order() {
    let all = arrived("[Clear(name) for name in ('b', 'a', 'c')]").expect("updates");
    let tables: Vec<_> = ["b", "a", "c"]
        .map(|name| Update::Clear {
            table: name.to_string(),
        })
        .into();
    assert_eq!(all, tables);
}

#[test]
fn what_does_not_arrive_is_named_with_its_place() {
    for (text, told) in [
        ("[Clear('t'), 7]", "update 2: int is not an update"),
        (
            "[Update('upsert', TableEntry('t', (), 'a', ()))]",
            "update 1: kind: there is no update called \"upsert\"",
        ),
        (
            "[Update('insert', TableEntry('t', (('k', 7),), 'a', ()))]",
            "update 1: match: k: int is not a match",
        ),
        (
            "[Update('insert', TableEntry('t', (('k', Exact(-1)),), 'a', ()))]",
            "update 1: match: k: value: ",
        ),
        (
            "[Update('insert', TableEntry('t', (), 'a', (('p', 'x'),)))]",
            "update 1: params: p: ",
        ),
        (
            "[Update('insert', MulticastGroup(1, ((65536, 0),)))]",
            "update 1: replicas: ",
        ),
        (
            "[Update('insert', CloneSession(4, ((1, 0), (2, 0))))]",
            "update 1: clone session 4 has 2 replicas",
        ),
    ] {
        let error = arrived(text).expect_err(text);
        assert!(error.starts_with(told), "{text}: {error}");
    }
}

fn number() -> impl Strategy<Value = BigUint> {
    let large = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        any::<u64>().prop_map(BigUint::from),
        large.prop_map(|bytes| BigUint::from_bytes_be(&bytes)),
    ]
}

fn any_match() -> impl Strategy<Value = Match> {
    prop_oneof![
        number().prop_map(Match::Exact),
        (number(), any::<u32>()).prop_map(|(value, length)| Match::Lpm { value, length }),
        (number(), number()).prop_map(|(value, mask)| Match::Ternary { value, mask }),
        (number(), number()).prop_map(|(low, high)| Match::Range { low, high }),
        number().prop_map(Match::Optional),
        Just(Match::Any),
    ]
}

proptest! {
    /// Of any size: a key of 320 bits must not lose its upper ones on either way.
    #[test]
    fn matches_come_back_as_they_went(
        matches in proptest::collection::vec(any_match(), 0..6),
        priority in any::<u32>(),
    ) {
        let names = ["a", "b", "c", "d", "e", "f"];
        let named: Vec<_> = names.into_iter().zip(matches).collect();
        let back = with_classes(|py, _| {
            let there: Vec<_> = named
                .iter()
                .map(|(name, one)| Ok((*name, update::match_object(py, one)?)))
                .collect::<PyResult<_>>()?;
            update::key("t".to_string(), there.into_pyobject(py)?.as_any(), priority)
        });
        prop_assert_eq!(back, key(&named, priority));
    }
}
