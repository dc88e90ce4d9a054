#include <core.p4>
parser p(packet_in packet) {
    state start { transition more; }
    state more { transition start; }
}
