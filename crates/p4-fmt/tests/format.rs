//! If these failed, a student who formats a file would find it in a strange shape, or worse,
//! would find another program in it.

use p4_fmt::format;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Our own P4 sources, by path.
fn sources(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "p4") {
                let text = std::fs::read_to_string(&path).expect("a P4 file");
                found.push((path, text));
            }
        }
    }
    found
}

/// What the compiler makes of a text, without places. Included files do not matter here.
fn meaning(text: &str) -> String {
    let parsed = p4_syntax::parse_text("x.p4", text);
    let messages: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    let tree = format!("{messages:?} {:?}", parsed.program);
    let mut parts = tree.split("Span { ");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| {
        all + part.split_once('}').map_or("", |(_, behind)| behind)
    })
}

/// The characters that are not blank, and the words: neither may change.
fn content(text: &str) -> (String, Vec<&str>) {
    let characters = text.split_whitespace().collect();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    (characters, words.filter(|word| !word.is_empty()).collect())
}

fn assert_same_program(before: &str, after: &str) {
    assert_eq!(content(before), content(after));
    assert_eq!(meaning(before), meaning(after));
    let again = format(after).expect("what was formatted can be read");
    let changed = after.lines().zip(again.lines()).find(|(a, b)| a != b);
    assert_eq!(changed, None, "formatting again");
    assert_eq!(after.len(), again.len());
}

#[test]
fn the_sources_of_the_lab_are_formatted() {
    for (path, text) in sources(&["p4"]) {
        assert_eq!(format(&text).as_deref(), Ok(&*text), "{}", path.display());
    }
}

#[test]
fn formatting_keeps_tokens_and_comments_and_is_done_after_once() {
    let all = sources(&["p4", "crates/p4-syntax"]);
    assert!(all.len() >= 8, "the sources are found");
    for (path, text) in all {
        let formatted = format(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_same_program(&text, &formatted);
    }
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    let formatted = format(before).expect("it can be read");
    assert_eq!(formatted, after);
    assert_same_program(before, after);
}

#[test]
fn spaces_between_tokens() {
    let lines = [
        ("const bit < 8 >  X=1+ 2 ;", "const bit<8> X = 1 + 2;"),
        ("const bool Y=a<b&&c>d;", "const bool Y = a < b && c > d;"),
        (
            "const bit<8> Z = f<bit<8>>( x ,-1 , ! y );",
            "const bit<8> Z = f<bit<8>>(x, -1, !y);",
        ),
        ("const bit<8> A = x>>2;", "const bit<8> A = x >> 2;"),
        ("const bit<8> A = x<<2|y;", "const bit<8> A = x << 2 | y;"),
        (
            "const bit<8> B = ( bit<8> ) - x;",
            "const bit<8> B = (bit<8>)-x;",
        ),
        ("const bit<8> C = (x)-y;", "const bit<8> C = (x) - y;"),
        ("const bit<8> C = - - x;", "const bit<8> C = - -x;"),
        ("const bit<8> C = a - -b;", "const bit<8> C = a - -b;"),
        (
            "const bit<8> D = (T) (a + b);",
            "const bit<8> D = (T)(a + b);",
        ),
        (
            "const bit<4> E = h . a [ 7 : 4 ];",
            "const bit<4> E = h.a[7 : 4];",
        ),
        (
            "const bit<4> E = h.a[W-1:0];",
            "const bit<4> E = h.a[W-1:0];",
        ),
        ("const bit<4> F = c?a:b ;", "const bit<4> F = c ? a : b;"),
        ("const S G = {1,2};", "const S G = { 1, 2 };"),
        ("const S H = { };", "const S H = {};"),
        ("const S I = {#};", "const S I = {#};"),
        ("const S J = {a=1,...};", "const S J = { a = 1, ... };"),
        ("const T K = .f( .x );", "const T K = .f(.x);"),
        (
            "@name( \"a b\" )const T L = 1;",
            "@name( \"a b\" ) const T L = 1;",
        ),
        ("extern void f<T>(in T x) ;", "extern void f<T>(in T x);"),
        (
            "value_set<tuple<bit<8>, bit<8> > >(4) vs;",
            "value_set<tuple<bit<8>, bit<8>>>(4) vs;",
        ),
        ("header h_t{ }", "header h_t {}"),
        ("typedef bit<8>[ 4 ] v;", "typedef bit<8>[4] v;"),
        ("Pipe(P( ),C(1) )main;", "Pipe(P(), C(1)) main;"),
        (
            "const bit<8> M = x /* why */ + 1;// end",
            "const bit<8> M = x /* why */ + 1; // end",
        ),
    ];
    for (before, after) in lines {
        becomes(before, &format!("{after}\n"));
    }
}

#[test]
fn statements_of_every_kind() {
    becomes(
        "control C(inout bit<8> x,\n  in bit<8> y)( bit<8> z ) {\n\
         action a(){x=1;}\n\
         table t{\n key={x:exact@name(\"x\");y : ternary;}\nactions={a;NoAction;}\n\
         const entries={(1,2&&&3):a();\n_:NoAction( );}\n}\n\
         apply{\n\
         if(t.apply().hit){return;}else if(x>1)\nx=2;\nelse\nx=3;\n\
         switch(t.apply().action_run){\na:{}\ndefault:{exit;}\n}\n\
         for(bit<8> i=0;i<4;i=i+1){x=x|+|i;}\n\
         for(bit<8> i in 1..3){ }\n\
         x=f(y,\nz);\nx=y+\nz;\n}\n}\n",
        "control C(inout bit<8> x,\n          in bit<8> y)(bit<8> z) {\n    \
         action a() { x = 1; }\n    \
         table t {\n        key = { x: exact @name(\"x\"); y: ternary; }\n        \
         actions = { a; NoAction; }\n        \
         const entries = { (1, 2 &&& 3): a();\n            _: NoAction(); }\n    }\n    \
         apply {\n        \
         if (t.apply().hit) { return; } else if (x > 1)\n            x = 2;\n        \
         else\n            x = 3;\n        \
         switch (t.apply().action_run) {\n            a: {}\n            default: { exit; }\n        }\n        \
         for (bit<8> i = 0; i < 4; i = i + 1) { x = x |+| i; }\n        \
         for (bit<8> i in 1 .. 3) {}\n        \
         x = f(y,\n              z);\n        x = y +\n            z;\n    }\n}\n",
    );
}

#[test]
fn columns_of_the_author_stay() {
    becomes(
        "header h_t {\n  bit<8>   a;   // one\n  bit<16>  bc;  // two,\n                // on two lines\n\
         bit<1> d;\n}\n",
        "header h_t {\n    bit<8>  a;   // one\n    bit<16> bc;  // two,\n                 // on two lines\n    \
         bit<1> d;\n}\n",
    );
    becomes(
        "struct s {\n    @x\n    bit<8>   a;\n    @y\n    varbit<16> b;\n    bool     c;\n}\n",
        "struct s {\n    @x\n    bit<8> a;\n    @y\n    varbit<16> b;\n    bool c;\n}\n",
    );
}

#[test]
fn comments_and_preprocessor_lines_stay() {
    becomes(
        "\n\n#if  A  // why\n# define X(a) \\\n   {a;\\\n}\n#endif\n  /* one\n     two */\n\n\n\ncontrol C() {\n#ifdef B\napply {\n#else\napply  {\n#endif\n// inside\nX( 1 );\n}\n}",
        "#if  A  // why\n# define X(a) \\\n   {a;\\\n}\n#endif\n/* one\n   two */\n\ncontrol C() {\n#ifdef B\n    apply {\n#else\n    apply {\n#endif\n        // inside\n        X(1);\n    }\n}\n",
    );
    becomes(
        "@pragma  a   b(\"c\")\nstruct s {}\n",
        "@pragma  a   b(\"c\")\nstruct s {}\n",
    );
}

/// As the programs of PINS have them: what the compiler takes for a string, the formatter does too.
#[test]
fn a_constraint_of_several_lines_stays() {
    let text =
        "@entry_restriction(\"\n  // '' is no quote;\n  vrf != 0;\n\")\nconst bit<8> x = 1;\n";
    becomes(text, text);
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let formatted = format("\u{feff}struct s {\r\nbit<8> a;\r\n}\r\n");
    assert_eq!(
        formatted.as_deref(),
        Ok("\u{feff}struct s {\r\n    bit<8> a;\r\n}\r\n")
    );
    assert_eq!(format("").as_deref(), Ok(""));
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    for (text, place) in [
        (
            "struct s { }\n  /* never closed",
            "2:3: this comment is never closed",
        ),
        (
            "const string s = \"abc;\nx",
            "1:18: this string has no closing quote",
        ),
        (
            "const bit<8> x = 1 $ 2;",
            "1:20: this character means nothing",
        ),
    ] {
        let error = format(text).expect_err(text).to_string();
        assert!(error.starts_with(place), "{error}");
    }
}

#[test]
fn half_a_program_is_no_problem() {
    for (_, text) in sources(&["p4/include"]) {
        for (at, _) in text.char_indices() {
            if let Ok(formatted) = format(&text[..at]) {
                assert_eq!(content(&text[..at]), content(&formatted));
            }
        }
    }
}

/// Deep or long texts must neither take minutes nor gigabytes.
#[test]
fn hostile_texts_end() {
    for part in [
        "(",
        "{\n",
        "[",
        "a<",
        "#if 1\n{\n",
        ")",
        "}",
        "a<b,",
        "? ",
        "@x(",
        "a  b\n",
        "(\n",
    ] {
        let formatted = format(&part.repeat(20_000)).expect("it can be read");
        assert!(formatted.len() < 20_000 * 260, "{part}");
    }
}

/// A program whose white space somebody shuffled: code lines only, as preprocessor lines and
/// comments end with their line.
fn shuffled(text: &str, dice: &[u8]) -> String {
    let mut dice = dice.iter().copied().cycle();
    let mut out = String::new();
    for line in text.lines() {
        let fixed = line.trim_start().starts_with('#') || line.ends_with('\\');
        if fixed || line.contains("//") || line.contains('"') {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        for c in line.chars() {
            match (c, dice.next().unwrap_or(0) % 12) {
                (' ', 0) => out.push_str("\n  "),
                (' ', 1) => out.push_str("   "),
                (' ', 2) => out.push('\t'),
                (';' | '{' | ',' | '(', 3) => {
                    out.push(c);
                    out.push('\n');
                }
                (';' | '{' | ',' | '(', 4) => {
                    out.push(c);
                    out.push_str("  ");
                }
                _ => out.push(c),
            }
        }
        out.push('\n');
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_white_space_leads_to_a_fixed_point(
        text in proptest::sample::select(without_line_ends()),
        dice in prop::collection::vec(any::<u8>(), 50..400),
    ) {
        let messy = shuffled(&text, &dice);
        let formatted = format(&messy).expect("it can be read");
        assert_same_program(&messy, &formatted);
    }
}

/// Programs in which no line of a `#define` goes on in the next: those keep their breaks.
fn without_line_ends() -> Vec<String> {
    let all = sources(&["p4"]).into_iter().map(|(_, text)| text);
    all.filter(|text| !text.contains("\\\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_formatted_or_refused(text in "[ -~\n\té\\\\]{0,200}") {
        if let Ok(formatted) = format(&text) {
            prop_assert_eq!(content(&text), content(&formatted));
        }
    }
}
