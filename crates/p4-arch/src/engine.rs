//! What runs the blocks of a switch: the interpreter, or native code that somebody has made.

use crate::error::ArchError;
use p4_ir::interp::{run, Halt, Host, Machine, Outcome, Prepared};
use p4_ir::ir::Pc;
use p4_ir::native::Native;
use p4_ir::trace::Tracer;
use p4_syntax::span::Span;
use std::sync::Arc;

/// The interpreter, unless there is native code and nobody watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Engine {
    native: Option<Arc<dyn Native>>,
}

impl Engine {
    /// Takes native code for `prepared`, or goes back to the interpreter.
    pub fn set(
        &mut self,
        prepared: &Prepared,
        native: Option<Arc<dyn Native>>,
    ) -> Result<(), ArchError> {
        let own = prepared.share();
        let fits = |native: &Arc<dyn Native>| Arc::ptr_eq(native.program(), &own);
        if !native.as_ref().is_none_or(fits) {
            let message = "the native code was made from another program";
            return Err(ArchError::new(message, Span::NONE));
        }
        self.native = native;
        Ok(())
    }

    /// The native code, if there is some.
    pub fn native(&self) -> Option<&Arc<dyn Native>> {
        self.native.as_ref()
    }

    /// Whether packets run native code if `T` is their tracer.
    pub fn is_native<T: Tracer>(&self) -> bool {
        self.native.is_some() && !T::ON
    }

    /// Makes a machine ready for another packet.
    #[inline]
    pub fn reset<T: Tracer>(&self, prepared: &Prepared, machine: &mut Machine) {
        match &self.native {
            Some(native) if !T::ON => native.reset(machine),
            _ => machine.reset(prepared),
        }
    }

    /// [`Native::run_all`], for those who know that there is native code.
    #[inline]
    pub fn run_all<H: Host>(
        &self,
        entries: &[Pc],
        machine: &mut Machine,
        host: &mut H,
    ) -> (usize, Outcome) {
        match &self.native {
            Some(native) => native.run_all(entries, machine, host),
            None => (0, Outcome::Halted(Halt::Trap(0))),
        }
    }

    /// Runs the block that starts at `entry`. A tracer that is on sees the interpreter.
    #[inline]
    pub fn run<H: Host, T: Tracer>(
        &self,
        prepared: &Prepared,
        entry: Pc,
        machine: &mut Machine,
        host: &mut H,
        tracer: &mut T,
    ) -> Outcome {
        match &self.native {
            Some(native) if !T::ON => native.run(entry, machine, host),
            _ => run(prepared, entry, machine, host, tracer),
        }
    }
}
