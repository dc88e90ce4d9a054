control c(inout bit<8> ttl) {
    apply {
        bit<8> ttl = 64;
    }
}
