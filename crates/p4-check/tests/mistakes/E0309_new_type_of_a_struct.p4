struct pair_t { bit<8> a; bit<8> b; }
type pair_t couple_t;
