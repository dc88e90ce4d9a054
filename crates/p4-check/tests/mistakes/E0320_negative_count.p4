header label_t { bit<32> x; }
control c(inout label_t[4] labels) {
    apply { labels.push_front(-1); }
}
