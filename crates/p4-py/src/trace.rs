//! Trace events as dictionaries: each has `kind`, `text` (one line for a reader), its place in the
//! source, and the fields of its kind.

use crate::compile::place_dict;
use crate::program::Program;
use crate::switch::Arrival;
use num_bigint::BigUint;
use p4_arch::{Fate, Kind, PacketTrace, Trace};
use p4_ir::ir::{self, Place};
use p4_ir::place_words;
use p4_ir::trace::{Event, Step};
use p4_ir::trace_text::{describe, error_name, fields, header_name, value};
use p4_ir::Why;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyString};
use std::sync::Arc;

/// `time`, `port` and `data` of the arrival, and `packets`: the packet itself and all made from it.
pub fn arrival_dict<'py>(
    py: Python<'py>,
    program: &Program,
    arrival: &Arrival,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = arrived(py, arrival)?;
    let packets = PyList::empty(py);
    for packet in &arrival.trace.packets {
        let steps = PyList::empty(py);
        for step in &packet.steps {
            steps.append(step_dict(py, program, step)?)?;
        }
        packets.append(packet_dict(py, program, packet, steps)?)?;
    }
    dict.set_item("packets", packets)?;
    Ok(dict)
}

/// The same, but with steps that become dictionaries when somebody looks at them ([`LazyStep`]).
pub fn lazy_arrival_dict<'py>(
    py: Python<'py>,
    program: &Py<Program>,
    arrival: Arrival,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = arrived(py, &arrival)?;
    let trace = Arc::new(arrival.trace);
    let packets = PyList::empty(py);
    for (index, packet) in trace.packets.iter().enumerate() {
        let steps = PyList::empty(py);
        for step in 0..packet.steps.len() {
            steps.append(LazyStep {
                program: program.clone_ref(py),
                trace: Arc::clone(&trace),
                place: (index, step),
                dict: PyOnceLock::new(),
            })?;
        }
        packets.append(packet_dict(py, program.get(), packet, steps)?)?;
    }
    dict.set_item("packets", packets)?;
    Ok(dict)
}

fn arrived<'py>(py: Python<'py>, arrival: &Arrival) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("time", arrival.time.picos())?;
    dict.set_item("port", arrival.port)?;
    dict.set_item("data", PyBytes::new(py, &arrival.data))?;
    Ok(dict)
}

fn packet_dict<'py>(
    py: Python<'py>,
    program: &Program,
    packet: &PacketTrace,
    steps: Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", packet.id)?;
    dict.set_item("parent", packet.parent)?;
    let kind = match packet.kind {
        Kind::Original => "original",
        Kind::IngressClone => "ingress clone",
        Kind::EgressClone => "egress clone",
        Kind::Replica => "replica",
        Kind::Resubmitted => "resubmitted",
        Kind::Recirculated => "recirculated",
    };
    dict.set_item("kind", kind)?;
    dict.set_item("pass", packet.pass)?;
    dict.set_item("ingress_port", packet.ingress_port)?;
    dict.set_item("steps", steps)?;
    dict.set_item("omitted", packet.omitted)?;
    dict.set_item(
        "fate",
        packet
            .fate
            .as_ref()
            .map(|fate| fate_dict(py, program, fate))
            .transpose()?,
    )?;
    Ok(dict)
}

fn fate_dict<'py>(py: Python<'py>, program: &Program, fate: &Fate) -> PyResult<Bound<'py, PyDict>> {
    let dict = match fate {
        Fate::Dropped { span, .. } => place_dict(py, *span, &program.sources)?,
        _ => PyDict::new(py),
    };
    let kind = match fate {
        Fate::Sent { port, data } => {
            dict.set_item("port", port)?;
            dict.set_item("data", PyBytes::new(py, data))?;
            "sent"
        }
        Fate::Dropped { reason, .. } => {
            dict.set_item("reason", reason.to_string())?;
            "dropped"
        }
        Fate::Replicated { group, ids } => {
            dict.set_item("group", group)?;
            dict.set_item("ids", ids)?;
            "replicated"
        }
        Fate::Again { id } => {
            dict.set_item("id", id)?;
            "again"
        }
    };
    dict.set_item("kind", kind)?;
    Ok(dict)
}

/// A packet's arrival at a switch of a network, as the mapping that [`arrival_dict`] makes at once,
/// with what was `sent` for it besides. Its `packets` are made when somebody asks for them: of a
/// network in which packets run in circles, hardly any arrival is ever looked at.
#[pyclass(module = "p4lab._engine", name = "Arrival", mapping, frozen)]
pub struct LazyArrival {
    program: Py<Program>,
    arrival: Arrival,
    dict: PyOnceLock<Py<PyDict>>,
}

impl LazyArrival {
    pub fn new(program: Py<Program>, arrival: Arrival) -> LazyArrival {
        LazyArrival {
            program,
            arrival,
            dict: PyOnceLock::new(),
        }
    }

    fn dict<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let make = || {
            let dict = arrival_dict(py, self.program.get(), &self.arrival)?;
            dict.set_item("sent", self.sent(py)?)?;
            Ok(dict.unbind())
        };
        self.dict
            .get_or_try_init(py, make)
            .map(|dict| dict.bind(py))
    }

    /// Ports and bytes, in the order of the trace.
    fn sent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let sent = PyList::empty(py);
        for packet in &self.arrival.trace.packets {
            if let Some(Fate::Sent { port, data }) = &packet.fate {
                sent.append((*port, PyBytes::new(py, data)))?;
            }
        }
        Ok(sent)
    }
}

#[pymethods]
impl LazyArrival {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        match key {
            "time" => Ok(self.arrival.time.picos().into_pyobject(py)?.into_any()),
            "port" => Ok(self.arrival.port.into_pyobject(py)?.into_any()),
            "data" => Ok(PyBytes::new(py, &self.arrival.data).into_any()),
            "sent" => Ok(self.sent(py)?.into_any()),
            _ => self.dict(py)?.as_any().get_item(key),
        }
    }

    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.dict(py)?.keys())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.dict(py)?.as_any().try_iter()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.dict(py)?.len())
    }

    fn __contains__(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        self.dict(py)?.contains(key)
    }
}

/// A step of a trace as a mapping. Its dictionary is made when somebody asks for more than its kind,
/// its name, its header or its text: of a packet that runs in circles hardly any step is ever looked at.
#[pyclass(module = "p4lab._engine", name = "Step", mapping, frozen)]
pub struct LazyStep {
    program: Py<Program>,
    trace: Arc<Trace>,
    /// The packet and the step, by their indices
    place: (usize, usize),
    dict: PyOnceLock<Py<PyDict>>,
}

impl LazyStep {
    fn step(&self) -> &Step {
        &self.trace.packets[self.place.0].steps[self.place.1]
    }

    fn dict<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyDict>> {
        let make = || step_dict(py, self.program.get(), self.step()).map(Bound::unbind);
        self.dict
            .get_or_try_init(py, make)
            .map(|dict| dict.bind(py))
    }

    /// What can be known without the dictionary.
    fn at_once<'py>(&self, py: Python<'py>, key: &str) -> Option<Bound<'py, PyString>> {
        let ir = self.program.get().ir();
        match (key, &self.step().event) {
            ("kind", event) => Some(kind(py, event)),
            ("name", Event::Change { var, .. }) => {
                let var = ir.vars.get(*var as usize)?;
                Some(PyString::new(py, &var.name))
            }
            ("header", Event::Extract { base, .. } | Event::Emit { base, .. }) => {
                Some(PyString::new(py, &header_name(ir, *base)))
            }
            ("text", _) if self.dict.get(py).is_none() => {
                Some(PyString::new(py, &describe(ir, self.step())))
            }
            _ => None,
        }
    }
}

#[pymethods]
impl LazyStep {
    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.at_once(py, key) {
            Some(found) => Ok(found.into_any()),
            None => self.dict(py)?.as_any().get_item(key),
        }
    }

    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(found) = self.at_once(py, key) {
            return Ok(Some(found.into_any()));
        }
        Ok(self.dict(py)?.get_item(key)?.or(default))
    }

    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.dict(py)?.keys())
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        Ok(self.dict(py)?.items())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.dict(py)?.as_any().try_iter()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.dict(py)?.len())
    }

    fn __contains__(&self, py: Python<'_>, key: &str) -> PyResult<bool> {
        self.dict(py)?.contains(key)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.dict(py)?.repr()?.to_string())
    }
}

/// What a step is, in a word.
fn kind<'py>(py: Python<'py>, event: &Event) -> Bound<'py, PyString> {
    let word = match event {
        Event::Block { .. } => intern!(py, "block"),
        Event::State { .. } => intern!(py, "state"),
        Event::Extract { .. } => intern!(py, "extract"),
        Event::Emit { .. } => intern!(py, "emit"),
        Event::Apply { .. } => intern!(py, "table"),
        Event::Extern { .. } => intern!(py, "extern"),
        Event::Change { .. } => intern!(py, "change"),
        Event::Reject { .. } => intern!(py, "reject"),
        Event::Undefined { .. } => intern!(py, "undefined"),
        Event::OutOfFuel => intern!(py, "out_of_fuel"),
        Event::Note { .. } => intern!(py, "note"),
    };
    word.clone()
}

fn step_dict<'py>(py: Python<'py>, program: &Program, step: &Step) -> PyResult<Bound<'py, PyDict>> {
    let ir = program.ir();
    let dict = place_dict(py, step.span(ir), &program.sources)?;
    dict.set_item("text", describe(ir, step))?;
    match &step.event {
        Event::Block { block } => {
            dict.set_item(
                "name",
                ir.blocks.get(*block as usize).map(|block| &*block.name),
            )?;
        }
        Event::State { state, .. } => {
            dict.set_item(
                "name",
                ir.states.get(*state as usize).map(|state| &*state.name),
            )?;
        }
        Event::Extract {
            layout,
            base,
            words,
            ..
        } => {
            header(&dict, ir, *layout, *base, words)?;
        }
        Event::Emit {
            layout,
            base,
            words,
        } => {
            header(&dict, ir, *layout, *base, words)?;
        }
        Event::Apply {
            table,
            key,
            hit,
            action,
            data,
            entry,
        } => {
            if let Some(table) = ir.tables.get(*table as usize) {
                dict.set_item("table", &*table.name)?;
                let keys = table.keys.iter().map(|key| (&*key.name, &key.place));
                dict.set_item("key", named_values(py, ir, keys, key)?)?;
                let action = table
                    .actions
                    .get(*action as usize)
                    .map(|action| action.action);
                let action = action.and_then(|action| ir.actions.get(action as usize));
                dict.set_item("action", action.map(|action| &*action.name))?;
                let params = action.map_or(&[][..], |action| &action.params[..]);
                let params = params.iter().map(|param| (&*param.name, &param.place));
                dict.set_item("args", named_values(py, ir, params, data)?)?;
            }
            dict.set_item("hit", hit)?;
            dict.set_item("entry", entry)?;
        }
        Event::Extern { call, .. } => {
            dict.set_item("name", ir.calls.get(*call as usize).map(|call| &*call.name))?;
        }
        Event::Change { var, before, after } => {
            if let Some(var) = ir.vars.get(*var as usize) {
                dict.set_item("name", &*var.name)?;
                dict.set_item("before", value(ir, &var.place, before))?;
                dict.set_item("after", value(ir, &var.place, after))?;
            }
        }
        Event::Reject { error } => {
            dict.set_item("error", error_name(ir, *error))?;
        }
        Event::Undefined { var, why, .. } => {
            if let Some(var) = ir.vars.get(*var as usize) {
                dict.set_item("name", &*var.name)?;
            }
            let why = match why {
                Why::Invalid => "invalid header",
                Why::Unset => "unset",
                Why::OutOfRange => "out of range",
            };
            dict.set_item("why", why)?;
        }
        Event::OutOfFuel | Event::Note { .. } => {}
    }
    dict.set_item("kind", kind(py, &step.event))?;
    Ok(dict)
}

fn header(
    dict: &Bound<'_, PyDict>,
    ir: &ir::Program,
    layout: u32,
    base: u32,
    words: &[u64],
) -> PyResult<()> {
    dict.set_item("header", header_name(ir, base))?;
    let values = PyDict::new(dict.py());
    if let Some(layout) = ir.layouts.get(layout as usize) {
        dict.set_item("type", &*layout.name)?;
        for (name, text) in fields(ir, layout, words) {
            values.set_item(name, text)?;
        }
    }
    dict.set_item("fields", values)
}

/// `name`, `text` and `value` (a number) of each of the places whose words follow one another.
fn named_values<'a, 'py>(
    py: Python<'py>,
    ir: &ir::Program,
    places: impl Iterator<Item = (&'a str, &'a Place)>,
    words: &[u64],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let mut rest = words;
    for (name, place) in places {
        let (own, after) = rest.split_at(place_words(place).min(rest.len()));
        rest = after;
        let item = PyDict::new(py);
        item.set_item("name", name)?;
        item.set_item("text", value(ir, place, own))?;
        let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
        item.set_item("value", BigUint::from_bytes_le(&bytes))?;
        list.append(item)?;
    }
    Ok(list)
}
