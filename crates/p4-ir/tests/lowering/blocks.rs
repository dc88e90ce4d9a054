//! Parsers, deparsers, sub-controls, headers and abstract methods. If these fail, headers come out
//! wrong or a block works on a copy of what it should change.

use crate::bench::{compile, control, Bench};
use p4_ir::interp::Outcome;
use p4_ir::ir::Op;

const HEADERS: &str = "
header tag_t { bit<4> kind; bit<12> value; }
header long_t { bit<128> bits; }
header_union either_t { tag_t tag; long_t long; }
struct headers_t { tag_t first; tag_t[3] tags; either_t either; }
struct meta_t { bit<8> x; bit<8> y; }
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
";

fn program(parser: &str, control: &str) -> String {
    format!(
        "{HEADERS}
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta) {{ {parser} }}
control MyControl(inout headers_t hdr, inout meta_t meta) {{ {control} }}
Switch(MyParser(), MyControl(), MyDeparser()) main;
"
    )
}

const STACK: &str = "
    state start { packet.extract(hdr.first); transition select(hdr.first.kind) {
        1: tags;
        2: long;
        3 .. 4: reject;
        8 &&& 8: accept;
    } }
    state tags {
        packet.extract(hdr.tags.next);
        transition select(hdr.tags.last.kind) { 0: accept; _: tags; }
    }
    state long { packet.extract(hdr.either.long); transition accept; }";

#[test]
fn selects_take_the_first_case_that_fits() {
    let text = program(STACK, "apply { }");
    for (packet, want) in [
        (&[0x10, 5, 0x00, 6][..], Outcome::Done),
        (&[0x90, 5], Outcome::Done),
        (&[0x30, 5], Outcome::Rejected { error: 0 }),
        (&[0x50, 5], Outcome::Rejected { error: 2 }),
        (&[0x20, 5], Outcome::Rejected { error: 1 }),
        (
            &[0x10, 5, 0x10, 6, 0x10, 7, 0x10, 8, 0x00, 9],
            Outcome::Rejected { error: 3 },
        ),
    ] {
        let mut bench = Bench::new(&text);
        bench.load(packet);
        assert_eq!(bench.parse(), want, "{packet:x?}");
    }
}

#[test]
fn exact_cases_become_one_switch() {
    let program = compile(&program(
        "state start { packet.extract(hdr.first); transition select(hdr.first.kind) {
            1: a; 2: b; 7: a; 1: reject; default: accept; } }
         state a { packet.extract(hdr.tags[0]); transition b; }
         state b { transition accept; }",
        "apply { }",
    ));
    let switches = program
        .code
        .iter()
        .filter(|op| matches!(op, Op::Switch { .. }));
    assert_eq!(switches.count(), 1);
    let values: Vec<u64> = program.switches[0].cases.iter().map(|c| c.0).collect();
    assert_eq!(values, [1, 2, 7]);
}

#[test]
fn what_is_parsed_is_emitted_again() {
    let mut bench = Bench::new(&program(STACK, "apply { }"));
    let packet = [0x1a, 0xbc, 0x10, 0x11, 0x20, 0x22, 0x00, 0x33];
    bench.load(&packet);
    assert_eq!(bench.parse(), Outcome::Done);
    bench.control();
    assert_eq!(bench.deparse(), packet);
}

#[test]
fn fields_of_invalid_headers_stay_zero() {
    let body = "apply {
        hdr.first.value = 5;
        hdr.tags[1].setValid();
        hdr.tags[1].value = 7;
        hdr.tags[meta.x].value = 9;
        hdr.either.tag.setValid();
        hdr.either.long.setValid();
        meta.y = (bit<8>) hdr.first.value;
    }";
    let mut bench = Bench::new(&program(STACK, body));
    bench.set("meta.x", &[2]);
    bench.control();
    assert_eq!(bench.get("meta.y"), 0);
    let mut emitted = vec![0x00, 0x07];
    emitted.extend([0; 16]);
    assert_eq!(bench.deparse(), emitted);
    bench.set("meta.x", &[1]);
    bench.control();
    assert_eq!(bench.get("hdr.tags[1].value"), 9);
}

#[test]
fn sub_blocks_work_on_the_arguments() {
    let declarations = "
        control Add(inout bit<8> a, in bit<8> b)(bit<8> more) {
            bit<8> sum = 0;
            apply {
                sum = a + b;
                if (sum == 0) { return; }
                a = sum + more;
            }
        }
        control Leave(inout bit<8> a) { apply { a = a + 1; if (a == 9) { exit; } } }";
    let locals = "Add(100) big; Add(1) small; Leave() leave;";
    let body = "
        big.apply(meta.x, meta.y);
        small.apply(meta.x, meta.x);
        small.apply(meta.y, meta.x);
        leave.apply(meta.z);
        meta.w = 1;";
    let meta = "bit<8> x; bit<8> y; bit<8> z; bit<8> w;";
    let text = control(declarations, meta, locals, body);
    for (z, w) in [(1, 1), (8, 0)] {
        let mut bench = Bench::new(&text);
        for (leaf, value) in [("x", 2), ("y", 3), ("z", z)] {
            bench.set(&format!("meta.{leaf}"), &[value]);
        }
        bench.control();
        // x: 2 + 3 + 100 = 105, then 105 + 105 + 1 = 211; y: 3 + 211 + 1 = 215
        let found = ["x", "y", "z", "w"].map(|leaf| bench.get(&format!("meta.{leaf}")));
        assert_eq!(found, [211, 215, z + 1, w]);
    }
}

#[test]
fn abstract_methods_are_routines_of_their_instance() {
    let declarations = "
        extern Action<T> { Action(bit<8> size); abstract T step(inout T value, in T by); T run(in T x); }";
    let locals = "
        bit<8> seen = 0;
        Action<bit<8>>(16) counter = {
            bit<8> step(inout bit<8> value, in bit<8> by) {
                seen = value;
                value = value + by + meta.x;
                return seen;
            }
        };";
    let body = "
        meta.y = meta.z;
        meta.w = counter.step(meta.y, 2);
        meta.z = seen;";
    let meta = "bit<8> x; bit<8> y; bit<8> z; bit<8> w;";
    let mut bench = Bench::new(&control(declarations, meta, locals, body));
    let instance = &bench.program().instances[0];
    assert_eq!(&*instance.name, "MyControl.counter");
    let method = instance.method("step").expect("the method");
    assert_eq!(method.params.len(), 2);
    assert!(method.params[0].is_in && method.params[0].is_out && !method.params[1].is_out);
    bench.set("meta.x", &[100]);
    bench.set("meta.z", &[5]);
    // Called by the program
    bench.control();
    let found = ["y", "w", "z"].map(|leaf| bench.get(&format!("meta.{leaf}")));
    assert_eq!(found, [107, 5, 5]);
    // Called by a host
    let (outs, result) = bench.method("MyControl.counter", "step", &[("value", 7), ("by", 1)]);
    assert_eq!((outs, result), (vec![108], 7));
}

/// A function that changes its argument and gives what it was made of.
const CHANGING: &str = "
    bit<8> grow(inout bit<8> v) { v = v + 10; return v; }
    control Sub(in bit<8> a, in bit<8> b, out bit<8> seen) { apply { seen = a ++ b == 0x020c ? 8w1 : 8w2; } }
    control Swap(in bit<8> b, inout bit<8> a) { apply { a = a + b; } }
    parser Twice(packet_in packet, in bit<8> a, in bit<8> b, out bit<8> sum) {
        state start { sum = a + b; transition accept; }
    }";

/// Arguments are evaluated from left to right, and each is copied at once (P4-16, 6.8): if this
/// fails, `sub.apply(x, grow(x))` sees the x that `grow` has left.
#[test]
fn arguments_of_apply_are_copied_before_later_ones_change_them() {
    let locals = "Sub() sub; Sub() shared; Swap() swap;";
    let meta = "bit<8> x; bit<8> y; bit<8> z; bit<8> w;";
    for (body, want) in [
        ("sub.apply(meta.x, grow(meta.x), meta.y);", (12, 1, 0)),
        (
            "shared.apply(meta.x, grow(meta.x), meta.y); shared.apply(meta.x, meta.x, meta.z);",
            (12, 1, 2),
        ),
        ("Sub.apply(meta.x, grow(meta.x), meta.y);", (12, 1, 0)),
        // What is copied back is written last: 2 + 10 went into b, and a was 12 by then.
        ("swap.apply(grow(meta.x), meta.x);", (24, 0, 0)),
        ("Swap.apply(a = meta.x, b = grow(meta.x));", (14, 0, 0)),
    ] {
        let mut bench = Bench::new(&control(CHANGING, meta, locals, body));
        bench.set("meta.x", &[2]);
        bench.control();
        let found = ["x", "y", "z"].map(|leaf| bench.get(&format!("meta.{leaf}")));
        assert_eq!(found, [want.0, want.1, want.2], "{body}");
    }
    let text = format!(
        "{CHANGING}
        struct headers_t {{ }}
        struct meta_t {{ bit<8> x; bit<8> y; }}
        parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta) {{
            Twice() twice;
            state start {{ meta.x = 2; twice.apply(packet, meta.x, grow(meta.x), meta.y); transition accept; }}
        }}
        control MyControl(inout headers_t hdr, inout meta_t meta) {{ apply {{ }} }}
        control MyDeparser(packet_out packet, in headers_t hdr) {{ apply {{ }} }}
        Switch(MyParser(), MyControl(), MyDeparser()) main;"
    );
    let mut bench = Bench::new(&text);
    bench.load(&[]);
    assert_eq!(bench.parse(), Outcome::Done);
    assert_eq!([bench.get("meta.x"), bench.get("meta.y")], [12, 14]);
}

/// A stack remembers where the next header goes; no packet holds that. If this fails, lookahead of
/// a struct with a stack reads what lies further on, or ends a packet that is long enough.
#[test]
fn lookahead_reads_the_headers_of_a_stack_and_nothing_else() {
    for (fields, path, bits) in [
        ("tag_t[2] tags; bit<8> after;", "tags[1]", 40),
        ("bit<8> before; tag_t[2] tags; bit<8> after;", "tags[1]", 48),
        ("inner_t inner; bit<8> after;", "inner.tags[1]", 40),
    ] {
        let parser = format!(
            "state start {{
                ahead_t ahead = packet.lookahead<ahead_t>();
                meta.x = ahead.after;
                meta.y = (bit<8>) ahead.{path}.value;
                transition accept;
            }}"
        );
        let types = format!("struct inner_t {{ tag_t[2] tags; }} struct ahead_t {{ {fields} }}");
        let text = program(&parser, "apply { }")
            .replace("struct meta_t", &format!("{types} struct meta_t"));
        let mut packet = vec![0x11, 0x22, 0x33, 0x44, 0x55];
        if bits == 48 {
            packet.insert(0, 0x99);
        }
        let mut bench = Bench::new(&text);
        bench.load(&packet);
        assert_eq!(bench.parse(), Outcome::Done, "{fields}");
        assert_eq!(
            [bench.get("meta.x"), bench.get("meta.y")],
            [0x55, 0x44],
            "{fields}"
        );
        bench.restart();
        bench.load(&packet[..packet.len() - 1]);
        assert_eq!(bench.parse(), Outcome::Rejected { error: 1 }, "{fields}");
    }
}

/// If this fails, STF scripts and controllers do not find what P4Info tells them of.
#[test]
fn names_of_the_control_plane_are_those_of_annotations() {
    let declarations = "
        struct keys_t { @name(\"first\") bit<8> a; @name(\".second\") bit<8> b; bit<8> c; }
        @name(\"top_level\") action one(@name(\"number\") bit<8> n) { }
        @name(\".absolute\") action two(bit<8> n) { }";
    let locals = "
        @name(\"local\") action three(@name(\"a.b\") bit<8> n) { }
        @name(\"chosen\") table t {
            key = { meta.keys.a: exact; meta.keys.b: exact; meta.keys.c: exact;
                    meta.keys.a & 0xf: ternary; meta.keys.c: lpm @name(\"own\"); }
            actions = { one; two; three; NoAction; }
        }";
    let text = control(declarations, "keys_t keys;", locals, "t.apply();");
    let program = compile(&text);
    let table = &program.tables[0];
    assert_eq!(&*table.name, "MyControl.chosen");
    let keys: Vec<&str> = table.keys.iter().map(|key| &*key.name).collect();
    assert_eq!(
        keys,
        [
            "meta.keys.first",
            "second",
            "meta.keys.c",
            "meta.keys.first & 15",
            "own"
        ]
    );
    let actions: Vec<(&str, Vec<&str>)> = table
        .actions
        .iter()
        .map(|listed| &program.actions[listed.action as usize])
        .map(|action| {
            (
                &*action.name,
                action.params.iter().map(|param| &*param.name).collect(),
            )
        })
        .collect();
    assert_eq!(
        actions[..3],
        [
            ("top_level", vec!["number"]),
            ("absolute", vec!["n"]),
            ("MyControl.local", vec!["a.b"]),
        ]
    );
}

/// An array in a header is its elements, one after the other, and as valid as the header: more would
/// move all that follows in the packet.
#[test]
fn arrays_in_headers_take_the_room_of_their_elements() {
    let text = |control: &str| {
        format!(
            "header list_t {{ bit<8> count; bit<8>[3] items; bit<16> rest; }}
struct headers_t {{ list_t list; }}
struct meta_t {{ bit<8> x; bit<8> y; }}
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta) {{
    state start {{ packet.extract(hdr.list); transition accept; }}
}}
control MyControl(inout headers_t hdr, inout meta_t meta) {{ apply {{ {control} }} }}
control MyDeparser(packet_out packet, in headers_t hdr) {{ apply {{ packet.emit(hdr); }} }}
Switch(MyParser(), MyControl(), MyDeparser()) main;
"
        )
    };
    let change = "hdr.list.items[1] = 0xee; hdr.list.items[meta.x] = hdr.list.items[meta.x - 2];";
    let mut bench = Bench::new(&text(change));
    bench.set("meta.x", &[2]);
    bench.load(&[3, 10, 11, 12, 0xab, 0xcd]);
    assert_eq!(bench.parse(), Outcome::Done);
    bench.control();
    assert_eq!(bench.deparse(), [3, 10, 0xee, 10, 0xab, 0xcd]);

    let invalid = "hdr.list.setInvalid(); hdr.list.items[1] = 4; hdr.list.items[meta.x] = 5;
        meta.y = hdr.list.items[1] + hdr.list.items[meta.x];";
    let mut bench = Bench::new(&text(invalid));
    bench.set("meta.x", &[2]);
    bench.control();
    assert_eq!(bench.get("meta.y"), 0);
}
