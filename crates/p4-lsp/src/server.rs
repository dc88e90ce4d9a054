//! The messages of the Language Server Protocol (version 3.17), as far as an editor for P4 needs them.

use crate::analysis::{Analysis, File};
use crate::diagnostics::{self, Links};
use crate::place;
use crate::target::{self, Target};
use crate::text::{self, Lines, Position};
use crate::workspace::{include_target, Document, Workspace};
use crate::{complete, hover, outline, tree, uri, Files, LaterPasses};
use p4_check::Checked;
use p4_fmt::scan::Kind;
use p4_syntax::{Diagnostic, Options, Severity};
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub include_dirs: Vec<String>,
    pub defines: Vec<(String, String)>,
    /// A folder with a page `CODE.md` for each code of the compiler
    pub pages: Option<String>,
}

/// How far the conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before `initialize`
    Greeting,
    Working,
    /// After `shutdown`
    ShutDown,
    /// After `exit`; whether a `shutdown` came before
    Over {
        orderly: bool,
    },
}

/// A language server: messages in, messages out.
pub struct Server {
    config: Config,
    workspace: Workspace,
    later: Box<LaterPasses>,
    stage: Stage,
    /// Programs as they are now, by main file
    current: BTreeMap<String, Rc<Analysis>>,
    /// Programs when they last had no mistake in their grammar
    sound: BTreeMap<String, Rc<Analysis>>,
}

/// The protocol's error codes.
mod code {
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const NOT_INITIALIZED: i64 = -32002;
    pub const REQUEST_FAILED: i64 = -32803;
}

/// The answer to a request: a result, or an error's code and message.
type Answer = Result<Value, (i64, String)>;

impl Server {
    /// `later` is asked about programs in which nothing is wrong so far.
    pub fn new(config: Config, files: Box<dyn Files>, later: Box<LaterPasses>) -> Server {
        Server {
            workspace: Workspace::new(files, config.include_dirs.clone()),
            config,
            later,
            stage: Stage::Greeting,
            current: BTreeMap::new(),
            sound: BTreeMap::new(),
        }
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes a message and gives the messages to send.
    pub fn handle(&mut self, message: &Value) -> Vec<Value> {
        let method = message.get("method").and_then(Value::as_str);
        let params = message.get("params").unwrap_or(&Value::Null);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => vec![match self.request(method, params) {
                Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                Err((code, message)) => error(id, code, &message),
            }],
            (Some(method), None) => self.notification(method, params),
            // The answer to a request of ours; there are none.
            (None, Some(_)) if message.get("result").or(message.get("error")).is_some() => {
                Vec::new()
            }
            (None, id) => {
                let id = id.unwrap_or(&Value::Null);
                vec![error(
                    id,
                    code::INVALID_REQUEST,
                    "A request needs a method.",
                )]
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Answer {
        match (self.stage, method) {
            (Stage::Greeting, "initialize") => return Ok(self.initialize(params)),
            (Stage::Greeting, _) => {
                return Err((
                    code::NOT_INITIALIZED,
                    "The first request is `initialize`.".into(),
                ))
            }
            (Stage::ShutDown | Stage::Over { .. }, _) => {
                return Err((code::INVALID_REQUEST, "The server is shut down.".into()))
            }
            (Stage::Working, _) => {}
        }
        match method {
            "initialize" => Err((code::INVALID_REQUEST, "`initialize` comes once.".into())),
            "shutdown" => {
                self.stage = Stage::ShutDown;
                Ok(Value::Null)
            }
            "textDocument/hover" => self.hover(params),
            "textDocument/definition" => self.definition(params),
            "textDocument/completion" => self.completion(params),
            "textDocument/documentSymbol" => self.symbols(params),
            "textDocument/formatting" => self.formatting(params),
            "textDocument/rangeFormatting" => self.range_formatting(params),
            _ => Err((
                code::METHOD_NOT_FOUND,
                format!("There is no method `{method}` here."),
            )),
        }
    }

    fn notification(&mut self, method: &str, params: &Value) -> Vec<Value> {
        if method == "exit" {
            let orderly = self.stage == Stage::ShutDown;
            self.stage = Stage::Over { orderly };
        }
        if self.stage != Stage::Working {
            return Vec::new();
        }
        let document = params.get("textDocument").unwrap_or(&Value::Null);
        let uri = document
            .get("uri")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let version = document.get("version").and_then(Value::as_i64);
        let path = uri::to_path(uri);
        match method {
            "textDocument/didOpen" => {
                let text = document.get("text").and_then(Value::as_str);
                self.workspace.open(Document {
                    uri: uri.to_string(),
                    version,
                    text: text.unwrap_or_default().to_string(),
                });
                self.workspace.look_around();
                self.current.clear();
                self.publish()
            }
            "textDocument/didChange" => {
                let changes = params.get("contentChanges").and_then(Value::as_array);
                let last = changes.and_then(|changes| changes.last());
                let text = last.and_then(|change| change.get("text")?.as_str());
                let (Some(text), Some(document)) = (text, self.workspace.document_mut(&path))
                else {
                    return Vec::new();
                };
                document.text = text.to_string();
                document.version = version;
                self.current
                    .retain(|_, program| program.file(&path).is_none());
                self.publish()
            }
            "textDocument/didClose" => {
                self.workspace.close(&path);
                self.current.clear();
                let mut messages = vec![publication(uri, None, Vec::new())];
                messages.extend(self.publish());
                messages
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.workspace.look_around();
                self.current.clear();
                self.publish()
            }
            _ => Vec::new(),
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        let uri = |value: &Value| value.as_str().map(uri::to_path);
        let listed = params.get("workspaceFolders").and_then(Value::as_array);
        let mut folders: Vec<String> = listed
            .into_iter()
            .flatten()
            .filter_map(|folder| folder.get("uri").and_then(uri))
            .collect();
        if folders.is_empty() {
            folders.extend(params.get("rootUri").and_then(uri));
        }
        folders.retain(|folder| folder.starts_with('/'));
        self.workspace.set_folders(folders);
        self.stage = Stage::Working;
        json!({
            "capabilities": {
                "positionEncoding": "utf-16",
                // A change brings the whole text: checking it takes far longer than sending it.
                "textDocumentSync": { "openClose": true, "change": 1, "save": true },
                "hoverProvider": true,
                "definitionProvider": true,
                "completionProvider": { "triggerCharacters": [".", "@", "\"", "#"] },
                "documentSymbolProvider": true,
                "documentFormattingProvider": true,
                "documentRangeFormattingProvider": true,
            },
            "serverInfo": { "name": "p4lab", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    /// The program in `main_file`, parsed.
    fn program(&mut self, main_file: &str) -> Rc<Analysis> {
        if let Some(known) = self.current.get(main_file) {
            return Rc::clone(known);
        }
        let options = Options {
            include_dirs: self.workspace.include_dirs().to_vec(),
            defines: self.config.defines.clone(),
            ..Options::default()
        };
        let provider = self.workspace.provider(main_file);
        let parsed = p4_syntax::parse(main_file, &provider, &options);
        let sound = !parsed.has_errors();
        let program = Rc::new(Analysis::new(parsed));
        self.current
            .insert(main_file.to_string(), Rc::clone(&program));
        if sound {
            self.sound
                .insert(main_file.to_string(), Rc::clone(&program));
        }
        program
    }

    /// The program that the file at `path` belongs to, and its main file.
    fn program_of(&mut self, path: &str) -> (String, Rc<Analysis>) {
        let main = self.workspace.main_file(path);
        let program = self.program(&main);
        match program.file(path).is_some() {
            true => (main, program),
            // The main file includes it under a condition that does not hold.
            false => (path.to_string(), self.program(path)),
        }
    }

    /// Diagnostics of the programs that changed.
    fn publish(&mut self) -> Vec<Value> {
        let paths: Vec<String> = self
            .workspace
            .documents()
            .map(|(path, _)| path.to_string())
            .collect();
        let fresh = |server: &Server, main: &str| server.current.contains_key(main);
        let known: BTreeSet<String> = self.current.keys().cloned().collect();
        let mut of_main: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in paths {
            let (main, _) = self.program_of(&path);
            if !known.contains(&main) && fresh(self, &main) {
                of_main.entry(main).or_default().push(path);
            }
        }
        let mut messages = Vec::new();
        for (main, paths) in of_main {
            let program = self.program(&main);
            let all = self.diagnostics(&program);
            let show = |name: &str, text: &str| self.workspace.files().show(name, text);
            let links = Links {
                show: &show,
                page: &|code| self.page(code),
            };
            let is_open = |path: &str| self.workspace.document(path).is_some();
            let mut by_file = diagnostics::by_file(&program, &all, &links, &is_open);
            for path in paths {
                let found = by_file.remove(&path).unwrap_or_default();
                if let Some(document) = self.workspace.document(&path) {
                    messages.push(publication(&document.uri, document.version, found));
                }
            }
        }
        messages
    }

    fn diagnostics(&self, program: &Analysis) -> Vec<Diagnostic> {
        let is_error = |d: &Diagnostic| d.severity == Severity::Error;
        let mut all = program.parsed.diagnostics.clone();
        let checked = p4_check::check(&program.parsed.program);
        all.extend(checked.diagnostics.iter().cloned());
        if checked.main.is_some() && !all.iter().any(is_error) {
            all.extend((self.later)(&checked));
        }
        all
    }

    /// The address of the page on a code.
    fn page(&self, code: &str) -> Option<String> {
        let folder = self.config.pages.as_deref()?;
        let known = code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        known.then(|| uri::from_path(&uri::join(folder, &format!("{code}.md"))))
    }

    /// The document and the place that a request is about.
    fn asked(&self, params: &Value) -> Result<(String, usize), (i64, String)> {
        let path = self.document_path(params)?;
        let position = params.get("position").and_then(Position::from_json);
        let (Some(position), Some(document)) = (position, self.workspace.document(&path)) else {
            return Err((code::INVALID_PARAMS, "The request needs a position.".into()));
        };
        Ok((path, text::offset(&document.text, position)))
    }

    fn document_path(&self, params: &Value) -> Result<String, (i64, String)> {
        let uri = params
            .get("textDocument")
            .and_then(|document| document.get("uri")?.as_str());
        let path = uri.map(uri::to_path);
        match path.filter(|path| self.workspace.document(path).is_some()) {
            Some(path) => Ok(path),
            None => Err((
                code::INVALID_PARAMS,
                "The request is about no open document.".into(),
            )),
        }
    }

    /// Asks `answer` about the name at the place of a request.
    fn at_name(&mut self, params: &Value, answer: &dyn Fn(&Server, Name) -> Value) -> Answer {
        let (path, offset) = self.asked(params)?;
        let (_, program) = self.program_of(&path);
        let Some(file) = program.file(&path) else {
            return Ok(Value::Null);
        };
        let at = |piece: &&p4_fmt::scan::Piece| piece.start <= offset && offset <= piece.end();
        let pieces = p4_fmt::scan(file.text);
        let piece = pieces.iter().rev().find(at);
        if piece.is_some_and(|piece| piece.is_comment() || piece.kind == Kind::Str) {
            return Ok(Value::Null);
        }
        let name = |meaning| Name {
            program: &program,
            file,
            meaning,
        };
        if let Some(target) = piece
            .filter(|p| p.kind == Kind::Directive)
            .and_then(|p| include_target(p.text))
        {
            return Ok(answer(self, name(Meaning::Include(target))));
        }
        if let Some((word, range)) = place::word_at(file.text, offset) {
            if let Some(found) = place::macro_named(&program, word) {
                return Ok(answer(self, name(Meaning::Macro(found, range))));
            }
        }
        let Some(pos) = program.parsed.sources.position(file.index, offset) else {
            return Ok(Value::Null);
        };
        let Some((span, site)) = tree::site_at(&program.parsed.program, pos) else {
            return Ok(Value::Null);
        };
        let checked = p4_check::check(&program.parsed.program);
        let range = program.range_in(file, span).unwrap_or(offset..offset);
        match target::of_site(&checked, site, pos) {
            Some(target) => Ok(answer(self, name(Meaning::Target(&checked, target, range)))),
            None => Ok(Value::Null),
        }
    }

    fn hover(&mut self, params: &Value) -> Answer {
        self.at_name(params, &|_, name| {
            let (contents, range) = match name.meaning {
                Meaning::Include(_) => return Value::Null,
                Meaning::Macro(found, range) => (format!("```p4\n{}\n```", found.text), range),
                Meaning::Target(checked, target, range) => {
                    (hover::hover(name.program, checked, target), range)
                }
            };
            json!({
                "contents": { "kind": "markdown", "value": contents },
                "range": name.file.lines.range(name.file.text, range),
            })
        })
    }

    fn definition(&mut self, params: &Value) -> Answer {
        self.at_name(params, &|server, name| {
            let show = |name: &str, text: &str| server.workspace.files().show(name, text);
            let found = match &name.meaning {
                Meaning::Include(target) => server.included_file(&name, target),
                Meaning::Macro(found, _) => place_json(found.file, found.name.clone(), &show),
                Meaning::Target(_, target, _) => target
                    .span()
                    .and_then(|span| name.program.location(span, &show)),
            };
            found.unwrap_or(Value::Null)
        })
    }

    /// The beginning of the file that an `#include` names.
    fn included_file(&self, name: &Name, target: &str) -> Option<Value> {
        let folder = uri::folder(name.file.name).to_string();
        let folders = std::iter::once(&folder).chain(self.workspace.include_dirs());
        let mut paths: Vec<String> = vec![format!("<{target}>")];
        paths.extend(folders.map(|folder| uri::join(folder, target)));
        let file = paths.iter().find_map(|path| {
            let mut files = name.program.files();
            files.find(|file| file.name == path || uri::normal(file.name) == *path)
        })?;
        let show = |name: &str, text: &str| self.workspace.files().show(name, text);
        place_json(file, 0..0, &show)
    }

    fn completion(&mut self, params: &Value) -> Answer {
        let (path, offset) = self.asked(params)?;
        let (main, program) = self.program_of(&path);
        let includable = self.workspace.includable(&path);
        let Some(document) = self.workspace.document(&path) else {
            return Ok(Value::Null);
        };
        let items = |program: &Analysis, pos: u32| {
            let checked = p4_check::check(&program.parsed.program);
            complete::complete(program, &checked, &document.text, offset, pos, &includable)
        };
        let file = program.file(&path);
        let pos = file.and_then(|file| program.parsed.sources.position(file.index, offset));
        let mut found = pos.map_or(Vec::new(), |pos| items(&program, pos));
        if found.is_empty() {
            // What is being typed may have hidden the declarations around it.
            if let Some(sound) = self.sound.get(&main) {
                found = items(sound, u32::MAX);
            }
        }
        Ok(json!({ "isIncomplete": false, "items": found }))
    }

    fn symbols(&mut self, params: &Value) -> Answer {
        let path = self.document_path(params)?;
        let (_, program) = self.program_of(&path);
        Ok(match program.file(&path) {
            Some(file) => outline::symbols(&program, file).into(),
            None => json!([]),
        })
    }

    fn formatting(&mut self, params: &Value) -> Answer {
        let path = self.document_path(params)?;
        let Some(document) = self.workspace.document(&path) else {
            return Ok(Value::Null);
        };
        let formatted = p4_fmt::format(&document.text).map_err(unreadable)?;
        Ok(edit(&document.text, &formatted)
            .into_iter()
            .collect::<Vec<_>>()
            .into())
    }

    fn range_formatting(&mut self, params: &Value) -> Answer {
        let path = self.document_path(params)?;
        let end = |key: &str| Position::from_json(params.get("range")?.get(key)?);
        let (Some(start), Some(end), Some(document)) =
            (end("start"), end("end"), self.workspace.document(&path))
        else {
            return Err((code::INVALID_PARAMS, "The request needs a range.".into()));
        };
        let text = &document.text;
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let old: Vec<&str> = text.lines().collect();
        let mut edits = Vec::new();
        for new in p4_fmt::format_lines(&text.replace("\r\n", "\n")).map_err(unreadable)? {
            let Some(was) = old.get(new.first..=new.last) else {
                continue;
            };
            if new.last < start.line || new.first > end.line || was.join("\n") == new.text {
                continue;
            }
            let width = old[new.last].encode_utf16().count();
            edits.push(json!({
                "range": {
                    "start": { "line": new.first, "character": 0 },
                    "end": { "line": new.last, "character": width },
                },
                "newText": new.text.replace('\n', line_end),
            }));
        }
        Ok(edits.into())
    }
}

/// A name that a request is about.
struct Name<'n> {
    program: &'n Analysis,
    file: File<'n>,
    meaning: Meaning<'n, 'n>,
}

enum Meaning<'n, 'a> {
    /// The path in an `#include`
    Include(&'n str),
    /// The macro, and the bytes of the name at the cursor
    Macro(place::Macro<'n>, std::ops::Range<usize>),
    Target(&'n Checked<'a>, Target<'a>, std::ops::Range<usize>),
}

fn place_json(
    file: File,
    range: std::ops::Range<usize>,
    show: &dyn Fn(&str, &str) -> Option<String>,
) -> Option<Value> {
    let path = crate::analysis::file_path(file, show)?;
    Some(json!({
        "uri": uri::from_path(&path),
        "range": file.lines.range(file.text, range),
    }))
}

fn unreadable(error: p4_fmt::Unreadable) -> (i64, String) {
    let message = format!("Not formatted: line {}: {}.", error.line, error.reason);
    (code::REQUEST_FAILED, message)
}

/// The edit that turns `old` into `new`: the lines between what both begin and end with.
fn edit(old: &str, new: &str) -> Option<Value> {
    if old == new {
        return None;
    }
    let same = |a: &str, b: &str| a == b;
    let (a, b): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let before = a.iter().zip(&b).take_while(|(a, b)| same(a, b)).count();
    let most = a.len().min(b.len()) - before;
    let after = a.iter().rev().zip(b.iter().rev()).take(most);
    let after = after.take_while(|(a, b)| same(a, b)).count();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let start = length(&a[..before]);
    let range = start..start + length(&a[before..a.len() - after]);
    Some(json!({
        "range": Lines::new(old).range(old, range),
        "newText": b[before..b.len() - after].concat(),
    }))
}

fn publication(uri: &str, version: Option<i64>, diagnostics: Vec<Value>) -> Value {
    let mut params = json!({ "uri": uri, "diagnostics": diagnostics });
    if let Some(version) = version {
        params["version"] = version.into();
    }
    json!({
        "jsonrpc": "2.0",
        "method": "textDocument/publishDiagnostics",
        "params": params,
    })
}

pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
