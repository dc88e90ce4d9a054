extern Meter { Meter(); void run(); }
control c() {
    action police() { Meter() m; }
    apply { police(); }
}
