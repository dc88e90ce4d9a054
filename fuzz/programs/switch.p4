// What a v1model switch can be made to do, in one small program: every kind of match, every extern,
// and a first header whose fields say what shall happen, so that a packet's bytes reach all of it.
#include <core.p4>
#include <v1model.p4>

header order_t {
    bit<8>  what;      // which branch of the ingress control
    bit<8>  next;      // which header follows
    bit<16> key;
    bit<32> value;
}
header label_t { bit<20> label; bit<3> class; bit<1> last; bit<8> ttl; }
header options_t { bit<8> length; varbit<256> data; }
header v4_t { bit<32> src; bit<32> dst; }
header v6_t { bit<128> src; bit<128> dst; }
header_union address_t { v4_t v4; v6_t v6; }

struct headers_t {
    order_t order;
    label_t[4] labels;
    options_t options;
    address_t address;
    address_t[2] more;
}
struct metadata_t {
    @field_list(1) bit<8> rounds;
    @field_list(1, 2) bit<32> carried;
    bit<16> sum;
    bit<2> color;
    bit<3> index;
}
struct message_t { bit<32> value; bit<9> port; }

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                inout standard_metadata_t sm) {
    value_set<bit<8>>(4) stops;
    state start {
        packet.extract(hdr.order);
        transition select(hdr.order.next) {
            stops: accept;
            1: labels;
            2: options;
            3: v4;
            4: v6;
            5: many;
            6 &&& 6: peek;
            250 .. 255: reject;
            _: accept;
        }
    }
    state labels {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.last, hdr.labels.lastIndex) {
            (1, _): accept;
            (0, 3): peek;
            default: labels;
        }
    }
    state options {
        bit<8> length = packet.lookahead<bit<8>>();
        verify(length <= 32, error.HeaderTooShort);
        packet.extract(hdr.options, (bit<32>)length << 3);
        transition accept;
    }
    state v4 { packet.extract(hdr.address.v4); transition accept; }
    state v6 { packet.extract(hdr.address.v6); transition accept; }
    state many {
        packet.extract(hdr.more.next.v4);
        packet.extract(hdr.more.next.v6);
        transition accept;
    }
    state peek {
        packet.advance((bit<32>)hdr.order.key[3:0] * 8);
        meta.sum = (bit<16>)packet.length();
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum_with_payload(hdr.order.isValid() && hdr.order.what == 7,
            { hdr.order.value }, hdr.order.key, HashAlgorithm.csum16);
    }
}

control Count(inout bit<32> value)(bit<32> step) {
    apply { value = value |+| step; if (value == 0) { exit; } }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    counter(16, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.bytes) hits;
    meter(8, MeterType.packets) rates;
    direct_meter<bit<2>>(MeterType.bytes) entry_rates;
    register<bit<32>>(16) cells;
    register<bit<100>>(4) wide_cells;
    action_profile(8) shared;
    action_selector(HashAlgorithm.crc16, 8, 10) chosen;
    Count(3) by_three;
    Count(0xffff_fff0) by_much;

    action forward(bit<9> port) { sm.egress_spec = port; }
    action drop() { mark_to_drop(sm); }
    action copy(bit<16> group) { sm.mcast_grp = group; }
    action set(bit<32> value, bit<3> at) {
        hdr.labels[at].setValid();
        hdr.labels[at].label = value[19:0];
        hdr.order.value = value;
        meta.index = at;
    }
    action note(bit<128> wide) {
        hits.count();
        hdr.address.v6.setValid();
        hdr.address.v6.dst = wide ++ 0;
    }
    action police() { entry_rates.read(meta.color); }

    table exact_table {
        key = { hdr.order.key : exact; hdr.order.isValid() : exact; }
        actions = { forward; drop; copy; set; note; }
        counters = hits;
        default_action = drop();
    }
    table lpm_table {
        key = { hdr.address.v6.dst : lpm; hdr.order.what : exact; }
        actions = { forward; police; NoAction; }
        meters = entry_rates;
        support_timeout = true;
        size = 64;
    }
    table ternary_table {
        key = { hdr.order.value : ternary; hdr.order.key : range; sm.ingress_port : optional; }
        actions = { forward; set; copy; }
        const default_action = forward(1);
    }
    table profile_table {
        key = { hdr.order.what : ternary; }
        actions = { forward; set; }
        implementation = shared;
    }
    table selector_table {
        key = { hdr.order.what : exact; hdr.order.value : selector; hdr.order.key : selector; }
        actions = { forward; drop; }
        implementation = chosen;
    }
    table fixed {
        key = { hdr.order.key : exact; hdr.order.next : ternary; }
        actions = { forward; set; drop; }
        const entries = {
            (1, 0x10 &&& 0xf0) : forward(2);
            (2, _) : set(7, 1);
            (3, 5) : drop();
        }
    }

    bit<32> twice(inout bit<32> value) {
        if (value > 100) { return value; }
        value = value + value;
        return value - 1;
    }

    apply {
        seen.count((bit<32>)hdr.order.what);
        if (exact_table.apply().miss) { ternary_table.apply(); }
        meta.rounds = meta.rounds |+| 1;
        bit<32> word = hdr.order.value;
        switch (hdr.order.what) {
            0: { lpm_table.apply(); }
            1: {
                switch (profile_table.apply().action_run) {
                    forward: { hdr.order.what = 2; }
                    default: { selector_table.apply(); }
                }
            }
            2: { clone_preserving_field_list(CloneType.I2E, word, 1); }
            3: { if (meta.rounds < 5) { resubmit_preserving_field_list(2); } }
            4: { sm.egress_spec = 3; }
            5: {
                cells.read(word, (bit<32>)hdr.order.key);
                cells.write((bit<32>)hdr.order.key, word + 1);
                bit<100> wide;
                wide_cells.read(wide, word);
                wide_cells.write(word, (wide << 7) ^ (bit<100>)hdr.order.value);
            }
            6: { digest<message_t>(1, { word, sm.ingress_port }); }
            7: { hash(meta.sum, HashAlgorithm.crc32, 16w3, { hdr.order, word }, 16w100); }
            8: { random(word, 32w3, hdr.order.value); }
            9: { rates.execute_meter((bit<32>)hdr.order.key, meta.color); }
            10: { truncate(word); forward(4); }
            11: { hdr.labels.push_front(2); hdr.labels[0] = { 1, 2, 0, 9 }; }
            12: { hdr.labels.pop_front(1); hdr.more[1].v4.setInvalid(); }
            13: {
                for (bit<8> i = 0; i < hdr.order.next; i += 1) {
                    if (i == 200) { break; }
                    word = word * 3 + (bit<32>)i;
                }
                for (bit<3> i in 3w0 .. 3) { hdr.labels[i].ttl = (bit<8>)i; }
            }
            14: { by_three.apply(word); by_much.apply(word); by_much.apply(hdr.order.value); }
            15: { exit; }
            16: { assert(hdr.order.value != 77); log_msg("value {}", { hdr.order.value }); }
            17: { word = twice(hdr.order.value) / 3 % 7; word[7:0] = 8w3; }
            18: { hdr.more[hdr.order.key[0:0]].v4 = { 1, 2 }; }
            19: { int<32> signed = (int<32>)word; word = (bit<32>)((signed >> 3) |-| 9); }
            default: { fixed.apply(); }
        }
        meta.carried = word;
        hdr.order.value = word;
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 0 && hdr.order.what == 4 && meta.rounds < 4) {
            recirculate_preserving_field_list(1);
        }
        if (hdr.order.what == 20) { clone_preserving_field_list(CloneType.E2E, 1, 2); }
        if (sm.egress_rid == 3 || sm.deq_qdepth > 9) { mark_to_drop(sm); }
        if (hdr.options.isValid()) { hdr.options.length = hdr.options.length ^ (bit<8>)sm.egress_port; }
    }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.order.what == 7, { hdr.order.value, hdr.options }, hdr.order.key,
            HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.order.what == 21, { hdr.labels[0] }, hdr.order.value,
            HashAlgorithm.crc32);
    }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.order);
        packet.emit(hdr.labels);
        packet.emit(hdr.options);
        packet.emit(hdr.address);
        packet.emit(hdr.more);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
