const bit<8> none = 0;
control c(inout bit<8> x) {
    apply { x = x / none; }
}
