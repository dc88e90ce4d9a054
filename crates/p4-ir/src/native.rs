//! What native code is to whoever runs a program, whoever made it.
//!
//! An architecture that has been given a [`Native`] runs its blocks with [`Native::run`] instead of
//! [`run`](crate::interp::run); everything else about a switch stays the same. Native code neither
//! traces nor shows what is undefined: for that there is the interpreter.

use crate::interp::{Halt, Host, Lookup, Machine, Outcome};
use crate::ir::{CallId, Pc, Program, TableId};
use crate::trace::NoTrace;
use std::fmt::Debug;
use std::sync::Arc;

/// A [`Host`] without a tracer, so that code compiled once serves every host.
pub trait NativeHost {
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_>;

    fn call(&mut self, call: CallId, machine: &mut Machine) -> Result<(), Halt>;

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool;
}

impl<H: Host> NativeHost for H {
    fn lookup(&mut self, table: TableId, key: &[u64]) -> Lookup<'_> {
        Host::lookup(self, table, key)
    }

    fn call(&mut self, call: CallId, machine: &mut Machine) -> Result<(), Halt> {
        Host::call(self, call, machine, &mut NoTrace)
    }

    fn in_value_set(&mut self, set: u32, key: &[u64]) -> bool {
        Host::in_value_set(self, set, key)
    }
}

/// A program as machine code.
pub trait Native: Debug + Send + Sync {
    /// The program that it was made from. It runs on machines of this very program only.
    fn program(&self) -> &Arc<Program>;

    /// Runs the block that starts at `entry` on the packet and frame of `machine`: the same outcome
    /// as the interpreter's, the same packet, and the same words in all storages.
    fn run(&self, entry: Pc, machine: &mut Machine, host: &mut dyn NativeHost) -> Outcome;
}
