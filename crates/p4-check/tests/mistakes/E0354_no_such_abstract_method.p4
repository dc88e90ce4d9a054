extern Machine { Machine(); abstract bit<8> step(in bit<8> x); }
control c() {
    Machine() m = {
        bit<8> step(in bit<8> x) { return x; }
        bit<8> stop(in bit<8> x) { return x; }
    };
    apply { }
}
