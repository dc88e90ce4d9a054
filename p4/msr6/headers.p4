// Headers and numbers of MSR6: multicast that carries its tree.
//
// The drafts' layouts are not public. This encoding is p4lab's own profile, not an IETF format.

#ifndef MSR6_HEADERS_P4
#define MSR6_HEADERS_P4

// ---- Ports --------------------------------------------------------------------------------------
// Cables are plugged into ports 1, 2, 3, ... These two have no cable.

#ifdef TOFINO
const bit<9> CPU_PORT    = 64;
const bit<9> RECIRC_PORT = 68;
#else
const bit<9> CPU_PORT    = 510;  // leads to the control plane of this switch
const bit<9> RECIRC_PORT = 509;  // leads back to the parser of this switch
#endif

// ---- Numbers ------------------------------------------------------------------------------------

const bit<16> ETHERTYPE_IPV6 = 0x86DD;

const bit<8> NEXT_HOP_BY_HOP = 0;   // what follows an IPv6 header, or one of its extensions
const bit<8> NEXT_IPV6       = 41;
const bit<8> NEXT_ROUTING    = 43;
const bit<8> NEXT_ICMPV6     = 58;

const bit<8> MLD_REPORT    = 131;
const bit<8> MLD_DONE      = 132;
const bit<8> MLD_REPORT_V2 = 143;

const bit<10> LINK_LOCAL_10 = 0x3FA;  // what addresses in fe80::/10 begin with

const bit<8> ROUTING_MSR6 = 253;    // has no number, so one for experiments (RFC 4727)

const bit<8>  FRESH_HOP_LIMIT = 64; // hops that a fresh packet may make
const bit<16> IPV6_BYTES      = 40;
const bit<16> ROUTING_BYTES   = 8;  // without its list

// How many entries of a list the parser reads: 256 bytes, or what fits into a chip.
#ifdef TOFINO
#define SEGMENTS 8
#else
#define SEGMENTS 16
#endif
const bit<8> LONGEST_EXT_LEN = 2 * SEGMENTS;

// ---- Headers ------------------------------------------------------------------------------------

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_len;    // bytes behind these 40
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

// BEGIN QUOTE routing
// The routing header begins like that of RFC 8754. Its list follows.
header routing_t {
    bit<8>  next_header;
    bit<8>  hdr_ext_len;     // units of 8 bytes, without the first 8: 2 for each entry
    bit<8>  routing_type;
    bit<8>  segments_left;   // index of the list: where this packet is. 0: at a leaf
    bit<8>  last_entry;      // the highest index of the list
    bit<8>  flags;
    bit<16> tag;
}

// An entry of the list. Of TE and RLB it is a SID (segment identifier): an IPv6 address that says
// where to go, and what to do there. Of BE the only entry is a BitString.
//
//   locator 64 | node 16 | function 16 | argument 32
header segment_t {
    bit<128> sid;
}
// END QUOTE

// Options for every router on the way. MLD carries Router Alert here (RFC 2711).
header hop_by_hop_t {
    bit<8>  next_header;
    bit<8>  hdr_ext_len;
    bit<48> options;
}

header icmpv6_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
}

// In front of every packet to and from the control plane (P4Runtime: PacketIn, PacketOut).

@controller_header("packet_in")
header packet_in_header_t {
    bit<9> ingress_port;     // where the packet came in
    bit<7> reason;           // 0: it is for the control plane. Otherwise why it was refused
}

@controller_header("packet_out")
header packet_out_header_t {
    bit<9> egress_port;      // where the control plane wants it to leave
    bit<7> _pad;
}

struct msr6_headers_t {
    packet_in_header_t  packet_in;
    packet_out_header_t packet_out;
    ethernet_t          ethernet;
    ipv6_t              ipv6;       // of the tunnel, if there is a routing header
    routing_t           routing;
    segment_t[SEGMENTS] segments;
    ipv6_t              inner;      // of the packet inside
    hop_by_hop_t        hop_by_hop;
    icmpv6_t            icmpv6;
}

// ---- What the controls tell each other ----------------------------------------------------------

// A packet that needs several copies goes through the pipeline once for each of them. This is what
// it remembers from one pass to the next.
// BEGIN QUOTE carried
struct carried_t {
    bit<8>   child;        // TE: how many children have their copy
    bit<1>   in_progress;  // RLB, BE: 1 if the next fields hold, 0 in the first pass
    bit<16>  bits;         // RLB: adjacencies that still wait for their copy
    bit<8>   next;         // RLB: the entry for the next transit adjacency
    bit<128> bit_string;   // BE: receivers that still wait for their copy
    bit<8>   part;         // ingress: which of a tree's packets to make next
    bit<9>   source_port;  // ingress: where the multicast packet came in, 0 on other routers
}
// END QUOTE

// What the switch knows about the packet when it arrives.
struct arrival_t {
    bit<9> port;
    bool   is_whole;       // the packet did not end in the middle of a header
    bool   came_back;      // by the recirculation port
}

// Why a packet is given up: the index of the counter `dropped`. From 32 on it goes to the control
// plane instead, as it came in, which tells the sender. A trace shows the name.
enum bit<8> drop_reason_t {
    NONE             = 0,
    UNKNOWN_PACKET   = 1,   // no IPv6
    CUT_OFF          = 2,   // it ends in the middle of a header that is for this router
    LINK_LOCAL       = 3,   // to or from an address that never leaves its link
    HOP_LIMIT        = 4,   // multicast, and this is as far as it may go
    NO_LISTENER      = 5,   // nobody wants this group
    NOT_MULTICAST    = 6,   // leaf: the packet inside is for one receiver
    NO_SUCH_SID      = 7,   // to this router, but to nothing that it has
    NO_WAY           = 8,   // a copy for which there is no route
    NO_BIFT_ENTRY    = 9,   // BE: unknown set, or no receiver left that can be reached
    BACK_TO_SOURCE   = 10,  // this copy would go back to the sender
    ROUTED_MULTICAST = 11,  // a routing header, and a multicast destination (RFC 2460, 4.4)

    TOO_BIG       = 32,  // ingress: longer than the MTU with its tree in front
    TIME_EXCEEDED = 33,
    NO_ROUTE      = 34,
    UPPER_LAYER   = 35,  // a SID of this router, and nothing that belongs behind it
    ROUTING_TYPE  = 36,
    HDR_EXT_LEN   = 37,  // odd, so no list of whole entries
    TOO_LONG      = 38,  // more entries than this router reads
    LAST_ENTRY    = 39,  // beyond the end of the header
    SEGMENTS_LEFT = 40,
    NO_COPY       = 41,  // no child, no bit
    POINTER       = 42,  // not below Segments Left: the packet could run in a loop
    TOO_MANY      = 43,  // more children than there are entries
    NO_ADJACENCY  = 44   // RLB: a bit that stands for nothing
}

const bit<8> FIRST_TOLD = 32;

// What a SID of this router asks for.
enum bit<8> behaviour_t {
    NONE    = 0,
    END_RL  = 1,            // TE: replicate by a list
    END_RLB = 2,            // TE with RLB: replicate by a local bit string
    END_RGB = 3,            // BE: replicate by a global bit string
    END_DT6 = 4             // leaf: decapsulate
}

// What the switch shall do with the packet.
// BEGIN QUOTE decision
struct decision_t {
    drop_reason_t drop;          // NONE: send it
    bool          deliver;       // to whoever listens to its group here,
    bool          look_up;       // or where ipv6_routes says,
    bit<9>        egress_port;   // or to this port,
    bit<16>       mcast_grp;     // or, if not 0, to all ports of this group
    bool          again;         // send the packet, as it came in, through the pipeline once more
    bool          is_copy;       // there may be others: nobody is told if this one is lost
}
// END QUOTE

#endif
