//! `stf`: a script run on a switch of its own.

use crate::files::{as_text, read_regular_file};
use crate::program::Program;
use crate::switch::Arrival;
use crate::trace::lazy_arrival_dict;
use p4_arch::v1model::Config;
use p4_arch::Switch;
use p4_stf::{Difference, Mode, OnSwitch, Report};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Runs the script in the file `path` on a fresh switch and gives the report as a dictionary, with
/// the readable `text` of it and `unreadable` if the script has errors. `then` are lines more, behind
/// those of the file. With `traced` it has `traces`, one for each packet that was sent, as
/// `Switch.trace` gives them.
#[pyfunction]
#[pyo3(signature = (program, path, *, lax = false, seed = 0, then = "", traced = false))]
pub fn stf<'py>(
    py: Python<'py>,
    program: &Bound<'py, Program>,
    path: &str,
    lax: bool,
    seed: u64,
    then: &str,
    traced: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mut text = read_regular_file(path, MAX_SCRIPT_BYTES)
        .and_then(as_text)
        .map_err(PyOSError::new_err)?;
    if !then.is_empty() {
        text.push('\n');
        text.push_str(then);
    }
    let owner = program;
    let program = owner.get();
    let config = Config {
        seed,
        bmv2_compat: program.image.is_as_bmv2(),
        undefined: program.noise(seed),
        ..Config::default()
    };
    let mut switch = Switch::new(&program.image, config)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mode = if lax { Mode::Lax } else { Mode::Strict };
    let script = p4_stf::parse(path, &text);
    let mut traces = Vec::new();
    let report = py.detach(|| {
        let mut target = match traced {
            true => OnSwitch::traced(&mut switch, &mut traces),
            false => OnSwitch::new(&mut switch),
        };
        p4_stf::run(&script, &mut target, mode)
    });
    let dict = report_dict(py, &report)?;
    if traced {
        let traces = traces.into_iter().map(|own| Arrival {
            time: own.time,
            port: own.port,
            data: own.data,
            trace: own.trace,
        });
        let traces: PyResult<Vec<_>> = traces
            .map(|own| lazy_arrival_dict(py, owner.as_unbound(), own))
            .collect();
        dict.set_item("traces", traces?)?;
    }
    let fatal = script
        .errors
        .iter()
        .any(|error| !(lax && error.in_cli_command));
    dict.set_item("unreadable", fatal)?;
    Ok(dict)
}

fn report_dict<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("script", &report.script)?;
    dict.set_item("passed", report.passed)?;
    dict.set_item("packets_sent", report.packets_sent)?;
    dict.set_item("packets_received", report.packets_received)?;
    let findings = PyList::empty(py);
    for finding in &report.findings {
        let item = PyDict::new(py);
        item.set_item("line", finding.place.line)?;
        item.set_item("column", finding.place.column)?;
        item.set_item("kind", finding.kind.word())?;
        item.set_item("passed", finding.passed)?;
        item.set_item("message", &finding.message)?;
        let difference = finding
            .difference
            .as_ref()
            .map(|d| difference_dict(py, d))
            .transpose()?;
        item.set_item("difference", difference)?;
        findings.append(item)?;
    }
    dict.set_item("findings", findings)?;
    let notes = PyList::empty(py);
    for note in &report.notes {
        let item = PyDict::new(py);
        item.set_item("line", note.place.line)?;
        item.set_item("column", note.place.column)?;
        item.set_item("message", &note.message)?;
        notes.append(item)?;
    }
    dict.set_item("notes", notes)?;
    dict.set_item("text", report.render())?;
    Ok(dict)
}

fn difference_dict<'py>(py: Python<'py>, difference: &Difference) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("port", difference.port)?;
    dict.set_item(
        "expected",
        difference.expected.as_ref().map(ToString::to_string),
    )?;
    let hex = |data: &Vec<u8>| {
        data.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    dict.set_item("received", difference.received.as_ref().map(hex))?;
    dict.set_item("bytes", &difference.bytes)?;
    dict.set_item("cause", difference.cause)?;
    Ok(dict)
}
