control c(inout bit<8> x) {
    apply {
        for (bit<8> i in x) { x = i; }
    }
}
