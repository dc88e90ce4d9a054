match_kind { exact }
control c(inout bit<8> x) {
    action up() { x = x + 1; }
    table t {
        key = { x : exact; }
        actions = { up; }
    }
    apply { t.apply(); }
}
