//! The preprocessor, judged by the program that comes out of it. If these fail, a program that
//! compiles with p4c is refused, or compiles to something else, or errors point to the wrong line.

use crate::support;

use p4_syntax::{parse, parse_text, MemoryFiles, Options, Parsed};
use proptest::prelude::*;
use support::{clean, last_constant, value};

fn with_files(files: &[(&str, &str)], options: &Options) -> Parsed {
    let files = files
        .iter()
        .map(|(name, text)| (name.to_string(), text.to_string()))
        .collect();
    parse(files_main(), &MemoryFiles(files), options)
}

fn files_main() -> &'static str {
    "dir/main.p4"
}

fn names(parsed: &Parsed) -> Vec<String> {
    parsed
        .program
        .decls
        .iter()
        .map(|d| d.name.name.to_string())
        .collect()
}

fn codes(parsed: &Parsed) -> Vec<&'static str> {
    parsed.diagnostics.iter().map(|d| d.code).collect()
}

/// What `use_` becomes after the definitions, as a tree.
fn expands(definitions: &str, use_: &str) -> String {
    last_constant(&format!("{definitions}\nconst int x = {use_};"))
}

#[test]
fn macros_with_and_without_arguments() {
    assert_eq!(expands("#define A 1 + 2", "A * 3"), "(1 Add (2 Mul 3))");
    assert_eq!(
        expands("#define F(a, b) (a) - (b)", "F(1, f(2, 3))"),
        "(1 Sub f(2, 3))"
    );
    assert_eq!(expands("#define F(a) a", "F (4)"), "4");
    assert_eq!(expands("#define F() 7", "F()"), "7");
    let others = "#define V(a, ...) f(a, __VA_ARGS__)";
    assert_eq!(expands(others, "V(1, 2, g(3, 4))"), "f(1, 2, g(3, 4))");
    assert_eq!(
        expands("#define V(...) f(__VA_ARGS__)", "V(1, 2)"),
        "f(1, 2)"
    );
    assert_eq!(expands("#define V(...) f(__VA_ARGS__)", "V()"), "f()");
    assert_eq!(expands("#define V(a, ...) f(a)", "V(1)"), "f(1)");
    assert_eq!(
        expands("#define V(...) #__VA_ARGS__", "V(a, b)"),
        "\"a, b\""
    );
    assert_eq!(expands("#define F(a) f(a)", "F()"), "f()");
    assert_eq!(expands("#define F (1)", "F"), "1");
    assert_eq!(
        expands("#define F(a) a", "F"),
        "F",
        "without arguments it is a name"
    );
    assert_eq!(expands("#define A B\n#define B 5", "A"), "5");
    assert_eq!(
        expands("#define F(a) \\\n  a + \\\n  1", "F(\n2\n)"),
        "(2 Add 1)"
    );
    assert_eq!(expands("#define A 1\n#undef A", "A"), "A");
    assert_eq!(
        expands("#define A 1 // one\n#define B 2 /* two */ + 3", "A + B"),
        "((1 Add 2) Add 3)"
    );
    assert_eq!(expands("#define int8 bit<8>", "(int8) 1"), "((bit<8>) 1)");
}

/// Macros for any number of arguments; each expansion is that of GNU cpp.
#[test]
fn arguments_that_may_be_left_out() {
    for definition in [
        "#define F(x, ...) g(x, ## __VA_ARGS__)",
        "#define F(x, args...) g(x, ##args)",
    ] {
        assert_eq!(expands(definition, "F(1)"), "g(1)", "{definition}");
        assert_eq!(expands(definition, "F(1, 2, h(3))"), "g(1, 2, h(3))");
        let inner = format!("{definition}\n#define g(a, b) {{ a, b 9 }}");
        assert_eq!(
            expands(&inner, "F(1,)"),
            "{1, 9}",
            "empty is not left out: g gets two arguments"
        );
    }
    assert_eq!(
        expands("#define F(...) g(0, ## __VA_ARGS__)", "F()"),
        "g(0)"
    );
    assert_eq!(
        expands("#define F(x, ...) g(x, ## __VA_ARGS__, 3)", "F(1)"),
        "g(1, 3)"
    );
    assert_eq!(
        expands("#define V(a, others...) f(others, a)", "V(1, 2, 3)"),
        "f(2, 3, 1)"
    );
    assert_eq!(expands("#define V(all...) #all", "V(a, b)"), "\"a, b\"");

    let optional = "#define NONE\n#define V(x, ...) g(x __VA_OPT__(, x + ) __VA_ARGS__)";
    assert_eq!(expands(optional, "V(1)"), "g(1)");
    assert_eq!(expands(optional, "V(1, NONE)"), "g(1)");
    assert_eq!(expands(optional, "V(1, 2)"), "g(1, (1 Add 2))");
    let pasted = "#define V(x, ...) f(a ## __VA_OPT__(b + x) - c, __VA_OPT__(d) ## e)";
    assert_eq!(expands(pasted, "V(1)"), "f((a Sub c), e)");
    assert_eq!(expands(pasted, "V(1, 2)"), "f(((ab Add 1) Sub c), de)");
    assert_eq!(
        expands("#define P(a) x + a ## _end", "P()"),
        "(x Add _end)",
        "nothing is pasted to what stands before an empty argument"
    );
    assert_eq!(
        expands("#define P(a) f(x a ## , y)", "P()"),
        "f(x, y)",
        "nor does it break what follows"
    );
}

#[test]
fn the_counter_counts_its_uses() {
    assert_eq!(
        expands(
            "#define TWICE(x) x + x",
            "f(__COUNTER__, TWICE(__COUNTER__), __COUNTER__)"
        ),
        "f(0, (1 Add 1), 2)"
    );
    assert_eq!(
        expands(
            "#define JOIN(a, b) a ## b\n#define NAME(a, b) JOIN(a, b)",
            "NAME(t, __COUNTER__) + NAME(t, __COUNTER__)"
        ),
        "(t0 Add t1)"
    );
}

/// The examples of the C standard (C11, 6.10.3.5) that say how macros meet each other.
#[test]
fn a_macro_is_not_expanded_in_itself() {
    assert_eq!(expands("#define A A + 1", "A"), "(A Add 1)");
    assert_eq!(expands("#define A B\n#define B A", "A"), "A");
    let standard = "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n\
        #define g f\n#define z z[0]\n#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n";
    let made = |use_: &str| last_constant(&format!("{standard}const int result = {use_};"));
    assert_eq!(
        made("f(y+1) + f(f(z)) % t(t(g)(0) + t)(1)"),
        "((f((2 Mul (y Add 1))) Add (f((2 Mul f((2 Mul z[0])))) Mod f((2 Mul 0)))) Add t(1))"
    );
    assert_eq!(made("t(1) + h 5)"), "(1 Add f((2 Mul (Complement 5))))");
    assert_eq!(made("g(x)"), "f((2 Mul 2))");
}

#[test]
fn strings_and_pasted_names() {
    assert_eq!(expands("#define S(x) #x", "S(a + b)"), "\"a + b\"");
    assert_eq!(
        expands("#define S(x) #x", "S( a   /* c */ +b )"),
        "\"a +b\""
    );
    assert_eq!(expands("#define S(x) #x", "S(\"q\")"), "\"\\\"q\\\"\"");
    assert_eq!(
        expands("#define S(x) #x\n#define A 1", "S(A)"),
        "\"A\"",
        "arguments of # stay"
    );
    assert_eq!(
        expands("#define S(x) T(x)\n#define T(x) #x\n#define A 1", "S(A)"),
        "\"1\""
    );
    assert_eq!(expands("#define P(a, b) a ## b", "P(he, llo)"), "hello");
    assert_eq!(expands("#define P(a, b) a##b", "P(8w, 255)"), "8w255");
    assert_eq!(expands("#define P(a) a ## _end", "P()"), "_end");
    assert_eq!(
        expands("#define P(a, b) a ## b", "P(q, + 2)"),
        "(q Add 2)",
        "what makes no token stays two"
    );
    assert_eq!(
        expands("#define P(a) a \\ \t\n + 1", "P(q)"),
        "(q Add 1)",
        "blanks behind a line's \\ do not matter"
    );
    assert_eq!(
        expands(
            "#define P(a, b) a ## b\n#define AB 3\n#define A 9",
            "P(A, B)"
        ),
        "3"
    );
    assert_eq!(
        expands("#define P(a) f(a ## 1 + a)\n#define q 2", "P(q)"),
        "f((q1 Add 2))"
    );
}

#[test]
fn file_and_line() {
    let parsed = clean(
        "\n\n#define HERE __LINE__\nconst int a = HERE +\n  __LINE__;\nconst string f = __FILE__;",
    );
    let text = format!("{:?}", parsed.program);
    assert!(text.contains("Int { value: 4,") && text.contains("Int { value: 5,"));
    assert!(text.contains("String(\"test.p4\")"));
    let moved = last_constant(
        "#line 100 \"other.p4\"\n\nconst string a = __FILE__;\nconst int x = __LINE__;",
    );
    assert_eq!(moved, "102");
}

#[test]
fn conditionals_choose_one_branch() {
    let chosen = |condition: &str| {
        let text = format!("#define ONE 1\n#define EMPTY\n{condition}\nconst int yes = 1;\n#else\nconst int no = 1;\n#endif\n");
        names(&clean(&text)).remove(0) == "yes"
    };
    for condition in [
        "#ifdef ONE",
        "#ifdef EMPTY",
        "#ifndef NONE",
        "#if ONE",
        "#if defined(ONE) && !defined NONE",
        "#if ONE + 1 == 2 && (3 > 2 || NONE)",
        "#if 0x10 == 16 && 010 == 8 && 0b11 == 3",
        "#if -1 < 0",
        "#if 20180101L >= 20180000ul",
        "#if 1 ? 2 : 0",
        "#if 1 << 4 == 16",
        "#if 256 >> 4 == 16",
        "#if 0 && 1 / 0 || 1",
        "#if 7 % 4 == 3 && (5 & 4) && (1 | 2) == 3 && (1 ^ 3) == 2 && ~0 == -1",
        "#if 0\n#elif ONE",
        "#if 0\nconst x\n#elif 0\n}\n#elif 1",
        "#ifdef __LINE__",
        "#if defined __COUNTER__ && __COUNTER__ + 1 == __COUNTER__",
        "#if 'a' == 97 && ' ' == 32 && '\"' == 34 && '/' < 'a'",
        "#if '\\n' == 10 && '\\0' == 0 && '\\'' == 39 && '\\\\' == 92 && '\\x41' == 'A' && '\\101' == 65",
        "#if '\\377' < 0",
        "#define LETTER 'x'\n#if LETTER == 120",
        "#if -1 > 0u && -1 < 0 && -1 > 0UL",
        "#if 0xffffffffffffffff > 0 && 0x7fffffffffffffff + 1 < 0 && 18446744073709551615 == -1",
        "#if -1 / 2u == 9223372036854775807 && -1 % 10u == 5 && -7 / 2 == -3 && -7 % 2 == -1",
        "#if 1 - 2u > 0 && ~0u > 0 && -1u > 0 && (0 ? 1u : -1) > 0",
        "#if !0u - 2 < 0 && (1u == 1) - 2 < 0 && (1u && 1) - 2 < 0",
        "#if -1 >> 1u == -1 && -1u >> 63 == 1 && -1 >> 70 == -1 && 1 << 64 == 0 && 4 << -1 == 2",
    ] {
        assert!(chosen(condition), "{condition}");
    }
    for condition in [
        "#ifdef NONE",
        "#ifndef ONE",
        "#if 0",
        "#if NONE",
        "#if 0\n#elif 0",
        "#if !ONE",
        "#if 1 / 1 - 1u",
        "#if 1u > -1",
    ] {
        assert!(!chosen(condition), "{condition}");
    }
}

#[test]
fn inactive_text_may_be_anything() {
    // A string may go on in the next line, but not out of text that does not count.
    let quotes = "#if 0\nsay \"hello\n#endif\nconst string s = \"x\";\nconst int x = 1;";
    assert_eq!(last_constant(quotes), "1");
    let text = "#if 0\n it's \"not closed\n #if 1\n #else\n # 12bad\n #error no\n #include <none>\n 0x \u{e4} ` \n #endif\n #else\nconst int x = 1;\n#endif";
    assert_eq!(last_constant(text), "1");
}

/// An apostrophe is no character constant, and what follows it is read.
#[test]
fn apostrophes_in_directives_stay_apostrophes() {
    let text =
        "#define NOTE it's /* a\nlong */ x's\n#pragma don'\n'\n#pragma can'\\\n'\nconst int x = 1;";
    let parsed = parse_text("a.p4", text);
    assert_eq!(codes(&parsed), ["E0001"], "the one on a line of its own");
    assert_eq!(names(&parsed), ["x"]);
}

#[test]
fn directives_inside_macro_arguments_are_carried_out() {
    assert_eq!(
        expands(
            "#define F(a) a",
            "F(1 +\n#ifdef NONE\n2\n#else\n3\n#endif\n)"
        ),
        "(1 Add 3)"
    );
}

#[test]
fn includes_are_searched_beside_the_file_and_then_in_order() {
    let files = [
        ("dir/main.p4", "#include \"a.p4\"\n#include <b.p4>\n#include \"./sub/c.p4\"\n#define NAME <e.p4>\n#include NAME\n"),
        ("dir/a.p4", "const int beside = 1;"),
        ("inc1/a.p4", "const int wrong = 1;"),
        ("dir/b.p4", "const int wrong = 1;"),
        ("inc1/b.p4", "const int first = 1;"),
        ("inc2/b.p4", "const int wrong = 1;"),
        ("dir/sub/c.p4", "#include \"d.p4\"\nconst int c = 1;"),
        ("dir/sub/d.p4", "const int d = 1;"),
        ("inc2/e.p4", "const int e = 1;"),
    ];
    let include_dirs = vec!["inc1".to_string(), "inc2/".to_string()];
    let parsed = with_files(
        &files,
        &Options {
            include_dirs,
            ..Options::default()
        },
    );
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert_eq!(names(&parsed), ["beside", "first", "d", "c", "e"]);
}

/// What an `#include` would find, and no more: a program that asks first gets the right branch.
#[test]
fn has_include_looks_where_include_does() {
    let main = "#define BESIDE \"a.p4\"\n\
        #define check(name) const int name = 1;\n\
        #ifdef __has_include\ncheck(known)\n#endif\n\
        #if defined(__has_include) && __has_include(\"a.p4\")\ncheck(beside)\n#endif\n\
        #if __has_include(BESIDE) && !__has_include(\"b.p4\")\ncheck(by_macro)\n#endif\n\
        #if __has_include(<a.p4>)\ncheck(wrong)\n#endif\n\
        #if __has_include(<sub/a-1.p4>)\ncheck(in_a_folder)\n#endif\n\
        #if __has_include(<core.p4>) && __has_include(\"tna.p4\")\ncheck(built_in)\n#endif\n\
        #if __has_include(\"none.p4\")\n#include \"none.p4\"\n#else\ncheck(absent)\n#endif\n";
    let files = [
        ("dir/main.p4", main),
        ("dir/a.p4", "this is not read"),
        ("inc/sub/a-1.p4", ""),
    ];
    let options = Options {
        include_dirs: vec!["inc".to_string()],
        ..Options::default()
    };
    let parsed = with_files(&files, &options);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert_eq!(
        names(&parsed),
        [
            "known",
            "beside",
            "by_macro",
            "in_a_folder",
            "built_in",
            "absent"
        ]
    );
    assert_eq!(parsed.sources.files().count(), 1);
}

/// A student's `core.p4` must not change what the language is.
#[test]
fn built_in_files_cannot_be_replaced() {
    let files = [
        (
            "dir/main.p4",
            "#include <core.p4>\n#include \"core.p4\"\n#include \"v1model.p4\"",
        ),
        ("dir/core.p4", "const int mine = 1;"),
        ("dir/v1model.p4", "const int mine = 1;"),
        ("inc/core.p4", "const int mine = 1;"),
    ];
    let options = Options {
        include_dirs: vec!["inc".to_string()],
        ..Options::default()
    };
    let parsed = with_files(&files, &options);
    let found = names(&parsed);
    assert!(!found.contains(&"mine".to_string()));
    assert_eq!(found.iter().filter(|name| *name == "packet_in").count(), 1);
}

#[test]
fn repeated_includes_are_read_again_unless_the_file_says_once() {
    let main = "#include \"a.p4\"\n#include \"a.p4\"\n#include \"b.p4\"\n#include \"b.p4\"\n";
    let files = [
        ("dir/main.p4", main),
        ("dir/a.p4", "const int a = 1;"),
        ("dir/b.p4", "#pragma once\nconst int b = 1;"),
    ];
    assert_eq!(
        names(&with_files(&files, &Options::default())),
        ["a", "a", "b"]
    );
}

#[test]
fn macros_of_the_command_line() {
    let defines = vec![
        ("WIDTH".to_string(), "8".to_string()),
        ("EMPTY".to_string(), String::new()),
        ("F(x)".to_string(), "x + 1".to_string()),
    ];
    let main = "#ifdef EMPTY\nconst bit<WIDTH> x = F(2);\n#endif";
    let parsed = with_files(
        &[("dir/main.p4", main)],
        &Options {
            defines,
            ..Options::default()
        },
    );
    assert!(parsed.diagnostics.is_empty());
    assert_eq!(names(&parsed), ["x"]);
}

#[test]
fn places_survive_includes_macros_and_line_directives() {
    let files = [
        ("dir/main.p4", "#include \"a.p4\"\n#define BAD 1 +\n\nconst int x = BAD;\n#line 50 \"gen.p4\"\nconst int y = ;\n"),
        ("dir/a.p4", "\nconst int a = ;\n"),
    ];
    let parsed = with_files(&files, &Options::default());
    let places: Vec<String> = parsed
        .diagnostics
        .iter()
        .map(|d| parsed.sources.locate(d.span.lo).unwrap())
        .map(|place| {
            format!(
                "{}:{}:{} ({})",
                place.file, place.line, place.column, place.source_line
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            "dir/a.p4:2:15 (2)",
            "dir/main.p4:4:18 (4)",
            "gen.p4:50:15 (6)"
        ]
    );
    let text = p4_syntax::render(&parsed.diagnostics, &parsed.sources, false);
    assert!(text.contains("included from dir/main.p4:1"), "{text}");
    assert!(text.contains("gen.p4:50"), "{text}");
}

#[test]
fn a_token_of_a_macro_is_where_the_macro_is_used() {
    let parsed = clean("#define SUM(a) (a + 1)\nconst int x = SUM(yy);");
    let p4_syntax::ast::DeclKind::Const { value, .. } = &parsed.program.decls[0].kind else {
        panic!()
    };
    assert_eq!(parsed.sources.snippet(value.span), "SUM(yy)");
    let p4_syntax::ast::ExprKind::Binary(_, a, _) = &value.kind else {
        panic!()
    };
    assert_eq!(
        parsed.sources.snippet(a.span),
        "yy",
        "an argument keeps its own place"
    );
}

#[test]
fn comments_blanks_and_line_ends() {
    assert_eq!(
        value("1 /* a\n b */ + // c \\\n still comment\n 2"),
        "(1 Add 2)"
    );
    assert_eq!(last_constant("\u{feff}const int x = 1;\r\n"), "1");
    assert_eq!(
        last_constant("#define A 1 \\\r\n + 2\r\nconst int x = A;"),
        "(1 Add 2)"
    );
    assert_eq!(last_constant("/* x */ #define A 1\nconst int x = A;"), "1");
    assert_eq!(
        last_constant("#define A /* long\n comment */ 1\nconst int x = A;"),
        "1"
    );
}

#[test]
fn reading_fails_with_a_reason() {
    struct Locked;
    impl p4_syntax::FileProvider for Locked {
        fn read(&self, path: &str) -> Option<Result<String, String>> {
            match path {
                "main.p4" => Some(Ok("#include \"secret.p4\"".to_string())),
                "secret.p4" => Some(Err("permission denied".to_string())),
                _ => None,
            }
        }
    }
    let parsed = parse("main.p4", &Locked, &Options::default());
    assert_eq!(codes(&parsed), ["E0013"]);
    assert!(parsed.diagnostics[0].message.contains("permission denied"));
    let parsed = parse("none.p4", &Locked, &Options::default());
    assert_eq!(codes(&parsed), ["E0006"]);
    assert!(parsed.program.decls.is_empty());
}

#[test]
fn error_and_warning_directives_speak() {
    let parsed = parse_text(
        "a.p4",
        "#warning use another file\n#error  needs V1MODEL, doesn't work \n",
    );
    assert_eq!(codes(&parsed), ["W0025", "E0024"]);
    assert_eq!(parsed.diagnostics[0].message, "use another file");
    assert_eq!(parsed.diagnostics[1].message, "needs V1MODEL, doesn't work");
    assert!(parsed.has_errors());
}

/// An integer expression as text with its value, computed while it is made.
fn condition() -> impl Strategy<Value = (String, i64)> {
    let leaf = (0i64..20).prop_map(|n| (n.to_string(), n));
    leaf.prop_recursive(6, 60, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|(t, v)| (format!("-({t})"), v.wrapping_neg())),
            inner
                .clone()
                .prop_map(|(t, v)| (format!("!({t})"), i64::from(v == 0))),
            (inner.clone(), inner.clone(), 0usize..10).prop_map(|((a, x), (b, y), op)| {
                let (name, value) = match op {
                    0 => ("+", x.wrapping_add(y)),
                    1 => ("-", x.wrapping_sub(y)),
                    2 => ("*", x.wrapping_mul(y)),
                    3 => ("<", i64::from(x < y)),
                    4 => (">=", i64::from(x >= y)),
                    5 => ("==", i64::from(x == y)),
                    6 => ("&", x & y),
                    7 => ("^", x ^ y),
                    8 => ("&&", i64::from(x != 0 && y != 0)),
                    _ => ("||", i64::from(x != 0 || y != 0)),
                };
                (format!("({a}) {name} ({b})"), value)
            }),
            (inner.clone(), inner.clone(), inner).prop_map(|((c, z), (a, x), (b, y))| {
                (format!("({c}) ? ({a}) : ({b})"), if z != 0 { x } else { y })
            }),
        ]
    })
}

proptest! {
    #[test]
    fn conditions_are_computed((text, expected) in condition()) {
        let program = format!("#if ({text}) == ({expected})\nconst int yes = 1;\n#else\nconst int no = 1;\n#endif");
        prop_assert_eq!(names(&clean(&program)), ["yes"]);
    }
}
