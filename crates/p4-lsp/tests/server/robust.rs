//! Text that is half typed, at every place: answers, no panic.

use super::*;

/// Opens `text` and asks everything at `offset`.
fn ask_everything(editor: &mut Editor, path: &str, text: &str, offset: usize) {
    let marked = format!("{}$0{}", &text[..offset], &text[offset..]);
    let (text, position) = unmark(&marked);
    editor.change(path, &text);
    for method in [
        "textDocument/completion",
        "textDocument/hover",
        "textDocument/definition",
    ] {
        editor.at(method, path, position.clone());
    }
}

#[test]
fn a_program_cut_off_anywhere_is_answered() {
    for name in [
        "bier/bier.p4",
        "bier/v1model.p4",
        "include/headers.p4",
        "include/parser.p4",
    ] {
        let (path, text) = (format!("/w/p4/{name}"), source(&format!("p4/{name}")));
        let mut editor = bier_editor();
        editor.open(&path, &text);
        // Every end of a word, and a sample of the other places; p4/bier has no other characters
        // than ASCII.
        let ends = text
            .match_indices(|c: char| !c.is_ascii_alphanumeric())
            .map(|(at, _)| at);
        let places = ends.step_by(37).chain((0..text.len()).step_by(499));
        for at in places {
            ask_everything(&mut editor, &path, &text[..at], at);
        }
    }
}

#[test]
fn a_token_missing_anywhere_is_answered() {
    let text = router("if (hdr.eth.isValid()) { route.apply(); } else { count = count + 1; }");
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", &text);
    for piece in p4_fmt::scan(&text) {
        let cut = format!("{}{}", &text[..piece.start], &text[piece.end()..]);
        ask_everything(&mut editor, "/w/a.p4", &cut, piece.start);
        let document = json!({ "textDocument": { "uri": "file:///w/a.p4" } });
        editor.ask("textDocument/documentSymbol", document);
    }
}

/// At the dot of every `hdr.` of the lab, with everything behind it still to be typed.
#[test]
fn completion_works_where_the_rest_is_missing() {
    let name = "bier/bier.p4";
    let (path, text) = (format!("/w/p4/{name}"), source(&format!("p4/{name}")));
    let mut editor = bier_editor();
    editor.open(&path, &text);
    let code = |at: usize| {
        !text[..at]
            .lines()
            .last()
            .is_some_and(|line| line.contains("//"))
    };
    let mut asked = 0;
    for (at, _) in text.match_indices("hdr.").filter(|(at, _)| code(*at)) {
        let marked = format!("{}hdr.$0", &text[..at]);
        let (cut, position) = unmark(&marked);
        editor.change(&path, &cut);
        let answer = editor.at("textDocument/completion", &path, position);
        assert_eq!(answer["items"][2]["label"], "ethernet", "{marked}");
        asked += 1;
    }
    assert!(asked > 50);
}

#[test]
fn files_that_include_each_other_are_no_trap() {
    let mut editor = Editor::new(&[
        ("/w/a.p4", "#include \"b.p4\"\n"),
        ("/w/b.p4", "#include \"a.p4\"\n"),
    ]);
    for path in ["/w/a.p4", "/w/b.p4"] {
        let other = if path == "/w/a.p4" { "b" } else { "a" };
        editor.open(path, &format!("#include \"{other}.p4\"\n"));
    }
    editor.open("/w/c.p4", "#include \"c.p4\"\n");
    assert_ne!(editor.codes("/w/c.p4"), []);
}

#[test]
fn hostile_texts_are_answered() {
    let texts = [
        "(".repeat(50_000),
        "{".repeat(50_000),
        "a.".repeat(50_000),
        "a[".repeat(50_000),
        "control c() { apply { ".repeat(5_000),
        "header h { bit<8> a; }\n".repeat(5_000),
        "\u{1F600}".repeat(50_000),
        "a<".repeat(50_000),
        format!("control c() {{ apply {{ {} $0", "a().".repeat(20_000)),
    ];
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", "");
    for text in &texts {
        editor.change("/w/a.p4", text);
        let end = json!({ "line": 1 << 30, "character": 0 });
        for method in [
            "textDocument/completion",
            "textDocument/hover",
            "textDocument/definition",
        ] {
            editor.at(method, "/w/a.p4", end.clone());
        }
        editor.ask(
            "textDocument/documentSymbol",
            json!({ "textDocument": { "uri": "file:///w/a.p4" } }),
        );
    }
}
