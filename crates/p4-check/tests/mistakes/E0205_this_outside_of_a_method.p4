control c(inout bit<8> x) {
    apply { this.apply(x); }
}
