type bit<8> port_t;
control c(in bool p, in port_t q, inout bit<8> x) {
    apply {
        switch (p) { true: { x = 1; } }
        switch (q) { default: { x = 2; } }
    }
}
