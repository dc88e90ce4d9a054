//! The rules of the conversation.

use super::*;
use p4_lsp::{serve, Stage};

fn server() -> Server {
    Server::new(
        Config::default(),
        Box::new(Disk::default()),
        Box::new(|_| Vec::new()),
    )
}

fn framed(bodies: &[&str]) -> Vec<u8> {
    let frame = |body: &&str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    bodies.iter().map(frame).collect::<String>().into_bytes()
}

/// What the server writes, and how the conversation ends.
fn converse(input: &[u8]) -> (Vec<Value>, std::io::Result<bool>) {
    let mut output = Vec::new();
    let end = serve(&mut server(), &mut &*input, &mut output);
    let text = String::from_utf8(output).expect("UTF-8");
    let bodies = text.split("Content-Length: ").skip(1);
    let parse = |part: &str| {
        let (length, body) = part.split_once("\r\n\r\n").expect("a header");
        assert_eq!(length.parse(), Ok(body.len()));
        serde_json::from_str(body).expect("JSON")
    };
    (bodies.map(parse).collect(), end)
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#;
const SHUTDOWN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

#[test]
fn a_conversation_from_beginning_to_end() {
    let (answers, end) = converse(&framed(&[INITIALIZE, SHUTDOWN, EXIT]));
    assert_eq!(answers.len(), 2);
    assert_eq!(
        (&answers[0]["id"], &answers[1]["id"]),
        (&json!("a"), &json!(2))
    );
    assert_eq!(answers[0]["result"]["capabilities"]["hoverProvider"], true);
    assert!(end.is_ok_and(|orderly| orderly));
}

#[test]
fn hanging_up_is_an_end_but_no_orderly_one() {
    for input in [
        framed(&[]),
        framed(&[INITIALIZE]),
        framed(&[INITIALIZE, EXIT]),
    ] {
        assert!(converse(&input).1.is_ok_and(|orderly| !orderly));
    }
}

#[test]
fn bad_messages_get_an_error_and_the_server_lives_on() {
    let bad = [
        "{",
        "[]",
        "7",
        "null",
        r#"{"id":5}"#,
        "\u{fffd}",
        r#"{"id":6,"method":7}"#,
    ];
    for body in bad {
        let (answers, end) = converse(&framed(&[INITIALIZE, body, SHUTDOWN, EXIT]));
        assert_eq!(answers.len(), 3, "{body}");
        assert!(
            answers[1]["error"]["code"]
                .as_i64()
                .is_some_and(|code| code < 0),
            "{body}"
        );
        assert!(end.is_ok_and(|orderly| orderly), "{body}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(converse(&framed(&[&deep])).0[0]["error"]["code"], -32700);
}

#[test]
fn a_stream_that_is_no_protocol_ends_with_a_reason() {
    for input in [
        "hello\n",
        "\r\n",
        "Content-Length: x\r\n\r\n{}",
        "Content-Length: 99999999999\r\n\r\n{}",
    ] {
        let error = converse(input.as_bytes()).1.expect_err(input);
        assert!(error.to_string().contains("Content-Length"), "{error}");
    }
}

#[test]
fn requests_have_their_time() {
    let mut server = server();
    let mut code = |method: &str| {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        server.handle(&request)[0]["error"]["code"].as_i64()
    };
    assert_eq!(code("textDocument/hover"), Some(-32002));
    assert_eq!(code("initialize"), None);
    assert_eq!(code("initialize"), Some(-32600));
    assert_eq!(code("no/such"), Some(-32601));
    assert_eq!(code("textDocument/hover"), Some(-32602));
    assert_eq!(code("shutdown"), None);
    assert_eq!(code("textDocument/hover"), Some(-32600));
    server.handle(&json!({ "jsonrpc": "2.0", "method": "exit" }));
    assert_eq!(server.stage(), Stage::Over { orderly: true });
}

#[test]
fn parameters_of_any_shape_are_survived() {
    let shapes = [
        json!(null),
        json!(7),
        json!([]),
        json!("x"),
        json!({ "textDocument": 1, "position": [], "contentChanges": {} }),
        json!({ "textDocument": { "uri": "file:///w/a.p4", "text": 4, "version": "x" } }),
        json!({ "textDocument": { "uri": "file:///w/a.p4" }, "contentChanges": [{}, 4] }),
        json!({ "textDocument": { "uri": "file:///w/a.p4" }, "position": { "line": 1e300, "character": -1 } }),
        json!({ "textDocument": { "uri": "file:///w/a.p4" }, "position": { "line": 4294967296u64, "character": 4294967296u64 } }),
        json!({ "textDocument": { "uri": "file:///w/a.p4" }, "range": { "start": { "line": 9, "character": 0 }, "end": { "line": 2, "character": 0 } } }),
        json!({ "workspaceFolders": [1, { "uri": 2 }], "rootUri": {} }),
    ];
    let methods = [
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didClose",
        "textDocument/didSave",
        "textDocument/hover",
        "textDocument/definition",
        "textDocument/completion",
        "textDocument/documentSymbol",
        "textDocument/formatting",
        "textDocument/rangeFormatting",
        "workspace/didChangeWatchedFiles",
        "$/cancelRequest",
        "initialize",
    ];
    let mut editor = Editor::new(&[]);
    for method in methods {
        for params in &shapes {
            editor.open("/w/a.p4", &router("hdr.eth.kind = 1;"));
            let notice = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            editor.server.handle(&notice);
            editor.request(method, params.clone());
        }
    }
}
