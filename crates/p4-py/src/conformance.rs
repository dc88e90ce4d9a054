//! `conformance`: the scoreboard over a checkout of p4c.

use p4_conformance::{Case, Line, Manifest, Progress, Scoreboard, Version};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::Path;

/// Judges the checkout in the folder `path` and gives the scoreboard as a dictionary. `manifest` is
/// the text of the exceptions, None for the project's own. `progress` is called with the number of
/// programs done and of all; what it raises ends the run.
#[pyfunction]
#[pyo3(signature = (path, *, manifest = None, only = None, progress = None))]
pub fn conformance<'py>(
    py: Python<'py>,
    path: &str,
    manifest: Option<&str>,
    only: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let manifest = Manifest::parse(manifest.unwrap_or(p4_conformance::MANIFEST))
        .map_err(|errors| PyValueError::new_err(errors.join("\n")))?;
    let checkout = p4_conformance::open(Path::new(path)).map_err(PyValueError::new_err)?;
    let mut raised = None;
    let each = |now: Progress| match Python::attach(|py| tell(py, progress.as_ref(), now)) {
        Ok(()) => true,
        Err(error) => {
            raised = Some(error);
            false
        }
    };
    let board = py.detach(|| p4_conformance::run(&checkout, &manifest, only, each));
    if let Some(error) = raised {
        return Err(error);
    }
    let board = board.map_err(PyValueError::new_err)?;
    let board = board.ok_or_else(|| PyValueError::new_err("The run was stopped."))?;
    scoreboard_dict(py, &board, &checkout.version, &manifest)
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1(py, (now.done, now.total))?;
    }
    Ok(())
}

fn scoreboard_dict<'py>(
    py: Python<'py>,
    board: &Scoreboard,
    version: &Version,
    manifest: &Manifest,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("ok", board.ok())?;
    let release = |release: Option<&str>, commit: Option<&str>| {
        let dict = PyDict::new(py);
        dict.set_item("release", release)?;
        dict.set_item("commit", commit)?;
        Ok::<_, PyErr>(dict)
    };
    dict.set_item(
        "p4c",
        release(version.release.as_deref(), version.commit.as_deref())?,
    )?;
    let made_for = manifest.p4c.as_ref();
    dict.set_item(
        "made_for",
        release(made_for.map(|(r, _)| &**r), made_for.map(|(_, c)| &**c))?,
    )?;
    dict.set_item("boards", tallies(py, board)?)?;
    dict.set_item(
        "unexpected_failures",
        list(py, &board.unexpected_failures, |(case, line)| {
            let dict = case_dict(py, case)?;
            let line = line.as_ref().map(|line| line_dict(py, line)).transpose()?;
            dict.set_item("foreseen", line)?;
            Ok(dict)
        })?,
    )?;
    dict.set_item(
        "expected_failures",
        list(py, &board.expected_failures, |(case, line)| {
            let dict = case_dict(py, case)?;
            dict.set_item("reason", &line.reason)?;
            Ok(dict)
        })?,
    )?;
    let lines = |lines: &[Line]| list(py, lines, |line| line_dict(py, line));
    dict.set_item("unexpected_passes", lines(&board.unexpected_passes)?)?;
    dict.set_item("stale", lines(&board.stale)?)?;
    dict.set_item(
        "excluded",
        list(py, &board.excluded, |excluded| {
            let dict = PyDict::new(py);
            dict.set_item("file", &excluded.file)?;
            dict.set_item("reason", &excluded.reason)?;
            Ok(dict)
        })?,
    )?;
    dict.set_item("sizes", &board.sizes)?;
    dict.set_item("sizes_are_wrong", board.sizes_are_wrong)?;
    Ok(dict)
}

fn tallies<'py>(py: Python<'py>, board: &Scoreboard) -> PyResult<Bound<'py, PyList>> {
    let tallies: Vec<_> = board.tallies.iter().collect();
    list(py, &tallies, |(which, tally)| {
        let dict = PyDict::new(py);
        dict.set_item("board", which.word())?;
        dict.set_item("total", tally.total)?;
        dict.set_item("passed", tally.passed)?;
        dict.set_item("expected", tally.expected)?;
        dict.set_item("unexpected", tally.total - tally.passed - tally.expected)?;
        Ok(dict)
    })
}

fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    each: impl Fn(&T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        list.append(each(item)?)?;
    }
    Ok(list)
}

fn case_dict<'py>(py: Python<'py>, case: &Case) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("board", case.board.word())?;
    dict.set_item("file", &case.file)?;
    let failure = case.result.as_ref().err();
    dict.set_item("stage", failure.map(|failure| failure.stage.word()))?;
    dict.set_item("code", failure.map(|failure| &*failure.code))?;
    dict.set_item("detail", failure.map(|failure| &*failure.detail))?;
    Ok(dict)
}

fn line_dict<'py>(py: Python<'py>, line: &Line) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("line", line.number)?;
    dict.set_item("board", line.board.word())?;
    dict.set_item("file", &line.file)?;
    dict.set_item("stage", line.stage.word())?;
    dict.set_item("code", &line.code)?;
    dict.set_item("reason", &line.reason)?;
    Ok(dict)
}
