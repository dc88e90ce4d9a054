extern Meter { Meter(); void run(); }
control c() {
    Meter() m = { void run() { } };
    apply { }
}
