#include <core.p4>
control inner(inout bit<8> x)(bit<8> k) {
    apply { k = 1; }
}
control c(inout bit<8> x) {
    action set(bit<8> value) { value = 1; }
    table t { key = { x : exact; } actions = { set; } }
    inner(1) i;
    apply { t.apply(); i.apply(x); }
}
