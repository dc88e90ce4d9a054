//! The pages on the compiler's codes (docs/errors), which the engine carries.

use p4_explain::Page;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The page of a code as a dictionary: code, title, group, wrong, why, right, see (Markdown); None
/// if there is no such code.
#[pyfunction]
pub fn explain<'py>(py: Python<'py>, code: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    p4_explain::page(code)
        .map(|page| dict(py, &page))
        .transpose()
}

/// All pages, errors before warnings.
#[pyfunction]
pub fn explanations(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for page in p4_explain::pages() {
        list.append(dict(py, &page)?)?;
    }
    Ok(list)
}

/// Existing codes that look most like `code`.
#[pyfunction]
pub fn nearest_codes(code: &str) -> Vec<&'static str> {
    p4_explain::nearest(code)
}

fn dict<'py>(py: Python<'py>, page: &Page) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("code", page.code)?;
    dict.set_item("title", page.title)?;
    dict.set_item("group", p4_explain::group(page.code))?;
    dict.set_item("wrong", page.wrong)?;
    dict.set_item("why", page.why)?;
    dict.set_item("right", page.right)?;
    dict.set_item("see", page.see)?;
    Ok(dict)
}
