const int start = 3;
struct meta_t { bit<(start - 4)> x; }
