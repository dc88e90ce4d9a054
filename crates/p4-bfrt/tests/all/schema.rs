//! If this fails, controllers for a Tofino do not find a program's tables: their names, ids and
//! fields differ from those that bf-p4c gives.
//!
//! The ids of `forward`, `hit`, `NoAction` and the port metadata are those of bf-p4c for names of its examples.

use crate::support;

use p4_bfrt::schema::{FieldType, Kind, Match, Schema};

fn schema() -> Schema {
    support::compiled().1
}

#[test]
fn a_table_has_bf_p4cs_names_and_ids() {
    let schema = schema();
    let table = schema
        .table_named("pipe.SwitchIngress.forward")
        .expect("the table");
    assert_eq!(
        (table.id, table.kind, table.size),
        (37882547, Kind::MatchActionDirect, 512)
    );
    let key = table
        .key
        .iter()
        .map(|own| (own.id, own.name.as_str(), own.match_type));
    let expected = [
        (1, "hdr.ethernet.dst_addr", Match::Exact),
        (2, "hdr.ethernet.src_addr", Match::Ternary),
        (65537, "$MATCH_PRIORITY", Match::Exact),
    ];
    assert_eq!(key.collect::<Vec<_>>(), expected);
    let actions = table.actions.as_deref().expect("actions").iter();
    let actions: Vec<_> = actions.map(|own| (own.id, own.name.as_str())).collect();
    assert_eq!(
        actions,
        [(32848556, "SwitchIngress.hit"), (21257015, "NoAction")]
    );
    assert_eq!(table.const_default, Some(true));
    let data = table
        .data
        .iter()
        .map(|own| (own.one_of[0].id, own.one_of[0].name.as_str()));
    let expected = [
        (65553, "$COUNTER_SPEC_BYTES"),
        (65554, "$COUNTER_SPEC_PKTS"),
    ];
    assert_eq!(data.collect::<Vec<_>>(), expected);
    assert_eq!(table.operations, ["SyncCounters"]);
}

#[test]
fn a_registers_fields_are_named_after_it() {
    let schema = schema();
    let table = schema
        .table_named("pipe.SwitchIngress.cells")
        .expect("the register");
    assert_eq!((table.kind, table.size), (Kind::Register, 1024));
    let key: Vec<_> = table
        .key
        .iter()
        .map(|own| (own.id, own.name.as_str()))
        .collect();
    assert_eq!(key, [(65557, "$REGISTER_INDEX")]);
    let data = table.data.iter().map(|own| &own.one_of[0]);
    let data = data.map(|own| (own.id, own.name.as_str(), own.field_type.clone()));
    let bits = FieldType::Bytes {
        width: 32,
        default: None,
    };
    let expected = [
        (1, "SwitchIngress.cells.low", bits.clone()),
        (2, "SwitchIngress.cells.high", bits),
    ];
    assert_eq!(data.collect::<Vec<_>>(), expected);
}

#[test]
fn digests_and_port_metadata_are_there() {
    let schema = schema();
    let filter = &schema.learn_filters[0];
    assert_eq!(filter.name, "pipe.SwitchIngressDeparser.learnt");
    assert_eq!(filter.id >> 24, 0x8e);
    let fields: Vec<_> = filter.fields.iter().map(|own| own.name.as_str()).collect();
    assert_eq!(fields, ["mac", "port"]);
    let ports = schema.table(2426108248).expect("port metadata");
    assert_eq!(ports.name, "pipe.SwitchIngressParser.$PORT_METADATA");
    assert_eq!(ports.key[0].name, "ig_intr_md.ingress_port");
}

/// If this fails, a client of a program with two pipelines sets one pipeline's port metadata by
/// the other's fields, or does not find a table by its pipeline.
#[test]
fn every_pipeline_has_its_own_names() {
    let schema = support::two_pipelines().1;
    let names: Vec<_> = schema.tables.iter().map(|own| own.name.as_str()).collect();
    assert!(names.contains(&"pipe.SwitchIngress.forward"), "{names:?}");
    assert!(names.contains(&"inner.InnerIngress.turn"), "{names:?}");
    let fields = |name: &str| -> Vec<String> {
        let table = schema.table_named(name).expect("port metadata");
        let fields = table.data.iter().flat_map(|own| &own.one_of);
        fields.map(|own| own.name.clone()).collect()
    };
    let skipped = fields("pipe.SwitchIngressParser.$PORT_METADATA");
    assert_eq!(skipped, ["$DEFAULT_FIELD"]);
    let unpacked = fields("inner.InnerParser.$PORT_METADATA");
    assert_eq!(unpacked, ["tag", "rest"]);
}
