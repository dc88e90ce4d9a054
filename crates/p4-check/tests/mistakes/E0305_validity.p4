header h_t { bit<8> a; }
control c(inout h_t h, out bool x) {
    apply {
        x = h.isValid;
        x = h.valid;
        if (h) { x = true; }
    }
}
