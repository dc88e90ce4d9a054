extern void digest<T>(in T data);
control c(inout bit<8> x) {
    apply {
        digest(5);
        digest({ ttl = x });
        digest("packet");
    }
}
