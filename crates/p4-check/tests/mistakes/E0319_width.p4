header wide_t { bit<5000> payload; int<0> nothing; }
