control c(inout bit<8> x, in int<8> n) {
    apply {
        x = x << -1;
        x = x >> n;
    }
}
