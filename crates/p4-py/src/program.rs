//! A compiled program, and what it offers to a control plane.

use p4_arch::Image;
use p4_info::P4Info;
use p4_ir::ir;
use p4_syntax::{SourceMap, Span};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;

use crate::compile::{place_dict, written};
use crate::engine::Code;
use crate::same::is_same_code;

/// A program ready to run, shared by all switches that run it.
#[pyclass(frozen, module = "p4lab._engine")]
pub struct Program {
    pub image: Image,
    pub sources: Arc<SourceMap>,
    /// `None` where P4Info cannot describe the program
    pub p4info: Option<Arc<P4Info>>,
    /// The seed of the noise that switches show for undefined values, if they are to
    pub undefined: Option<u64>,
    pub native: Code,
    /// Made when it is first asked for
    pub summary: PyOnceLock<Py<PyDict>>,
}

impl Program {
    pub fn ir(&self) -> &ir::Program {
        self.image.program()
    }

    /// The seed of the noise of one switch, so that switches with seeds of their own differ.
    pub fn noise(&self, switch: u64) -> Option<u64> {
        let spread = switch.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.undefined.map(|seed| seed.wrapping_add(spread))
    }
}

/// What a meter of TNA measures.
fn unit(instance: &ir::Instance) -> Option<&'static str> {
    let measured = instance.args.iter().find_map(|arg| match arg {
        ir::ConstArg::Member(name) => Some(&**name),
        _ => None,
    });
    match (&*instance.extern_type, measured) {
        ("Meter" | "DirectMeter", Some("BYTES")) => Some("bytes"),
        ("Meter" | "DirectMeter", _) => Some("packets"),
        _ => None,
    }
}

#[pymethods]
impl Program {
    /// The same program for switches that fill what P4 leaves undefined with noise from `seed` and
    /// mark its reads in their traces (events of kind `undefined`).
    fn with_undefined(&self, py: Python<'_>, seed: u64) -> Program {
        let summary = PyOnceLock::new();
        if let Some(known) = self.summary.get(py) {
            let _ = summary.set(py, known.clone_ref(py));
        }
        Program {
            summary,
            image: self.image.clone(),
            sources: Arc::clone(&self.sources),
            p4info: self.p4info.clone(),
            undefined: Some(seed),
            native: Code::default(),
        }
    }

    /// Whether another program is compiled to the very same code, so that no packet tells them apart.
    fn is_same_code(&self, other: &Program) -> bool {
        is_same_code(self.ir(), other.ir())
    }

    /// What the program is made of: `package`, `blocks`, `headers`, `tables`, `actions`, `instances`,
    /// `custom_crcs` (name, width). Meters of TNA have a `unit`, bytes or packets. It is the same object each time, and not to be changed.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let make = || self.summed_up(py).map(Bound::unbind);
        let summary = self.summary.get_or_try_init(py, make)?;
        Ok(summary.bind(py))
    }

    /// P4Info in protobuf's text format, or as JSON. ValueError if the program has none; the
    /// compilation's `p4info_diagnostics` say why.
    #[pyo3(signature = (*, json = false))]
    fn p4info(&self, json: bool) -> PyResult<String> {
        match &self.p4info {
            Some(info) => Ok(written(info, json)),
            None => Err(PyValueError::new_err(
                "P4Info cannot describe this program; the compilation's p4info_diagnostics say why",
            )),
        }
    }
}

impl Program {
    fn summed_up<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = PyDict::new(py);
        summary.set_item("package", &*self.ir().package)?;
        summary.set_item(
            "blocks",
            self.named(py, &self.ir().blocks, |block| (&block.name, block.span))?,
        )?;
        summary.set_item("headers", self.headers(py)?)?;
        let tables = PyList::empty(py);
        for table in &self.ir().tables {
            tables.append(self.table(py, table)?)?;
        }
        summary.set_item("tables", tables)?;
        let actions = PyList::empty(py);
        for action in &self.ir().actions {
            let dict = self.item(py, &action.name, action.span)?;
            dict.set_item("params", params(py, action)?)?;
            actions.append(dict)?;
        }
        summary.set_item("actions", actions)?;
        let instances = PyList::empty(py);
        for instance in &self.ir().instances {
            let dict = self.item(py, &instance.name, instance.span)?;
            dict.set_item("type", &*instance.extern_type)?;
            if let Some(unit) = unit(instance) {
                dict.set_item("unit", unit)?;
            }
            if let Some(first) = instance.types.first() {
                let widths = first.leaves.iter().map(|(_, width, _)| *width);
                dict.set_item("widths", widths.collect::<Vec<u32>>())?;
            }
            instances.append(dict)?;
        }
        summary.set_item("instances", instances)?;
        let crcs: Vec<_> = match &self.image {
            Image::V1Model(image) => image.custom_crcs().collect(),
            Image::Tna(_) => Vec::new(),
        };
        summary.set_item("custom_crcs", crcs)?;
        Ok(summary)
    }

    fn item<'py>(&self, py: Python<'py>, name: &str, span: Span) -> PyResult<Bound<'py, PyDict>> {
        let dict = place_dict(py, span, &self.sources)?;
        dict.set_item("name", name)?;
        Ok(dict)
    }

    fn named<'py, T>(
        &self,
        py: Python<'py>,
        items: &[T],
        describe: impl Fn(&T) -> (&str, Span),
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for (name, span) in items.iter().map(describe) {
            list.append(self.item(py, name, span)?)?;
        }
        Ok(list)
    }

    /// Every header that blocks share, once: `name` as the program writes it, and `fields` in wire
    /// order (name, width in bits, varbit).
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for storage in &self.ir().storages {
            for header in &storage.headers {
                let fields = PyList::empty(py);
                for field in &self.ir().layouts[header.layout as usize].fields {
                    let item = PyDict::new(py);
                    item.set_item("name", &*field.name)?;
                    item.set_item("width", field.width)?;
                    item.set_item("varbit", field.varbit)?;
                    fields.append(item)?;
                }
                let dict = PyDict::new(py);
                dict.set_item("name", format!("{}.{}", storage.key, header.name))?;
                dict.set_item("fields", fields)?;
                list.append(dict)?;
            }
        }
        Ok(list)
    }

    fn table<'py>(&self, py: Python<'py>, table: &ir::Table) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.item(py, &table.name, table.span)?;
        let keys = PyList::empty(py);
        for key in &table.keys {
            let item = PyDict::new(py);
            item.set_item("name", &*key.name)?;
            item.set_item("match_kind", &*key.match_kind)?;
            item.set_item("width", key.place.width)?;
            keys.append(item)?;
        }
        dict.set_item("keys", keys)?;
        let name =
            |call: u32| &*self.ir().actions[table.actions[call as usize].action as usize].name;
        let actions: Vec<&str> = (0..table.actions.len() as u32).map(name).collect();
        dict.set_item("actions", actions)?;
        dict.set_item("default", name(table.default.action))?;
        dict.set_item("size", table.size)?;
        dict.set_item("const_entries", table.const_entries)?;
        Ok(dict)
    }
}

fn params<'py>(py: Python<'py>, action: &ir::Action) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for param in &action.params {
        let item = PyDict::new(py);
        item.set_item("name", &*param.name)?;
        item.set_item("width", param.place.width)?;
        list.append(item)?;
    }
    Ok(list)
}
