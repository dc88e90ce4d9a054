#include <v1model.p4>
control c(inout bit<8> x) {
    table t {
        key = { x : range; }
        actions = { NoAction; }
        const entries = {
            1 &&& 3 : NoAction();
        }
    }
    apply { t.apply(); }
}
