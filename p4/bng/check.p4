// What every router asks of an IP packet before it looks at its addresses.

#ifndef BNG_CHECK_P4
#define BNG_CHECK_P4

#include "headers.p4"

// Measures an IP packet by its header, and says what is wrong with it. `bytes` is the length of the
// whole packet; one that cannot be written in 16 bits is 65535.
control CheckIp(in bng_headers_t hdr, in arrival_t arrival, out bit<16> bytes, out reason_t wrong) {
    apply {
        wrong = reason_t.NONE;
        bytes = 0;
        if (hdr.ipv4.isValid()) {
            bytes = hdr.ipv4.total_len;
            if (bytes < (bit<16>)hdr.ipv4.ihl << 2) {
                wrong = reason_t.MALFORMED;
            } else if (!arrival.ipv4_checksum_ok) {
                wrong = reason_t.BAD_CHECKSUM;
            }
        } else if (hdr.ipv6.isValid()) {
            bytes = hdr.ipv6.payload_len |+| IPV6_BYTES;
        } else {
            wrong = reason_t.MALFORMED;
        }
    }
}

#endif
