parser p(inout bit<8>[2] x, out bit<8> y) {
    state start {
        y = x.last;
        x.next = 1;
        transition accept;
    }
}
control c(inout bit<8>[2] x) {
    apply { x.pop_front(1); }
}
