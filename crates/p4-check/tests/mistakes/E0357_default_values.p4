bit<8> f(in bit<8> a) { return a + 1; }
bit<8> f(in bit<8> b, in bit<8> c = 3) { return b + c; }
control c(inout bit<8> x) {
    apply { x = f(x); }
}
