// Names of tables, keys and actions that a script must put into quotes.
#include <core.p4>
#include <v1model.p4>

header asked_t { bit<16> a; bit<16> b; }
header told_t { bit<8> masked; bit<8> prefix; bit<8> optional; bit<8> ternary; }
struct headers { asked_t asked; told_t told; }
struct metadata { }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.asked); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    action masked(bit<8> value) { hdr.told.masked = value; }
    action prefix(bit<8> value) { hdr.told.prefix = value; }
    action opt(bit<8> value) { hdr.told.optional = value; }
    @name("ternary") action ternary_(bit<8> value) { hdr.told.ternary = value; }
    table of_mask {
        key = { hdr.asked.a & 0x0ff0 : exact; hdr.asked.b[7:4] : exact; }
        actions = { masked; NoAction; }
        default_action = NoAction();
    }
    table of_prefix {
        key = { hdr.asked.a : lpm; }
        actions = { prefix; NoAction; }
        default_action = NoAction();
    }
    table of_option {
        key = { hdr.asked.a : optional; hdr.asked.b : optional @name("the b"); }
        actions = { opt; NoAction; }
        default_action = NoAction();
    }
    table of_ternary {
        key = { hdr.asked.b : ternary; }
        actions = { ternary_; NoAction; }
        default_action = NoAction();
    }
    apply {
        sm.egress_spec = 2;
        hdr.told.setValid();
        hdr.told = { 0, 0, 0, 0 };
        of_mask.apply();
        of_prefix.apply();
        of_option.apply();
        of_ternary.apply();
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
