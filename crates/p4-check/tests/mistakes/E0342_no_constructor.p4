extern Clock { bit<48> now(); }
control c() {
    Clock() clock;
    apply { }
}
