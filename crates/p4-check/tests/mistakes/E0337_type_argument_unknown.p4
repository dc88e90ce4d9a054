extern T random<T>();
extern Register<T> { Register(bit<32> size); }
control c(inout bit<8> x) {
    Register(16) r;
    apply { x = (bit<8>) random(); }
}
