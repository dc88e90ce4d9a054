//! The open documents, the files around them, and which program a file belongs to.

use crate::uri;
use crate::Files;
use p4_fmt::scan::Kind;
use p4_syntax::FileProvider;
use std::collections::{BTreeMap, BTreeSet};

/// So many files are offered for an `#include`.
const MAX_INCLUDABLE: usize = 200;

/// A text as the editor has it.
pub(crate) struct Document {
    /// As the editor writes it
    pub uri: String,
    pub version: Option<i64>,
    pub text: String,
}

pub(crate) struct Workspace {
    files: Box<dyn Files>,
    /// Normal paths of the folders that the editor has open
    folders: Vec<String>,
    include_dirs: Vec<String>,
    documents: BTreeMap<String, Document>,
    /// What the P4 files on disk include, as written
    on_disk: BTreeMap<String, Vec<String>>,
}

impl Workspace {
    pub(crate) fn new(files: Box<dyn Files>, include_dirs: Vec<String>) -> Workspace {
        Workspace {
            files,
            folders: Vec::new(),
            include_dirs: include_dirs.iter().map(|dir| uri::normal(dir)).collect(),
            documents: BTreeMap::new(),
            on_disk: BTreeMap::new(),
        }
    }

    pub(crate) fn set_folders(&mut self, folders: Vec<String>) {
        self.folders = folders;
        self.look_around();
    }

    /// Reads anew which file includes which.
    pub(crate) fn look_around(&mut self) {
        self.on_disk.clear();
        let mut folders: BTreeSet<String> = self.folders.iter().cloned().collect();
        let documents = self.documents.keys().filter(|path| path.starts_with('/'));
        for folder in documents.map(|path| uri::folder(path)) {
            if !folders.iter().any(|known| uri::is_in(folder, known)) {
                folders.insert(folder.to_string());
            }
        }
        for folder in folders {
            for path in self.files.programs(&folder) {
                let path = uri::normal(&path);
                if let Some(Ok(text)) = self.files.read(&path, std::slice::from_ref(&folder)) {
                    self.on_disk.insert(path, included(&text));
                }
            }
        }
    }

    pub(crate) fn open(&mut self, document: Document) {
        self.documents.insert(uri::to_path(&document.uri), document);
    }

    pub(crate) fn close(&mut self, path: &str) {
        self.documents.remove(path);
    }

    pub(crate) fn document(&self, path: &str) -> Option<&Document> {
        self.documents.get(path)
    }

    pub(crate) fn document_mut(&mut self, path: &str) -> Option<&mut Document> {
        self.documents.get_mut(path)
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = (&str, &Document)> {
        self.documents.iter().map(|(path, d)| (&**path, d))
    }

    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    pub(crate) fn include_dirs(&self) -> &[String] {
        &self.include_dirs
    }

    /// The file that a compiler would be given to read `path`: one that includes it, if there is one.
    pub(crate) fn main_file(&self, path: &str) -> String {
        let mut includes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (file, targets) in &self.on_disk {
            includes.insert(file, self.resolved(file, targets));
        }
        for (file, document) in &self.documents {
            includes.insert(file, self.resolved(file, &included(&document.text)));
        }
        let mut reached = BTreeSet::from([path]);
        let mut tops = Vec::new();
        let mut waiting = vec![path];
        while let Some(file) = waiting.pop() {
            let mut is_top = true;
            for (&includer, targets) in &includes {
                if includer != file && targets.iter().any(|target| target == file) {
                    is_top = false;
                    if reached.insert(includer) {
                        waiting.push(includer);
                    }
                }
            }
            if is_top {
                tops.push(file);
            }
        }
        // The nearest one: with most of the path in common, then the first by name.
        let nearness = |top: &&str| {
            let common = top.bytes().zip(path.bytes()).take_while(|(a, b)| a == b);
            (std::cmp::Reverse(common.count()), top.to_string())
        };
        let main = tops.into_iter().min_by_key(nearness);
        main.unwrap_or(path).to_string()
    }

    /// What the file at `path` can include, as it would be written there.
    pub(crate) fn includable(&self, path: &str) -> Vec<String> {
        let known = self
            .on_disk
            .keys()
            .map(String::as_str)
            .chain(self.documents.keys().map(|p| &**p));
        let others: BTreeSet<&str> = known
            .filter(|other| *other != path && other.starts_with('/'))
            .collect();
        let folder = uri::folder(path);
        others
            .into_iter()
            .take(MAX_INCLUDABLE)
            .map(|other| uri::relative(folder, other))
            .collect()
    }

    /// Where the targets of `file` may lie.
    fn resolved(&self, file: &str, targets: &[String]) -> Vec<String> {
        let folder = uri::folder(file).to_string();
        let folders = std::iter::once(&folder).chain(&self.include_dirs);
        let join = |target: &String| {
            let paths = folders.clone().map(|folder| uri::join(folder, target));
            paths.collect::<Vec<_>>()
        };
        targets.iter().flat_map(join).collect()
    }

    /// The folders whose files a program may read.
    fn within(&self, main_file: &str) -> Vec<String> {
        let folder = uri::folder(main_file).to_string();
        let mut within: Vec<String> = self
            .folders
            .iter()
            .chain(&self.include_dirs)
            .cloned()
            .collect();
        if !folder.is_empty() {
            within.push(folder);
        }
        within
    }

    /// What the compiler may read for the program in `main_file`.
    pub(crate) fn provider(&self, main_file: &str) -> Provider<'_> {
        Provider {
            workspace: self,
            within: self.within(main_file),
        }
    }
}

/// Open documents first, then the disk.
pub(crate) struct Provider<'a> {
    workspace: &'a Workspace,
    within: Vec<String>,
}

impl FileProvider for Provider<'_> {
    fn read(&self, path: &str) -> Option<Result<String, String>> {
        let path = uri::normal(path);
        if let Some(document) = self.workspace.document(&path) {
            return Some(Ok(document.text.clone()));
        }
        if !path.starts_with('/') {
            return None;
        }
        if !self.within.iter().any(|folder| uri::is_in(&path, folder)) {
            let reason =
                "it lies outside the folders that are open; open the folder that holds both files";
            return Some(Err(reason.to_string()));
        }
        self.workspace.files.read(&path, &self.within)
    }
}

/// What a text includes, as written.
fn included(text: &str) -> Vec<String> {
    let pieces = p4_fmt::scan(text);
    let directives = pieces.iter().filter(|piece| piece.kind == Kind::Directive);
    directives
        .filter_map(|piece| include_target(piece.text).map(str::to_string))
        .collect()
}

/// The path in a line `#include "path"` or `#include <path>`.
pub(crate) fn include_target(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("include")?
        .trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    rest[1..].split_once(close).map(|(path, _)| path)
}
