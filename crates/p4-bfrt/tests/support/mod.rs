//! A TNA program with a table, a register, a counter and a digest.

#[allow(dead_code)] // not by all tests
pub mod world;

use p4_bfrt::Schema;
use p4_ir::ir::Program;
use p4_syntax::{parse, MemoryFiles, Options};

const HEADERS: &str = r#"
#include <core.p4>
#include <tna.p4>
header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> ether_type; }
struct headers_t { ethernet_t ethernet; }
struct none_t {}
"#;

/// A parser of Ethernet
#[allow(dead_code)] // not by all tests
pub const PARSER: &str = r#"
parser Prs(packet_in pkt, out headers_t hdr, out none_t md,
           out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.ethernet);
        transition accept;
    }
}
"#;

/// A deparser that makes no digest
#[allow(dead_code)] // not by all tests
pub const DEPARSER: &str = r#"
control Dep(packet_out pkt, inout headers_t hdr, in none_t md,
            in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) { apply { pkt.emit(hdr); } }
"#;

const EGRESS: &str = r#"
parser EPrs(packet_in pkt, out headers_t hdr, out none_t md,
            out egress_intrinsic_metadata_t eg_intr_md) {
    state start { pkt.extract(eg_intr_md); transition accept; }
}
control Eg(inout headers_t hdr, inout none_t md, in egress_intrinsic_metadata_t eg_intr_md,
           in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
           inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
           inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) { apply {} }
control EDep(packet_out pkt, inout headers_t hdr, in none_t md,
             in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) { apply {} }
"#;

const PARAMS: &str = "inout headers_t hdr, inout none_t md,
    in ingress_intrinsic_metadata_t ig_intr_md,
    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md";

/// A program whose ingress is called so and has this in it; `blocks` are a parser `Prs`, a deparser
/// `Dep`, and the types that they need. Egress does nothing.
pub fn around(blocks: &[&str], ingress: &str, body: &str) -> String {
    let own = blocks.concat();
    format!(
        "{HEADERS}{own}{EGRESS}control {ingress}({PARAMS}) {{ {body} }}
         Pipeline(Prs(), {ingress}(), Dep(), EPrs(), Eg(), EDep()) pipe;
         Switch(pipe) main;
"
    )
}

/// Digests and a register's cells
const TYPES: &str = "struct pair_t { bit<32> low; bit<32> high; }
    struct learnt_t { bit<48> mac; bit<9> port; }";

const BODY: &str = r#"
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
"#;

const LEARNING: &str = r#"
control Dep(packet_out pkt, inout headers_t hdr, in none_t md,
            in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Digest<learnt_t>() learnt;
    apply {
        if (ig_dprsr_md.digest_type == 1) { learnt.pack({hdr.ethernet.src_addr, 1}); }
        pkt.emit(hdr);
    }
}
"#;

#[allow(dead_code)] // not by all tests
fn program() -> String {
    // With the names of the SDE's examples, whose ids are known.
    around(&[TYPES, PARSER, LEARNING], "SwitchIngress", BODY)
        .replace(" Prs(", " SwitchIngressParser(")
        .replace("(Prs(", "(SwitchIngressParser(")
        .replace(" Dep(", " SwitchIngressDeparser(")
}

/// The program and what it shows to clients.
#[allow(dead_code)] // not by all tests
pub fn compiled() -> (Program, Schema) {
    compile(&program())
}

/// What a second pipeline has beside the blocks of the first; its parser leaves the port's metadata
/// to another one.
const INNER: &str = r#"
struct port_t { bit<16> tag; bit<48> rest; }
struct inner_t { port_t port; }
parser Unpacker(packet_in pkt, out port_t port) {
    state start { port = port_metadata_unpack<port_t>(pkt); transition accept; }
}
parser InnerParser(packet_in pkt, out headers_t hdr, out inner_t md,
                   out ingress_intrinsic_metadata_t ig_intr_md) {
    Unpacker() unpacker;
    state start { pkt.extract(ig_intr_md); unpacker.apply(pkt, md.port); transition accept; }
}
control InnerIngress(inout headers_t hdr, inout inner_t md,
                     in ingress_intrinsic_metadata_t ig_intr_md,
                     in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                     inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                     inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action to(PortId_t port) { ig_tm_md.ucast_egress_port = port; }
    table turn {
        key = { md.port.tag : exact; }
        actions = { to; }
    }
    apply { turn.apply(); }
}
control InnerDeparser(packet_out pkt, inout headers_t hdr, in inner_t md,
                      in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) { apply {} }
Pipeline(InnerParser(), InnerIngress(), InnerDeparser(),
         EPrs(), Eg(), EDep()) inner;
"#;

/// The same with a second pipeline.
#[allow(dead_code)] // not by all tests
pub fn two_pipelines() -> (Program, Schema) {
    let own = program().replace("Switch(pipe) main;", "");
    compile(&format!("{own}{INNER}Switch(pipe, inner) main;\n"))
}

/// A program and what it shows to clients.
pub fn compile(text: &str) -> (Program, Schema) {
    let files = MemoryFiles([("test.p4".to_string(), text.to_string())].into());
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
