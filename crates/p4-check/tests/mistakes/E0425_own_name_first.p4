#include <core.p4>
control c(inout bit<8> x) {
    @name("stop") action drop() { x = 0; }
    action stop(bit<8> why) { x = why; }
    table t {
        actions = { drop; stop; NoAction; }
    }
    apply { t.apply(); }
}
