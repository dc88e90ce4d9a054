extern void count(bit<8> packets);
extern void count(bit<16> bytes);
control c() {
    apply { count(1); }
}
