struct pair_t { bit<8> a; bit<8> b; }
control c(inout bit<8> x) {
    apply {
        pair_t p = { 1, 2, 3 };
        pair_t q = { 1 };
        x = p.a + q.b;
    }
}
