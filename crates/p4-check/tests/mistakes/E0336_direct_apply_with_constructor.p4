control sub(inout bit<8> x)(bit<8> step) { apply { x = x + step; } }
control c(inout bit<8> x) {
    apply { sub.apply(x); }
}
