control c(inout bit<8> x) {
    apply {
        if (x == 1) { break; }
    }
}
