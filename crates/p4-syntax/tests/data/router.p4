// An IPv4 router: what a student's first program looks like.
#include <core.p4>
#include <v1model.p4>

#define ETHERTYPE_IPV4 0x0800
#define IS_V4(h) ((h).ethernet.isValid() && (h).ethernet.etherType == ETHERTYPE_IPV4)

typedef bit<48> MacAddr;
typedef bit<32> Ipv4Addr;

header ethernet_t {
    MacAddr  dst;
    MacAddr  src;
    bit<16>  etherType;
}

header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;
    bit<8>      tos;
    bit<16>     len;
    bit<16>     id;
    bit<3>      flags;
    bit<13>     offset;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     checksum;
    Ipv4Addr    src;
    Ipv4Addr    dst;
    varbit<320> options;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct meta_t {
    @field_list(1)
    bit<9> port;
}

parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.etherType) {
            ETHERTYPE_IPV4: parse_ipv4;
            0x8100 &&& 0xF0FF: reject;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4, (bit<32>) (packet.lookahead<ipv4_t>().ihl - 5) * 32);
        verify(hdr.ipv4.version == 4, error.NoMatch);
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    counter(64, CounterType.packets_and_bytes) seen;
    register<bit<32>>(16) last;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(MacAddr dst, bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl |-| 1;
        seen.count((bit<32>) port);
    }

    table ipv4_lpm {
        key = {
            hdr.ipv4.dst : lpm;
            meta.port    : ternary @name("port");
        }
        actions = { forward; drop; NoAction; }
        size = 1024;
        default_action = drop();
        const entries = {
            (32w0x0a000001, _) : drop();
        }
    }

    apply {
        bit<32> count;
        last.read(count, 0);
        last.write(0, count + 1);
        if (IS_V4(hdr) && hdr.ipv4.ttl > 1) {
            switch (ipv4_lpm.apply().action_run) {
                forward: { count = count + 1; }
                default: { return; }
            }
        } else {
            drop();
        }
        for (bit<8> i = 0; i < 4; i = i + 1) {
            hdr.ipv4.tos[7:2] = i[5:0];
        }
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta,
                 inout standard_metadata_t standard_metadata) {
    apply { }
}

control MyCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos },
                        hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
