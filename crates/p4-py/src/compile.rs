//! `compile`: a program from source text, with everything the front end has to say about it.

use crate::files::DiskFiles;
use crate::program::Program;
use p4_check::lint::Target;
use p4_driver::{build, has_error, Built};
use p4_info::P4Info;
use p4_syntax::{Diagnostic, MemoryFiles, Options, Severity, SourceMap, Span};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What came of a source file.
#[pyclass(frozen, module = "p4lab._engine")]
pub struct Compilation {
    diagnostics: Vec<Diagnostic>,
    sources: Arc<SourceMap>,
    program: Option<Py<Program>>,
    p4info: Option<Result<Arc<P4Info>, Vec<Diagnostic>>>,
}

#[pymethods]
impl Compilation {
    /// Whether no diagnostic is an error.
    #[getter]
    fn ok(&self) -> bool {
        !has_error(&self.diagnostics)
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

    /// The program ready to run; None if there is an error or nothing to run (no `main`).
    #[getter]
    fn program(&self, py: Python<'_>) -> Option<Py<Program>> {
        self.program.as_ref().map(|program| program.clone_ref(py))
    }

    /// P4Info in protobuf's text format, or as JSON. ValueError if there is none, because of errors
    /// in the program or of those that `p4info_diagnostics` lists.
    #[pyo3(signature = (*, json = false))]
    fn p4info(&self, json: bool) -> PyResult<String> {
        match &self.p4info {
            Some(Ok(info)) => Ok(written(info, json)),
            Some(Err(errors)) => {
                let text = p4_syntax::render(errors, &self.sources, false);
                Err(PyValueError::new_err(text))
            }
            None => Err(PyValueError::new_err(
                "the program has errors, so there is no P4Info of it",
            )),
        }
    }

    /// What a TNA program shows to clients of BF Runtime, as bf-p4c's `bf-rt.json`. ValueError if
    /// there is no P4Info, or if the program is for another architecture.
    #[cfg(feature = "whole")]
    fn bfrt(&self) -> PyResult<String> {
        match &self.p4info {
            Some(Ok(info)) if info.ingress_parsers.is_empty() => Err(PyValueError::new_err(
                "BF Runtime is for Tofino: the program has no Pipeline of TNA",
            )),
            Some(Ok(info)) => Ok(p4_bfrt::Schema::of(info).json()),
            _ => self.p4info(true),
        }
    }

    /// What stands in the way of P4Info in a program that is otherwise right.
    #[getter]
    fn p4info_diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if let Some(Err(errors)) = &self.p4info {
            for diagnostic in errors {
                list.append(diagnostic_dict(py, diagnostic, &self.sources)?)?;
            }
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

/// Compiles the program in the file `path`. `defines` are (name, value) pairs. With `bmv2_compat`
/// the program and the switches that run it do as bmv2 does. `lints` names targets ("bmv2",
/// "tofino"): what they would refuse is a warning. ValueError for an unknown one.
#[pyfunction]
#[pyo3(signature = (path, include_dirs = Vec::new(), defines = Vec::new(), *, bmv2_compat = false, lints = Vec::new()))]
pub fn compile(
    py: Python<'_>,
    path: &str,
    include_dirs: Vec<String>,
    defines: Vec<(String, String)>,
    bmv2_compat: bool,
    lints: Vec<String>,
) -> PyResult<Compilation> {
    let targets = targets(&lints)?;
    let options = Options {
        include_dirs,
        defines,
        ..Options::default()
    };
    let files = DiskFiles::new(&options.limits);
    let built = py.detach(|| build(path, &files, &options, bmv2_compat, &targets));
    finish(py, built)
}

/// Compiles a program given as text; `files` are what it may include, by path.
#[pyfunction]
#[pyo3(signature = (name, text, files = BTreeMap::new(), defines = Vec::new(), *, lints = Vec::new()))]
pub fn compile_text(
    py: Python<'_>,
    name: &str,
    text: String,
    mut files: BTreeMap<String, String>,
    defines: Vec<(String, String)>,
    lints: Vec<String>,
) -> PyResult<Compilation> {
    let targets = targets(&lints)?;
    files.insert(name.to_string(), text);
    let options = Options {
        defines,
        ..Options::default()
    };
    let built = py.detach(|| build(name, &MemoryFiles(files), &options, false, &targets));
    finish(py, built)
}

/// The targets of these names.
fn targets(names: &[String]) -> PyResult<Vec<Target>> {
    let target = |name: &String| {
        Target::from_name(name).ok_or_else(|| {
            let known = Target::ALL.map(Target::name).join(", ");
            PyValueError::new_err(format!("no lints for {name:?}; there are some for {known}"))
        })
    };
    names.iter().map(target).collect()
}

fn finish(py: Python<'_>, built: Built) -> PyResult<Compilation> {
    let sources = Arc::new(built.sources);
    let program = match built.image {
        Some(image) => Some(Py::new(
            py,
            Program {
                summary: PyOnceLock::new(),
                image,
                sources: Arc::clone(&sources),
                p4info: match &built.p4info {
                    Some(Ok(info)) => Some(Arc::clone(info)),
                    _ => None,
                },
                undefined: None,
                native: Default::default(),
            },
        )?),
        None => None,
    };
    Ok(Compilation {
        diagnostics: built.diagnostics,
        sources,
        program,
        p4info: built.p4info,
    })
}

/// P4Info as text or as JSON.
pub fn written(info: &P4Info, json: bool) -> String {
    match json {
        true => info.json(),
        false => info.text(),
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
