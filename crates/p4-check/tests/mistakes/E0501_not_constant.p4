control c(inout bit<8> x) {
    apply {
        const bit<8> y = x;
        x = x[y:0];
    }
}
