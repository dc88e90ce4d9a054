header wrapped_t<T> { T value; }
control c(inout wrapped_t plain, inout wrapped_t<bit<8>, bit<8>> two) {
    apply { }
}
