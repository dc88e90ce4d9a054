struct meta_t { bit<9> port; bit<16> group; }
control c(inout meta_t meta) {
    apply {
        meta = { port = 1 };
        meta = { port = 1, group = 2, vlan = 3 };
    }
}
