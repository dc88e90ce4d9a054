//! The engine in a browser (docs/web.md): a question in JSON, an answer in JSON.
//!
//! A page writes a question where [`input`] says, calls [`answer`], and reads the answer where
//! [`output`] says. That takes no tool beside the compiler, and no script that is generated from
//! this crate. Whoever asks is a worker that can be ended: nothing here has a clock.
#![deny(unsafe_code)]

mod compile;
mod editor;
mod network;
mod trace;
mod update;

use serde_json::{json, Value};
use std::cell::RefCell;

pub use editor::Editor;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static EDITOR: RefCell<Editor> = RefCell::default();
}

/// Room for a question of `length` bytes, until the next call.
#[no_mangle]
#[allow(unsafe_code)] // the attribute: nothing else has these names
pub extern "C" fn input(length: usize) -> *mut u8 {
    INPUT.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.resize(length, 0);
        bytes.as_mut_ptr()
    })
}

/// Answers the question; gives how many bytes the answer has.
#[no_mangle]
#[allow(unsafe_code)]
pub extern "C" fn answer() -> usize {
    let question = INPUT.take();
    let answer = EDITOR.with_borrow_mut(|editor| ask(editor, &question));
    OUTPUT.set(answer.to_string().into_bytes());
    OUTPUT.with_borrow(Vec::len)
}

/// Where the answer is, until the next question.
#[no_mangle]
#[allow(unsafe_code)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|bytes| bytes.as_ptr())
}

/// The answer to `{"ask": NAME, ...}`: `{"answer": ...}`, or `{"error": SENTENCE}`.
pub fn ask(editor: &mut Editor, question: &[u8]) -> Value {
    let answer = serde_json::from_slice(question)
        .map_err(|error| format!("this is no question: {error}"))
        .and_then(|question: Value| {
            let name = question["ask"].as_str().unwrap_or_default();
            match name {
                "compile" => read(&question).map(|source| compile::compile(&source)),
                "format" => read(&question).and_then(|given| editor::format(&given)),
                "lsp" => read(&question).map(|given| editor.message(given)),
                "network" => read(&question).and_then(|scene| network::run(&scene)),
                _ => Err(format!(
                    "there is no question {name:?}; ask compile, format, lsp or network"
                )),
            }
        });
    match answer {
        Ok(answer) => json!({ "answer": answer }),
        Err(error) => json!({ "error": error }),
    }
}

fn read<T: serde::de::DeserializeOwned>(question: &Value) -> Result<T, String> {
    T::deserialize(question).map_err(|error| error.to_string())
}
