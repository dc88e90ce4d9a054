@name(forward)
action go() { }
@p4runtime_translation("lab/port", bool)
type bit<9> port_t;
