#include <core.p4>
struct addresses_t { bit<32> src; error why; }
struct counts_t { int packets; string unit; }
header packet_t { bit<8> ttl; string name; addresses_t addresses; }
header_union any_t { packet_t packet; bit<8> ttl; }
