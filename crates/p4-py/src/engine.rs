//! Which engine runs a switch: the interpreter, or native code, which a program is compiled to once.

use crate::program::Program;
use p4_arch::Switch;
use p4_ir::native::Native;
use pyo3::exceptions::PyValueError;
use pyo3::PyResult;
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
    let compiled = program.native.get_or_init(|| native(switch));
    match compiled {
        Ok(code) => switch
            .set_native(Some(Arc::clone(code)))
            .map_err(|error| PyValueError::new_err(error.to_string())),
        Err(why) if engine == Engine::Jit => Err(PyValueError::new_err(why.clone())),
        Err(_) => Ok(()),
    }
}

#[cfg(not(target_family = "wasm"))]
fn native(switch: &Switch) -> Result<Arc<dyn Native>, String> {
    p4_jit::compile(switch.prepared())
        .map(|code| Arc::new(code) as Arc<dyn Native>)
        .map_err(|error| error.to_string())
}

#[cfg(target_family = "wasm")]
fn native(_: &Switch) -> Result<Arc<dyn Native>, String> {
    Err("there is no native code in a browser".to_owned())
}
