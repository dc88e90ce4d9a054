#include <core.p4>
struct pair_t { bit<8> a; bit<8> b; }
control c(inout bit<8> x) {
    action set(pair_t pair) { x = pair.a; }
    table t {
        key = { x : exact; }
        actions = { set; NoAction; }
    }
    apply { t.apply(); }
}
