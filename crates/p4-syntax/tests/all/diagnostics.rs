//! What a student reads. Each small program with its mistakes, and every word that is said about
//! them, kept as text. A change of wording shows here; so does an error that got lost, moved or
//! brought others along.

use p4_syntax::{parse, parse_text, render, MemoryFiles, Options};

/// Each program with what is said about it.
fn report(programs: &[&str]) -> String {
    let mut text = String::new();
    for program in programs {
        let parsed = parse_text("prog.p4", program);
        assert!(
            !parsed.diagnostics.is_empty(),
            "no mistake found in:\n{program}"
        );
        let shown = render(&parsed.diagnostics, &parsed.sources, false);
        text.push_str(&format!("{program}\n\n{shown}\n{}\n\n", "=".repeat(60)));
    }
    text
}

macro_rules! snapshot {
    ($name:ident: $($program:expr),* $(,)?) => {
        #[test]
        fn $name() {
            let text = report(&[$($program),*]);
            insta::assert_snapshot!(text);
        }
    };
}

snapshot!(characters_and_literals:
    "const int a = 1 $ 2;",
    "const string s = “text”;",
    "const int a = 12abc;\nconst int b = 8w;\nconst int c = 0b12;\nconst bit<8> d = 8wx1;",
    "const string s = \"never closed;\nconst int fine = 1;",
    "control c() { apply { log_msg(\"never closed); } }\nV1Switch(c()) main;",
    "const int fine = 1; /* never closed\nconst int b = ;",
    "const int a = 1; # define LATE 2\n",
);

snapshot!(includes_and_conditionals:
    "#include <v1modle.p4>\n#include <tnaa.p4>\n#include <mine.p4>\n",
    "#include <nothere.p4>\n#include \"beside.p4\"\n#include\n#include core.p4\n",
    "#if 1 +\n#endif\n#if (1\n#endif\n#if 1 / 0\n#endif\n#if \"text\"\n#endif\n",
    "#endif\n#else\n#elif 1\n#if 1\n#else\n#else\n#elif 1\n#endif\n#ifdef\n#endif\n",
    "#if defined\n#elif __has_include\n#elif __has_include(<x.p4)\n#elif 'ab' == 1\n#elif '\\q'\n#elif 1u / 0\n#endif\n",
    "#if 1\nconst int a = 1;\n",
    "#error This lab needs BIER_LEN\n#warning old file\n#unknown x\n#line x\n",
);

snapshot!(macros:
    "#define 1x 2\n#define F(a b) a\n#define G(a, a) a\n#define H(a\n#undef 3\n#define P ## a\n#define S(a) #b\n",
    "#define N 5;\ncontrol c() {\n    table t {\n        size = N;\n    }\n    apply { if (x == N) { } }\n}",
    "#define A 1\n#define A 2\n#define B 1\n#define B 1\n",
    "#define F(a, b) a + b\nconst int x = F(1);\nconst int y = F(1, 2, 3);\nconst int z = F(1, 2",
    "#define J(a, b) a ## b\nconst int x = J(1, +);\n",
    "#define F(a..., b) a\n#define G(a, b c...) a\n#define V(...) __VA_OPT__ x\n#define W(...) __VA_OPT__(__VA_OPT__(x))\n#define X(...) __VA_OPT__(## x)\n#define C 'c'\nconst int x = C;\n",
);

snapshot!(words_of_other_languages:
    "control c() { apply {\n    if (a and b) { }\n    if (a or b) { }\n    if (not a) { }\n} }",
    "control c() {\n    apply() {\n        x = 1;\n    }\n}",
    "control c() {\n    apply {\n        switch (t.apply().action_run) {\n            case a: { }\n            case b: { x = ; }\n        }\n    }\n}",
    "parser p() {\n    state start {\n        transition select(x) {\n            case 1: next;\n            default: accept;\n        }\n    }\n}",
);

snapshot!(missing_semicolons:
    "const bit<8> a = 1\nconst bit<8> b = 2;",
    "header h_t {\n    bit<8> a\n    bit<8> b;\n    bit<8> c }",
    "control c(inout bit<8> x) {\n    apply {\n        x = 1\n        x = 2 x = 3;\n        foo()\n    }\n}",
    "control c() {\n    table t {\n        key = { x : exact, y : lpm }\n        actions = { a, b; c }\n        size = 3\n    }\n    apply { }\n}",
    "parser p() {\n    state start {\n        transition select(x) {\n            1: a\n            2: b,\n            default: accept\n        }\n    }\n    state a { transition accept }\n}",
);

snapshot!(braces_and_parentheses:
    "control c() {\n    apply {\n        x = (1 + 2;\n        y = f(1, 2;\n        z = a[1;\n        v = {1, 2;\n    }\n}",
    "control c() {\n    action a() {\n        x = 1;\n    table t { key = { } actions = { a; } }\n    apply { t.apply(); }\n}\n\ncontrol d() { apply { } }",
    "control c() {\n    apply {\n        if (x == 1) {\n            y = 1;\n    }\n}\ncontrol d() { apply { } }",
    "control c() {\n    apply {\n        if (x == 1)\n            y = 1;\n        }\n    }\n}\ncontrol d() { apply { } }",
    "struct s {\n    bit<8> a;\n\ncontrol d() { apply { } }",
    "struct s\n    bit<8> a;\n}\ncontrol d() { apply { } }",
    "const int a = 1;\n}\nconst int b = 2;",
);

snapshot!(declarations:
    "heder h_t {\n    bit<8> a;\n}\ncontrl c() { }\nparser p() { sate start { transition accept; } }",
    "bit<8> counter;\ntable t { }\nstate s { }\napply { }\nif (x) { }\n+",
    "header state_t { bit<8> in; void v; varbit w; bit<8> ok = 1; bit<> e; }",
    "enum e { a b }\nenum bit<8> f { a = }\nerror { }\nmatch_kind { 1 }",
    "void f() ;\nextern void g() { }\nbit<8> h(in bit<8>) { return 1; }\naction a(bit<8> x, out) { }",
    "typedef bit<8>;\ntype bit<8> T\nconst int = 3;\nconst int x 3;\ntypedef list<bit<8>, bool> L;",
    "extern E { E(); }\nE();\nE() = { };\nextern E { void f }",
    "package p(int x)\ncontrol c(in int x)\nparser q(in int x) { }\ncontrol d() { }\ncontrol e() { apply { } apply { } }",
    "@ control c() { apply { } }\n@name(\"x\" control d() { apply { } }\n@a[k = 1, 2] const int x = 1;",
);

snapshot!(expressions:
    "const int a = ;\nconst int b = 1 + ;\nconst int c = (1, 2);\nconst int d = f(1, );\nconst int e = x.;",
    "const int a = bit<8>(1);\nconst int b = _;\nconst int c = 1 ? 2;\nconst int d = error;\nconst int e = a ++ ;",
    "typedef bit<8> T;\nconst int a = T;\nconst int b = 1 + T;\nconst int c = x[1:];",
    "const S s = { a = 1, 2 };\nconst S t = { 1, b = 2 };\nconst S u = { 1 2 };",
);

snapshot!(statements:
    "control c() { apply {\n    x;\n    x == 1;\n    x++;\n    x + 1;\n    f() = 2;\n    t.apply;\n    1 = x;\n} }",
    "control c() { apply {\n    if x == 1 { y = 1; }\n    if (x = 1) { y = 1; }\n    if (x == 1) && (y == 2) { y = 1; }\n    if (x == 1 { y = 1; }\n} }",
    "control c() { apply {\n    if (a) { } elif (b) { } else { }\n    else { }\n    retrun x;\n    swich (x) { }\n} }",
    "control c() { apply {\n    for (i = 0; i < 3) { }\n    for (bit<8> i; ; ) { }\n    for (bit<8> i = 0 in 1 .. 2) { }\n    for (x) { y = ; }\n    while (x) { }\n} }",
    "control c() { apply {\n    switch (x) { 1 { } default { } 2: y = 1; }\n    switch x { 1: { } }\n} }",
    "control c() {\n    x = 1;\n    t.apply();\n    if (x) { }\n    apply { table t { } action a() { } transition accept; }\n}",
    "control c() { apply {\n    if (x == 1) bit<8> y = 1;\n    else const int z = 2;\n    for (bit<8> i in 1 .. 2) bit<8> y = i;\n} }",
    "control c() { apply {\n    bit<8> x y;\n    bit<8> = 3;\n    int f(in int x) { }\n    @atomic x = 1;\n} }",
    "control c() { apply {\n    bti<8> x;\n    Bit<8> y = 1;\n    number<8> z;\n    h->x = 1;\n} }",
    "struct s { bti<8> x; }\nvoid f(inn bit<8> x) { }\nvoid g(outin bit<8> x) { }\nvoid h(my_type bit<8> x) { }",
);

snapshot!(parsers:
    "parser p() {\n    state start { x = 1; transition accept; y = 2; }\n    state two { transition a; transition b; }\n    transition accept;\n}",
    "parser p() {\n    state s {\n        return;\n        switch (x) { }\n        for (;true;) { }\n        exit;\n        if (x) { transition accept; }\n    }\n}",
    "parser p() {\n    state s {\n        transition select(x) {\n            1 accept;\n            2: ;\n            (1, 2: accept;\n            default: accept;\n        };\n    }\n    action a() { }\n    value_set<bit<8>, bool>(4) v;\n    apply { }\n}",
    "parser p() {\n    state start { transition select x { 1: a; } }\n    state a { transition; }\n    state { }\n}",
);

snapshot!(tables:
    "control c() {\n    table t {\n        key { x : exact; }\n        key = { x; y : ; z exact; }\n        actions { a; }\n        actions = { 1; a(; b() c; }\n        foo;\n        = 3;\n        size 3;\n    }\n    apply { }\n}",
    "control c() {\n    table t {\n        entries = { 1 : a; 2 a; (1, 2) : ; priority 3: 4 : a; priority = 3 4 : a; }\n        key = { x : exact; };\n    }\n    apply { }\n}",
);

snapshot!(five_mistakes_are_five_diagnostics:
    "#include <v1model.p4>
header h_t {
    bit<8> a
    bit<8> b;
}
struct headers { h_t h; }
struct meta { }
parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        p.extract(h.h;
        transition select(h.h.a) {
            1 -> accept;
            default: accept;
        }
    }
}
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    table t {
        key = { h.h.a }
        actions = { drop; }
    }
    apply {
        if (h.h.a = 3) {
            t.apply();
        }
    }
}
",
);

/// An error in an included file says where the file came from; `#line` is heeded but does not hide
/// the line really read.
#[test]
fn places_in_other_files() {
    let files = [
        (
            "lab/prog.p4",
            "#include \"include/headers.p4\"\n#line 7 \"generated.p4\"\nconst int x = ;\n",
        ),
        (
            "lab/include/headers.p4",
            "#include \"types.p4\"\nconst int h = ;\n",
        ),
        (
            "lab/include/types.p4",
            "// types\nconst int t = 1\n;const int u = ;\n",
        ),
    ];
    let files = files
        .iter()
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect();
    let options = Options {
        include_dirs: vec!["inc".to_string()],
        ..Options::default()
    };
    let parsed = parse("lab/prog.p4", &MemoryFiles(files), &options);
    let text = render(&parsed.diagnostics, &parsed.sources, false);
    insta::assert_snapshot!(text);
}

#[test]
fn colour_is_optional_and_changes_nothing_else() {
    let parsed = parse_text("prog.p4", "const int x = ;");
    let plain = render(&parsed.diagnostics, &parsed.sources, false);
    let coloured = render(&parsed.diagnostics, &parsed.sources, true);
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    let mut stripped = String::new();
    for part in coloured.split('\u{1b}') {
        // `[` and digits up to `m` choose a colour.
        let code = part.starts_with('[').then(|| part.find('m')).flatten();
        stripped.push_str(&part[code.map_or(0, |m| m + 1)..]);
    }
    assert_eq!(stripped, plain);
}
