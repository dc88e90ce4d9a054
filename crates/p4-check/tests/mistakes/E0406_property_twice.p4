#include <core.p4>
control c(inout bit<8> x) {
    table t {
        key = { x : exact; }
        actions = { NoAction; }
        size = 16;
        size = 32;
    }
    apply { t.apply(); }
}
