header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
control c(out ethernet_t ethernet) {
    apply { ethernet = { 1, ..., 0x800 }; }
}
