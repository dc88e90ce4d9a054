bit<8> limit(in bit<8> ttl) {
    if (ttl > 64) { return 64; }
}
