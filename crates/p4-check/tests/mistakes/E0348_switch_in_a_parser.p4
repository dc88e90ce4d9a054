#include <core.p4>
parser p(packet_in packet, in bit<8> x) {
    state start {
        if (x > 0) {
            switch (x) { 1: { } }
        }
        transition accept;
    }
}
