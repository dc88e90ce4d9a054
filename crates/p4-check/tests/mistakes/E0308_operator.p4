control c(inout bit<16> x, inout bit<8> y, inout bool b) {
    apply {
        x = x + y;
        b = !y;
        y = y ++ 1;
        b = b + b;
    }
}
