bit<8> next(out bit<8> x = 1, @optional in bit<8> y) {
    x = y;
    return x;
}
