// Most of the language in one program, as material for mutations.
#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
type bit<9> port_t;
enum bit<8> proto_t { igmp = 2, udp = 17 }
enum color_t { green, yellow, red }
error { BadLength }

header ethernet_t { mac_t dst; mac_t src; bit<16> type; }
header tag_t { bit<3> priority; bit<1> drop; bit<12> id; bit<16> type; }
header options_t { bit<8> length; varbit<320> data; }
header v4_t { bit<32> src; bit<32> dst; proto_t proto; }
header v6_t { bit<128> src; bit<128> dst; proto_t proto; }
header_union ip_t { v4_t v4; v6_t v6; }
struct headers_t { ethernet_t eth; tag_t[3] tags; options_t options; ip_t ip; ip_t[2] inner; }
struct pair_t<T> { T first; T second; }
struct meta_t {
    @field_list(1) bit<32> hash;
    pair_t<bit<16>> pair;
    bit<8>[4] cells;
    color_t color;
    int<16> level;
    bool known;
    bit<200> wide;
}

const pair_t<bit<16>> LIMITS = { first = 10, second = 10 + 2 * 4 };
const tuple<bit<8>, bool> DEFAULTS = { 7, true };

T larger<T>(in T a, in T b, in bool swap) { if (swap) { return b; } return a; }
bit<8> bump(inout bit<8> n) { n = n |+| 1; return n >> 1; }

extern Machine<T> { Machine(bit<8> size); abstract T step(in T x, out bool done); }

parser Tags(packet_in packet, out tag_t[3] tags, out bit<16> type)(bit<8> most) {
    bit<8> count = 0;
    state start {
        packet.extract(tags.next);
        count = count + 1;
        verify(count <= most, error.BadLength);
        type = tags.last.type;
        transition select(tags.last.type, tags.lastIndex) {
            (0x8100, 0 .. 1): start;
            (0x88a8 &&& 0xffff, _): start;
            default: accept;
        }
    }
}

parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                inout standard_metadata_t sm) {
    Tags(3) tags;
    value_set<bit<16>>(4) special;
    bit<16> type;
    state start {
        packet.extract(hdr.eth);
        type = hdr.eth.type;
        transition select(type) {
            0x8100: tagged;
            0x0800: v4;
            0x86dd: v6;
            special: options;
            _: accept;
        }
    }
    state tagged {
        tags.apply(packet, hdr.tags, type);
        transition select(type) { 0x0800: v4; 0x86dd: v6; default: accept; }
    }
    state v4 {
        packet.extract(hdr.ip.v4);
        transition select(hdr.ip.v4.proto) { proto_t.igmp: options; proto_t.udp: inner; _: accept; }
    }
    state v6 { packet.extract(hdr.ip.v6); transition inner; }
    state inner {
        packet.extract(hdr.inner.next.v4);
        transition select(packet.lookahead<bit<8>>()) { 1: inner; default: accept; }
    }
    state options {
        bit<8> length = packet.lookahead<bit<8>>();
        packet.extract(hdr.options, (bit<32>) length << 3);
        packet.advance(8);
        transition accept;
    }
}

control Count(inout bit<8> n, in bit<8> by)(bool twice) {
    apply {
        n = n + by;
        if (twice) { n = n + by; }
        if (n > 200) { exit; }
    }
}

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(16) seen;
    counter(8, CounterType.packets) packets;
    Count(true) often;
    Count(false) seldom;
    bit<8> n = DEFAULTS[0];
    Machine<bit<8>>(4) machine = {
        bit<8> step(in bit<8> x, out bool done) {
            done = x == n;
            return x + n;
        }
    };
    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port, mac_t dst) {
        sm.egress_spec = port;
        hdr.eth = { dst, hdr.eth.dst, hdr.eth.type };
    }
    action swap(inout bit<32> a, inout bit<32> b) { bit<32> c = a; a = b; b = c; }
    table route {
        key = { hdr.ip.v4.dst : lpm; meta.known : exact; hdr.eth.dst[7:0] : ternary @name("low"); }
        actions = { forward; drop; swap(hdr.ip.v4.src, hdr.ip.v4.dst); @defaultonly NoAction; }
        default_action = NoAction();
        size = 64;
    }
    table fixed {
        key = { n : range; meta.color : exact; }
        actions = { forward; drop; }
        const entries = {
            (1 .. 5, color_t.red) : drop();
            (_, color_t.green) : forward(3, 48w7);
        }
        default_action = drop();
    }
    apply {
        bool done;
        meta.pair = larger(LIMITS, { 1, 2 }, hdr.tags[0].isValid());
        n = machine.step(n, done);
        if (done && bump(n) > 2 || !(hdr.ip.isValid())) { often.apply(n, 3); } else { seldom.apply(n, n); }
        for (bit<8> i in 0 .. 3) {
            if (i == n) { continue; }
            meta.cells[(bit<2>) i] = meta.cells[(bit<2>) (i + 1)] ^ i;
        }
        for (bit<8> i = 0; i < 4; i += 1) { if (meta.cells[i] == 9) { break; } }
        switch (route.apply().action_run) {
            forward: { hdr.tags.push_front(1); hdr.tags[0].setValid(); hdr.tags[0].id[3:0] = n[7:4]; }
            drop: swap: { return; }
            default: { if (fixed.apply().miss) { meta.color = color_t.yellow; } }
        }
        switch (n) { 1: 2: { n = 3; } 0x80: { n = ~n; } default: { n = -n; } }
        seen.read(meta.hash, (bit<32>) n);
        seen.write((bit<32>) n, meta.hash |-| 1);
        packets.count((bit<32>) n);
        hash(meta.hash, HashAlgorithm.crc32, 32w0, { hdr.ip.v4.src, n, meta.pair }, 32w1024);
        meta.level = meta.known ? (int<16>) meta.pair.first : -5;
        meta.wide = hdr.ip.v6.src == 0 ? 200w0 : meta.wide << 3;
        meta.known = hdr.ip.v6 == { 1, 2, proto_t.udp } || meta.level >> 1 < 0;
        clone_preserving_field_list(CloneType.I2E, 5, 1);
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control MyVerify(inout headers_t hdr, inout meta_t meta) { apply { } }
control MyCompute(inout headers_t hdr, inout meta_t meta) {
    apply { update_checksum(hdr.ip.v4.isValid(), { hdr.ip.v4.src, hdr.ip.v4.dst }, hdr.eth.type, HashAlgorithm.csum16); }
}
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.eth); packet.emit(hdr.tags); packet.emit(hdr); }
}
V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
