enum bit<8> reason_t { NONE = 0, UNKNOWN_LINE = 1 }
control c(inout reason_t why) {
    apply {
        why = UNKNOWN_LINE;
        why = 3;
    }
}
