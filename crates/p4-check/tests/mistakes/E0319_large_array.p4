header label_t { bit<8> v; }
struct headers_t { label_t[1000000] labels; }
