//! What the grammar means: precedence, types known while parsing, soft keywords, every kind of
//! declaration. If these fail, a correct program is refused or, worse, read as another one.

use crate::support;

use p4_syntax::ast::*;
use support::{clean, last_constant, value};

#[test]
fn precedence_is_that_of_c_but_bits_bind_tighter_than_comparisons() {
    let cases = [
        ("1 + 2 * 3", "(1 Add (2 Mul 3))"),
        ("1 - 2 - 3", "((1 Sub 2) Sub 3)"),
        ("a ++ b + c", "((a Concat b) Add c)"),
        ("a & b == c", "((a BitAnd b) Eq c)"),
        ("a | b ^ c & d", "(a BitOr (b BitXor (c BitAnd d)))"),
        ("a == b && c < d || e", "(((a Eq b) And (c Lt d)) Or e)"),
        ("a << 1 + 2", "(a Shl (1 Add 2))"),
        ("a >> b >> c", "((a Shr b) Shr c)"),
        ("a |+| b |-| c", "((a AddSat b) SubSat c)"),
        (
            "!a && ~b == -c",
            "((Not a) And ((Complement b) Eq (Neg c)))",
        ),
        ("-a[3:0]", "(Neg a[3:0])"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("a || b ? c : d", "((a Or b) ? c : d)"),
        ("a.b[1][7:2].c(d, x = e, _)", "a.b[1][7:2].c(d, x = e, _)"),
        ("a[b +: 8]", "a[b +: 8]"),
        ("a > b", "(a Gt b)"),
        ("a >= b", "(a Ge b)"),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn numbers_have_every_radix_and_width() {
    let cases = [
        ("0xFf_0", "4080"),
        ("0b1_01", "5"),
        ("0o17", "15"),
        ("0d12", "12"),
        ("0017", "17"),
        ("8w0xFF", "8w255"),
        ("4s7", "4s7"),
        ("-4s1", "(Neg 4s1)"),
        ("32w0b1111", "32w15"),
        (
            "340282366920938463463374607431768211456",
            "340282366920938463463374607431768211456",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn a_cast_needs_a_type_in_the_parentheses() {
    let with_type = |text: &str| last_constant(&format!("typedef bit<8> T; const T x = {text};"));
    assert_eq!(with_type("(T) a"), "((T) a)");
    assert_eq!(with_type("(U) + a"), "(U Add a)");
    assert_eq!(with_type("(T) + a"), "((T) (Plus a))");
    assert_eq!(with_type("(bit<8>) -a * b"), "(((bit<8>) (Neg a)) Mul b)");
    assert_eq!(with_type("(T) a.b[1]"), "((T) a.b[1])");
    assert_eq!(with_type("(bit<(1 + 2)>) a"), "((bit<(1 Add 2)>) a)");
    assert_eq!(
        with_type("(tuple<T, bool>) {1, true}"),
        "((tuple<T, bool>) {1, true})"
    );
    assert_eq!(with_type("(T.b)"), "T.b");
    assert_eq!(with_type("(bit<8>[2]) a"), "((bit<8>[2]) a)");
}

#[test]
fn less_than_begins_type_arguments_only_before_a_type() {
    let declared = "typedef bit<8> T; header H<X> { X f; }";
    let with_type = |text: &str| last_constant(&format!("{declared} const T x = {text};"));
    assert_eq!(with_type("f<T>(a)"), "f<T>(a)");
    assert_eq!(with_type("f<bit<8>, _>(a)"), "f<bit<8>, _>(a)");
    assert_eq!(with_type("f<H<H<T>>>(a)"), "f<H<H<T>>>(a)");
    assert_eq!(
        with_type("p.lookahead<bit<16>>()"),
        "p.lookahead<bit<16>>()"
    );
    assert_eq!(with_type("f < u > (a)"), "((f Lt u) Gt a)");
    assert_eq!(with_type("a < T.b"), "(a Lt T.b)");
    assert_eq!(with_type("H<T>(1)"), "new H<T>(1)");
    assert_eq!(with_type("T(1)"), "new T(1)");
    assert_eq!(with_type("(bit<8>) a < b"), "(((bit<8>) a) Lt b)");
}

#[test]
fn a_variable_hides_a_type_of_the_same_name() {
    let parsed = clean(
        "typedef bit<8> T;
         control c(in bit<8> T, in bit<8> y, out bool z) { apply { z = y < T > (false); } }",
    );
    assert!(format!("{:?}", parsed.program).contains("Gt"));
}

#[test]
fn closing_angles_may_touch_each_other_and_an_equals_sign() {
    let parsed = clean(
        "const tuple<tuple<bit<8>>> a = {{1}};
         const tuple<bit<(8 >> 1)>>b = {1};
         const tuple<bit<8>> c= {1};",
    );
    assert_eq!(parsed.program.decls.len(), 3);
    clean("control c(inout tuple<bit<8>>x) { apply { f<tuple<bit<8>>>(x); } }");
    clean("extern E<T> { E(); } control c() { E<E<bit<8>>>() e; apply {} }");
    clean("void f(in bit<8> a, out bit<8> b) { b = a; b >>= 1; b <<= 2; }");
}

#[test]
fn soft_keywords_are_names_where_the_grammar_has_room() {
    clean(
        "header key { bit<8> apply; bit<8> state; bit<8> type; bit<8> actions; }
         struct entries { key priority; bit<8> list; }
         control c(inout entries state) {
             bit<8> type = 1;
             action apply() {}
             table key {
                 key = { state.priority.apply : exact; type : exact; }
                 actions = { apply; }
                 size = 4;
             }
             apply { key.apply(); type = state.list; if (type == 1) { apply(); } }
         }",
    );
}

#[test]
fn lists_structs_and_their_rest() {
    assert_eq!(value("{}"), "{}");
    assert_eq!(value("{1, {2, 3},}"), "{1, {2, 3}}");
    assert_eq!(value("{...}"), "{...}");
    assert_eq!(value("{1, ...}"), "{1, ...}");
    assert_eq!(value("{a = 1, b = {2},}"), "{a = 1, b = {2}}");
    assert_eq!(value("{a = 1, ...}"), "{a = 1, ...}");
    assert_eq!(value("{a = ..., b = 1}"), "{a = ..., b = 1}");
    assert_eq!(value("{#}"), "{#}");
    assert_eq!(value("\"a\\\"b\" ++ \"c\""), "(\"a\\\"b\" Concat \"c\")");
    assert_eq!(value("error.NoError"), "error.NoError");
    assert_eq!(value(".a"), ".a");
}

fn body(statements: &str) -> String {
    let declared = "typedef bit<8> T; extern E { E(); T f(in T x); }";
    let parsed = clean(&format!(
        "{declared} control c(inout T x) {{ apply {{ {statements} }} }}"
    ));
    match &parsed.program.decls.last().unwrap().kind {
        DeclKind::Control { apply, .. } => support::block(apply),
        other => panic!("not a control: {other:?}"),
    }
}

#[test]
fn statements() {
    let cases = [
        ("x = 1;", "x = 1"),
        ("x[3:0] = y; h.s[1].f = 2;", "x[3:0] = y\nh.s[1].f = 2"),
        (
            "x += 1; x |+|= 2; x >>= 3; x <<= 4; x ^= 5;",
            "x Add= 1\nx AddSat= 2\nx Shr= 3\nx Shl= 4\nx BitXor= 5",
        ),
        (
            "t.apply(); f<T>(x); .g();",
            "call t.apply()\ncall f<T>(x)\ncall .g()",
        ),
        ("f<U>(x);", "call f<U>(x)"),
        (
            "T y; T y2 = 3; const T k = 1; Unknown z;",
            "T y\nT y2 = 3\nconst T k = 1\nUnknown z",
        ),
        (
            "T[2] a; E() e; error err; H<T> h = {};",
            "T[2] a\nE() e\nerror err\nH<T> h = {}",
        ),
        ("T.f(x); E.apply(x);", "call T.f(x)\ncall E.apply(x)"),
        (
            "if (x == 1) y = 1; else if (z) { } else ;",
            "if (x Eq 1) y = 1 else if z {} else ;",
        ),
        ("if (t.apply().hit) {}", "if t.apply().hit {}"),
        (
            "switch (t.apply().action_run) { a: b: { x = 1; } default: {} }",
            "switch t.apply().action_run { a:, b: {x = 1}, default: {} }",
        ),
        (
            "switch (x) { 1: {} 8w2: {} T.A: {} (a): {} }",
            "switch x { 1: {}, 8w2: {}, T.A: {}, a: {} }",
        ),
        (
            "for (T i = 0, T j = 1; i < 4; i += 1, j = j + 1) { continue; }",
            "for (T i = 0, T j = 1; (i Lt 4); i Add= 1, j = (j Add 1)) {continue}",
        ),
        ("for (T i in 1 .. 3) break;", "for (T i in (1 .. 3)) break"),
        (
            "for (@unused T i in list_of) f(i);",
            "for (T i in list_of) call f(i)",
        ),
        (
            "@unroll for (; x < 3; x = x + 1) {}",
            "@unroll {for (; (x Lt 3); x = (x Add 1)) {}}",
        ),
        ("@atomic { x = 1; }", "@atomic {x = 1}"),
        ("return; return x; exit; ;", "return\nreturn x\nexit\n;"),
        ("this.f(x);", "call this.f(x)"),
    ];
    for (text, expected) in cases {
        assert_eq!(body(text), expected, "{text}");
    }
}

#[test]
fn keysets() {
    let parsed = clean(
        "parser p(packet_in b) { state start { transition select(x, y) {
            (1, 2): a; (0x0 &&& 0xF, 1 .. 3): b; (_, default): c; 5: d; 1 &&& 2: d; 1 .. 2: d;
            (a + b) * 2: d; (8w1): d; (1 &&& 2): d; ((1, 2), 3): d; _: d; default: e;
            error.NoError: f; (bit<8>) 1: g; {1, 2}: h;
        } } }",
    );
    let DeclKind::Parser { states, .. } = &parsed.program.decls[0].kind else {
        panic!()
    };
    let Transition::Select { keys, cases, .. } = &states[0].transition else {
        panic!()
    };
    assert_eq!(support::list(keys, support::expr), "x, y");
    let keysets: Vec<String> = cases
        .iter()
        .map(|case| support::list(&case.keyset, support::expr))
        .collect();
    assert_eq!(
        keysets,
        [
            "1, 2",
            "(0 &&& 15), (1 .. 3)",
            "_, _",
            "5",
            "(1 &&& 2)",
            "(1 .. 2)",
            "((a Add b) Mul 2)",
            "8w1",
            "(1 &&& 2)",
            "(1, 2), 3",
            "_",
            "_",
            "error.NoError",
            "((bit<8>) 1)",
            "{1, 2}",
        ]
    );
}

#[test]
fn tables_have_all_their_properties() {
    let parsed = clean(
        "control c() { table t {
            key = { h.f : exact @name(\"f\"); h.g[3:0] : lpm; a & b : ternary; }
            actions = { a; @tableonly b(x); @defaultonly .c(_, 3); }
            const default_action = a();
            size = 1024;
            @hidden const entries = { (1, _, 2 &&& 3) : a(); const priority = 10: (1, 2, 3) : b(4) @x; }
            entries = { priority = (1 + 2): 5 : .c; 1 .. 2 : a; }
            implementation = action_profile(32);
            largest_priority_wins = false;
        } apply {} }",
    );
    let DeclKind::Control { locals, .. } = &parsed.program.decls[0].kind else {
        panic!()
    };
    let DeclKind::Table(properties) = &locals[0].kind else {
        panic!()
    };
    let names: Vec<&str> = properties.iter().map(|p| &*p.name.name).collect();
    assert_eq!(
        names,
        [
            "key",
            "actions",
            "default_action",
            "size",
            "entries",
            "entries",
            "implementation",
            "largest_priority_wins"
        ]
    );
    let PropertyValue::Key(keys) = &properties[0].value else {
        panic!()
    };
    assert_eq!(
        support::list(keys, |k| k.match_kind.name.to_string()),
        "exact, lpm, ternary"
    );
    let PropertyValue::Actions(actions) = &properties[1].value else {
        panic!()
    };
    assert!(actions[2].path.absolute && actions[2].args.as_ref().is_some_and(|a| a.len() == 2));
    assert!(properties[2].is_const && properties[4].is_const && !properties[5].is_const);
    let PropertyValue::Entries(entries) = &properties[4].value else {
        panic!()
    };
    assert!(entries[1].is_const && entries[1].priority.is_some());
    assert_eq!(entries[0].keyset.len(), 3);
}

#[test]
fn every_declaration() {
    let parsed = clean(
        "error { A, B }
         match_kind { m, n, }
         typedef bit<8> T;  type T N;  typedef struct S0 { T f; } S1;
         enum Plain { a, b, }  enum bit<8> Ser { a = 1, b = 2 }
         header H<X> { X f; @name(\"g\") varbit<32> g; bit h; int<4> i; T s[3]; }
         header_union U { H<T> a; H<N> b; }
         struct S { H<T>[4] stack; tuple<T, bool> t; list<T> l; }
         const T k = 3 + 4;
         extern void f<X>(in X x, T y = 3);
         extern X g<X>();
         extern E<X> { E(T size); @pure X get(in T i); abstract void on(inout X x); void m<Y>(Y y); }
         extern Later;
         action act(in T a, T b) { f(a); }
         T twice<X>(in X x) { return 2; }
         parser PT<H1>(packet_in p, out H1 h);
         parser P(packet_in p, out H<T> h)(T ctor) {
             value_set<T>(4) vs; const T c = 1; T v = 2; E<T>(1) e;
             @s state start { T l = 1; { l = 2; } if (l == 1) { l = 3; } transition next; }
             state next { transition select(v) { vs: accept; _: reject; } }
             state none { }
         }
         control CT(inout H<T> h);
         control C(inout H<T> h)(T ctor) { T v; action a() {} E<T>(1) e; apply { v = 1; } }
         package Pk<X>(PT<X> p, CT c, @optional T n = 3);
         @top E<T>(5) instance;
         E<T>(5) with_body = { void on(inout T x) { x = 1; } };
         Pk(P(1), C(2)) main;;",
    );
    let names: Vec<&str> = parsed.program.decls.iter().map(|d| &*d.name.name).collect();
    assert_eq!(
        names,
        [
            "error",
            "match_kind",
            "T",
            "N",
            "S0",
            "S1",
            "Plain",
            "Ser",
            "H",
            "U",
            "S",
            "k",
            "f",
            "g",
            "E",
            "act",
            "twice",
            "PT",
            "P",
            "CT",
            "C",
            "Pk",
            "instance",
            "with_body",
            "main"
        ]
    );
    let of = |name: &str| {
        &parsed
            .program
            .decls
            .iter()
            .find(|d| &*d.name.name == name)
            .unwrap()
            .kind
    };
    let DeclKind::ExternObject { methods, .. } = of("E") else {
        panic!()
    };
    let flags: Vec<(bool, bool)> = methods
        .iter()
        .map(|m| match &m.kind {
            DeclKind::Method {
                is_abstract,
                is_constructor,
                ..
            } => (*is_abstract, *is_constructor),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        flags,
        [(false, true), (false, false), (true, false), (false, false)]
    );
    let DeclKind::Parser {
        states,
        locals,
        ctor_params,
        ..
    } = of("P")
    else {
        panic!()
    };
    assert_eq!((states.len(), locals.len(), ctor_params.len()), (3, 4, 1));
    assert!(matches!(states[2].transition, Transition::Missing(_)));
    let DeclKind::Instance {
        body: Some(body), ..
    } = of("with_body")
    else {
        panic!()
    };
    assert!(matches!(body[0].kind, DeclKind::Function { .. }));
}

#[test]
fn annotations_of_every_form() {
    let parsed = clean(
        "@a @b() @c(1, x + 2, \"s\") @d[1, \"x\",] @e[k = 1, l = \"y\"] @f(any $ ( tokens ; { ) 'at' all)
         @deprecated(\"why\") @match(type) const int x = 1;
         @pragma pin 1 two \"three\"
         const int y = 2;",
    );
    let all = &parsed.program.decls[0].annotations;
    let name = |a: &Annotation| a.name.name.to_string();
    assert_eq!(
        support::list(all, name),
        "a, b, c, d, e, f, deprecated, match"
    );
    let AnnotationBody::Unstructured { tokens, exprs } = &all[2].body else {
        panic!()
    };
    assert_eq!(support::list(exprs, support::expr), "1, (x Add 2), \"s\"");
    assert_eq!(
        support::list(tokens, |t| t.text.to_string()),
        "1, ,, x, +, 2, ,, s"
    );
    assert!(tokens[6].is_string);
    assert!(matches!(&all[3].body, AnnotationBody::Exprs(e) if e.len() == 2));
    assert!(matches!(&all[4].body, AnnotationBody::Pairs(p) if p.len() == 2));
    let AnnotationBody::Unstructured { tokens, exprs } = &all[5].body else {
        panic!()
    };
    assert!(tokens.len() > 8 && exprs.is_empty());
    let pragma = &parsed.program.decls[1].annotations[0];
    let AnnotationBody::Unstructured { tokens, .. } = &pragma.body else {
        panic!()
    };
    assert_eq!((name(pragma).as_str(), tokens.len()), ("pin", 3));
}

#[test]
fn node_ids_are_unique_and_counted() {
    let parsed = clean("#include <v1model.p4>\nconst bit<8> x = (bit<8>) (1 + 2) * f<bit<8>>(3);");
    let text = format!("{:?}", parsed.program);
    let mut ids: Vec<u32> = text
        .split("NodeId(")
        .skip(1)
        .map(|rest| rest[..rest.find(')').unwrap()].parse().unwrap())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    assert!(ids.last().unwrap() < &parsed.program.node_count);
}

#[test]
fn spans_cover_what_was_written() {
    let text = "const bit<8> x =  a + (b * 2) ;\ncontrol c() { apply { t.apply(); } }";
    let parsed = clean(text);
    let decls = &parsed.program.decls;
    let DeclKind::Const { value, .. } = &decls[0].kind else {
        panic!()
    };
    assert_eq!(parsed.sources.snippet(value.span), "a + (b * 2)");
    assert_eq!(
        parsed.sources.snippet(decls[0].span),
        "const bit<8> x =  a + (b * 2) ;"
    );
    let DeclKind::Control { apply, .. } = &decls[1].kind else {
        panic!()
    };
    assert_eq!(parsed.sources.snippet(apply.span), "{ t.apply(); }");
    assert_eq!(parsed.sources.snippet(apply.stmts[0].span), "t.apply();");
}

#[test]
fn the_built_in_files_have_no_mistakes() {
    for version in [
        "",
        "#define V1MODEL_VERSION 20180101\n",
        "#define V1MODEL_VERSION 20200408\n",
    ] {
        let parsed = clean(&format!(
            "{version}#include <core.p4>\n#include \"v1model.p4\"\n"
        ));
        let names: Vec<&str> = parsed.program.decls.iter().map(|d| &*d.name.name).collect();
        for name in [
            "packet_in",
            "NoAction",
            "standard_metadata_t",
            "register",
            "V1Switch",
            "log_msg",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        assert_eq!(names.contains(&"PortId_t"), version.contains("20200408"));
    }
}

/// Constraints on entries are written over several lines; programs with them would be refused.
#[test]
fn a_string_may_go_on_in_the_next_lines() {
    for text in [
        "@entry_restriction(\"\n  vlan != 0;\n  { a }\n\") const bit<8> a = 1;",
        "@text(\"one\ntwo\") const bit<8> a = 1;",
    ] {
        clean(text);
    }
}
