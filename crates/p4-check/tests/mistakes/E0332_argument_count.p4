bit<8> smaller(in bit<8> a, in bit<8> b) { return a < b ? a : b; }
control c(inout bit<8> x) {
    apply {
        x = smaller(x);
        x = smaller(x, 1, 2);
    }
}
