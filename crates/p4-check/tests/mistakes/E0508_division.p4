control c(inout bit<16> x, inout bit<16> y) {
    apply {
        x = x / 8;
        x = x / 10;
        y %= x;
    }
}
