//! Wrong programs out of a right one (`p4-mutate`).

use p4_mutate::Mutation;
use p4_syntax::{MemoryFiles, Options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;

/// All mutations of a program given as text inside the files `only`, in the order of the text. Each has
/// `file`, `line`, `start` and `end` (in characters of the file), `text` (what stands there instead),
/// `operator` and `title`. `files` are what the program may include, by path. ValueError for a program
/// that does not compile.
#[pyfunction]
#[pyo3(signature = (name, text, files = BTreeMap::new(), defines = Vec::new(), *, only))]
pub fn mutations<'py>(
    py: Python<'py>,
    name: &str,
    text: String,
    mut files: BTreeMap<String, String>,
    defines: Vec<(String, String)>,
    only: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    files.insert(name.to_string(), text);
    let options = Options {
        defines,
        ..Options::default()
    };
    let files = MemoryFiles(files);
    let found = py
        .detach(|| p4_mutate::mutations(name, &files, &options, &only))
        .map_err(|refused| {
            let text = p4_syntax::render(&refused.diagnostics, &refused.sources, false);
            PyValueError::new_err(text)
        })?;
    let list = PyList::empty(py);
    for mutation in &found {
        list.append(mutation_dict(py, mutation, &files)?)?;
    }
    Ok(list)
}

fn mutation_dict<'py>(
    py: Python<'py>,
    mutation: &Mutation,
    files: &MemoryFiles,
) -> PyResult<Bound<'py, PyDict>> {
    let whole = files.0.get(&mutation.file).map_or("", |text| text);
    let characters = |end: usize| whole.get(..end).map_or(0, |text| text.chars().count());
    let dict = PyDict::new(py);
    dict.set_item("file", &mutation.file)?;
    dict.set_item("line", mutation.line)?;
    dict.set_item("start", characters(mutation.range.start))?;
    dict.set_item("end", characters(mutation.range.end))?;
    dict.set_item("text", &mutation.text)?;
    dict.set_item("operator", mutation.operator.name())?;
    dict.set_item("title", &mutation.title)?;
    Ok(dict)
}
