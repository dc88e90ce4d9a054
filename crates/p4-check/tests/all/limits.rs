//! Programs that would take all time or memory if they were taken at their word. If these fail,
//! one submission stops the grading of all others.

use std::fmt::Write;

/// The codes of what is said about a program.
fn codes(text: &str) -> Vec<&'static str> {
    let parsed = p4_syntax::parse_text("hostile.p4", text);
    let checked = p4_check::check(&parsed.program);
    checked.diagnostics.iter().map(|d| d.code).collect()
}

/// `count` lines, each made from its number and the one before.
fn chain(first: &str, count: usize, line: impl Fn(usize, usize) -> String) -> String {
    let mut text = format!("{first}\n");
    for i in 1..count {
        writeln!(text, "{}", line(i, i - 1)).expect("writing to a string");
    }
    text
}

#[test]
fn structs_that_double_end_at_a_bound() {
    let text = chain("struct s0 { bit<8> a; bit<8> b; }", 60, |i, before| {
        format!("struct s{i} {{ s{before} a; s{before} b; }}")
    });
    assert!(codes(&text).contains(&"E0319"));
}

#[test]
fn generic_structs_that_double_end_at_a_bound() {
    let text = chain("struct s0<T> { T a; T b; }", 60, |i, before| {
        format!("struct s{i}<T> {{ s{before}<T> a; s{before}<T> b; }}")
    });
    let text = format!("{text}\ncontrol c(inout s59<bit<8>> x) {{ apply {{ }} }}");
    assert!(codes(&text).contains(&"E0319"));
}

#[test]
fn tuples_that_double_end_at_a_bound() {
    let text = chain("typedef bit<8> t0;", 60, |i, before| {
        format!("typedef tuple<t{before}, t{before}> t{i};")
    });
    let text = format!("{text}\ncontrol c() {{ t59 x; apply {{ }} }}");
    assert!(codes(&text).contains(&"E0319"));
}

/// What is compared with all before it takes hours for what a generator writes.
#[test]
fn one_repetition_is_found_among_many_errors() {
    let members: Vec<_> = (0..80_000).map(|n| format!("E{n}")).collect();
    let text = format!("error {{ {}, E7 }}", members.join(", "));
    assert_eq!(codes(&text), ["E0202"]);
}

#[test]
fn a_long_chain_of_structs_is_no_deep_recursion() {
    let text = chain("struct s0 { bit<8> a; }", 50_000, |i, before| {
        format!("struct s{i} {{ s{before} a; }}")
    });
    assert!(codes(&text).contains(&"E0319"));
}

#[test]
fn a_long_chain_of_types_is_no_deep_recursion() {
    let text = chain("type bit<8> t0;", 50_000, |i, before| {
        format!("type t{before} t{i};")
    });
    let text = format!("{text}\ncontrol c(inout t49999 x) {{ apply {{ x = (t49999) x; }} }}");
    assert!(codes(&text).is_empty());
}

#[test]
fn a_long_chain_of_constants_is_no_deep_recursion() {
    let known = chain("const bit<32> c0 = 1;", 50_000, |i, before| {
        format!("const bit<32> c{i} = c{before} + 1;")
    });
    assert!(codes(&known).is_empty());
    let unknown = chain("const bit<32> c0 = missing;", 50_000, |i, before| {
        format!("const bit<32> c{i} = c{before} + 1;")
    });
    assert!(codes(&unknown).contains(&"E0201"));
}

#[test]
fn constants_of_constructor_parameters_may_be_many() {
    let program = |count: usize| {
        let locals = chain("const bit<32> c0 = n;", count, |i, before| {
            format!("const bit<32> c{i} = c{before} + 1;")
        });
        format!("control c(inout bit<32> x)(bit<32> n) {{ {locals} apply {{ x = c7; }} }}")
    };
    assert!(codes(&program(400)).is_empty());
    assert!(codes(&program(3_000)).contains(&"E0501"));
}

#[test]
fn numbers_that_square_end_at_a_bound() {
    let text = chain("const int n0 = 3;", 64, |i, before| {
        format!("const int n{i} = n{before} * n{before};")
    });
    assert!(codes(&text).contains(&"E0507"));
}

#[test]
fn strings_that_double_end_at_a_bound() {
    let text = chain("const string s0 = \"abcdefgh\";", 64, |i, before| {
        format!("const string s{i} = s{before} ++ s{before};")
    });
    assert!(codes(&text).contains(&"E0501"));
}

#[test]
fn huge_stacks_widths_and_slices_are_refused() {
    let stack = "header h { bit<8> x; }\ncontrol c(inout h[2000000000] s) { apply { } }";
    assert!(codes(stack).contains(&"E0319"));
    let width = "const bit<8> x = (bit<8>) 4294967295w1;";
    assert!(codes(width).contains(&"E0319"));
    let slice = "const bit<8> x = (bit<8>) 5[4294967295:0];";
    assert!(codes(slice).contains(&"E0307"));
    let literal = "control c(inout bit<8>[100000][100000] x) { apply { x = { ... }; } }";
    assert!(codes(literal).contains(&"E0319"));
}

/// The first few hundred mistakes are enough to begin with, and the report stays readable.
#[test]
fn mistakes_without_number_are_reported_in_part() {
    let uses = chain("", 5_000, |i, _| format!("        missing{i} = 1;"));
    let text = format!("control c() {{ apply {{ {uses} }} }}");
    let count = codes(&text).len();
    assert!((100..=400).contains(&count), "{count} diagnostics");
}

/// Found by mutation: following the type behind the type behind ... went on for ever.
#[test]
fn an_enum_is_not_stored_as_itself() {
    let text = "
        enum color color { red, green }
        control c(inout color x) { apply { x = x; } }";
    assert!(codes(text).contains(&"E0207"));
}

/// Found by mutation: the smallest member of a union without members.
#[test]
fn an_empty_union_has_no_size() {
    let text = "
        header_union none_t { }
        struct all_t { none_t a; none_t b; }
        control c(inout all_t x, out bit<32> size) { apply { size = x.minSizeInBits(); } }";
    assert!(codes(text).is_empty());
}
