//! The language server for P4_16: what an editor asks, answered.
//!
//! A [`Server`] holds the texts that are open in an editor and turns each message of the Language
//! Server Protocol into the messages that answer it. It does no I/O but through [`Files`], so tests
//! need no process and no disk; [`serve`] connects it to two streams.
//!
//! A question is answered from the tree and the checker's notes of the program that the file belongs
//! to ([`workspace`] finds it: an included file is read as the compiler reads it, through the file
//! that includes it). Only completion works on tokens, because the text before the cursor is never a
//! whole program.
#![forbid(unsafe_code)]

mod analysis;
mod complete;
mod context;
mod diagnostics;
mod hover;
mod members;
mod outline;
mod place;
mod scope;
mod server;
mod target;
mod text;
mod transport;
mod tree;
mod uri;
mod workspace;

pub use server::{Config, Server, Stage};
pub use transport::serve;

use p4_check::Checked;
use p4_syntax::Diagnostic;

/// The files outside the editor.
pub trait Files {
    /// Reads a file that lies in one of the folders `within`, after symbolic links are followed.
    /// `None` when there is no such file, `Some(Err(reason))` when it cannot or must not be read.
    fn read(&self, path: &str, within: &[String]) -> Option<Result<String, String>>;

    /// Paths of the P4 files in `folder` and below, as many as can be looked through quickly.
    fn programs(&self, folder: &str) -> Vec<String>;

    /// A path under which an editor can open the text of a built-in file, such as `core.p4`.
    fn show(&self, name: &str, text: &str) -> Option<String>;
}

/// What the passes behind the checker have to say about a program without errors.
pub type LaterPasses = dyn Fn(&Checked<'_>) -> Vec<Diagnostic>;
