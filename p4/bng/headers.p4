// Headers and numbers of the broadband network gateway.

#ifndef BNG_HEADERS_P4
#define BNG_HEADERS_P4

// ---- Sizes, chosen when the program is compiled -------------------------------------------------

// Sessions and lines are numbered from 1, so one less than these fit.
#ifndef SESSIONS
#define SESSIONS 36864
#endif

const bit<32> CLASSES = 4;         // traffic classes of each session

// ---- Ports --------------------------------------------------------------------------------------

#ifndef CPU
#ifdef TOFINO
#define CPU 64
#else
#define CPU 510
#endif
#endif
const bit<9> CPU_PORT = CPU;       // leads to the control plane
const bit<9> NO_PORT  = 511;

// ---- Numbers from the standards -----------------------------------------------------------------

const bit<16> ETHERTYPE_IPV4      = 0x0800;
const bit<16> ETHERTYPE_ARP       = 0x0806;
const bit<16> ETHERTYPE_VLAN      = 0x8100;  // IEEE 802.1Q
const bit<16> ETHERTYPE_QINQ      = 0x88A8;  // IEEE 802.1ad: the outer of two tags
const bit<16> ETHERTYPE_IPV6      = 0x86DD;
const bit<16> ETHERTYPE_MPLS      = 0x8847;
const bit<16> ETHERTYPE_DISCOVERY = 0x8863;  // PPPoE, RFC 2516: a session is set up or ended
const bit<16> ETHERTYPE_SESSION   = 0x8864;  // PPPoE: a session's packets

const bit<16> PPP_IPV4 = 0x0021;
const bit<16> PPP_IPV6 = 0x0057;

const bit<8> IP_PROTOCOL_IGMP = 2;

const bit<48> BROADCAST = 0xFFFFFFFFFFFF;

const bit<16> PPP_BYTES  = 2;    // the protocol field, which PPPoE's length includes
const bit<16> IPV6_BYTES = 40;

const bit<8> LABEL_TTL = 64;

// ---- Headers ------------------------------------------------------------------------------------

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;     // of what follows
}

header mpls_t {
    bit<20> label;
    bit<3>  tc;             // traffic class
    bit<1>  s;              // bottom of stack: 1 in the last label
    bit<8>  ttl;
}

header vlan_t {
    bit<3>  pcp;            // priority
    bit<1>  dei;
    bit<12> vid;
    bit<16> ether_type;     // of what follows
}

header pppoe_t {
    bit<4>  version;        // 1
    bit<4>  type;           // 1
    bit<8>  code;           // 0: a session's packet
    bit<16> session_id;
    bit<16> len;            // of everything after these 6 bytes
}

header ppp_t {
    bit<16> protocol;       // of what follows
}

header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;         // header length in units of 4 bytes: 5 without options
    bit<8>      diffserv;    // DSCP 6, ECN 2
    bit<16>     total_len;   // with this header
    bit<16>     identification;
    bit<3>      flags;
    bit<13>     frag_offset;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     hdr_checksum;
    bit<32>     src_addr;
    bit<32>     dst_addr;
#ifndef TOFINO
    varbit<320> options;     // 0 to 40 bytes. On Tofino they are payload.
#endif
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

// In front of every packet to and from the control plane (P4Runtime: PacketIn, PacketOut). The
// frame after it is whole: it goes up as it came in, and leaves as the control plane wrote it.

@controller_header("packet_in")
header packet_in_header_t {
    bit<9>  ingress_port;   // where the packet came in
    bit<7>  reason;         // why it is here: reason_t
    bit<16> line;           // on which access line, 0: on none
    bit<16> session;        // index of the session, 0: of none that is known
}

@controller_header("packet_out")
header packet_out_header_t {
    bit<9> egress_port;     // where the control plane wants it to leave
    bit<7> _pad;
}

struct bng_headers_t {
    packet_in_header_t  packet_in;
    packet_out_header_t packet_out;
    ethernet_t          ethernet;
    mpls_t              label0;      // access, and core if there are any
    mpls_t              label1;
    ethernet_t          inner;       // access with labels: that of the subscriber
    vlan_t              outer_tag;   // labels: the line. QinQ: the S-tag
    vlan_t              inner_tag;   // labels: the service, if there is one. QinQ: the C-tag
    pppoe_t             pppoe;
    ppp_t               ppp;
    ipv4_t              ipv4;
    ipv6_t              ipv6;
}

// ---- What passes between the controls ----------------------------------------------------------

// Why a packet is not forwarded. From 1 on it goes to the control plane, from 32 on it is dropped:
// the index of the counters `punted` and `dropped`. A trace shows the name.
enum bit<8> reason_t {
    NONE        = 0,
    // To the control plane:
    DISCOVERY   = 1,    // PPPoE discovery
    PPP_CONTROL = 2,    // LCP, PAP, CHAP, IPCP, IPV6CP: a PPP protocol with its highest bit set
    PROTOCOL    = 3,    // any other PPP protocol of a session, except IPv4 and IPv6
    LINK_LOCAL  = 4,    // IPv6 that stays on its link: neighbour discovery, DHCPv6, MLD
    IGMP        = 5,
    LOCAL       = 6,    // to an address of the gateway
    TTL_EXPIRED = 7,    // or the hop limit
    TOO_BIG     = 8,    // longer than the MTU of its session
    ARP         = 9,    // from the core
    // Dropped:
    UNKNOWN_PACKET    = 32,  // headers that are not for a gateway
    UNKNOWN_INTERFACE = 33,  // no interface has this port and label
    UNKNOWN_LINE      = 34,
    WRONG_MAC         = 35,  // not addressed to the gateway
    UNKNOWN_SESSION   = 36,  // line, service, MAC and session id do not belong together
    MALFORMED         = 37,  // no IP packet, or an impossible length, version or code
    BAD_CHECKSUM      = 38,
    SPOOFED           = 39,  // the source address is not the session's
    MULTICAST         = 40,  // from a subscriber, or one that is too old or too long
    NO_ROUTE          = 41,
    NO_SUBSCRIBER     = 42,  // to an address that no session has
    RED_CLASS         = 43,  // more than its class may get,
    RED_SESSION       = 44,  // or all classes of the session together
    RED_UPSTREAM      = 45,  // more than the subscriber may send
    RED_CONTROL       = 46,  // more than its line may send to the control plane
    NO_LINK           = 47   // nobody knows the Ethernet addresses for this port and label
}

const bit<8> FIRST_DROPPED = 32;

// What the gateway knows about a packet when it arrives.
struct arrival_t {
    bit<9>  port;
    bit<48> mac;               // the gateway's own address on this interface
    bool    ipv4_checksum_ok;
    bit<16> owner;             // the session that has its source address, downstream its
                               // destination. 0: none has it
}

// What to do with the packet.
struct decision_t {
    reason_t reason;           // NONE: send it
    bool     upstream;         // it came from a subscriber
    bit<16>  line;             // on this line, 0: on none that is known,
    bit<16>  session;          // and it belongs to this session, 0: to none
    bit<9>   egress_port;      // where to send it,
    bit<16>  mcast_grp;        // or, if not 0, to all subscribers of this group
    bit<2>   class;            // downstream: its traffic class,
    bit<3>   priority;         // and the priority of that in tags and labels
    bool     ipv4_changed;     // the checksum has to be recomputed
    bool     as_it_is;         // the control plane sent it: send it unchanged
}

#endif
