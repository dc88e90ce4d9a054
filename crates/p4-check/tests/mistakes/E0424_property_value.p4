#include <core.p4>
control c(inout bit<8> x) {
    table t {
        key = { x : ternary; }
        actions = { NoAction; }
        size = "large";
        largest_priority_wins = 1;
        priority_delta = 0;
    }
    apply { t.apply(); }
}
