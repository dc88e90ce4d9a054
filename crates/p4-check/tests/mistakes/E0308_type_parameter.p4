struct G<T> { T a; bit<8> b; }
bool same<T>(in G<T> g, in T x) { return x == g.a; }
struct pair_t { bit<8> a; bit<8> b; }
bool less(in pair_t x, in pair_t y) { return x < y; }
