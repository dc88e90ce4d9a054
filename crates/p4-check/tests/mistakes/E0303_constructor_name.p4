extern Meter {
    Meter(bit<32> size);
    Metre(bit<16> size);
    void Meter();
}
