header label_t { bit<32> x; }
control c(inout label_t[0] none, inout tuple<bit<8>, bit<8>> pair, inout bit<8> x) {
    apply {
        none[0].x = 1;
        x = pair[2];
    }
}
