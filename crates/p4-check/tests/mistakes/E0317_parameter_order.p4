control c(inout bit<9> out_port) {
    action forward(bit<9> port, inout bit<9> place) { place = port; }
    apply { forward(1, out_port); }
}
