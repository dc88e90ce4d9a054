bit<8> smaller(in bit<8> a, in bit<8> b) { return a < b ? a : b; }
control c(inout bit<8> x) {
    apply {
        x = smaller(a = x, 3);
        x = smaller(a = x, b = 1, a = 2);
        x = smaller(a = x, b = 1, c = 2);
    }
}
