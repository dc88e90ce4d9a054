#include <core.p4>
control c(inout bit<8> x, inout bit<8> y) {
    action add(inout bit<8> place, bit<8> step) { place = place + step; }
    table t {
        key = { x : exact; }
        actions = { add(x); }
        default_action = add(y, 1);
    }
    apply { t.apply(); }
}
