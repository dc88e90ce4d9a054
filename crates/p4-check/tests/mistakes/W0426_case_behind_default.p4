parser p(in bit<8> x, in bit<8> y) {
    state start {
        transition select(x) {
            default: accept;
            1: next;
            _: reject;
        }
    }
    state next {
        transition select(x, y) {
            (1, _): accept;
            (_, _): reject;
            _: accept;
        }
    }
}
