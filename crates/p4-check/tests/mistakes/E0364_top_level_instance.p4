control sub(inout bit<8> x) { apply { x = 1; } }
sub() global_sub;
