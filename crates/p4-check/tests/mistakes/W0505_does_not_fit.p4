control c(inout bit<8> x, inout bit<4> y) {
    apply {
        x = 256;
        y = 4w20;
    }
}
