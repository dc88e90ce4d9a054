//! Extern functions that a program declares and its architecture does not know, given as Rust code:
//! the engine's form of what bmv2 loads as a plug-in (`--load-modules`).

use p4_ir::ir::{mask, words, ArgValue, ExternCall, Place, ValueKind};
use p4_syntax::ast::Name;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What an extern function does. It must depend on its arguments alone, or the same packets no
/// longer give the same results.
pub trait NativeExtern: Send + Sync {
    /// The arguments are in the order of the parameters, with the result behind them unless it is
    /// `void`. `in` parameters have their values, `out` parameters and the result begin as zero;
    /// what stands in `out` and `inout` parameters and in the result afterwards is stored.
    fn call(&self, arguments: &mut [Argument]);
}

impl<F: Fn(&mut [Argument]) + Send + Sync> NativeExtern for F {
    fn call(&self, arguments: &mut [Argument]) {
        self(arguments);
    }
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The name of the parameter; empty for the result
    pub name: Name,
    /// One for a scalar, the fields in order for a struct, header, tuple or list
    pub values: Vec<Value>,
}

/// A number of `width` bits, least significant word first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub width: u32,
    /// As many as the width takes; bits beyond the width are cut off when the value is stored.
    pub words: Vec<u64>,
}

/// Extern functions by their names in programs.
#[derive(Clone, Default)]
pub struct NativeExterns {
    functions: BTreeMap<String, Arc<dyn NativeExtern>>,
}

impl NativeExterns {
    /// With the function `name` added, in place of one that had this name before. Functions that
    /// the architecture itself knows stay as they are.
    pub fn with(mut self, name: &str, function: impl NativeExtern + 'static) -> NativeExterns {
        self.functions.insert(name.to_string(), Arc::new(function));
        self
    }

    /// The call of one of these functions, ready to be executed; `None` if none has the name or an
    /// argument is something that has no fixed width (a varbit, an instance, a string).
    pub(crate) fn prepare(&self, call: &ExternCall) -> Option<NativeCall> {
        if call.instance.is_some() {
            return None;
        }
        let function = Arc::clone(self.functions.get(&*call.name)?);
        let mut arguments = Vec::new();
        for arg in &call.args {
            let places = match &arg.value {
                ArgValue::Scalar(place) => vec![*place],
                ArgValue::List(leaves) => leaves.iter().map(|leaf| leaf.0).collect(),
                _ => return None,
            };
            arguments.push((arg.name.clone(), arg.is_in, arg.is_out, places));
        }
        if !call.result.is_empty() {
            arguments.push(("".into(), false, true, call.result.clone()));
        }
        let mut places = arguments.iter().flat_map(|(.., places)| places);
        if places.any(|place| place.kind == ValueKind::Varbit) {
            return None;
        }
        Some(NativeCall {
            function,
            arguments,
        })
    }
}

impl fmt::Debug for NativeExterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.functions.keys()).finish()
    }
}

/// A call with its function and the places of its arguments: name, read, written, leaves.
#[derive(Clone)]
pub struct NativeCall {
    function: Arc<dyn NativeExtern>,
    arguments: Vec<(Name, bool, bool, Vec<Place>)>,
}

impl fmt::Debug for NativeCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeCall").field(&self.arguments).finish()
    }
}

impl NativeCall {
    pub(crate) fn run(&self, frame: &mut [u64]) {
        let given = self.arguments.iter().map(|(name, is_in, _, places)| {
            let value = |place: &Place| {
                let at = place.slot as usize;
                let n = words(place.width) as usize;
                let words = match is_in {
                    true => frame[at..at + n].to_vec(),
                    false => vec![0; n],
                };
                let width = place.width;
                Value { width, words }
            };
            Argument {
                name: name.clone(),
                values: places.iter().map(value).collect(),
            }
        });
        let mut given: Vec<Argument> = given.collect();
        self.function.call(&mut given);
        for ((_, _, is_out, places), argument) in self.arguments.iter().zip(&given) {
            for (place, value) in places.iter().zip(&argument.values).filter(|_| *is_out) {
                store(place, &value.words, frame);
            }
        }
    }
}

/// Bits beyond the width are cut off, missing words are zero.
fn store(place: &Place, value: &[u64], frame: &mut [u64]) {
    let n = words(place.width);
    for i in 0..n {
        let word = value.get(i as usize).copied().unwrap_or(0);
        let own = place.width.saturating_sub(i * 64);
        frame[(place.slot + i) as usize] = word & mask(own);
    }
}
