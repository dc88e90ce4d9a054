//! The classes of `p4lab.model` that cross the border, and how their fields are read.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};
use std::collections::HashMap;

macro_rules! classes {
    ($($module:literal { $($name:ident)* })*) => {
        /// Which class.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Class { $($($name,)*)* }

        const CLASSES: &[(&str, &str, Class)] =
            &[$($(($module, stringify!($name), Class::$name),)*)*];
    };
}

classes! {
    "p4lab.model.entries" {
        Update TableEntry DefaultAction MulticastGroup CloneSession RegisterCell MeterCell
        Exact Lpm Ternary Range Optional DontCare
    }
    "p4lab.model.state" {
        IndirectUpdate IndirectEntry Member Group SetIndirectDefault Clear ResetDefault SetMember
        SetMemberGroup SetGroupSession SetCounter FillRegister FillMeter SetEntryCounter
        SetEntryMeter SetIdleTimeout SetValueSet
    }
    "p4lab.model.tna" {
        Multicast Node Lag Prune GlobalRid Mirror MirrorSession Coalescing Generator Application
        Once Periodic PortDown Recirculation PortMetadata Lpf LowPass Wred EarlyDrop
    }
}

struct Classes {
    /// In the order of [`CLASSES`], which is that of [`Class`]
    types: Vec<Py<PyType>>,
    by_address: HashMap<usize, Class>,
}

static KNOWN: PyOnceLock<Classes> = PyOnceLock::new();

impl Classes {
    fn get(py: Python<'_>) -> PyResult<&Classes> {
        KNOWN.get_or_try_init(py, || {
            let mut known = Classes {
                types: Vec::new(),
                by_address: HashMap::new(),
            };
            for (module, name, class) in CLASSES {
                let found = py.import(*module)?.getattr(*name)?.cast_into::<PyType>()?;
                known.by_address.insert(found.as_ptr() as usize, *class);
                known.types.push(found.unbind());
            }
            Ok(known)
        })
    }
}

/// The class of an object; `None` for any that does not cross the border.
pub fn class_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Class>> {
    let known = Classes::get(object.py())?;
    let address = object.get_type().as_ptr() as usize;
    Ok(known.by_address.get(&address).copied())
}

/// A new object of a class, from its fields in their order: a tuple.
pub fn make<'py, F>(py: Python<'py>, class: Class, fields: F) -> PyResult<Bound<'py, PyAny>>
where
    F: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    F::Error: Into<PyErr>,
{
    let types = &Classes::get(py)?.types;
    let fields = fields.into_pyobject(py).map_err(Into::into)?;
    types[class as usize].bind(py).call1(fields)
}

/// A field by its name, which errors say.
pub fn read<'py, T: FromPyObjectOwned<'py>>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<T> {
    in_field(name, object.getattr(name)?.extract().map_err(Into::into))
}

/// What was made of a field, with its name in front of the error's message.
pub fn in_field<T>(name: &Bound<'_, PyString>, made: PyResult<T>) -> PyResult<T> {
    made.map_err(|error| PyValueError::new_err(format!("{name}: {}", error.value(name.py()))))
}

/// The error for an object of a class that has no place here.
pub fn misplaced(object: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    match object.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("{name} is not {wanted}")),
        Err(error) => error,
    }
}

/// `field!(object, name)`: a field of an object, as the type that is wanted.
macro_rules! field {
    ($object:expr, $name:ident) => {
        $crate::classes::read($object, pyo3::intern!($object.py(), stringify!($name)))?
    };
}

/// `made!(object, name, with)`: what a function makes of a field of an object.
macro_rules! made {
    ($object:expr, $name:ident, $with:expr) => {{
        let name = pyo3::intern!($object.py(), stringify!($name));
        $crate::classes::in_field(name, $object.getattr(name).and_then(|value| $with(&value)))?
    }};
}

pub(crate) use {field, made};
