const bit<6> BIER_PROTO_IPV4 = 4;
const bit<6> OTHER_BIER_PROTO_IPV4 = 5;
header bier_t { bit<6> proto; bit<2> tc; }
struct headers_t { bier_t bier; }
control c(inout headers_t hdr) {
    apply { hdr.bier.proto = PROTO_IPV4; }
}
