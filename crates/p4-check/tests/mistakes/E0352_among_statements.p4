#include <core.p4>
extern counter { counter(bit<32> size); void count(in bit<32> index); }
control c() {
    apply {
        packet_out p;
        counter n;
    }
}
