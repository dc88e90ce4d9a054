@field[id = { 1, 2 }]
struct meta_t { bit<8> x; }
