extern Machine<T> { Machine(); abstract T step(in T x); }
control c() {
    Machine<bit<8>>() m = { bit<8> step(in bit<16> x) { return 0; } };
    Machine<bit<8>>() n = { bit<8> step(inout bit<8> x) { return x; } };
    apply { }
}
