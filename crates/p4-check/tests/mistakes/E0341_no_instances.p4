struct meta_t { bit<8> x; }
control c() {
    meta_t() m;
    apply { }
}
