extern T random<T>();
extern Register<T> { Register(bit<32> size); }
extern Cells<T, I> { Cells(bit<32> size); T read(in I index); }
control c(inout bit<8> x) {
    Register(16) r;
    Cells<bit<8>, _>(16) fine;
    Cells<_, bit<8>>(16) open;
    apply { x = (bit<8>) random(); }
}
