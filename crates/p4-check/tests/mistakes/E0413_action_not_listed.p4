#include <core.p4>
control c(inout bit<8> x) {
    action up() { x = x + 1; }
    table t {
        key = { x : exact; }
        actions = { NoAction; }
        default_action = up();
    }
    apply { t.apply(); }
}
