extern Machine { Machine(); abstract bit<8> step(in bit<8> x); abstract void reset(); }
control c() {
    Machine() m = { bit<8> step(in bit<8> x) { return x; } };
    Machine() n;
    apply { }
}
