header bier_t { bit<6> proto; bit<2> tc; }
struct headers_t { bier_t bier; }
control c(inout headers_t hdr) {
    bit<2> beer;
    apply { beer = bier.tc; beer = tc; }
}
