header ipv4_t { bit<8> ttl; bit<8> ttl; }
enum color { red, green, red }
control c(inout bit<8> x) {
    bit<8> y = 1;
    bit<8> y = 2;
    apply { x = y; }
}
