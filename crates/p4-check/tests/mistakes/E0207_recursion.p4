bit<8> sum(in bit<8> n) {
    if (n == 0) { return 0; }
    return n + sum(n - 1);
}
control router(inout bit<8> ttl) {
    router() next_hop;
    apply { next_hop.apply(ttl); }
}
