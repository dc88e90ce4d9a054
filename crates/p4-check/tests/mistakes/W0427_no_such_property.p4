#include <core.p4>
control c(inout bit<8> x) {
    action set(bit<8> value) { x = value; }
    table t {
        key = { x : exact; }
        actions = { set; NoAction; }
        defualt_action = set(9);
        colour = 5;
    }
    apply { t.apply(); }
}
