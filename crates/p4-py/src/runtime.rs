//! What a runtime API other than P4Runtime reads and writes of a switch on Linux interfaces.

use crate::io::Forwarder;
use crate::p4runtime::ForwarderPlant;
use crate::switch::{args_dict, entry_dict, rates, Device};
use crate::tna::digest_list;
use crate::update;
use num_bigint::BigUint;
use p4_arch::v1model::{CrcParameters, Switch};
use p4_runtime::{Host, Plant};
use p4_state::{EntryView, State, Target, UpdateError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySequence};
use std::sync::Arc;

/// Refusals are ValueErrors of two arguments: a sentence and, for programs, its kind.
#[pyclass(frozen, module = "p4lab._engine")]
pub struct Runtime {
    plant: ForwarderPlant,
}

type Rates = (u64, u64, u64, u64);
type Member<'py> = (u32, String, Bound<'py, PyDict>);

#[pymethods]
impl Runtime {
    #[new]
    fn new(forwarder: &mut Forwarder) -> Runtime {
        let (plant, ..) = forwarder.for_runtime();
        Runtime { plant }
    }

    /// Picoseconds since the switch's clock began.
    #[getter]
    fn now(&self) -> u64 {
        self.plant.now().picos()
    }

    /// Applies a batch of updates between two packets: all of them or none.
    fn write(&self, py: Python<'_>, updates: &Bound<'_, PySequence>) -> PyResult<()> {
        let batch = update::batch(updates)?;
        self.with_switch(py, move |switch| {
            switch.write(&batch).map_err(|error| {
                let first = error.errors.first();
                refusal(error.to_string(), first.map(|(_, error)| error))
            })
        })
    }

    /// The entries of a table in the order in which they came.
    fn entries<'py>(&self, py: Python<'py>, table: String) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let entries = self.with_state(py, move |state| state.entries(&table))?;
        entries.iter().map(|entry| whole(py, entry)).collect()
    }

    /// The entry with this number.
    fn entry<'py>(
        &self,
        py: Python<'py>,
        table: String,
        handle: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let entry = self.with_state(py, move |state| state.entry_numbered(&table, handle))?;
        whole(py, &entry)
    }

    /// The entry with this key.
    fn find<'py>(
        &self,
        py: Python<'py>,
        table: String,
        matches: &Bound<'_, PyAny>,
        priority: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let key = update::key(table, matches, priority)?;
        let entry = self.with_state(py, move |state| state.entry(&key))?;
        whole(py, &entry)
    }

    /// A table's default action with its arguments by parameter, or the member or group.
    fn default<'py>(&self, py: Python<'py>, table: String) -> PyResult<Bound<'py, PyAny>> {
        let target = self.with_state(py, move |state| state.default_target(&table))?;
        if let Target::Action(spec) = &target {
            let pair = (&spec.name, args_dict(py, &spec.args)?);
            return Ok(pair.into_pyobject(py)?.into_any());
        }
        Ok(update::target_object(py, &target)?.into_pyobject(py)?)
    }

    /// The members of an action profile: number, action and arguments by parameter.
    fn members<'py>(&self, py: Python<'py>, profile: String) -> PyResult<Vec<Member<'py>>> {
        let members = self.with_state(py, move |state| state.members(&profile))?;
        let member = |(number, spec): (u32, p4_state::ActionSpec)| {
            Ok((number, spec.name, args_dict(py, &spec.args)?))
        };
        members.into_iter().map(member).collect()
    }

    /// The groups of an action selector: number and members.
    fn member_groups(&self, py: Python<'_>, profile: String) -> PyResult<Vec<(u32, Vec<u32>)>> {
        self.with_state(py, move |state| state.member_groups(&profile))
    }

    /// Packets and bytes of a counter's cell.
    fn counter(&self, py: Python<'_>, counter: String, index: u64) -> PyResult<(u64, u64)> {
        self.with_state(py, move |state| state.counter(&counter, index))
    }

    /// The value of a register's cell.
    fn register(&self, py: Python<'_>, register: String, index: u64) -> PyResult<BigUint> {
        self.with_state(py, move |state| state.read_register(&register, index))
    }

    /// The values of all of a register's cells.
    fn registers(&self, py: Python<'_>, register: String) -> PyResult<Vec<BigUint>> {
        self.with_state(py, move |state| {
            let cells = 0..state.register_size(&register)?;
            cells
                .map(|index| state.read_register(&register, index))
                .collect()
        })
    }

    /// The rates of a meter's cell as updates have them; None: everything is green.
    fn meter(&self, py: Python<'_>, meter: String, index: u64) -> PyResult<Option<Rates>> {
        let config = self.with_state(py, move |state| state.meter_config(&meter, index))?;
        Ok(config.map(rates))
    }

    /// Sets how many packets egress queues hold and how many leave them per second (0: no limit).
    #[pyo3(signature = (*, port = None, priority = None, depth = None, rate = None))]
    fn set_queue(
        &self,
        py: Python<'_>,
        port: Option<u16>,
        priority: Option<u8>,
        depth: Option<u64>,
        rate: Option<u64>,
    ) -> PyResult<()> {
        let set = move |device: &mut Device| device.set_queue(port, priority, depth, rate);
        self.with_device(py, set)?
            .map_err(|message| refusal(message, None))
    }

    /// Gives a custom CRC (`custom_crcs` of a program's summary) other parameters.
    #[pyo3(signature = (name, width, polynomial, initial, xor, *, reflect_data, reflect_remainder))]
    #[allow(clippy::too_many_arguments)] // what a CRC is made of
    fn set_crc(
        &self,
        py: Python<'_>,
        name: String,
        width: u32,
        polynomial: u64,
        initial: u64,
        xor: u64,
        reflect_data: bool,
        reflect_remainder: bool,
    ) -> PyResult<()> {
        let parameters = CrcParameters {
            width,
            polynomial,
            initial,
            xor,
            reflect_data,
            reflect_remainder,
        };
        self.with_switch(py, move |switch| {
            let set = switch.set_crc(&name, parameters);
            set.map_err(|error| refusal(error.to_string(), None))
        })
    }

    /// From now on `take_digests` has them, also those that P4Runtime's clients get.
    fn keep_digests(&self, py: Python<'_>) -> PyResult<()> {
        self.with_device(py, Device::keep_digests)
    }

    /// Digests since the last call, oldest first: name, and fields with their values.
    fn take_digests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let taken = self.with_device(py, |device| {
            let digests = device.take_digests();
            let image = device.switch().map(|switch| Arc::clone(switch.image()));
            (digests, image)
        })?;
        match taken {
            (digests, Some(image)) => digest_list(py, image.program(), digests),
            (_, None) => Ok(PyList::empty(py)),
        }
    }
}

impl Runtime {
    fn with_device<R: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Device) -> R + Send + 'static,
    ) -> PyResult<R> {
        let handle = self.plant.handle();
        py.detach(|| handle.with_device(act))
            .map_err(|error| PyOSError::new_err(error.to_string()))
    }

    fn with_switch<R: Send + 'static>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Switch) -> PyResult<R> + Send + 'static,
    ) -> PyResult<R> {
        self.with_device(py, |device| match device.switch() {
            Some(switch) => act(switch),
            None => Err(refusal(
                "the switch has no program of v1model yet".to_string(),
                None,
            )),
        })?
    }

    fn with_state<R: Send + 'static>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&State) -> Result<R, UpdateError> + Send + 'static,
    ) -> PyResult<R> {
        self.with_switch(py, |switch| {
            let found = read(switch.state());
            found.map_err(|error| refusal(error.to_string(), Some(&error)))
        })
    }
}

fn refusal(message: String, error: Option<&UpdateError>) -> PyErr {
    PyValueError::new_err((message, error.map_or("other", kind)))
}

/// The kinds of refusals that runtime APIs tell apart.
fn kind(error: &UpdateError) -> &'static str {
    match error {
        UpdateError::Unknown { .. } | UpdateError::Ambiguous { .. } => "unknown",
        UpdateError::Duplicate { .. } => "duplicate",
        UpdateError::NotFound { .. } => "not found",
        UpdateError::Full { .. } => "full",
        UpdateError::ConstTable { .. } | UpdateError::ConstEntry { .. } => "const table",
        UpdateError::ConstDefault { .. } => "const default",
        UpdateError::IndexOutOfRange { .. } => "index",
        UpdateError::NoMember { .. } => "no member",
        UpdateError::NoMemberGroup { .. } => "no group",
        UpdateError::EmptyMemberGroup { .. } => "empty group",
        UpdateError::InUse { .. } => "in use",
        UpdateError::ProfileNeeded { .. } | UpdateError::NoProfile { .. } => "table type",
        UpdateError::DefaultOnly { .. } | UpdateError::TableOnly { .. } => "action scope",
        UpdateError::NoKey { .. } => "no key",
        UpdateError::Rates => "rates",
        UpdateError::NotDirect { what, .. } => what,
        _ => "other",
    }
}

/// An entry as `entry_dict` has it, and `target` (the member or group, or None),
/// `packets` and `bytes` of its direct counter, `rates` of its direct meter (None: green), and
/// `idle_timeout` and `idle_since` in picoseconds (None: there is none).
fn whole<'py>(py: Python<'py>, entry: &EntryView) -> PyResult<Bound<'py, PyDict>> {
    let dict = entry_dict(py, entry)?;
    dict.set_item("target", update::target_object(py, &entry.target)?)?;
    dict.set_item("packets", entry.packets)?;
    dict.set_item("bytes", entry.bytes)?;
    dict.set_item("rates", entry.meter.map(rates))?;
    dict.set_item("idle_timeout", entry.idle_timeout)?;
    dict.set_item("idle_since", entry.idle_since)?;
    Ok(dict)
}
