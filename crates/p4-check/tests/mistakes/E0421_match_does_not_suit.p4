#include <core.p4>
match_kind { optional }
control c(inout bit<8> x, inout bit<8> y) {
    table t {
        key = { x : lpm; y : optional; }
        actions = { NoAction; }
        const entries = {
            (0x10 &&& 0x5a, _) : NoAction();
            (0x10, 1 &&& 3) : NoAction();
            (1 .. 5, 2) : NoAction();
        }
    }
    apply { t.apply(); }
}
