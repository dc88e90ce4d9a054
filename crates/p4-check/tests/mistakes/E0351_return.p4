bit<8> first(in bit<8> x) {
    return;
}
control c(inout bit<8> x) {
    apply { return x; }
}
