#include <core.p4>
control c(inout bit<8> x, inout bit<8> y) {
    table t {
        key = { x + y : exact; }
        actions = { NoAction; }
    }
    apply { t.apply(); }
}
