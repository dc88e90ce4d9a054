control c(inout bit<8> x) {
    @name("step") action up() { x = x + 1; }
    @name("step") action down() { x = x - 1; }
    apply { up(); down(); }
}
