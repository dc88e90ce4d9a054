control c(in bit<8> ttl, out bit<1> low) {
    apply { low = ttl[-1:-1]; }
}
