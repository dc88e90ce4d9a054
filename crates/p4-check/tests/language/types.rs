//! Types (specification 7): unions, stacks, varbit, tuples, generics, enums.

use super::check;

const HEADERS: &str = "
header mss_t { bit<8> kind; bit<8> length; bit<16> mss; }
header scale_t { bit<8> kind; bit<8> length; bit<8> shift; }
header_union option_t { mss_t mss; scale_t scale; }
struct headers_t { option_t[4] options; option_t one; mss_t plain; }
";

fn check_with_headers(text: &str) {
    check(&format!("{HEADERS}{text}"));
}

#[test]
fn header_unions_and_their_stacks() {
    check_with_headers(
        "parser p(packet_in packet, out headers_t hdr) {
            state start {
                transition select(packet.lookahead<bit<8>>()) {
                    2: mss;
                    3: scale;
                    _: accept;
                }
            }
            state mss { packet.extract(hdr.options.next.mss); transition start; }
            state scale { packet.extract(hdr.options.next.scale); transition last; }
            state last {
                packet.extract(hdr.one.mss);
                transition select(hdr.options.last.scale.shift, hdr.options.lastIndex) {
                    (0, _): accept;
                    default: start;
                }
            }
        }
        control c(inout headers_t hdr, in bit<2> which) {
            apply {
                if (hdr.one.isValid()) { hdr.one.mss.setInvalid(); }
                hdr.one.scale = { 3, 3, 7 };
                hdr.options[which].mss.setValid();
                hdr.options[0].mss.mss = hdr.options[1].mss.mss + 1;
                hdr.options.push_front(1);
                hdr.options.pop_front(2);
                hdr.one = hdr.options[3];
                if (hdr.one == hdr.options[0] || hdr.one.mss == hdr.plain) { hdr.options[which] = hdr.one; }
                bit<32> all = hdr.options.size;
            }
        }",
    );
}

#[test]
fn mistakes_with_header_unions() {
    check_with_headers(
        "header_union bad_t { bit<8> number; } //~ E0315
        struct s_t { bit<8> x; }
        header_union worse_t { mss_t mss; s_t s; } //~ E0315
        header_union nested_t { option_t option; } //~ E0315
        parser p(packet_in packet, out headers_t hdr) {
            state start {
                packet.extract(hdr.one); //~ E0358
                packet.extract(hdr.options.next); //~ E0358
                transition accept;
            }
        }
        control c(inout headers_t hdr) {
            apply {
                hdr.one.setValid(); //~ E0333
                hdr.one.mss = hdr.one.scale; //~ E0302
                hdr.one.window.setInvalid(); //~ E0305
                hdr.options.next.mss.setValid(); //~ E0322
                hdr.options[4].mss.setValid(); //~ E0306
                hdr.options.push_front(hdr.plain.length); //~ E0501
                hdr.options.size = 2; //~ E0324
            }
        }",
    );
}

#[test]
fn stacks_with_indices_at_run_time() {
    check(
        "header hop_t { bit<31> address; bit<1> last; }
        struct meta_t { bit<8> number; bit<4>[8] nibbles; }
        control c(inout hop_t[9] route, inout meta_t meta, in int<8> signed) {
            apply {
                route[meta.number].setValid();
                route[meta.number + 1].address = route[meta.number].address;
                meta.nibbles[meta.number][1:0] = 3;
                route[3 * 2] = route[(bit<4>) meta.nibbles[0]];
                route[signed] = { 1, 0 };
            }
        }",
    );
    check(
        "header hop_t { bit<31> address; bit<1> last; }
        control c(inout hop_t[9] route, in bool which, in hop_t[9] old) {
            apply {
                route[which].setValid(); //~ E0306
                route[9].setValid(); //~ E0306
                route[-1].setValid(); //~ E0306
                old[1].address = 0; //~ E0324
                route.address = 0; //~ E0305
                bit<32> last = route.lastIndex; //~ E0322
                hop_t[2] two = route; //~ E0302
            }
        }",
    );
}

#[test]
fn varbit_fields() {
    check(
        "header options_t { bit<8> length; varbit<320> data; }
        parser p(packet_in packet, out options_t options) {
            state start {
                packet.extract(options, (bit<32>) packet.lookahead<bit<8>>() * 8);
                transition accept;
            }
        }
        control c(inout options_t a, inout options_t b) {
            apply {
                a.data = b.data;
                varbit<320> kept = a.data;
                if (kept == b.data) { a = b; }
            }
        }
        control d(packet_out packet, in options_t a) { apply { packet.emit(a); } }",
    );
    check(
        "header options_t { bit<8> length; varbit<320> data; }
        header fixed_t { bit<8> length; }
        parser p(packet_in packet, out options_t options, out fixed_t fixed) {
            state start {
                packet.extract(options); //~ E0358
                packet.extract(fixed, 8); //~ E0358
                options = packet.lookahead<options_t>(); //~ E0359
                transition select(options.data) { //~ E0404
                    default: accept;
                }
            }
        }
        control c(inout options_t a) {
            apply {
                a.data = a.data + a.data; //~ E0308
                a.data = 1; //~ E0302
                bit<8> low = a.data[7:0]; //~ E0307
                varbit<32> shorter = a.data; //~ E0302
                bit<320> bits = (bit<320>) a.data; //~ E0323
            }
        }",
    );
}

#[test]
fn tuples() {
    check(
        "tuple<bit<8>, bool> pair(in bit<8> x) { return { x, x == 0 }; }
        control c(inout bit<8> x) {
            apply {
                tuple<bit<8>, bool> t = { 1, true };
                tuple<bit<8>, tuple<bool, bit<8>>> nested = { 1, { false, 2 } };
                t = pair(x);
                if (t[1] && t == { 1, true }) { x = t[0]; }
                x = nested[1][1];
                tuple<> nothing = {};
            }
        }",
    );
    check(
        "control c(inout bit<8> x) {
            apply {
                tuple<bit<8>, bool> t = { 1 }; //~ E0302
                tuple<bit<8>, bool> u = { true, true }; //~ E0302
                tuple<bit<8>, bool> v = { 1, true };
                x = v[1]; //~ E0302
                x = v[2]; //~ E0306
                x = v[x]; //~ E0501
                x = v.first; //~ E0305
                if (v < v) { x = 1; } //~ E0308
            }
        }
        struct s_t { tuple<void> nothing; } //~ E0318",
    );
}

#[test]
fn generic_types_and_functions() {
    check(
        "struct pair_t<A, B> { A first; B second; }
        struct Option_t<T> { T value; bool some; }
        header tagged_t<T> { bit<8> tag; T value; }
        typedef pair_t<bit<8>, bool> small_t;
        T larger<T>(in T a, in T b) { return a; }
        pair_t<B, A> swap<A, B>(in pair_t<A, B> p) { return { p.second, p.first }; }
        extern Cell<T> { Cell(T start); T get(); void put(in T value); void both<U>(in T a, in U b); }
        extern void log<T>(in T value);
        control c(inout small_t s, inout tagged_t<bit<16>> h) {
            Cell<bit<32>>(7) cell;
            Cell(16w3) other;
            apply {
                pair_t<bool, bit<8>> turned = swap(s);
                s.first = larger(s.first, 3);
                s.first = larger<bit<8>>(1, 2);
                h.value = other.get();
                cell.put(9);
                cell.both(1, s);
                log(s);
                log<bit<8>>(4);
                pair_t<Option_t<bit<2>>, bit<3>> deep = { { 2, true }, 3 };
                deep.first.value = deep.first.value + 1;
            }
        }
        parser P<H>(packet_in packet, out H hdr);
        control C<H>(inout H hdr);
        package Switch<H>(P<H> p, C<H> c);
        struct headers_t { small_t s; }
        parser mine(packet_in packet, out headers_t hdr) { state start { transition accept; } }
        control yours(inout headers_t hdr) { apply {} }
        Switch(mine(), yours()) main;",
    );
    check(
        "struct pair_t<A, B> { A first; B second; }
        T same<T>(in T a, in T b) { return a; }
        T made<T>() { T t; return t; }
        T sum<T>(in T a, in T b) {
            return a + b; //~ E0308
        }
        extern Cell<T> { Cell(); T get(); }
        struct bad_t { pair_t<bit<8>> p; } //~ E0304
        struct worse_t { pair_t p; } //~ E0304
        typedef pair_t<pair_t<bit<1>, bit<2>>, bit<3>> itself_t; //~ E0304
        struct worst_t { bit<8><bit<8>> p; } //~ E0107
        control c(inout bit<8> x, inout bit<16> y, inout bool b) {
            Cell() cell; //~ E0337
            apply {
                x = same(x, y); //~ E0302
                b = same(x, x); //~ E0302
                x = made(); //~ E0337
                x = same<bit<8>, bit<8>>(x, x); //~ E0304
                pair_t<bit<8>, bool> p = { true, x }; //~ E0302
            }
        }
        parser P<H>(packet_in packet, out H hdr);
        control C<H>(inout H hdr);
        package Switch<H>(P<H> p, C<H> c);
        struct a_t { bit<8> x; }
        struct b_t { bit<8> x; }
        parser mine(packet_in packet, out a_t hdr) { state start { transition accept; } }
        control yours(inout b_t hdr) { apply {} }
        Switch(mine(), yours()) main; //~ E0326",
    );
}

#[test]
fn enums_with_and_without_values() {
    check(
        "enum color_t { red, green }
        enum bit<16> ether_t { ipv4 = 0x800, arp = 0x806, same = 0x806 }
        enum int<8> step_t { up = 1, down = -1 }
        header ethernet_t { bit<96> addresses; ether_t type; }
        parser p(packet_in packet, out ethernet_t e) {
            state start {
                packet.extract(e);
                transition select(e.type) {
                    ether_t.ipv4: accept;
                    ether_t.arp: next;
                    (ether_t) 0x86dd: next;
                    _: reject;
                }
            }
            state next { transition accept; }
        }
        control c(inout ethernet_t e, inout bit<16> number, inout color_t color) {
            apply {
                number = ether_t.arp;
                e.type = (ether_t) number;
                e.type = (ether_t) 0x1234;
                if (e.type == ether_t.ipv4 || color == color_t.red) { color = color_t.green; }
                number = (bit<16>) e.type + 1;
                number = e.type ^ 1;
                int<8> step = (int<8>) step_t.down;
            }
        }",
    );
    check(
        "enum color_t { red, green }
        enum taste_t { sweet }
        enum bit<16> ether_t { ipv4 = 0x800, arp } //~ E0314
        enum plain_t { one = 1 } //~ E0314
        enum bool strange_t { yes = true } //~ E0313
        enum bit<8> twice_t { a = 1, a = 2 } //~ E0202
        header h_t { color_t color; } //~ E0315
        control c(inout bit<16> number, inout color_t color, in bit<16> given) {
            apply {
                ether_t e = number; //~ E0302
                e = ether_t.ipv6; //~ E0305
                color = 1; //~ E0302
                color = (color_t) number; //~ E0323
                number = (bit<16>) color; //~ E0323
                if (color == taste_t.sweet) { number = 1; } //~ E0308
                color_t.red = color; //~ E0324
            }
        }",
    );
}

#[test]
fn types_with_names_of_their_own() {
    check(
        "typedef bit<9> port_t;
        type bit<9> PortId_t;
        type port_t Other_t;
        control c(inout PortId_t port, inout bit<9> raw, inout port_t same) {
            apply {
                same = raw;
                raw = (bit<9>) port;
                port = (PortId_t) raw;
                port = (PortId_t) 3;
                if (port == (PortId_t) 0) { raw = same; }
            }
        }",
    );
    check(
        "type bit<9> PortId_t;
        struct s_t { bit<8> x; }
        type s_t wrapped_t; //~ E0309
        control c(inout PortId_t port, inout bit<9> raw) {
            apply {
                raw = port; //~ E0302
                port = raw; //~ E0302
                port = port + port; //~ E0308
            }
        }",
    );
}

#[test]
fn initial_values() {
    check(
        "header h_t { bit<8> a; bit<8> b; }
        struct s_t { h_t h; bit<16> n; bool yes; }
        control c(out s_t s, out h_t h, out h_t[3] stack) {
            apply {
                s = { { 1, 2 }, 3, true };
                s = { h = { a = 1, b = 2 }, n = 3, yes = false };
                s = { n = 3, ... };
                s = { { 1, ... }, ... };
                s = ...;
                h = {#};
                h = (h_t) { 1, 2 };
                stack = { { 1, 2 }, ... };
                s_t again = (s_t) { h = {#}, n = 1, yes = true };
            }
        }",
    );
    check(
        "header h_t { bit<8> a; bit<8> b; }
        struct s_t { h_t h; bit<16> n; }
        control c(out s_t s, out h_t h, out bit<8> x) {
            apply {
                s = { n = 3 }; //~ E0321
                s = { h = {#}, n = 3, m = 4 }; //~ E0321
                h = { 1, 2, 3 }; //~ E0302
                h = { ..., 2 }; //~ E0325
                s = {#}; //~ E0302
                x = {#}; //~ E0302
                h = { a = 1, a = 2, b = 3 }; //~ E0202
            }
        }",
    );
}
