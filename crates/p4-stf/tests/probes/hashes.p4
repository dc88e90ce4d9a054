// Every hash algorithm over fixed inputs, inputs of odd widths, invalid headers, varbits, many bytes.
#include <core.p4>
#include <v1model.p4>

header in_t {
    bit<8>  op;
    bit<3>  a;
    bit<13> b;
    bit<12> c;
    bit<25> d;
    bit<11> rest;
    bit<80> wide;
}

header x_t {
    bit<16> x;
}

header var_t {
    bit<8> bits;
    varbit<32> v;
}

header out_t {
    bit<32> crc32;
    bit<32> crc16;
    bit<64> identity;
    bit<32> csum16;
    bit<32> xor16;
    bit<32> crc32_custom;
    bit<32> crc16_custom;
}

struct headers_t {
    in_t  i;
    var_t v;
    x_t   never;
    out_t o;
}

struct meta_t { }

parser P(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    state start {
        packet.extract(h.i);
        transition select(h.i.op) {
            9: variable;
            default: accept;
        }
    }
    state variable {
        packet.extract(h.v, 16);
        transition accept;
    }
}

control V(inout headers_t h, inout meta_t m) {
    apply { }
}

#define ALL(data) \
    hash(h.o.crc32, HashAlgorithm.crc32, 32w0, data, 64w0x100000000); \
    hash(h.o.crc16, HashAlgorithm.crc16, 32w0, data, 64w0x100000000); \
    hash(h.o.identity, HashAlgorithm.identity, 64w0, data, 64w0xffffffffffffffff); \
    hash(h.o.csum16, HashAlgorithm.csum16, 32w0, data, 64w0x100000000); \
    hash(h.o.xor16, HashAlgorithm.xor16, 32w0, data, 64w0x100000000); \
    hash(h.o.crc32_custom, HashAlgorithm.crc32_custom, 32w0, data, 64w0x100000000); \
    hash(h.o.crc16_custom, HashAlgorithm.crc16_custom, 32w0, data, 64w0x100000000);

#define DATA1 { h.i.wide }
#define DATA2 { h.i.a }
#define DATA3 { h.i.b }
#define DATA4 { h.i.c }
#define DATA5 { h.i.d }
#define DATA6 { h.i.a, h.i.d, h.i.c }
#define DATA7 { h.i.a, h.never.x, h.i.b }
#define DATA8 { 16w0x1234, h.i.wide, 8w0xff }
#define DATA9 { h.i.a, h.v.v, h.i.b }
#define DATA10 { h.i.wide[15:0] }

control I(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        h.o.setValid();
        if (h.i.op == 1) { ALL(DATA1) }
        else if (h.i.op == 2) { ALL(DATA2) }
        else if (h.i.op == 3) { ALL(DATA3) }
        else if (h.i.op == 4) { ALL(DATA4) }
        else if (h.i.op == 5) { ALL(DATA5) }
        else if (h.i.op == 6) { ALL(DATA6) }
        else if (h.i.op == 7) { ALL(DATA7) }
        else if (h.i.op == 8) { ALL(DATA8) }
        else if (h.i.op == 9) { ALL(DATA9) }
        else if (h.i.op == 10) { ALL(DATA10) }
        else if (h.i.op == 12) {
            hash(h.o.crc32, HashAlgorithm.crc32, 32w7, { h.i.wide }, 64w1);
            hash(h.o.crc16, HashAlgorithm.crc16, 32w0xfffffff0, { h.i.wide }, 64w0x1000);
            hash(h.o.csum16, HashAlgorithm.identity, 32w5, { h.i.a }, 64w0);
        }
    }
}

control E(inout headers_t h, inout meta_t m, inout standard_metadata_t sm) {
    apply { }
}

control C(inout headers_t h, inout meta_t m) {
    apply { }
}

control D(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h.o);
        packet.emit(h.i);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
