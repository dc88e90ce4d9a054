@field[id = 1]
@field[id = 2]
struct meta_t { bit<8> x; }
@kind[a = 1, a = 2]
struct other_t { bit<8> x; }
