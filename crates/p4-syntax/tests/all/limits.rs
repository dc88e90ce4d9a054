//! Hostile input: whatever a file holds, parsing ends soon, with one clear error and on a small
//! stack. If these fail, one student's file takes the grader down.

use p4_syntax::{parse, parse_text, MemoryFiles, Options, Parsed, Severity};

fn codes(parsed: &Parsed) -> Vec<&'static str> {
    parsed.diagnostics.iter().map(|d| d.code).collect()
}

/// Parses on a stack of two megabytes, which is what Rust gives a thread.
fn on_small_stack(text: String) -> Vec<&'static str> {
    let run = move || {
        let parsed = parse_text("deep.p4", &text);
        let found = codes(&parsed);
        drop(parsed); // dropping the tree recurses as well
        found
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap()
}

fn repeat(open: &str, middle: &str, close: &str, times: usize) -> String {
    open.repeat(times) + middle + &close.repeat(times)
}

#[test]
fn deep_nesting_is_one_error() {
    const DEEP: usize = 100_000;
    let in_const = |value: String| format!("const int x = {value};");
    let in_action = |body: String| format!("action a() {{ {body} }}");
    let cases = [
        in_const(repeat("(", "1", ")", DEEP)),
        in_const(repeat("- ", "1", "", DEEP)),
        in_const(repeat("{", "1", "}", DEEP)),
        in_const(repeat("(bit<8>)", "1", "", DEEP)),
        in_const(repeat("f(", "1", ")", DEEP)),
        in_const(repeat("a[", "1", "]", DEEP)),
        in_const(repeat("1 ? 2 : ", "3", "", DEEP)),
        in_const(repeat("1 ? ", "2", " : 3", DEEP)),
        in_const(repeat("1 + ", "1", "", DEEP)),
        in_const(repeat("a.", "b", "", DEEP)),
        in_const(repeat("(bit<(", "8", ")>) 1", DEEP)),
        in_const(repeat("1 + (bit<(", "8", ")>) 1", 200)),
        in_action(repeat("{", "", "}", DEEP)),
        in_action(repeat("if (true) ", ";", "", DEEP)),
        in_action(repeat("if (true) ; else ", ";", "", DEEP)),
        in_action(repeat("for (; true;) ", ";", "", DEEP)),
        format!("const {} x = 1;", repeat("tuple<", "int", ">", DEEP)),
        format!("const int{} x = 1;", "[1]".repeat(DEEP)),
        format!("const int x{} = 1;", "[1]".repeat(DEEP)),
        format!(
            "parser p() {{ state start {{ transition select(1) {{ {}: accept; }} }} }}",
            repeat("(", "_, 1", ")", DEEP)
        ),
    ];
    for text in cases {
        let start: String = text.chars().take(60).collect();
        let found = on_small_stack(text);
        assert_eq!(found, ["E0108"], "{start}");
    }
}

/// Long chains within all nesting levels at once: the deepest tree the limits allow.
#[test]
fn the_deepest_tree_allowed_fits_the_stack() {
    let chain = |inner: &str, length: usize| format!("{inner}{}", " + 1".repeat(length));
    let mut value = "1".to_string();
    for _ in 0..80 {
        value = chain(&format!("(bit<({value})>) 1"), 1000);
    }
    on_small_stack(format!("const int x = {value};"));
    let mut value = "1".to_string();
    for _ in 0..120 {
        value = format!("({})", chain(&value, 1000));
    }
    on_small_stack(format!("const int x = {value};"));
}

#[test]
fn sensible_depth_is_no_error() {
    let sum = "1 + ".repeat(900) + "1";
    let parens = repeat("(", "1", ")", 100);
    let ifs = repeat("if (true) { ", ";", " } else { ; }", 50);
    let chain = "if (x == 1) { y = 1; } else ".repeat(100);
    let text = format!(
        "const int s = {sum}; const int p = {parens};
         control c(inout bit<8> x) {{ bit<8> y; apply {{ {ifs} {chain} {{ y = 2; }} }} }}"
    );
    assert_eq!(on_small_stack(text), [""; 0]);
}

/// 2^60 tokens, and 2^60 expansions that yield no token at all.
#[test]
fn a_macro_bomb_is_one_error() {
    for end in ["x", ""] {
        let mut text = format!("#define B0 {end}\n");
        for level in 1..=60 {
            let below = level - 1;
            text.push_str(&format!("#define B{level} B{below} B{below}\n"));
        }
        text.push_str("B60\n");
        let parsed = parse_text("bomb.p4", &text);
        assert_eq!(codes(&parsed), ["E0026"]);
        assert!(parsed.program.decls.is_empty());
        assert_eq!(
            parsed
                .sources
                .locate(parsed.diagnostics[0].span.lo)
                .unwrap()
                .line,
            62
        );
    }
}

#[test]
fn a_bomb_of_arguments_is_one_error() {
    let mut text = "#define D(x) x x\n".to_string();
    text.push_str(&repeat("D(", "y", ")", 60));
    assert_eq!(codes(&parse_text("bomb.p4", &text)), ["E0026"]);
    let text = "#define I(x) x\n".to_string() + &repeat("I(", "y", ")", 5000);
    assert_eq!(on_small_stack(text), ["E0026"]);
}

/// `##` and `#` can double the length of one token with each level.
#[test]
fn long_pasted_names_are_refused() {
    for definition in ["x ## x", "# x"] {
        let mut text = String::from("#define D0(x) x\n");
        for level in 1..=40 {
            let body = if definition == "# x" {
                "S(x) S(x)"
            } else {
                "P(x)"
            };
            text.push_str(&format!("#define D{level}(x) D{}({body})\n", level - 1));
        }
        text.push_str("#define P(x) x ## x\n#define S(x) # x\nD40(a)\n");
        let parsed = parse_text("long.p4", &text);
        assert!(!parsed.diagnostics.is_empty());
        assert!(parsed.diagnostics.iter().all(|d| d.message.len() < 300));
    }
}

#[test]
fn a_file_that_includes_itself_is_one_error() {
    let once = "#include \"self.p4\"\n";
    for times in [1, 2, 10] {
        let files = MemoryFiles([("self.p4".to_string(), once.repeat(times))].into());
        let parsed = parse("self.p4", &files, &Options::default());
        assert_eq!(codes(&parsed), ["E0011"], "{times} times");
    }
}

/// The directive to mend is named, not the innocent one at which reading stopped.
#[test]
fn a_cycle_of_files_is_shown_where_it_closes() {
    let place = |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|(name, text)| (name.to_string(), text.to_string()));
        let parsed = parse("a.p4", &MemoryFiles(files.collect()), &Options::default());
        assert_eq!(codes(&parsed), ["E0011"]);
        let diagnostic = &parsed.diagnostics[0];
        let place = parsed.sources.locate(diagnostic.span.lo).unwrap();
        (
            format!("{}:{}", place.file, place.line),
            diagnostic.message.clone(),
        )
    };
    let (at, message) = place(&[("a.p4", "#include <core.p4>\n#include \"a.p4\"\n")]);
    assert_eq!(at, "a.p4:2");
    assert!(message.contains("`a.p4`"), "{message}");
    let (at, message) = place(&[
        ("a.p4", "#include <core.p4>\n#include \"b.p4\"\n"),
        ("b.p4", "\n\n#include \"c.p4\"\n"),
        ("c.p4", "#include <tna.p4>\n\n\n#include \"b.p4\"\n"),
    ]);
    assert_eq!(at, "c.p4:4");
    assert!(message.contains("`b.p4`"), "{message}");

    let chain: Vec<(String, String)> = (0..100)
        .map(|n| (format!("{n}.p4"), format!("#include \"{}.p4\"\n", n + 1)))
        .chain([("a.p4".to_string(), "#include \"0.p4\"\n".to_string())])
        .collect();
    let chain: Vec<(&str, &str)> = chain.iter().map(|(n, t)| (&**n, &**t)).collect();
    let (at, message) = place(&chain);
    assert_eq!(at, "62.p4:1");
    assert!(message.contains("64 levels"), "{message}");
}

/// Work of which no token comes is work: these took minutes, or gigabytes, and stop now.
#[test]
fn macros_that_yield_nothing_are_bounded_too() {
    let much = 1 << 18;
    let uses = |definition: String, use_: &str| {
        let text = format!("{definition}\n{}", use_.repeat(much / use_.len()));
        assert_eq!(codes(&parse_text("much.p4", &text)), ["E0026"]);
    };
    uses(format!("#define F(a) {}", "a ".repeat(much)), "F()\n");
    let optional = "__VA_OPT__(a a) ".repeat(much / 16);
    uses(format!("#define F(...) {optional}"), "F()\n");
    let long = "x".repeat(4000);
    uses(
        format!("#define J(a, b) a ## b\n#define P(b) J({long}, b)"),
        "P(__COUNTER__)\n",
    );
    let once = |definition: &str, argument: String| {
        let text = format!("{definition}\nF({argument})");
        assert!(codes(&parse_text("much.p4", &text)).contains(&"E0026"));
    };
    let strings = format!("#define F(a) {}", "#a ".repeat(much / 4));
    once(&strings, "x ".repeat(much / 2));
    let pastes = format!("#define F(a) {}", "a ## a ".repeat(much / 8));
    once(&pastes, "x".repeat(much));
}

#[test]
fn many_questions_for_files_end() {
    let text = format!(
        "#if {} 1\n#endif\n",
        "__has_include(\"a.p4\") ||".repeat(100_000)
    );
    assert_eq!(codes(&parse_text("ask.p4", &text)), ["E0011"]);
}

#[test]
fn many_inclusions_of_much_nothing_end() {
    let files = MemoryFiles(
        [
            (
                "main.p4".to_string(),
                "#include \"blank.p4\"\n".repeat(4000),
            ),
            ("blank.p4".to_string(), "// nothing\n".repeat(300_000)),
        ]
        .into(),
    );
    assert_eq!(
        codes(&parse("main.p4", &files, &Options::default())),
        ["E0026"]
    );
}

#[test]
fn a_huge_file_is_refused() {
    let parsed = parse_text("huge.p4", &" ".repeat(5 << 20));
    assert_eq!(codes(&parsed), ["E0006"]);
}

#[test]
fn a_huge_number_is_refused() {
    let parsed = parse_text(
        "huge.p4",
        &format!("const int x = {};", "9".repeat(1_000_000)),
    );
    assert_eq!(codes(&parsed), ["E0004"]);
    assert!(parsed.diagnostics[0].message.len() < 200);
}

/// Texts on which a careless lookahead or recovery takes quadratic time; all are about 200 kB, so
/// quadratic would show as minutes.
#[test]
fn repeated_mistakes_take_linear_time() {
    let pieces = [
        "@a(\n",
        "@a(@a(\n",
        "{",
        "}",
        "(",
        ")",
        "\"\n",
        "\"a\n\n",
        "/*",
        "<",
        "a<b<",
        "if (",
        "const (\n",
        "state s {\n",
        "key = {",
        "(T<",
        "F(",
        "#if 1\n",
        "#else\n",
        "# \n",
        "#define X(\n",
        "#define X(a...,\n",
        "#define X(...) __VA_OPT__(\n",
        "#if __has_include(\n",
        "#if '\\x",
        "extern a<a,",
        "enum e {",
        "switch (x) {\n",
        "x = {1, ",
        "\\\n",
        "a ? ",
        "table t {\n",
        "\u{e9}",
    ];
    let frames = [
        ("", ""),
        ("control c() { apply { ", " } }"),
        ("control c() { table t { const entries = { ", " } } }"),
        (
            "#define F(x) x\n typedef bit<8> T; parser p() { state start { transition select(1) {",
            "} } }",
        ),
    ];
    for (before, after) in frames {
        for piece in pieces {
            let text = format!("{before}{}{after}", piece.repeat(200_000 / piece.len()));
            let parsed = parse_text("many.p4", &text);
            assert!(parsed.diagnostics.len() <= 600, "{piece}");
            assert!(
                parsed
                    .diagnostics
                    .iter()
                    .any(|d| d.severity == Severity::Error)
                    || ["# \n", "\\\n"].contains(&piece),
                "{piece}"
            );
        }
    }
}

/// As above, within one directive.
#[test]
fn long_directives_take_linear_time() {
    for (before, piece) in [
        ("#define X(", "a..., "),
        ("#define X(...) ", "__VA_OPT__("),
        ("#if ", "__has_include("),
        ("#if ", "defined("),
        ("#if ", "'\\x"),
    ] {
        let text = format!("{before}{}\n", piece.repeat(1_000_000 / piece.len()));
        assert!(parse_text("long.p4", &text).has_errors(), "{piece}");
    }
    let names: String = (0..200_000).map(|n| format!("p{n}, ")).collect();
    let parsed = parse_text("long.p4", &format!("#define X({names}q) q\n"));
    assert_eq!(codes(&parsed), ["E0015"]);
}
