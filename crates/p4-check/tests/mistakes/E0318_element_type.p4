struct all_t { tuple<bit<8>, void> pair; string[4] names; }
