bit<8> twice(in bit<8> a) { return a + a; }
control c(inout bit<8> x) {
    apply { x = twice(_); }
}
