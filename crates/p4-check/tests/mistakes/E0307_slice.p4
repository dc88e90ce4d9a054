control c(inout bit<16> x, inout bit<8> y, inout bool b) {
    apply {
        y = x[0:7];
        y = x[20:13];
        y = b[7:0];
        y = x[12 +: 8];
    }
}
