#include <core.p4>
header h_t { bit<8> x; }
control c(inout h_t h, in bool known) {
    table t {
        key = { h : exact; known : lpm; }
        actions = { NoAction; }
    }
    apply { t.apply(); }
}
