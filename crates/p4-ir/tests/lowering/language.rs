//! Rules of the language one by one, with values worked out by hand from P4_16 1.2.5. If one of
//! these fails, programs that the specification calls right give wrong packets.

use crate::bench::{control, Bench};
use p4_ir::interp::Outcome;

const META: &str = "bit<8> x; bit<8> y; int<8> s; bit<16> w; bool b;";

/// Values of leaves after `body`, with `meta.x` set first.
fn after(declarations: &str, locals: &str, body: &str, x: u64, leaves: &[&str]) -> Vec<u64> {
    let mut bench = Bench::new(&control(declarations, META, locals, body));
    bench.set("meta.x", &[x]);
    bench.control();
    let value = |leaf: &&str| bench.get(&format!("meta.{leaf}"));
    leaves.iter().map(value).collect()
}

/// 8.5: a counter that must stick at its end would wrap round to zero.
#[test]
fn saturating_arithmetic_stops_at_the_ends() {
    let body = "meta.y = meta.x |+| 100; meta.w = 16w50 |-| (bit<16>)meta.x;
                meta.s = (int<8>)meta.x |+| 100;";
    let leaves = ["y", "w", "s"];
    assert_eq!(after("", "", body, 200, &leaves), [255, 0, 44]);
    assert_eq!(after("", "", body, 30, &leaves), [130, 20, 127]);
    let body = "meta.s = (int<8>)meta.x |-| 100;";
    // -128 |-| 100 = -128, which is 0x80
    assert_eq!(after("", "", body, 0x80, &["s"]), [0x80]);
}

/// 8.6: bits of fields would end up in their neighbours.
#[test]
fn slices_are_read_and_written_in_place() {
    let body = "meta.y = 0xff; meta.y[5:2] = meta.x[7:4]; meta.w = meta.x[0:0] ++ 15w1;";
    assert_eq!(after("", "", body, 0x91, &["y", "w"]), [0xe7, 0x8001]);
}

/// 8.5: hardware masks the amount; the language does not.
#[test]
fn shifts_beyond_the_width_leave_nothing_or_the_sign() {
    let body = "meta.y = 8w1 << meta.x; meta.w = 16w0x8000 >> meta.x; meta.s = -8s2 >> meta.x;";
    let leaves = ["y", "w", "s"];
    assert_eq!(after("", "", body, 7, &leaves), [0x80, 0x100, 0xff]);
    assert_eq!(after("", "", body, 8, &leaves), [0, 0x80, 0xff]);
    assert_eq!(after("", "", body, 200, &leaves), [0, 0, 0xff]);
}

/// 11.4: each operator would need a test of its own if they were not the same as the long form.
#[test]
fn assignment_operators_are_short_for_the_operator() {
    let body = "meta.y = meta.x; meta.y += 250; meta.y <<= 1; meta.y |= 1; meta.y ^= 0xff;
                meta.w = 7; meta.w *= 9; meta.w -= 3; meta.w &= 0x3c; meta.w |-|= 100;";
    // 10 + 250 = 4 (mod 256); 8; 9; 0xf6. 63 - 3 = 60; 60 & 0x3c = 60; 0
    assert_eq!(after("", "", body, 10, &["y", "w"]), [0xf6, 0]);
}

/// 8.20: at most one member is valid, or a deparser emits two headers where one belongs.
#[test]
fn one_member_of_a_union_makes_way_for_the_next() {
    let declarations = "
        header a_t { bit<8> v; } header b_t { bit<16> v; }
        header_union u_t { a_t a; b_t b; }";
    let body = "
        u_t u; u_t other;
        meta.b = u == other;
        u.a.setValid(); u.a.v = 5;
        if (u.isValid() && u.a.isValid() && !u.b.isValid()) { meta.y = 1; }
        u.b = {7};
        if (!u.a.isValid() && u.b.isValid()) { meta.y = meta.y + 2; }
        other = u;
        if (other == u && other.b.v == 7) { meta.y = meta.y + 4; }
        u.b.setInvalid();
        if (!u.isValid() && other.isValid() && other != u) { meta.y = meta.y + 8; }
        b_t none; other.b = none;
        if (!other.isValid()) { meta.y = meta.y + 16; }";
    assert_eq!(after(declarations, "", body, 0, &["y", "b"]), [31, 1]);
}

/// 8.20: a member that is not the valid one is made invalid, and the union still sends a header.
#[test]
fn a_member_made_invalid_makes_the_union_invalid() {
    let declarations = "
        header a_t { bit<8> v; } header b_t { bit<16> v; }
        header_union u_t { a_t a; b_t b; }";
    for change in ["u.a.setInvalid();", "a_t none; u.a = none;"] {
        let body = format!(
            "u_t u; u.b = {{7}}; {change}
             if (!u.isValid() && !u.b.isValid()) {{ meta.y = 1; }}"
        );
        assert_eq!(after(declarations, "", &body, 0, &["y"]), [1], "{change}");
    }
}

/// 8.17: a header that a function returns, or that is put together, would never be valid.
#[test]
fn values_can_be_asked_whether_they_are_valid() {
    let declarations = "
        header a_t { bit<8> v; } header b_t { bit<16> v; }
        header_union u_t { a_t a; b_t b; }
        struct s_t { a_t a; }
        a_t same(in a_t a) { return a; }
        s_t within(in a_t a) { return { a }; }
        u_t union(in b_t b) { u_t u; u.b = b; return u; }";
    let valid = "a_t a; b_t b; if (meta.x == 1) { a = {5}; b = {6}; }";
    for asked in [
        "same(a).isValid()",
        "within(a).a.isValid()",
        "((s_t){ a = a }).a.isValid()",
        "(meta.b ? b : b).isValid()",
        "union(b).isValid()",
        "union(b).b.isValid()",
    ] {
        let body = format!("{valid} if ({asked}) {{ meta.y = 1; }}");
        for x in [0, 1] {
            assert_eq!(after(declarations, "", &body, x, &["y"]), [x], "{asked}");
        }
    }
    let body = "if (((a_t){ 5 }).isValid() && !union({ 1 }).a.isValid()) { meta.y = 1; }";
    assert_eq!(after(declarations, "", body, 0, &["y"]), [1]);
}

/// 8.18: elements of an array that a function returns.
#[test]
fn elements_of_values_are_picked() {
    let declarations = "
        header a_t { bit<8> v; }
        a_t[2] both(in bit<8> v) { a_t[2] s; s[1].setValid(); s[1].v = v; return s; }";
    let body = "
        if (both(7)[meta.x].isValid()) { meta.y = both(9)[1].v + both(1)[meta.x].v; }
        if (!both(7)[0].isValid()) { meta.w = 1; }";
    assert_eq!(after(declarations, "", body, 1, &["y", "w"]), [10, 1]);
    assert_eq!(after(declarations, "", body, 0, &["y", "w"]), [0, 1]);
}

/// 12.6: the body would not run at all.
#[test]
fn loops_run_over_lists() {
    let declarations = "
        const list<bit<8>> BITS = { 1, 2, 4 };
        control each(inout bit<8> sum)(list<tuple<bit<8>, bit<8>>> pairs) {
            apply { for (tuple<bit<8>, bit<8>> p in pairs) { sum = sum * p[0] + p[1]; } }
        }";
    let sum = |list: &str| {
        let body = format!("for (bit<8> v in {list}) {{ meta.y = meta.y + v; }}");
        after(declarations, "", &body, 30, &["y"])[0]
    };
    assert_eq!(sum("BITS"), 7);
    assert_eq!(sum("(list<bit<8>>){ 1, 2, 3 }"), 6);
    assert_eq!(sum("(list<bit<8>>){ 1, meta.x }"), 31);
    // What the body changes does not change the list.
    assert_eq!(sum("(list<bit<8>>){ 1, meta.y, meta.y }"), 1);
    let locals = "each({ { 2, 3 }, { 4, 5 } }) both;";
    let body = "meta.y = 1; both.apply(meta.y);";
    assert_eq!(after(declarations, locals, body, 0, &["y"]), [25]);
}

/// 8.18: labels would be lost or doubled.
#[test]
fn stacks_shift_and_new_elements_are_invalid() {
    let declarations = "header l_t { bit<8> v; }";
    let read = "meta.w = 0;
        if (s[0].isValid()) { meta.w = meta.w + 1; } if (s[1].isValid()) { meta.w = meta.w + 2; }
        if (s[2].isValid()) { meta.w = meta.w + 4; } meta.y = s[meta.x].v;";
    let fill = "l_t[3] s; s[0] = {10}; s[1] = {11}; s[2] = {12};";
    let run = |change: &str, x| {
        let body = format!("{fill} {change} {read}");
        after(declarations, "", &body, x, &["w", "y"])
    };
    assert_eq!(run("", 2), [7, 12]);
    assert_eq!(run("s.push_front(1);", 1), [6, 10]);
    assert_eq!(run("s.push_front(2);", 2), [4, 10]);
    assert_eq!(run("s.push_front(3);", 2), [0, 0]);
    assert_eq!(run("s.pop_front(1);", 0), [3, 11]);
    assert_eq!(run("s.pop_front(2);", 0), [1, 12]);
    assert_eq!(run("s.pop_front(3);", 0), [0, 0]);
    // A write beyond the end does nothing, and reading there is zero here.
    assert_eq!(run("s[meta.x].v = 99;", 9), [7, 0]);
    assert_eq!(run("s[meta.x].v = 99;", 1), [7, 99]);
}

/// Two rows of three headers: their values, `None` where a header is invalid, and a sum that tells
/// them all apart.
type Rows = [[Option<u8>; 3]; 2];

fn sum_of(rows: &Rows) -> u64 {
    let headers = rows.iter().flatten();
    let sum = headers.fold(0u8, |sum, header| {
        let value = header.map_or(0, |value| value.wrapping_add(1));
        sum.wrapping_mul(31).wrapping_add(value)
    });
    u64::from(sum)
}

/// 8.18, for arrays in arrays: what is written to an element picked by two indices would get
/// elsewhere, or nowhere. An index beyond its array does nothing.
#[test]
fn elements_of_arrays_in_arrays_are_picked_at_run_time() {
    let declarations = "header l_t { bit<8> v; }
        void raise(inout l_t l) { l.v = l.v + 1; }
        bit<8> counted(inout bit<8> n) { n = n + 1; return n - 1; }";
    let fill = "l_t[3][2] a;
        a[0][0] = {10}; a[0][1] = {11}; a[0][2] = {12}; a[1][0] = {20}; a[1][2] = {22};
        bit<8> i = meta.x >> 4; bit<8> j = meta.x & 15;";
    let mut read = String::from("meta.y = 0;");
    for place in [
        "a[0][0]", "a[0][1]", "a[0][2]", "a[1][0]", "a[1][1]", "a[1][2]",
    ] {
        read += &format!(
            "meta.y = meta.y * 31; if ({place}.isValid()) {{ meta.y = meta.y + {place}.v + 1; }}"
        );
    }
    type Change = fn(&mut Option<u8>);
    let changes: [(&str, Change); 8] = [
        ("a[i][j].v = 99;", |h| *h = h.map(|_| 99)),
        ("a[i][j] = {98};", |h| *h = Some(98)),
        ("a[i][j].v[7:4] = 5;", |h| *h = h.map(|v| v & 15 | 0x50)),
        ("a[i][j].v += a[i][j].v;", |h| {
            *h = h.map(|v| v.wrapping_mul(2))
        }),
        ("a[i][j].setValid();", |h| *h = h.or(Some(0))),
        ("a[i][j].setInvalid();", |h| *h = None),
        ("raise(a[i][j]);", |h| *h = h.map(|v| v + 1)),
        // Each index is computed once: a second time would be another element.
        ("a[i][counted(j)].v = 97;", |h| *h = h.map(|_| 97)),
    ];
    let filled = [[Some(10), Some(11), Some(12)], [Some(20), None, Some(22)]];
    for (change, model) in changes {
        let body = format!("{fill} {change} {read}");
        for i in 0..3 {
            for j in 0..4 {
                let mut rows: Rows = filled;
                if let Some(header) = rows.get_mut(i).and_then(|row| row.get_mut(j)) {
                    model(header);
                }
                let x = (i << 4 | j) as u64;
                let got = after(declarations, "", &body, x, &["y"]);
                assert_eq!(got, [sum_of(&rows)], "{change} at [{i}][{j}]");
            }
        }
    }
    for (i, row) in filled.iter().enumerate() {
        for (j, header) in row.iter().enumerate() {
            let body = format!("{fill} meta.y = a[i][j].v; meta.b = a[i][j].isValid();");
            let x = (i << 4 | j) as u64;
            let want = [u64::from(header.unwrap_or(0)), u64::from(header.is_some())];
            assert_eq!(after(declarations, "", &body, x, &["y", "b"]), want);
        }
    }
    let shifted = format!("{fill} a[i].push_front(1); {read}");
    let rows = [[None, Some(10), Some(11)], filled[1]];
    assert_eq!(
        after(declarations, "", &shifted, 0, &["y"]),
        [sum_of(&rows)]
    );
    let shifted = format!("{fill} a[i].pop_front(2); {read}");
    let rows = [filled[0], [Some(22), None, None]];
    assert_eq!(
        after(declarations, "", &shifted, 16, &["y"]),
        [sum_of(&rows)]
    );
}

/// 8.10 and 8.11: results of functions come as tuples and lists.
#[test]
fn tuples_and_structs_are_values() {
    let declarations = "
        struct pair_t<T> { T left; T right; }
        pair_t<T> turned<T>(in pair_t<T> p) { return { left = p.right, right = p.left }; }";
    let body = "
        tuple<bit<8>, bool> t = { meta.x, true };
        meta.y = t[0]; meta.b = t[1] && t == { meta.x, true };
        pair_t<bit<16>> p = turned<bit<16>>({ left = 1, right = 2 });
        meta.w = p.left ++ 8w0 == 24w0x200 ? p.left : 99;";
    let want = [9, 1, 2];
    assert_eq!(after(declarations, "", body, 9, &["y", "b", "w"]), want);
}

/// 8.1: a call that must not happen would change the packet.
#[test]
fn calls_in_operands_run_in_order_and_only_when_needed() {
    let declarations = "
        bit<8> next(inout bit<8> n) { n = n + 1; return n; }
        bit<16> join(in bit<8> a, in bit<8> b) { return a ++ b; }";
    let body = "
        meta.w = join(next(meta.y), next(meta.y));
        meta.b = meta.x > 5 && next(meta.y) > 0 || next(meta.y) > 0;
        meta.s = (int<8>)(meta.x > 5 ? next(meta.y) : 8w0);";
    // x = 9: 3 for `&&`, `||` is not needed, 4 for `?:`. x = 0: 3 for `||`.
    let leaves = ["w", "y", "s"];
    assert_eq!(after(declarations, "", body, 9, &leaves), [0x0102, 4, 4]);
    assert_eq!(after(declarations, "", body, 0, &leaves), [0x0102, 3, 0]);
}

/// 12.5 and 6.8: what an action had written before `exit` would be lost, or what follows would run.
#[test]
fn exit_in_a_table_of_a_sub_control_copies_out_on_the_way() {
    let declarations = "
        control Inner(inout bit<8> v)(bit<8> by) {
            action leave() { v = v + by; exit; }
            table t { key = { v: exact; } actions = { leave; NoAction; }
                      const entries = { 1 : leave(); } default_action = NoAction(); }
            apply { t.apply(); v = v + 100; }
        }";
    let locals = "Inner(20) inner; Inner(40) other;";
    let body = "bit<8> c = meta.x; inner.apply(meta.x); other.apply(meta.x); meta.y = c;";
    // 1 + 20 and out; 2 + 100 + 100
    assert_eq!(after(declarations, locals, body, 1, &["x", "y"]), [21, 0]);
    assert_eq!(after(declarations, locals, body, 2, &["x", "y"]), [202, 2]);
}

/// 12.7: a loop would run once too often, or not end.
#[test]
fn loops_over_elements_and_ranges() {
    let declarations = "header l_t { bit<8> v; }";
    let body = "
        l_t[3] s; s[0] = {1}; s[1] = {2}; s[2] = {4};
        for (l_t e in s) { if (e.v == meta.x) { continue; } meta.y = meta.y + e.v; }
        for (bit<8> i in 250 .. 255) { meta.w = meta.w + 1; }
        for (bit<8> i in 3 .. 2) { meta.w = 99; }
        for (bit<8> i = 0, bit<8> j = 9; i < j; i += 1, j -= 1) {
            for (bit<8> k in 0 .. 3) { if (k == 2) { break; } meta.s = meta.s + 1; }
        }";
    assert_eq!(
        after(declarations, "", body, 2, &["y", "w", "s"]),
        [5, 6, 10]
    );
}

/// 12.8: the wrong branch.
#[test]
fn switch_on_an_enum_takes_its_label() {
    let declarations = "enum bit<8> kind_t { a = 1, b = 2, c = 3 }";
    let body = "switch ((kind_t)meta.x) {
        kind_t.a: kind_t.b: { meta.y = 12; } kind_t.c: { meta.y = 3; } default: { meta.y = 9; } }";
    for (x, y) in [(1, 12), (2, 12), (3, 3), (4, 9)] {
        assert_eq!(after(declarations, "", body, x, &["y"]), [y], "x = {x}");
    }
}

/// A whole program with a sub-parser that takes constructor parameters, and a varbit.
const VARIABLE: &str = "
header base_t { bit<8> length; }
header options_t { varbit<32> data; }
struct headers_t { base_t base; options_t one; options_t two; }
struct meta_t { bit<8> same; }
parser Options(packet_in packet, in bit<8> length, out options_t options)(bit<8> most) {
    state start {
        verify(length <= most, error.HeaderTooShort);
        packet.extract(options, (bit<32>)length << 3);
        transition accept;
    }
}
parser MyParser(packet_in packet, out headers_t hdr, inout meta_t meta) {
    Options(4) large; Options(2) small;
    state start {
        packet.extract(hdr.base);
        large.apply(packet, hdr.base.length, hdr.one);
        small.apply(packet, hdr.base.length, hdr.two);
        transition accept;
    }
}
control MyControl(inout headers_t hdr, inout meta_t meta) {
    apply { if (hdr.one.data == hdr.two.data) { meta.same = 1; } else { meta.same = 2; } }
}
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.two); packet.emit(hdr.base); packet.emit(hdr.one); }
}
Switch(MyParser(), MyControl(), MyDeparser()) main;
";

/// 8.9 and 13.10: options of the wrong length, or bits of a former packet, would be sent.
#[test]
fn varbits_compare_and_emit_their_own_length() {
    let cases: [(&[u8], u64, &[u8]); 3] = [
        (&[2, 1, 2, 1, 2], 1, &[1, 2, 2, 1, 2]),
        (&[2, 1, 2, 1, 3], 2, &[1, 3, 2, 1, 2]),
        (&[0], 1, &[0]),
    ];
    let mut bench = Bench::new(VARIABLE);
    for (packet, same, sent) in cases {
        bench.restart();
        bench.load(packet);
        assert_eq!(bench.parse(), Outcome::Done);
        bench.control();
        assert_eq!(
            (bench.get("meta.same"), bench.deparse()),
            (same, sent.to_vec())
        );
    }
}

/// 13.8 and 11.2: two instances of a sub-parser must keep their own constructor arguments.
#[test]
fn a_sub_parser_uses_the_arguments_of_its_instance() {
    let mut bench = Bench::new(VARIABLE);
    bench.load(&[3, 1, 2, 3, 4, 5, 6]);
    assert_eq!(bench.parse(), Outcome::Rejected { error: 4 });
    bench.restart();
    bench.load(&[5, 1, 2, 3, 4, 5, 6]);
    assert_eq!(bench.parse(), Outcome::Rejected { error: 4 });
}

/// 8.24 and 7.1.6.5: a number without a width that became one only by its use was read as 0.
#[test]
fn numbers_without_a_width_have_their_value_everywhere() {
    let declarations = "
        header a_t { bit<8> v; bit<16> w; varbit<32> o; }
        bit<8> plus(int n, in bit<8> x) { return x + n; }
        bit<8> twice(int n, in bit<8> x) { return plus(n * 2, x) + (n + 1 == 4 ? 8w1 : 0); }
        bit<8> last(int n = 300) { return n[7:0]; }
        bit<8> same(in bit<8> x) { return x; }
        control add(inout bit<8> x, int n) { apply { x = x + n; } }
        control each(inout bit<8> x)(int n) { apply { for (bit<8> i = 0; i < n; i = i + 1) { x = x + 1; } } }
        const bit<8> SIZE = a_t.minSizeInBytes();";
    for (value, expected) in [
        ("a.minSizeInBytes()", 3),
        ("a.maxSizeInBytes()", 7),
        ("meta.x + a.minSizeInBits()", 26),
        ("a.minSizeInBytes() * meta.x", 6),
        ("same(a.minSizeInBytes())", 3),
        ("a.minSizeInBytes() == meta.x + 1 ? 8w1 : 0", 1),
        ("SIZE", 3),
        ("plus(5, meta.x)", 7),
        ("plus(5, meta.x) + plus(6, meta.x)", 15),
        ("twice(3, meta.x)", 9),
        ("last() + last(1)", 45),
    ] {
        let body = format!("a_t a; meta.y = {value};");
        assert_eq!(
            after(declarations, "", &body, 2, &["y"]),
            [expected],
            "{value}"
        );
    }
    let body = "add.apply(meta.y, 5); add.apply(meta.y, 6); switch (meta.x) { 2: { meta.y = meta.y + 1; } }";
    assert_eq!(after(declarations, "", body, 2, &["y"]), [12]);
}
