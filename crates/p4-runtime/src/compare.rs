//! Whether a client's P4Info is that of a program.
//!
//! Only what requests depend on counts: ids, names, keys, widths, actions. Compilers of different
//! ages differ in the rest.

use crate::messages::p4info::{
    Action, ActionProfile, ActionRef, ControllerPacketMetadata, Counter, Digest, DirectCounter,
    MatchField, P4Info, Preamble, Register, Table, ValueSet,
};

/// The first difference, as the end of a sentence that begins with "P4Info".
pub fn difference(theirs: &P4Info, ours: &P4Info) -> Option<String> {
    section(
        "table",
        &theirs.tables,
        &ours.tables,
        |t| &t.preamble,
        table,
    )
    .or_else(|| {
        section(
            "action",
            &theirs.actions,
            &ours.actions,
            |a| &a.preamble,
            action,
        )
    })
    .or_else(|| {
        let (a, b) = (&theirs.action_profiles, &ours.action_profiles);
        section("action profile", a, b, |p| &p.preamble, profile)
    })
    .or_else(|| {
        section(
            "counter",
            &theirs.counters,
            &ours.counters,
            |c| &c.preamble,
            counter,
        )
    })
    .or_else(|| {
        let (a, b) = (&theirs.direct_counters, &ours.direct_counters);
        section("direct counter", a, b, |c| &c.preamble, direct)
    })
    .or_else(|| {
        section(
            "meter",
            &theirs.meters,
            &ours.meters,
            |m| &m.preamble,
            counter,
        )
    })
    .or_else(|| {
        let (a, b) = (&theirs.direct_meters, &ours.direct_meters);
        section("direct meter", a, b, |m| &m.preamble, direct)
    })
    .or_else(|| {
        let (a, b) = (
            &theirs.controller_packet_metadata,
            &ours.controller_packet_metadata,
        );
        section("controller header", a, b, |h| &h.preamble, header)
    })
    .or_else(|| {
        let (a, b) = (&theirs.value_sets, &ours.value_sets);
        section("value set", a, b, |s| &s.preamble, value_set)
    })
    .or_else(|| {
        let (a, b) = (&theirs.registers, &ours.registers);
        section("register", a, b, |r| &r.preamble, register)
    })
    .or_else(|| {
        section(
            "digest",
            &theirs.digests,
            &ours.digests,
            |d| &d.preamble,
            digest,
        )
    })
}

fn section<T, K: PartialEq>(
    what: &str,
    theirs: &[T],
    ours: &[T],
    preamble: impl Fn(&T) -> &Option<Preamble>,
    essence: impl Fn(&T) -> K,
) -> Option<String> {
    let id = |item: &T| preamble(item).as_ref().map_or(0, |p| p.id);
    let name = |item: &T| preamble(item).as_ref().map_or("", |p| &p.name).to_string();
    for item in theirs {
        let Some(own) = ours.iter().find(|own| id(own) == id(item)) else {
            let (name, id) = (name(item), id(item));
            return Some(format!(
                "has {what} {name} ({id:#010x}), which the program has not"
            ));
        };
        if name(own) != name(item) || essence(own) != essence(item) {
            return Some(format!(
                "describes {what} {} otherwise than the program",
                name(own)
            ));
        }
    }
    let missing = ours
        .iter()
        .find(|own| !theirs.iter().any(|item| id(item) == id(own)));
    missing.map(|own| format!("lacks {what} {}", name(own)))
}

type Fields = Vec<(u32, i32, String)>;

fn fields(fields: &[MatchField]) -> Fields {
    let field = |f: &MatchField| (f.id, f.bitwidth, format!("{:?}", f.r#match));
    fields.iter().map(field).collect()
}

fn table(table: &Table) -> (Fields, Vec<(u32, i32)>, u32, Vec<u32>, u32) {
    let reference = |action: &ActionRef| (action.id, action.scope);
    let mut actions: Vec<_> = table.action_refs.iter().map(reference).collect();
    actions.sort_unstable();
    let mut resources = table.direct_resource_ids.clone();
    resources.sort_unstable();
    (
        fields(&table.match_fields),
        actions,
        table.implementation_id,
        resources,
        table.const_default_action_id,
    )
}

fn action(action: &Action) -> Vec<(u32, i32)> {
    action.params.iter().map(|p| (p.id, p.bitwidth)).collect()
}

fn profile(profile: &ActionProfile) -> (bool, Vec<u32>) {
    let mut tables = profile.table_ids.clone();
    tables.sort_unstable();
    (profile.with_selector, tables)
}

fn counter(counter: &Counter) -> i64 {
    counter.size
}

fn direct(counter: &DirectCounter) -> u32 {
    counter.direct_table_id
}

fn header(header: &ControllerPacketMetadata) -> Vec<(u32, i32)> {
    header.metadata.iter().map(|m| (m.id, m.bitwidth)).collect()
}

fn value_set(set: &ValueSet) -> (Fields, i32) {
    (fields(&set.r#match), set.size)
}

fn register(register: &Register) -> (i32, String) {
    (register.size, format!("{:?}", register.type_spec))
}

fn digest(digest: &Digest) -> String {
    format!("{:?}", digest.type_spec)
}
