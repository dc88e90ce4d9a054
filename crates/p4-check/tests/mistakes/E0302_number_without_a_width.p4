control c(out bit<8> x) {
    apply {
        int n = 5;
        x = 1;
    }
}
