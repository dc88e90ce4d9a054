// What MSR6 on TNA has besides ../headers.p4: what stands in front of a packet within the switch,
// and what ingress and egress know about it.

#ifndef MSR6_TNA_HEADERS_P4
#define MSR6_TNA_HEADERS_P4

#include "../headers.p4"

// ---- Within the switch --------------------------------------------------------------------------

// What a packet in front of egress is.
enum bit<8> within_t {
    FORWARDED = 0,  // as ingress made it, to a cable
    AS_IS     = 1,  // from the control plane, to a cable
    LOOPED    = 2,  // as ingress made it, to a recirculation port
    // Mirrors: the packet as it came in.
    NEXT_PART = 3,  // round a loop, for the next packet of its tree
    NEXT_COPY = 4,  // round a loop, for the next copy of TE or RLB
    NEXT_BITS = 5,  // round a loop, for the next copy of BE
    TOLD      = 6   // to the control plane
}

// From ingress to egress, on a mirror, and round a loop. What comes back from a recirculation port
// is bytes and nothing else.
header internal_t {
    within_t within;
    bit<8>   looped;       // of a mirror: 1 if the packet had such a header when it came in
    bit<8>   part;         // of a tree. TOLD: the reason
    bit<7>   _pad;
    bit<9>   port;         // where the multicast packet came in, or NO_PORT. TOLD: this packet
}

// The argument of the SID when the packet comes back: with the children or adjacencies that still
// wait for their copy. So no pass has to know about those before it.
header next_copy_t {
    bit<16> high;          // TE: n and pointer. RLB: bits
    bit<8>  low;           // RLB: pointer
}

// The BitString when the packet comes back.
header next_bits_t {
    bit<128> bit_string;
}

// The headers of mirrors: an internal_t, for two of them with one of the above behind it.
header mirrored_told_t {
    within_t      within;
    bit<8>        looped;
    drop_reason_t reason;
    bit<7>        _pad;
    bit<9>        port;
}

header mirrored_copy_t {
    within_t within;
    bit<8>   looped;
    bit<8>   part;
    bit<7>   _pad;
    bit<9>   port;
    bit<16>  high;
    bit<8>   low;
}

header mirrored_bits_t {
    within_t within;
    bit<8>   looped;
    bit<8>   part;
    bit<7>   _pad;
    bit<9>   port;
    bit<128> bit_string;
}

const MirrorType_t MIRROR_COPY = 1;  // NEXT_PART and NEXT_COPY
const MirrorType_t MIRROR_BITS = 2;
const MirrorType_t MIRROR_TOLD = 3;

const MirrorId_t TELL_SESSION = 100; // the control plane points it to CPU_PORT

const bit<9> NO_PORT = 0x1FF;        // the chip has a port 0

struct ingress_headers_t {
    internal_t     came_with;        // of a packet that comes from a loop
    internal_t     internal;         // for egress
    msr6_headers_t packet;
}

// IPv6, up to the argument of the SID in its destination.
header ipv6_front_t {
    bit<32>  first;
    bit<16>  payload_len;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> src_addr;
    bit<96>  sid;
}

struct egress_headers_t {
    packet_in_header_t packet_in;
    internal_t         internal;
    ethernet_t         ethernet;
    ipv6_front_t       ipv6_front;
    next_copy_t        next_copy;
    ipv6_t             ipv6;
    routing_t          routing;
    next_bits_t        next_bits;
}

const bit<32> INTERNAL_BITS   = 40;
const bit<32> COPY_BITS       = 24;
const bit<32> BIT_STRING_BITS = 128;

// ---- What ingress knows -------------------------------------------------------------------------

// Where the packet, or its copy, goes if nothing speaks against it.
enum bit<8> target_t {
    NOWHERE   = 0,                   // the table asked had no entry
    PORT      = 1,
    HERE      = 2,                   // back to this router
    TREE      = 3,                   // the same, with the tree that it just got
    LISTENERS = 4
}

// What the control plane says of a port.
struct port_metadata_t {
    bit<1> looped;                   // a front port in loopback: what it sends comes back
    @padding bit<63> _pad;           // the chip gives each field whole bytes
}

struct ingress_metadata_t {
    port_metadata_t port;
    // From the parser: the packet as it came in, whatever is done to it then.
    bit<1>          is_multicast;
    bit<8>          hops;            // that it may still make
    bit<8>          segments_left;
    bit<1>          has_list;        // not too long for this router
    // The argument of the SID, as each behaviour reads it.
    bit<8>          n;               // TE: children
    bit<8>          rl_pointer;
    bit<16>         bits;            // RLB. TE: n and pointer
    bit<8>          rlb_pointer;
    bool            is_cut;          // the packet ends within a header
    // Differences that tables look at: an `if` of the chip compares few bits by size.
    bit<8>          last_doubled;    // LastEntry * 2
    bit<8>          room;            // 0: LastEntry is beyond the end
    bit<8>          over;            // Segments Left - LastEntry, or 0
    bit<8>          rl_below;        // 0: TE's pointer is not below Segments Left
    bit<8>          rl_excess;       // n - pointer, or 0
    bit<8>          rlb_below;
    // What the SID asks for, and what comes of it.
    behaviour_t     behaviour;
    bit<16>         unknown;         // RLB: bits without an adjacency,
    bit<16>         transits;        // and bits that need an entry of the list
    bit<8>          rlb_excess;      // how many these are, minus pointer
    bit<1>          takes_entry;     // RLB: its copy goes where an entry of the list says
    target_t        target;
    bit<9>          egress_port;
    bit<1>          has_listeners;   // the group of the packet inside, or of this packet
    bit<16>         mcast_grp;
    bit<1>          more;            // others wait for their copy: another pass
    bit<16>         next_high;       // what these carry, see next_copy_t
    bit<8>          next_low;
    bit<128>        remaining;
    // Ingress of a tree.
    bit<8>          part;
    bit<9>          source_port;
    bit<16>         bytes;           // of the packet, with one more IPv6 header in front
    bit<16>         too_many;        // of these, for the MTU
    bit<16>         tree;
    bit<8>          last_entry;
    // The verdict.
    drop_reason_t   drop;
    bit<1>          refused;         // all of the packet, not only one copy
    bit<1>          told;            // the control plane hears of it
    // For the mirror.
    within_t        mirror_within;   // of one that comes back,
    within_t        told_within;     // and of one for the control plane
    bit<8>          looped;
    bit<8>          next_part;
    bit<7>          zeros;
    bit<7>          told_zeros;
    bit<9>          came_in;
    MirrorId_t      mirror_session;
    MirrorId_t      tell_session;
    // Loops.
    bit<16>         last_loop;       // k - 1
    bit<16>         loop;            // whose turn it is to take a packet once more,
    bit<16>         fresh_loop;      // and one that is new to this router
}

struct egress_metadata_t {
    drop_reason_t drop;
}

#endif
