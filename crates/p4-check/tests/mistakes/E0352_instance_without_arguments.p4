extern Meter { Meter(); void run(); }
control c() {
    Meter m;
    apply { }
}
