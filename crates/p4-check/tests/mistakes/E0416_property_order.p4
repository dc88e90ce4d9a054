#include <core.p4>
control c(inout bit<8> x) {
    table t {
        const entries = { 1 : NoAction(); }
        key = { x : exact; }
        actions = { NoAction; }
    }
    apply { t.apply(); }
}
