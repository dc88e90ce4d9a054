#include <core.p4>
control c(inout bit<8> x) {
    table one {
        key = { x : exact; }
        actions = { NoAction; }
        entries = { priority = 1 : 1 : NoAction(); }
    }
    table two {
        key = { x : ternary; }
        actions = { NoAction; }
        largest_priority_wins = true;
        priority_delta = 10;
        entries = {
            priority = 15 : 1 : NoAction();
            2 : NoAction();
            3 : NoAction();
        }
    }
    table three {
        key = { x : ternary; }
        actions = { NoAction; }
        const entries = { priority = 1 : 1 &&& 15 : NoAction(); priority = 9 : 17 : NoAction(); }
    }
    apply { one.apply(); two.apply(); three.apply(); }
}
