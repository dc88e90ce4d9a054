control c(inout bit<16> x, inout int<32> y, inout bool b) {
    apply {
        y = (int<32>) x;
        b = (bool) x;
    }
}
