// One of everything that a control plane can touch.
#include <core.p4>
#include <v1model.p4>

@controller_header("packet_in")
header packet_in_t { bit<9> ingress_port; bit<7> rest; }
@controller_header("packet_out")
header packet_out_t { bit<9> egress_port; bit<7> rest; }
header eth_t { bit<48> dst; bit<48> src; bit<16> kind; }
struct headers { packet_out_t to; packet_in_t from; eth_t eth; }
struct learn_t { bit<48> src; bit<9> port; }
struct pair_t { bit<32> a; bit<16> b; }
struct meta { bit<2> color; }

parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    value_set<bit<16>>(2) special;
    state start { transition select(s.ingress_port) { 510: from_cpu; default: eth; } }
    state from_cpu { p.extract(h.to); transition eth; }
    state eth {
        p.extract(h.eth);
        transition select(h.eth.kind) { special: to_9; default: accept; }
    }
    state to_9 { s.egress_spec = 9; transition accept; }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    counter(16, CounterType.packets_and_bytes) arrivals;
    meter(16, MeterType.bytes) policer;
    register<bit<32>>(16) numbers;
    register<pair_t>(4) pairs;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) rates;
    action forward(bit<9> port) { s.egress_spec = port; hits.count(); }
    action metered(bit<9> port) { s.egress_spec = port; rates.read(m.color); }
    action plain(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    action to_cpu() { s.egress_spec = 510; }
    action spread(bit<16> group) { s.mcast_grp = group; }
    action copy(bit<16> session) { clone(CloneType.I2E, (bit<32>) session); }
    table l2 {
        key = { h.eth.dst: exact; }
        actions = { forward; drop; @defaultonly NoAction; @tableonly plain; }
        counters = hits;
        size = 100;
        default_action = NoAction();
    }
    table prefixes {
        key = { h.eth.dst: lpm; }
        actions = { metered; NoAction; }
        meters = rates;
        size = 4;
        const default_action = NoAction();
    }
    table acl {
        key = { h.eth.dst: ternary; h.eth.kind: range; s.ingress_port: optional; }
        actions = { to_cpu; spread; copy; plain; drop; NoAction; }
        default_action = NoAction();
        support_timeout = true;
    }
    table fixed {
        key = { h.eth.kind: exact; }
        actions = { plain; NoAction; }
        default_action = NoAction();
        const entries = { 0x1111: plain(11); }
    }
    table mixed {
        key = { h.eth.kind: exact; }
        actions = { plain; NoAction; }
        default_action = NoAction();
        entries = { const 0x1111: plain(11); 0x2222: plain(22); }
    }
    table keyless { actions = { drop; NoAction; } default_action = NoAction(); }
    @max_group_size(4)
    action_selector(HashAlgorithm.identity, 8, 16) members;
    table balance {
        key = { h.eth.kind: exact; h.eth.src: selector; }
        actions = { plain; drop; }
        implementation = members;
    }
    action_profile(4) shared;
    table indirect {
        key = { h.eth.kind: exact; }
        actions = { plain; drop; }
        implementation = shared;
    }
    apply {
        arrivals.count((bit<32>) s.ingress_port);
        if (h.to.isValid()) {
            s.egress_spec = h.to.egress_port;
            h.to.setInvalid();
            exit;
        }
        digest<learn_t>(1, { h.eth.src, s.ingress_port });
        l2.apply();
        prefixes.apply();
        fixed.apply();
        mixed.apply();
        balance.apply();
        indirect.apply();
        keyless.apply();
        acl.apply();
        if (s.egress_spec == 510) {
            h.from.setValid();
            h.from.ingress_port = s.ingress_port;
        }
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply { if (s.egress_rid != 0) { h.eth.src = (bit<48>) s.egress_rid; } }
}
control C(inout headers h, inout meta m) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h.from); p.emit(h.eth); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
