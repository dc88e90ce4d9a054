// Whose address is this? Upstream it is the source, downstream the destination.

#ifndef BNG_OWNERS_P4
#define BNG_OWNERS_P4

#include "headers.p4"

// Finds the session that has an address: one address or a prefix of IPv4; the link or the delegated
// prefix of IPv6. 0 if nobody has it.
control Owners(in bng_headers_t hdr, in bool upstream, inout bit<16> found) {
    bit<32>  ipv4 = 0;
    bit<128> ipv6 = 0;

    action owner(bit<16> session) {
        found = session;
    }

    action no_owner() {
        found = 0;
    }

    table ipv4_hosts {
        key = { ipv4: exact @name("address"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = SESSIONS;
    }

    table ipv4_prefixes {
        key = { ipv4: lpm @name("address"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = 4096;
    }

    table ipv6_links {
        key = { ipv6[127:64]: exact @name("prefix"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = SESSIONS;
    }

    table ipv6_delegations {
        key = { ipv6[127:72]: exact @name("prefix"); }
        actions = { owner; no_owner; }
        const default_action = no_owner();
        size = SESSIONS;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            ipv4 = hdr.ipv4.dst_addr;
            if (upstream) {
                ipv4 = hdr.ipv4.src_addr;
            }
            if (!ipv4_hosts.apply().hit) {
                ipv4_prefixes.apply();
            }
        } else if (hdr.ipv6.isValid()) {
            ipv6 = hdr.ipv6.dst_addr;
            if (upstream) {
                ipv6 = hdr.ipv6.src_addr;
            }
            if (!ipv6_links.apply().hit) {
                ipv6_delegations.apply();
            }
        }
    }
}

#endif
