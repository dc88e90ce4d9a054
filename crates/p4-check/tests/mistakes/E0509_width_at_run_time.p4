control c(in bit<8> length) {
    apply { bit<(length)> payload = 0; }
}
