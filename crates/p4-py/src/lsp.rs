//! The language server on standard input and output, and the formatter.

use crate::files::{as_text, read_regular_file};
use p4_driver::later_passes;
use p4_lsp::{Config, Files, Server};
use p4_syntax::Limits;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// How much of a folder is looked through for P4 files: folders deep, entries and programs in all.
const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 5000;
const MAX_PROGRAMS: usize = 300;

/// Speaks the Language Server Protocol on standard input and output until the editor ends it; gives
/// whether that ended as the protocol wants it. `cache` is a folder where the built-in files are
/// put for the editor to open, `pages` one with a page for each code.
#[pyfunction]
#[pyo3(signature = (include_dirs, defines, *, cache = None, pages = None))]
pub fn serve_lsp(
    py: Python<'_>,
    include_dirs: Vec<String>,
    defines: Vec<(String, String)>,
    cache: Option<PathBuf>,
    pages: Option<String>,
) -> PyResult<bool> {
    let config = Config {
        include_dirs,
        defines,
        pages,
    };
    py.detach(|| {
        let mut server = Server::new(config, Box::new(Disk { cache }), Box::new(later_passes));
        p4_lsp::serve(
            &mut server,
            &mut io::stdin().lock(),
            &mut io::stdout().lock(),
        )
    })
    .map_err(PyErr::from)
}

/// The text of a program, formatted; ValueError with line and column where it cannot be read.
#[pyfunction]
pub fn format_text(py: Python<'_>, text: &str) -> PyResult<String> {
    py.detach(|| p4_fmt::format(text))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

struct Disk {
    cache: Option<PathBuf>,
}

impl Files for Disk {
    fn read(&self, path: &str, within: &[String]) -> Option<Result<String, String>> {
        let real = match fs::canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(error.to_string())),
        };
        let mut folders = within
            .iter()
            .filter_map(|folder| fs::canonicalize(folder).ok());
        if !folders.any(|folder| real.starts_with(folder)) {
            let reason = "it is a link to a place outside the folders that are open";
            return Some(Err(reason.to_string()));
        }
        let most = Limits::default().max_file_bytes as u64;
        Some(read_regular_file(path, most).and_then(as_text))
    }

    fn programs(&self, folder: &str) -> Vec<String> {
        let mut programs = Vec::new();
        let mut entries = 0;
        // Near folders first, so that the bounds cut off the far ones.
        let mut folders = VecDeque::from([(PathBuf::from(folder), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            let Ok(listing) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in listing.flatten() {
                entries += 1;
                if entries > MAX_ENTRIES || programs.len() >= MAX_PROGRAMS {
                    return programs;
                }
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                let path = entry.path();
                if kind.is_dir() && depth < MAX_DEPTH && worth_a_look(&path) {
                    folders.push_back((path, depth + 1));
                } else if kind.is_file() && path.extension().is_some_and(|end| end == "p4") {
                    programs.extend(path.to_str().map(str::to_string));
                }
            }
        }
        programs
    }

    fn show(&self, name: &str, text: &str) -> Option<String> {
        let folder = self.cache.as_ref()?;
        let path = folder.join(name);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return path.to_str().map(str::to_string);
        }
        fs::create_dir_all(folder).ok()?;
        // Under another name first: a second server may be reading it.
        let fresh = folder.join(format!("{name}.{}", std::process::id()));
        fs::write(&fresh, text).ok()?;
        let mut permissions = fs::metadata(&fresh).ok()?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&fresh, permissions).ok()?;
        fs::rename(&fresh, &path).ok()?;
        path.to_str().map(str::to_string)
    }
}

/// Not hidden, and not a place where tools put what they make.
fn worth_a_look(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| !name.starts_with('.') && !matches!(name, "target" | "node_modules"))
}
