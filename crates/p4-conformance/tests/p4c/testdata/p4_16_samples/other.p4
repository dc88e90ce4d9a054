#include "psa.p4"
control P(inout bit<8> x) { apply { x = 1; } }
Psa(P()) main;
