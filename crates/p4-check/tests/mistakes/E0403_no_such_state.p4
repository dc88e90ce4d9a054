#include <core.p4>
parser p(packet_in packet) {
    state start { transition parse_ipv4; }
    state parse_ip { transition accept; }
}
