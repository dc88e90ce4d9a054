//! `compile`: a program from source text, with everything the front end has to say about it.

use crate::files::DiskFiles;
use p4_syntax::{Diagnostic, FileProvider, MemoryFiles, Options, Severity, SourceMap, Span};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;

/// What came of a source file.
#[pyclass(frozen, module = "p4lab._engine")]
pub struct Compilation {
    diagnostics: Vec<Diagnostic>,
    sources: SourceMap,
}

#[pymethods]
impl Compilation {
    /// Whether no diagnostic is an error.
    #[getter]
    fn ok(&self) -> bool {
        !self
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The diagnostics as dictionaries, in the order of the source.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for diagnostic in &self.diagnostics {
            list.append(diagnostic_dict(py, diagnostic, &self.sources)?)?;
        }
        Ok(list)
    }

    /// Names of the files that were read, the main file first.
    #[getter]
    fn files(&self) -> Vec<&str> {
        self.sources.files().map(|(name, _)| name).collect()
    }

    /// The diagnostics as text with the source lines they point at.
    #[pyo3(signature = (*, color = false))]
    fn render(&self, color: bool) -> String {
        p4_syntax::render(&self.diagnostics, &self.sources, color)
    }
}

/// Compiles the program in the file `path`. `defines` are (name, value) pairs.
#[pyfunction]
#[pyo3(signature = (path, include_dirs = Vec::new(), defines = Vec::new()))]
pub fn compile(
    py: Python<'_>,
    path: &str,
    include_dirs: Vec<String>,
    defines: Vec<(String, String)>,
) -> Compilation {
    let options = Options {
        include_dirs,
        defines,
        ..Options::default()
    };
    let files = DiskFiles::new(&options.limits);
    py.detach(|| build(path, &files, &options))
}

/// Compiles a program given as text; `files` are what it may include, by path.
#[pyfunction]
#[pyo3(signature = (name, text, files = BTreeMap::new(), defines = Vec::new()))]
pub fn compile_text(
    py: Python<'_>,
    name: &str,
    text: String,
    mut files: BTreeMap<String, String>,
    defines: Vec<(String, String)>,
) -> Compilation {
    files.insert(name.to_string(), text);
    let options = Options {
        defines,
        ..Options::default()
    };
    py.detach(|| build(name, &MemoryFiles(files), &options))
}

fn build(main_file: &str, files: &dyn FileProvider, options: &Options) -> Compilation {
    let parsed = p4_syntax::parse(main_file, files, options);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(p4_check::check(&parsed.program).diagnostics);
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    Compilation {
        diagnostics,
        sources: parsed.sources,
    }
}

fn diagnostic_dict<'py>(
    py: Python<'py>,
    diagnostic: &Diagnostic,
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = place_dict(py, diagnostic.span, sources)?;
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    dict.set_item("severity", severity)?;
    dict.set_item("code", diagnostic.code)?;
    dict.set_item("message", &diagnostic.message)?;
    dict.set_item("hint", &diagnostic.hint)?;
    let labels = PyList::empty(py);
    for (span, text) in &diagnostic.labels {
        let label = place_dict(py, *span, sources)?;
        label.set_item("text", text)?;
        labels.append(label)?;
    }
    dict.set_item("labels", labels)?;
    Ok(dict)
}

/// `file`, `line`, `column`, `end_line`, `end_column` of a span (1-based, the end is exclusive);
/// all None where the compiler made the thing up itself.
pub fn place_dict<'py>(
    py: Python<'py>,
    span: Span,
    sources: &SourceMap,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let start = (span != Span::NONE)
        .then(|| sources.locate(span.lo))
        .flatten();
    let end = (span != Span::NONE)
        .then(|| sources.locate(span.hi))
        .flatten();
    dict.set_item("file", start.as_ref().map(|place| place.file.to_string()))?;
    dict.set_item("line", start.as_ref().map(|place| place.line))?;
    dict.set_item("column", start.as_ref().map(|place| place.column))?;
    dict.set_item("end_line", end.as_ref().map(|place| place.line))?;
    dict.set_item("end_column", end.as_ref().map(|place| place.column))?;
    Ok(dict)
}
