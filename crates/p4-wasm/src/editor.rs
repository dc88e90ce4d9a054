//! What an editor in a page asks: the language server's messages, and the formatter.

use p4_driver::later_passes;
use p4_lsp::{Config, Files, Server};
use serde::Deserialize;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The language server of a page.
pub struct Editor {
    server: Server,
    files: Shelf,
}

/// A message of the Language Server Protocol, and the files beside those that are open, by path;
/// without any, those of the message before.
#[derive(Deserialize)]
pub struct Message {
    message: Value,
    files: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
pub struct Text {
    text: String,
}

impl Default for Editor {
    fn default() -> Editor {
        let files = Shelf::default();
        Editor {
            server: server(&files),
            files,
        }
    }
}

fn server(files: &Shelf) -> Server {
    let files = Box::new(files.clone());
    Server::new(Config::default(), files, Box::new(later_passes))
}

impl Editor {
    /// The messages that answer one. A page that opens another lab begins a conversation anew.
    pub fn message(&mut self, given: Message) -> Value {
        if given.message["method"] == "initialize" {
            self.server = server(&self.files);
        }
        if let Some(files) = given.files {
            self.files.0.replace(files);
        }
        self.server.handle(&given.message).into()
    }
}

/// The formatted text, or LINE:COLUMN and the reason why it cannot be read.
pub fn format(given: &Text) -> Result<Value, String> {
    match p4_fmt::format(&given.text) {
        Ok(text) => Ok(text.into()),
        Err(error) => Err(error.to_string()),
    }
}

/// The files of a page; none lies outside of it.
#[derive(Clone, Default)]
struct Shelf(Rc<RefCell<BTreeMap<String, String>>>);

impl Files for Shelf {
    fn read(&self, path: &str, _within: &[String]) -> Option<Result<String, String>> {
        self.0.borrow().get(path).cloned().map(Ok)
    }

    fn programs(&self, folder: &str) -> Vec<String> {
        let files = self.0.borrow();
        let inside = |path: &&String| path.starts_with(folder) && path.ends_with(".p4");
        files.keys().filter(inside).cloned().collect()
    }

    fn show(&self, _name: &str, _text: &str) -> Option<String> {
        None
    }
}
