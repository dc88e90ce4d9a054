"""A program with one of everything that control planes of bmv2 see."""

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header tag_t { bit<4> a; bit<12> b; }
header data_t { varbit<64> rest; }
struct headers { ethernet_t eth; tag_t[2] tags; data_t data; }
type bit<9> port_t;
enum bit<8> Kind { One = 1 }
struct inner_t { bit<7> z; }
struct meta_t { bit<14> h; inner_t inner; bit<3> color; bool flag; }
struct learn_t { tag_t tag; bit<48> src; port_t port; Kind kind; bool flag; }
parser P(packet_in p, out headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
  value_set<bit<16>>(4) vs;
  state start { p.extract(hdr.eth); transition select(hdr.eth.type) { vs: t; default: accept; } }
  state t { p.extract(hdr.tags.next); transition accept; }
}
control V(inout headers hdr, inout meta_t meta) { apply { } }
control I(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
  register<bit<32>>(16) reg;
  counter(8, CounterType.packets_and_bytes) cnt;
  direct_counter(CounterType.packets) dc;
  meter(4, MeterType.bytes) mtr;
  direct_meter<bit<3>>(MeterType.packets) dm;
  action_selector(HashAlgorithm.crc16, 32w16, 32w14) sel;
  action_profile(8) prof;
  action drop() { mark_to_drop(sm); }
  action fwd(bit<9> port) { sm.egress_spec = port; dm.read(meta.color); }
  action fwd2(bit<9> port, bit<48> mac) { sm.egress_spec = port; hdr.eth.dst = mac; }
  table direct {
    key = { hdr.eth.dst: exact; hdr.tags[1].isValid(): exact; hdr.tags[0].b: ternary;
            meta.inner.z: exact; sm.ingress_port: range; meta.flag: optional; }
    actions = { drop; fwd; }
    default_action = drop(); counters = dc; meters = dm; size = 4; support_timeout = true;
  }
  table selected {
    key = { hdr.eth.src: lpm; hdr.eth.dst: selector; }
    actions = { fwd2; drop; }
    implementation = sel;
  }
  table shared { key = { hdr.eth.src: exact; } actions = { drop; } implementation = prof; }
  table fixed {
    key = { hdr.eth.type: exact; }
    actions = { drop; NoAction; }
    const entries = { 0x0005: drop(); }
  }
  table keyless { actions = { fwd2; } const default_action = fwd2(300, 0x0a0b); }
  apply {
    bit<32> v; reg.read(v, 3); reg.write(3, v + 1); cnt.count(2); mtr.execute_meter(1, meta.color);
    hash(meta.h, HashAlgorithm.crc32_custom, 14w0, { hdr.eth.src }, 14w1000);
    hash(meta.h, HashAlgorithm.crc16, 14w0, { hdr.eth.src }, 14w1000);
    hash(meta.h, HashAlgorithm.crc16_custom, 14w0, { hdr.eth.src }, 14w1000);
    direct.apply(); selected.apply(); shared.apply(); keyless.apply(); fixed.apply();
    learn_t l; l.tag = hdr.tags[0]; l.src = hdr.eth.src; l.port = (port_t) sm.ingress_port;
    l.kind = Kind.One; l.flag = meta.flag; digest<learn_t>(1, l);
  }
}
control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t sm) {
  action none() { }
  table out_t { key = { sm.egress_port: exact; } actions = { none; } default_action = none(); }
  apply { out_t.apply(); }
}
control C(inout headers hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
