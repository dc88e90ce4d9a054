action drop(inout bit<9> port) { port = 511; }
bit<9> away(in bit<9> port) {
    bit<9> p = port;
    drop(p);
    return p;
}
