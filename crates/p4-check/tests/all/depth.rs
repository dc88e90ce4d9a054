//! Programs nested as deep as the grammar takes, on the stack that Rust gives a thread. If these
//! fail, one hostile file ends the process that reads it, and every other student's with it.

/// The codes of what is said about a program, found out on a stack of two megabytes.
fn codes(text: String) -> Vec<&'static str> {
    let run = move || {
        let parsed = p4_syntax::parse_text("deep.p4", &text);
        let checked = p4_check::check(&parsed.program);
        let said = parsed.diagnostics.iter().chain(&checked.diagnostics);
        let found: Vec<_> = said.map(|d| d.code).collect();
        drop(checked);
        drop(parsed);
        found
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no panic")
}

fn repeat(open: &str, middle: &str, close: &str, times: usize) -> String {
    open.repeat(times) + middle + &close.repeat(times)
}

/// The deepest form of a text that the grammar takes, and what is said about it.
fn deepest(make: impl Fn(usize) -> String) -> (usize, Vec<&'static str>) {
    let too_deep = |times: usize| {
        let parsed = p4_syntax::parse_text("deep.p4", &make(times));
        parsed.diagnostics.iter().any(|d| d.code == "E0108")
    };
    let (mut low, mut high) = (1, 1 << 14);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if too_deep(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, codes(make(low)))
}

/// A program nested so many levels deep
type Make = Box<dyn Fn(usize) -> String>;

#[test]
fn whatever_is_nested_as_deep_as_allowed() {
    let in_const = |value: String| format!("const int x = {value};");
    let in_apply = |body: String| format!("control c(inout bit<8> x) {{ apply {{ {body} }} }}");
    let cases: Vec<(&str, Make)> = vec![
        (
            "parens",
            Box::new(move |n| in_const(repeat("(", "1", ")", n))),
        ),
        (
            "unary",
            Box::new(move |n| in_const(repeat("- ", "1", "", n))),
        ),
        (
            "lists",
            Box::new(move |n| in_const(repeat("{", "1", "}", n))),
        ),
        (
            "casts",
            Box::new(move |n| in_const(repeat("(bit<8>)", "1", "", n))),
        ),
        (
            "calls",
            Box::new(move |n| in_const(repeat("f(", "1", ")", n))),
        ),
        (
            "indices",
            Box::new(move |n| in_const(repeat("a[", "1", "]", n))),
        ),
        (
            "conditionals right",
            Box::new(move |n| in_const(repeat("true ? 2 : ", "3", "", n))),
        ),
        (
            "conditionals middle",
            Box::new(move |n| in_const(repeat("true ? ", "2", " : 3", n))),
        ),
        (
            "sums",
            Box::new(move |n| in_const(repeat("1 + ", "1", "", n))),
        ),
        (
            "sums right",
            Box::new(move |n| in_const(repeat("1 + (", "1", ")", n))),
        ),
        (
            "members",
            Box::new(move |n| in_const(format!("a{}", ".b".repeat(n)))),
        ),
        (
            "slices",
            Box::new(move |n| in_apply(format!("x = x{};", "[7:0]".repeat(n)))),
        ),
        (
            "method calls",
            Box::new(move |n| in_apply(format!("x{}();", ".b()".repeat(n)))),
        ),
        (
            "widths",
            Box::new(move |n| in_const(repeat("(bit<(", "8", ")>) 1", n))),
        ),
        (
            "concatenations",
            Box::new(move |n| in_const(repeat("8w1 ++ ", "8w1", "", n))),
        ),
        (
            "blocks",
            Box::new(move |n| in_apply(repeat("{", "", "}", n))),
        ),
        (
            "ifs",
            Box::new(move |n| in_apply(repeat("if (true) ", "{}", "", n))),
        ),
        (
            "elses",
            Box::new(move |n| in_apply(repeat("if (true) {} else ", "{}", "", n))),
        ),
        (
            "loops",
            Box::new(move |n| in_apply(repeat("for (; true;) ", "{}", "", n))),
        ),
        (
            "switches",
            Box::new(move |n| in_apply(repeat("switch (x) { 1: { ", "", "} }", n))),
        ),
        (
            "tuples",
            Box::new(move |n| format!("const {} x = 1;", repeat("tuple<", "int", ">", n))),
        ),
        (
            "arrays",
            Box::new(move |n| in_apply(format!("bit<8>{} y;", "[1]".repeat(n)))),
        ),
        (
            "keysets",
            Box::new(move |n| {
                format!(
                    "parser p() {{ state start {{ transition select(1) {{ {}: accept; }} }} }}",
                    repeat("(", "_, 1", ")", n)
                )
            }),
        ),
        (
            "arguments",
            Box::new(move |n| {
                format!(
                    "bit<8> f(in bit<8> x) {{ return x; }} {}",
                    in_apply(format!("x = {};", repeat("f(", "x", ")", n)))
                )
            }),
        ),
    ];
    for (name, make) in cases {
        let (times, said) = deepest(make);
        assert!(times >= 50, "{name}: only {times} levels");
        assert!(!said.contains(&"E0108"), "{name}: {said:?}");
    }
}

/// Long chains within all nesting levels at once: the deepest tree the limits allow.
#[test]
fn the_deepest_tree_allowed() {
    let chain = |inner: &str, length: usize| format!("{inner}{}", " + 1".repeat(length));
    let (mut cast, mut plain) = ("1".to_string(), "1".to_string());
    for _ in 0..80 {
        cast = chain(&format!("(bit<({cast})>) 1"), 1000);
        plain = format!("({})", chain(&plain, 1000));
    }
    codes(format!("const int x = {cast};"));
    codes(format!("const int x = {plain};"));
}
