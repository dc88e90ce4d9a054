//! Diagnostics as the text changes.

use super::*;

#[test]
fn a_correct_program_has_none_and_a_mistake_has_one() {
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", &router(""));
    assert_eq!(editor.codes("/w/a.p4"), []);
    let wrong = router("hdr.eth.knd = 1;");
    editor.change("/w/a.p4", &wrong);
    let list = &editor.diagnostics["file:///w/a.p4"];
    assert_eq!(list.len(), 1);
    assert_eq!(pointed(&wrong, &list[0]["range"]), "knd");
    assert_eq!(
        (&list[0]["code"], &list[0]["severity"]),
        (&json!("E0305"), &json!(1))
    );
    let message = list[0]["message"].as_str().expect("a message");
    assert!(
        message.contains("has no member `knd`") && message.contains("Did you mean `kind`"),
        "{message}"
    );
    editor.change("/w/a.p4", &router(""));
    assert_eq!(editor.codes("/w/a.p4"), []);
}

#[test]
fn related_places_and_pages_are_given() {
    let config = Config {
        pages: Some("/docs/errors".into()),
        ..Config::default()
    };
    let mut editor = Editor::with(config, &[]);
    let text = "const bit<8> a = 1;\n/* \u{1F600} */ const bit<8> a = 2;\n";
    editor.open("/w/a.p4", text);
    let list = &editor.diagnostics["file:///w/a.p4"];
    assert_eq!(
        list[0]["codeDescription"]["href"],
        "file:///docs/errors/E0202.md"
    );
    assert_eq!(pointed(text, &list[0]["range"]), "a");
    assert_eq!(list[0]["range"]["start"]["character"], 22);
    let related = &list[0]["relatedInformation"][0];
    assert_eq!(related["message"], "first declared here");
    assert_eq!(related["location"]["range"]["start"]["line"], 0);
}

#[test]
fn the_lab_is_clean_in_every_file() {
    let mut editor = bier_editor();
    for (path, text) in bier() {
        editor.open(&path, &text);
        assert_eq!(editor.codes(&path), [], "{path}");
    }
}

#[test]
fn an_included_file_is_read_as_its_program_reads_it() {
    let mut editor = bier_editor();
    let good = source("p4/bier/bier.p4");
    editor.open("/w/p4/bier/bier.p4", &good);
    // NoAction comes from core.p4, which bier.p4 itself does not include.
    assert_eq!(editor.codes("/w/p4/bier/bier.p4"), []);
    editor.open("/w/p4/bier/v1model.p4", &source("p4/bier/v1model.p4"));
    editor.change(
        "/w/p4/bier/bier.p4",
        &good.replace("bit<9>  port;", "bit<10> port;"),
    );
    assert_ne!(
        editor.codes("/w/p4/bier/bier.p4"),
        [],
        "assigned to it there"
    );
    assert_ne!(editor.codes("/w/p4/bier/v1model.p4"), [], "and here");
    editor.change("/w/p4/bier/bier.p4", &good);
    assert_eq!(editor.codes("/w/p4/bier/v1model.p4"), []);
}

#[test]
fn a_mistake_in_a_file_that_is_not_open_is_told_at_its_include() {
    let mut editor = Editor::new(&[("/w/h.p4", "header h_t { bit<8> a }\n")]);
    editor.open("/w/a.p4", "\n#include \"h.p4\"\n");
    assert_eq!(editor.codes("/w/a.p4"), [("E0101".to_string(), 2)]);
    let related = &editor.diagnostics["file:///w/a.p4"][0]["relatedInformation"][0];
    assert_eq!(related["location"]["uri"], "file:///w/h.p4");
    editor.open("/w/h.p4", "header h_t { bit<8> a }\n");
    assert_eq!(editor.codes("/w/a.p4"), []);
    assert_eq!(editor.codes("/w/h.p4"), [("E0101".to_string(), 1)]);
}

#[test]
fn files_outside_the_workspace_stay_unread() {
    let mut editor = Editor::new(&[("/etc/secret.p4", "const bit<8> password = 7;\n")]);
    editor.open(
        "/w/a.p4",
        "#include \"/etc/secret.p4\"\n#include \"../etc/secret.p4\"\n",
    );
    let codes = editor.codes("/w/a.p4");
    assert_eq!(codes, [("E0013".to_string(), 1), ("E0013".to_string(), 2)]);
}

#[test]
fn include_directories_and_macros_of_the_command_line_hold() {
    let config = Config {
        include_dirs: vec!["/lib".into()],
        defines: vec![("N".into(), "7".into())],
        ..Config::default()
    };
    let mut editor = Editor::with(config, &[("/lib/h.p4", "const bit<8> a = N;\n")]);
    editor.open("/w/a.p4", "#include <h.p4>\nconst bit<8> b = a + N;\n");
    assert_eq!(editor.codes("/w/a.p4"), []);
}

#[test]
fn later_passes_are_asked_about_sound_programs_with_a_main() {
    let later = |checked: &p4_check::Checked<'_>| {
        let main = checked
            .main
            .expect("asked only where there is something to run");
        vec![p4_syntax::Diagnostic::error("E0901", main.span, "No.")]
    };
    let mut server = Server::new(
        Config::default(),
        Box::new(Disk::default()),
        Box::new(later),
    );
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} });
    server.handle(&initialize);
    for (text, code) in [
        (router(""), Some("E0901")),
        ("struct empty {}\n".to_string(), None),
        (router("count = true;"), Some("E0302")),
    ] {
        let document = json!({ "uri": "untitled:1", "version": 1, "text": text });
        let params = json!({ "textDocument": document });
        let open = json!({ "method": "textDocument/didOpen", "params": params });
        let sent = server.handle(&open);
        let found = sent[0]["params"]["diagnostics"].as_array().expect("a list");
        let errors = found.iter().filter(|d| d["severity"] == 1);
        let codes: Vec<_> = errors.map(|d| d["code"].as_str()).collect();
        assert_eq!(codes, code.map(Some).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn closing_a_document_clears_its_diagnostics() {
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", "const bit<8> a = b;\n");
    assert_eq!(editor.codes("/w/a.p4").len(), 1);
    editor.tell(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": "file:///w/a.p4" } }),
    );
    assert_eq!(editor.codes("/w/a.p4"), []);
}
