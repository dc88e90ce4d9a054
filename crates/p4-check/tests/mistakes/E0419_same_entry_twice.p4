#include <core.p4>
control c(inout bit<8> x) {
    table t {
        key = { x : exact; }
        actions = { NoAction; }
        const entries = {
            0x10 : NoAction();
            16 : NoAction();
        }
    }
    apply { t.apply(); }
}
