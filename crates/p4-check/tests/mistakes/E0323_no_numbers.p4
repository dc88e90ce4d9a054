#include <core.p4>
enum E { A, B }
struct pair_t { bit<8> a; bit<8> b; }
control c(inout bit<8> x, inout error e, in pair_t p) {
    apply {
        x = (bit<8>) E.A;
        x = (bit<8>) error.NoError;
        e = (error) x;
        x = (bit<8>) p;
    }
}
