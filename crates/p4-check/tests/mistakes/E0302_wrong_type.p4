struct meta_t { bit<9> port; bool local; }
control c(inout meta_t meta, in bit<16> port) {
    apply {
        meta.port = port;
        meta.local = 1;
        if (meta.port) { meta.local = false; }
    }
}
