//! What a program asks of a chip's stages (`p4-fit`), for the estimate in `src/p4lab/fit`.

use crate::files::DiskFiles;
use p4_syntax::{FileProvider, MemoryFiles, Options, Severity};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// The graph of the program in the file `path` as JSON. ValueError, with the text to show, for a
/// program with errors, or for one of no chip.
#[pyfunction]
#[pyo3(signature = (path, include_dirs = Vec::new(), defines = Vec::new()))]
pub fn stage_graph(
    py: Python<'_>,
    path: &str,
    include_dirs: Vec<String>,
    defines: Vec<(String, String)>,
) -> PyResult<String> {
    let options = Options {
        include_dirs,
        defines,
        ..Options::default()
    };
    let files = DiskFiles::new(&options.limits);
    py.detach(|| graph(path, &files, &options))
        .map_err(PyValueError::new_err)
}

/// The graph of a program given as text; `files` are what it may include, by path.
#[pyfunction]
#[pyo3(signature = (name, text, files = BTreeMap::new(), defines = Vec::new()))]
pub fn stage_graph_of_text(
    py: Python<'_>,
    name: &str,
    text: String,
    mut files: BTreeMap<String, String>,
    defines: Vec<(String, String)>,
) -> PyResult<String> {
    files.insert(name.to_string(), text);
    let options = Options {
        defines,
        ..Options::default()
    };
    py.detach(|| graph(name, &MemoryFiles(files), &options))
        .map_err(PyValueError::new_err)
}

fn graph(path: &str, files: &dyn FileProvider, options: &Options) -> Result<String, String> {
    let parsed = p4_syntax::parse(path, files, options);
    let checked = p4_check::check(&parsed.program);
    let mut errors: Vec<_> = parsed
        .diagnostics
        .iter()
        .chain(&checked.diagnostics)
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .cloned()
        .collect();
    if !errors.is_empty() {
        errors.sort_by_key(|diagnostic| diagnostic.span);
        return Err(p4_syntax::render(&errors, &parsed.sources, false));
    }
    Ok(p4_fit::graph(&checked)?.json(&parsed.sources))
}
