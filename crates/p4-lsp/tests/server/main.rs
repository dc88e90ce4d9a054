//! What a student sees in an editor: if these failed, the editor would stay silent, point to the wrong
//! place or lose the server in the middle of a word.

mod completion;
mod diagnostics;
mod formatting;
mod names;
mod protocol;
mod robust;

use p4_lsp::{Config, Files, Server};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A disk in memory.
#[derive(Default)]
struct Disk(BTreeMap<String, String>);

impl Files for Disk {
    fn read(&self, path: &str, within: &[String]) -> Option<Result<String, String>> {
        assert!(
            within
                .iter()
                .any(|folder| path.starts_with(folder.as_str())),
            "{path}"
        );
        self.0.get(path).cloned().map(Ok)
    }

    fn programs(&self, folder: &str) -> Vec<String> {
        let below = format!("{folder}/");
        self.0
            .keys()
            .filter(|path| path.starts_with(&below))
            .cloned()
            .collect()
    }

    fn show(&self, name: &str, _: &str) -> Option<String> {
        Some(format!("/cache/{name}"))
    }
}

/// An editor that talks to a server.
struct Editor {
    server: Server,
    requests: u64,
    /// The last diagnostics of each document
    diagnostics: BTreeMap<String, Vec<Value>>,
}

impl Editor {
    fn new(files: &[(&str, &str)]) -> Editor {
        Editor::with(Config::default(), files)
    }

    /// An editor with the folder /w open; `files` are on disk.
    fn with(config: Config, files: &[(&str, &str)]) -> Editor {
        let files = files
            .iter()
            .map(|(path, text)| (path.to_string(), text.to_string()));
        let disk = Disk(files.collect());
        let mut editor = Editor {
            server: Server::new(config, Box::new(disk), Box::new(|_| Vec::new())),
            requests: 0,
            diagnostics: BTreeMap::new(),
        };
        editor.ask("initialize", json!({ "rootUri": "file:///w" }));
        editor.tell("initialized", json!({}));
        editor
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut answers = self.server.handle(&request);
        assert_eq!(answers.len(), 1, "one answer to {method}");
        let answer = answers.remove(0);
        assert_eq!(answer["id"], id);
        answer
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params);
        assert_eq!(answer.get("error"), None, "{method}");
        answer["result"].clone()
    }

    fn tell(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        for sent in self.server.handle(&message) {
            assert_eq!(sent["method"], "textDocument/publishDiagnostics");
            let uri = sent["params"]["uri"].as_str().expect("a URI").to_string();
            let list = sent["params"]["diagnostics"]
                .as_array()
                .expect("a list")
                .clone();
            self.diagnostics.insert(uri, list);
        }
    }

    fn open(&mut self, path: &str, text: &str) {
        let document = json!({ "uri": uri(path), "languageId": "p4", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn change(&mut self, path: &str, text: &str) {
        self.tell(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri(path), "version": 2 },
                "contentChanges": [{ "text": text }],
            }),
        );
    }

    fn at(&mut self, method: &str, path: &str, position: Value) -> Value {
        let document = json!({ "uri": uri(path) });
        self.ask(
            method,
            json!({ "textDocument": document, "position": position }),
        )
    }

    /// Opens `marked`, whose `$0` is the cursor, as /w/a.p4 and asks there.
    fn ask_at_mark(&mut self, method: &str, marked: &str) -> Value {
        let (text, position) = unmark(marked);
        self.open("/w/a.p4", &text);
        self.at(method, "/w/a.p4", position)
    }

    /// Codes and first lines (from 1) of the diagnostics of a document.
    fn codes(&self, path: &str) -> Vec<(String, u64)> {
        let list = self
            .diagnostics
            .get(&uri(path))
            .cloned()
            .unwrap_or_default();
        let entry = |d: &Value| {
            let line = d["range"]["start"]["line"].as_u64().expect("a line") + 1;
            (d["code"].as_str().expect("a code").to_string(), line)
        };
        list.iter().map(entry).collect()
    }
}

fn uri(path: &str) -> String {
    format!("file://{path}")
}

/// The text without its `$0`, and where that stood. Counts UTF-16 units by itself.
fn unmark(marked: &str) -> (String, Value) {
    let (before, after) = marked.split_once("$0").expect("a mark");
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let character: usize = before[start..].chars().map(char::len_utf16).sum();
    let position = json!({ "line": line, "character": character });
    (format!("{before}{after}"), position)
}

/// The source text that a location points to.
fn pointed<'t>(text: &'t str, range: &Value) -> &'t str {
    let offset = |end: &Value| {
        let number = |key: &str| end[key].as_u64().expect("a number") as usize;
        let start: usize = text
            .split_inclusive('\n')
            .take(number("line"))
            .map(str::len)
            .sum();
        let mut units = 0;
        for (at, c) in text[start..].char_indices() {
            if units >= number("character") {
                return start + at;
            }
            units += c.len_utf16();
        }
        text.len()
    };
    &text[offset(&range["start"])..offset(&range["end"])]
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a file of the repository")
}

/// p4/bier as it lies in the repository, under /w.
fn bier() -> Vec<(String, String)> {
    [
        "bier/bier.p4",
        "bier/v1model.p4",
        "include/headers.p4",
        "include/parser.p4",
    ]
    .map(|path| (format!("/w/p4/{path}"), source(&format!("p4/{path}"))))
    .to_vec()
}

fn bier_editor() -> Editor {
    let files = bier();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    Editor::new(&files)
}

/// A small program with most of what completion and hover know; `BODY` is the control's `apply`.
fn router(body: &str) -> String {
    ROUTER.replace("BODY", body)
}

const ROUTER: &str = "\
#include <core.p4>
#include <v1model.p4>
#define LIMIT 7
typedef bit<48> mac_t;
// An Ethernet header: ü \u{1F600} are not ASCII.
header eth_t {
    mac_t   dst;   // where to
    mac_t   src;
    bit<16> kind;
}
header label_t { bit<20> value; bit<4> rest; }
header opt_t { bit<8> length; varbit<64> data; }
header_union any_t { eth_t eth; label_t label; }
enum bit<8> reason_t { NONE = 0, BAD = 5 }
enum color_t { RED, GREEN }
struct headers { eth_t eth; label_t[3] labels; any_t any; opt_t opt; }
struct metadata { bit<8> hops; reason_t why; }
const bit<16> KIND_IP = 0x0800;
/* \u{1F600} */ const bool ON = true;
parser P(packet_in packet, out headers hdr, inout metadata meta,
         inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.kind) {
            KIND_IP: parse_label;
            default: accept;
        }
    }
    // One label of the stack.
    state parse_label {
        packet.extract(hdr.labels.next);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) { apply {} }
control I(inout headers hdr, inout metadata meta,
          inout standard_metadata_t standard_metadata) {
    register<bit<32>>(16) seen;
    // Sends the packet away.
    action forward(bit<9> port, mac_t next) {
        standard_metadata.egress_spec = port;
        hdr.eth.dst = next;
    }
    action lose() { mark_to_drop(standard_metadata); }
    table route {
        key = { hdr.eth.dst: exact; meta.hops: ternary; }
        actions = { forward; lose; }
        const default_action = lose();
        size = 64;
    }
    apply {
        bit<8> count = 1;
        BODY
    }
}
control E(inout headers hdr, inout metadata meta,
          inout standard_metadata_t standard_metadata) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.eth); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
";
