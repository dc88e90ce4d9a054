#include <core.p4>
header bier_t { bit<20> bift_id; bit<8> ttl; }
control c(inout bier_t bier, inout error e) {
    apply {
        bier.tll = 1;
        e = error.TooShort;
    }
}
