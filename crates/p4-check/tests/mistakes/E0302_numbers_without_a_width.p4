control c(inout bit<8> x, in bool up) {
    apply {
        x = up ? 1 : 2;
        x = up ? 8w1 : 2;
        x = true ? 1 : 2;
    }
}
