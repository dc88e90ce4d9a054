//! A TNA program with a table, a register, a counter and a digest.

use p4_bfrt::Schema;
use p4_ir::ir::Program;
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
    apply { forward.apply(); ig_dprsr_md.digest_type = (bit<3>)count.execute(0); }
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

/// The program and what it shows to clients.
pub fn compiled() -> (Program, Schema) {
    let files = MemoryFiles([("test.p4".to_string(), PROGRAM.to_string())].into());
    let parsed = parse("test.p4", &files, &Options::default());
    let checked = p4_check::check(&parsed.program);
    let found: Vec<_> = parsed
        .diagnostics
        .iter()
        .chain(&checked.diagnostics)
        .collect();
    assert!(found.is_empty(), "{found:?}");
    let schema = Schema::of(&p4_info::p4info(&checked, &parsed.sources).expect("P4Info"));
    let program = p4_ir::lower::lower(&checked, &p4_arch::tna::Tna).expect("a program");
    (program, schema)
}
