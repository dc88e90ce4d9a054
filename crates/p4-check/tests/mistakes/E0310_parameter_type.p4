extern Meter { Meter(); void run(); }
control sub(in Meter m) { apply { m.run(); } }
control c() {
    action forward(in int port) { }
    apply { }
}
