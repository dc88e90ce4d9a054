const bit<8> limit = 3;
control c(in bit<8> ttl, inout bit<8> x) {
    action next(inout bit<8> place) { place = place + 1; }
    apply {
        ttl = ttl - 1;
        limit = 4;
        next(x + 1);
    }
}
