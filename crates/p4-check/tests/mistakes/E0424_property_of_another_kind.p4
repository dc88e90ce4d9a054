#include <v1model.p4>
control c(inout bit<8> x) {
    counter(4, CounterType.packets) all_cells;
    direct_counter(CounterType.packets) hits;
    table t {
        key = { x : exact; }
        actions = { NoAction; }
        implementation = hits;
        counters = 5;
        meters = all_cells;
        support_timeout = 1;
    }
    apply { t.apply(); }
}
