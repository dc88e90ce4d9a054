#include <core.p4>
control c(inout bit<8> x) {
    action up() { x = x + 1; }
    table t {
        key = { x : exact; }
        actions = { @tableonly up; @defaultonly NoAction; }
        default_action = up();
        const entries = { 1 : NoAction(); }
    }
    apply { t.apply(); }
}
