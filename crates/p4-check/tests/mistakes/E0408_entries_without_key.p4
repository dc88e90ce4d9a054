#include <core.p4>
control c() {
    table t {
        actions = { NoAction; }
        const entries = { 1 : NoAction(); }
    }
    apply { t.apply(); }
}
