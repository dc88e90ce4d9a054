header label_t { bit<32> x; }
control c(inout label_t[4] labels, inout label_t one, inout bit<32> x) {
    apply {
        x = labels[4].x;
        x = one[0].x;
    }
}
