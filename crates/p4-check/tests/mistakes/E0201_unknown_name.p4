struct meta_t { bit<9> egress_port; }
control c(inout meta_t meta) {
    apply { mata.egress_port = 1; }
}
