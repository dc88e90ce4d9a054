#include <core.p4>
control c(inout bit<8> x) {
    action up() { x = x + 1; }
    action down() { x = x - 1; }
    table move { key = { x : exact; } actions = { up; NoAction; } }
    apply {
        switch (move.apply().action_run) {
            up: { x = 0; }
            down: { x = 1; }
            up: { x = 2; }
        }
        switch (x) {
            default: { x = 3; }
            4: { x = 5; }
        }
    }
}
