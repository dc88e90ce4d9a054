// Headers and numbers shared by the systems of this lab.
//
// A header is a list of fields in the order in which they travel on the wire; bit<20> is an unsigned
// number of 20 bits. A header is also valid or invalid: it becomes valid when the parser reads it or
// when the program calls setValid(), and only valid headers are written into the packet that leaves.

#ifndef HEADERS_P4
#define HEADERS_P4

// ---- BitStringLength (RFC 8279, section 1) ---------------------------------------------------------
// How many receivers one BIER packet can name. It fixes the size of a header, so it is chosen when the
// program is compiled: p4c ... -DBSL=64

#ifndef BSL
#define BSL 256
#endif

#if BSL == 64
#define BSL_CODE 1
#elif BSL == 128
#define BSL_CODE 2
#elif BSL == 256
#define BSL_CODE 3
#else
#error "BSL must be 64, 128 or 256"
#endif

// ---- Ports -----------------------------------------------------------------------------------------
// Cables are plugged into ports 1, 2, 3, ... These two have no cable.

#ifdef TOFINO
const bit<9> CPU_PORT    = 64;
const bit<9> RECIRC_PORT = 68;
#else
const bit<9> CPU_PORT    = 510;  // leads to the control plane of this switch
const bit<9> RECIRC_PORT = 509;  // leads back to the parser of this switch
#endif

// ---- Numbers from the standards --------------------------------------------------------------------

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_BIER = 0xAB37;  // RFC 8296, section 5
#ifdef TUNNELS
const bit<16> ETHERTYPE_HEARTBEAT = 0x88B5;  // has no number, so one for experiments (IEEE 802)
#endif

const bit<8> IP_PROTOCOL_IGMP = 2;

const bit<6> BIER_PROTO_IPV4 = 4;       // RFC 8296, section 2.1.2: what follows the BIER header

// ---- Headers ---------------------------------------------------------------------------------------

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

// RFC 8296, section 2.2: BIER directly over Ethernet (the "non-MPLS" form).
header bier_t {
    bit<20>  bift_id;     // names sub-domain, BitStringLength and set: which BIFT to look into
    bit<3>   tc;          // traffic class, 0 without MPLS
    bit<1>   s;           // bottom of stack: 1 where BIER begins, then left as it is
    bit<8>   ttl;
    bit<4>   nibble;      // 0 where BIER begins, then left as it is
    bit<4>   ver;         // 0
    bit<4>   bsl;         // 1 = 64 bits, 2 = 128, 3 = 256: for tools like Wireshark. Routers go by bift_id.
    bit<20>  entropy;     // the same for all packets of a flow, so that they take the same way
    bit<2>   oam;         // free for measurements, no effect on forwarding
    bit<2>   rsv;
    bit<6>   dscp;
    bit<6>   proto;
    bit<16>  bfir_id;     // BFR-id of the router that put this header on
    bit<BSL> bit_string;  // one bit per receiving router (BFER). Bit 1 is the lowest, sent last.
}

header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;          // header length in units of 4 bytes: 5 without options
    bit<8>      diffserv;
    bit<16>     total_len;
    bit<16>     identification;
    bit<3>      flags;
    bit<13>     frag_offset;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     hdr_checksum;
    bit<32>     src_addr;
    bit<32>     dst_addr;
#ifndef TOFINO
    varbit<320> options;      // 0 to 40 bytes. IGMP carries Router Alert here.
#endif
}

#ifdef TUNNELS
// An IPv4 header without options, put in front of a packet to take it through a tunnel.
header ipv4_tunnel_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

// What the control plane sends to port CPU_PORT is for the switch itself: the state of a port.
header port_status_t {
    bit<9> port;
    bit<6> _pad;
    bit<1> down;          // 1: nothing that is sent there arrives
}

// "I am here", from neighbour to neighbour, behind Ethernet.
header heartbeat_t {
    bit<14> number;       // to tell them apart in a capture
    bit<1>  heard;        // 1: yours arrive here
    bit<1>  down;         // from the control plane: it takes the port for down. 0 on the cable.
}
#endif

// In front of every packet to and from the control plane (P4Runtime: PacketIn, PacketOut).

@controller_header("packet_in")
header packet_in_header_t {
    bit<9> ingress_port;  // where the packet came in
    bit<7> _pad;
}

@controller_header("packet_out")
header packet_out_header_t {
    bit<9> egress_port;   // where the control plane wants it to leave
    bit<7> _pad;
}

struct headers_t {
    packet_in_header_t  packet_in;
    packet_out_header_t packet_out;
    ethernet_t          ethernet;
#ifdef TUNNELS
    port_status_t       port_status;
    heartbeat_t         heartbeat;
    ipv4_tunnel_t       tunnel;
#endif
    bier_t              bier;
    ipv4_t              ipv4;
}

#endif
