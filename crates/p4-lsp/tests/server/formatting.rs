//! Formatting a document and a part of it.

use super::*;

fn apply(text: &str, edits: &Value) -> String {
    let mut text = text.to_string();
    let edits = edits.as_array().expect("edits");
    for edit in edits.iter().rev() {
        let old = pointed(&text, &edit["range"]);
        let start = old.as_ptr() as usize - text.as_ptr() as usize;
        let range = start..start + old.len();
        text.replace_range(range, edit["newText"].as_str().expect("a text"));
    }
    text
}

const MESSY: &str =
    "struct a { bit<8>  x; }\n\n\n// \u{1F600}\nstruct b {\n  bit<8>  y;\n bit<16>   z ;\n}\n";

fn format(text: &str, lines: Option<(u64, u64)>) -> Value {
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", text);
    let mut params = json!({ "textDocument": { "uri": "file:///w/a.p4" } });
    match lines {
        None => editor.ask("textDocument/formatting", params),
        Some((first, last)) => {
            params["range"] = json!({
                "start": { "line": first, "character": 0 },
                "end": { "line": last, "character": 0 },
            });
            editor.ask("textDocument/rangeFormatting", params)
        }
    }
}

#[test]
fn the_whole_document() {
    for text in [MESSY.to_string(), router("if(count==1){return ;}")] {
        let formatted = apply(&text, &format(&text, None));
        assert_eq!(Ok(formatted), p4_fmt::format(&text));
    }
    let clean = source("p4/bier/bier.p4");
    assert_eq!(format(&clean, None), json!([]));
}

#[test]
fn some_lines_and_no_others() {
    let formatted = apply(MESSY, &format(MESSY, Some((5, 5))));
    assert_eq!(formatted, MESSY.replace("  bit<8>  y;", "    bit<8> y;"));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    let mut editor = Editor::new(&[]);
    editor.open("/w/a.p4", "struct a {}\n/*");
    let params = json!({ "textDocument": { "uri": "file:///w/a.p4" } });
    let answer = editor.request("textDocument/formatting", params);
    let message = answer["error"]["message"].as_str().expect("an error");
    assert!(message.contains("line 2"), "{message}");
}
