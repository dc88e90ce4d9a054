header_type h_t { fields { kind : 8; } }
