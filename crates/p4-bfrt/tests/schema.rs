//! If this fails, controllers for a Tofino do not find a program's tables: their names, ids and
//! fields differ from those that bf-p4c gives.
//!
//! The ids of `forward`, `hit`, `NoAction` and the port metadata are those of bf-p4c for names of its examples.

use p4_bfrt::schema::{FieldType, Kind, Match, Schema};
use p4_syntax::{parse, MemoryFiles, Options};

const PROGRAM: &str = r#"
#include <core.p4>
#include <tna.p4>
header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> ether_type; }
struct headers_t { ethernet_t ethernet; }
struct none_t {}
struct pair_t { bit<32> low; bit<32> high; }
struct learnt_t { bit<48> mac; bit<9> port; }

parser SwitchIngressParser(packet_in pkt, out headers_t hdr, out none_t md,
                           out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.ethernet);
        transition accept;
    }
}
control SwitchIngress(inout headers_t hdr, inout none_t md,
                      in ingress_intrinsic_metadata_t ig_intr_md,
                      in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                      inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                      inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<pair_t, bit<10>>(1024) cells;
    RegisterAction<pair_t, bit<10>, bit<32>>(cells) count = {
        void apply(inout pair_t value, out bit<32> rv) { value.low = value.low + 1; rv = value.low; }
    };
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) hits;
    action hit(PortId_t port) { hits.count(); ig_tm_md.ucast_egress_port = port; }
    table forward {
        key = { hdr.ethernet.dst_addr : exact; hdr.ethernet.src_addr : ternary; }
        actions = { hit; @defaultonly NoAction; }
        const default_action = NoAction();
        counters = hits;
    }
    apply { forward.apply(); ig_dprsr_md.drop_ctl = (bit<3>)count.execute(0); }
}
control SwitchIngressDeparser(packet_out pkt, inout headers_t hdr, in none_t md,
                              in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Digest<learnt_t>() learnt;
    apply {
        if (ig_dprsr_md.digest_type == 1) { learnt.pack({hdr.ethernet.src_addr, 1}); }
        pkt.emit(hdr);
    }
}
parser EmptyEgressParser(packet_in pkt, out headers_t hdr, out none_t md,
                         out egress_intrinsic_metadata_t eg_intr_md) {
    state start { pkt.extract(eg_intr_md); transition accept; }
}
control EmptyEgress(inout headers_t hdr, inout none_t md, in egress_intrinsic_metadata_t eg_intr_md,
                    in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                    inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                    inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) { apply {} }
control EmptyEgressDeparser(packet_out pkt, inout headers_t hdr, in none_t md,
                            in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) { apply {} }
Pipeline(SwitchIngressParser(), SwitchIngress(), SwitchIngressDeparser(),
         EmptyEgressParser(), EmptyEgress(), EmptyEgressDeparser()) pipe;
Switch(pipe) main;
"#;

fn schema() -> Schema {
    let files = MemoryFiles([("test.p4".to_string(), PROGRAM.to_string())].into());
    let parsed = parse("test.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let found: Vec<_> = parsed
        .diagnostics
        .iter()
        .chain(&checked.diagnostics)
        .collect();
    assert!(found.is_empty(), "{found:?}");
    Schema::of(&p4_info::p4info(&checked, &parsed.sources).expect("P4Info"))
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
