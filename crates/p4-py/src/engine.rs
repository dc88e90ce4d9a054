//! Which engine runs a switch: the interpreter, or native code, which a program is compiled to once.

use crate::program::Program;
use p4_arch::Switch;
#[cfg(all(target_os = "linux", feature = "whole"))]
use p4_arch::{tna, Image};
use p4_ir::interp::Prepared;
use p4_ir::native::Native;
#[cfg(not(feature = "whole"))]
use pyo3::exceptions::PyAttributeError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

/// Native code of a program, or why there is none; made when it is asked for.
pub type Code = OnceLock<Result<Arc<dyn Native>, String>>;

/// The choice of a switch's engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Interpreter,
    /// An error if the program cannot be compiled
    Jit,
    /// Native code where it can be had
    Fastest,
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(name: &str) -> Result<Engine, String> {
        match name {
            "interpreter" => Ok(Engine::Interpreter),
            "jit" => Ok(Engine::Jit),
            _ => Err(format!(
                "there is no engine {name:?}; use \"interpreter\", \"jit\" or None"
            )),
        }
    }
}

/// The engine that Python names, None being the fastest that works.
pub fn named(engine: Option<&str>) -> PyResult<Engine> {
    engine.map_or(Ok(Engine::Fastest), |name| {
        name.parse().map_err(PyValueError::new_err)
    })
}

/// Gives a switch its engine.
pub fn equip(switch: &mut Switch, program: &Program, engine: Engine) -> PyResult<()> {
    if engine == Engine::Interpreter {
        return Ok(());
    }
    let compiled = program.native.get_or_init(|| native(switch.prepared()));
    match compiled {
        Ok(code) => switch
            .set_native(Some(Arc::clone(code)))
            .map_err(|error| PyValueError::new_err(error.to_string())),
        Err(why) if engine == Engine::Jit => Err(PyValueError::new_err(why.clone())),
        Err(_) => Ok(()),
    }
}

#[cfg(all(target_os = "linux", feature = "whole"))]
type WithNative = (Arc<tna::Image>, Option<Arc<dyn Native>>);

/// A program for Tofino with its native code, if there is some.
#[cfg(all(target_os = "linux", feature = "whole"))]
pub fn of_tna(program: &Program) -> PyResult<WithNative> {
    let Image::Tna(image) = &program.image else {
        let message = "a program that joins others is one for TNA";
        return Err(PyValueError::new_err(message));
    };
    let code = program.native.get_or_init(|| native(image.prepared()));
    Ok((Arc::clone(image), code.as_ref().ok().cloned()))
}

#[cfg(feature = "whole")]
fn native(program: &Prepared) -> Result<Arc<dyn Native>, String> {
    p4_jit::compile(program)
        .map(|code| Arc::new(code) as Arc<dyn Native>)
        .map_err(|error| error.to_string())
}

#[cfg(not(feature = "whole"))]
fn native(_: &Prepared) -> Result<Arc<dyn Native>, String> {
    Err(format!("this engine has no native code: {PART}"))
}

/// What one may do who has only a part of the engine.
#[cfg(not(feature = "whole"))]
const PART: &str = if cfg!(target_family = "wasm") {
    "a page never has it"
} else {
    "it is the part that a first run needs; `./lab doctor` builds the rest, and a notebook's kernel \
     has it when it is started again"
};

/// Says why a name is missing that the whole engine has.
#[cfg(not(feature = "whole"))]
#[pyfunction(name = "__getattr__")]
pub fn missing(name: &str) -> PyResult<Py<PyAny>> {
    let message = format!("this engine has no {name}: {PART}");
    Err(PyAttributeError::new_err(message))
}
