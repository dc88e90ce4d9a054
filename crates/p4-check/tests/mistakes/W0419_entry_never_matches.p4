#include <core.p4>
control c(inout bit<8> x) {
    table t {
        key = { x : ternary; }
        actions = { NoAction; }
        const entries = {
            0x10 &&& 0xf0 : NoAction();
            0x1f &&& 0xf0 : NoAction();
        }
    }
    apply { t.apply(); }
}
