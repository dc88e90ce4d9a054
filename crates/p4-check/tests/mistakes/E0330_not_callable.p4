#include <core.p4>
control c(inout bit<8> x) {
    table forward { key = { x : exact; } actions = { NoAction; } }
    apply {
        forward();
        x();
    }
}
