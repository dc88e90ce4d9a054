// Headers and numbers of 1+1 protection.

#ifndef PROTECT_HEADERS_P4
#define PROTECT_HEADERS_P4

#include "../include/headers.p4"

// ---- Choices made when the program is compiled --------------------------------------------------

// What carries the copies: an IPv4 tunnel, or Ethernet with the R-TAG of IEEE 802.1CB.
#define ENCAPSULATION_IP 0
#define ENCAPSULATION_RTAG 1
#ifndef ENCAPSULATION
#define ENCAPSULATION ENCAPSULATION_IP
#endif

// Which copies the egress accepts: policies/ has a file for each.
#define ACCEPT_NONE 0
#define ACCEPT_MATCH 1
#define ACCEPT_HIGHEST 2
#define ACCEPT_SLOTS 3
#define ACCEPT_VECTOR 4
#ifndef ACCEPT
#define ACCEPT ACCEPT_HIGHEST
#endif

// How many bits of a sequence number count, from the lowest. The others are sent as 0.
#ifndef SN_BITS
#if ENCAPSULATION == ENCAPSULATION_RTAG
#define SN_BITS 16
#else
#define SN_BITS 32
#endif
#endif

// W: a number is new if it is at most so many steps ahead of the highest one seen.
#ifdef WINDOW
#define SMALL_WINDOW
#else
#define WINDOW (32w1 << (SN_BITS - 1))
#endif

// Slots of a connection, and bits of the history of the vector algorithm. A power of two, at most
// 64 for the vector, and at most half of the numbers there are.
#ifndef HISTORY
#define HISTORY 64
#endif

#if SN_BITS == 32
const bit<32> SN_MASK = 0xFFFFFFFF;
#else
const bit<32> SN_MASK = (32w1 << SN_BITS) - 1;
#endif

#if ACCEPT >= ACCEPT_SLOTS && HISTORY > (1 << (SN_BITS - 1))
#error "HISTORY must be at most half of the numbers that SN_BITS bits can hold"
#endif

const bit<32> CONNECTIONS = 1024;  // an ingress and an egress can have so many each

const bit<9> NO_PORT = 511;        // nobody has said where the packet shall go: it is dropped

// ---- Numbers from the standards -----------------------------------------------------------------

#if ENCAPSULATION == ENCAPSULATION_RTAG
const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_RTAG = 0xF1C1;  // IEEE 802.1CB
#else
const bit<16> ETHERTYPE_IPV6 = 0x86DD;

const bit<8> IP_PROTOCOL_IPV4    = 4;   // also the next protocol of a protection header
const bit<8> IP_PROTOCOL_TCP     = 6;
const bit<8> IP_PROTOCOL_UDP     = 17;
const bit<8> IP_PROTOCOL_IPV6    = 41;
const bit<8> IP_PROTOCOL_PROTECT = 253; // has no number, so one for experiments (RFC 3692)

const bit<8>  TUNNEL_TTL    = 64;
const bit<3>  DONT_FRAGMENT = 2;
const bit<16> TUNNEL_BYTES  = 28;       // outer IPv4 header and protection header
#endif
const bit<16> IPV6_BYTES    = 40;

// ---- Headers ------------------------------------------------------------------------------------

// The IPv4 header of a tunnel. It has no options.
header ipv4_tunnel_header_t {
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

// The protection header P of the paper, behind the IPv4 header of the tunnel.
header protection_t {
    bit<24> cid;            // which connection, for the egress
    bit<32> sn;             // sequence number: the same in both copies of a packet
    bit<8>  next_protocol;  // what follows, by its IP protocol number
}

header ipv6_t {
    bit<4>   version;
    bit<8>   traffic_class;
    bit<20>  flow_label;
    bit<16>  payload_len;   // without these 40 bytes
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<128> dst_addr;
}

// TCP and UDP both begin like this.
header ports_t {
    bit<16> src_port;
    bit<16> dst_port;
}

header vlan_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
    bit<16> ether_type;     // of what follows
}

header rtag_t {
    bit<16> reserved;
    bit<16> sn;
    bit<16> ether_type;     // of what follows
}

struct protect_headers_t {
    packet_in_header_t   packet_in;
    packet_out_header_t  packet_out;
    ethernet_t           ethernet;
    vlan_t               vlan;
    rtag_t               rtag;
    ipv4_tunnel_header_t tunnel;      // the outer IPv4 header
    protection_t         protection;
    ipv4_t               ipv4;        // the packet's own header: IPv4
    ipv6_t               ipv6;        // or IPv6
    ports_t              ports;
}

// ---- What the controls tell each other ----------------------------------------------------------

// What the switch knows about the packet when it arrives.
struct arrival_t {
    bit<9>  port;
    bool    is_whole;            // the frame is as long as the IP header in front says, or longer
    bool    tunnel_checksum_ok;  // that of the outer IPv4 header, if there is one
    bool    ipv4_checksum_ok;    // that of the packet's own
    bool    ipv4_length_ok;      // which says that the packet is at least as long as this header
    bit<48> now;                 // microseconds, never 0
}

// Why a packet is given up: the index of the counter `dropped`. A trace shows the name.
enum bit<8> drop_reason_t {
    NONE              = 0,
    UNKNOWN_PACKET    = 1,   // no IPv4 and no IPv6, or cut off in the middle of its header
    MALFORMED         = 2,   // cut off further behind, or two lengths that contradict each other
    BAD_IPV4_CHECKSUM = 3,
    TTL_EXPIRED       = 4,   // of IPv4, or the hop limit of IPv6
    NO_ROUTE          = 5,
    NOT_A_TUNNEL      = 6,   // addressed to the end of a tunnel, but no tunnel packet
    UNKNOWN_CID       = 7,
    NEXT_PROTOCOL     = 8,   // a protection header in front of neither IPv4 nor IPv6
    TUNNEL_IN_TUNNEL  = 9,
    DUPLICATE         = 10,  // the other copy was here before
    ROGUE             = 11,  // a sequence number that can be neither new nor a duplicate
    NO_PATH           = 12,  // a copy for which no path is known: counted by `dropped_copies`
    NO_TAG            = 13,  // R-TAG: the stream has copies, but this frame has no R-TAG
    UNKNOWN_STREAM    = 14,  // R-TAG: nobody has announced this destination
    BACK_TO_SOURCE    = 15   // R-TAG: the frame would leave where it came in
}

// What an acceptance policy says of a copy.
enum bit<8> verdict_t {
    NOT_ASKED = 0,
    ACCEPTED  = 1,
    DUPLICATE = 2,   // this packet was here before
    ROGUE     = 3    // neither new nor a duplicate, as far as the policy can know
}

// What the switch shall do with the packet, and what it shall count.
struct decision_t {
    drop_reason_t drop;            // NONE: send it
    bit<9>        egress_port;     // to this port,
    bit<16>       mcast_grp;       // or, if not 0, to all ports of this group
    bool          tunnel_changed;  // the checksum of the outer IPv4 header has to be computed anew,
    bool          ipv4_changed;    // or that of the packet's own
    bool          protected;       // this switch is the ingress of the packet's connection,
    bit<16>       pti_index;       // which has this number here
    bool          received;        // this switch is the egress of the packet's connection,
    bit<16>       pte_index;       // which has this number here;
    bit<16>       path;            // the copy came on this path, 1 or 2,
    verdict_t     verdict;         // and the acceptance policy said this
}

#endif
