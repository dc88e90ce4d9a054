// What the gateway on TNA has besides ../headers.p4: what goes from ingress to egress in front of a
// packet, and what both know about it.

#ifndef BNG_TNA_HEADERS_P4
#define BNG_TNA_HEADERS_P4

#include "../headers.p4"

// What egress counts besides Ethernet and what follows it: internal_t, and the checksum of a frame.
const bit<32> UNPAID_BYTES = 17;

// What a packet in front of egress is.
enum bit<8> within_t {
    AS_IS      = 0,   // to or from the control plane
    TO_CORE    = 1,
    SUBSCRIBER = 2,   // to one subscriber
    GROUP      = 3    // a copy for a subscriber of a group
}

header internal_t {
    within_t within;
    bit<16>  session;
    bit<16>  protocol;    // of PPP, for a packet to a subscriber,
    bit<16>  ppp_bytes;   // and its length with this field
    bit<2>   _pad;
    bit<1>   has_labels;  // a packet to the core gets these two:
    bit<3>   priority;
    bit<2>   class;
    bit<20>  label0;
    bit<20>  label1;
}

struct ingress_headers_t {
    internal_t    internal;
    bng_headers_t packet;
}

// All that comes here is an IP packet behind Ethernet, in either direction. It is not looked at: what
// egress must know about it is in `internal`.
struct egress_headers_t {
    internal_t internal;
    ethernet_t ethernet;
    mpls_t     label0;
    mpls_t     label1;
    ethernet_t inner;
    vlan_t     outer_tag;
    vlan_t     inner_tag;
    pppoe_t    pppoe;
    ppp_t      ppp;
}

struct ingress_metadata_t {
    // From the parser.
    bit<9>   port;
    bit<20>  interface;            // the first label, 0 without
    bit<20>  label0;               // key of `lines`
    bit<20>  label1;
    bit<12>  inner_vid;
    bit<12>  service_vid;
    bit<48>  dst_mac;              // those of the subscriber's frame, upstream
    bit<48>  src_mac;
    bit<1>   is_discovery;
    bit<1>   is_arp;
    bit<1>   is_whole;             // no header was cut off
    bit<1>   ipv4_checksum_wrong;
    bit<32>  ipv4;                 // source upstream, destination downstream
    bit<56>  ipv6_56;
    bit<64>  ipv6_64;
    bit<16>  ipv6_first;           // of the destination
    bit<8>   ipv4_first;
    bit<6>   dscp;
    bit<8>   hops;
    // From ingress.
    bit<2>   side;                 // where it came from: 1 a subscriber, 2 the core
    bit<48>  mac_difference;       // to the gateway's own address
    bit<1>   is_for_us;
    bit<16>  line;
    bit<16>  session;              // upstream: by line, MAC and id
    bit<1>   has_session;
    bit<16>  owner;                // by address
    bit<16>  owner_difference;
    bit<8>   service;
    bit<16>  header_bytes;         // of IPv4
    bit<16>  missing;              // bytes that the packet is shorter than its header
    bit<16>  bytes;                // of the IP packet
    bit<16>  ppp_bytes;            // with the protocol of PPP
    bit<16>  short;                // bytes that PPPoE's length is less than that
    bit<16>  excess;               // bytes that the packet is longer than the MTU
    bit<1>   has_route;
    bit<1>   is_local;
    bit<1>   has_labels;
    bit<1>   has_subscriber;
    bit<9>   egress_port;
    bit<16>  mcast_grp;
    bit<20>  core_label0;
    bit<20>  core_label1;
    bit<2>   class;
    bit<3>   priority;
    bit<16>  billed;               // the session that pays
    bit<8>   colour;
    reason_t reason;
    within_t fate;
}

struct egress_metadata_t {
    bit<16>  session;
    bit<20>  label;
    bit<48>  src_mac;
    bit<48>  dst_mac;
    bit<48>  subscriber_mac;
    bit<1>   by_tags;
    bit<1>   has_no_tunnel;
    bit<1>   has_no_link;
    bit<8>   colour;            // of its class, or of what a subscriber sends,
    bit<8>   session_colour;    // and of its session
    reason_t drop;
}

#endif
