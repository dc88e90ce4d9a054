//! `adjust_byte_count` of direct counters and meters.
//!
//! They count when their entry is hit, before its action has run. What the action takes off is
//! known: on the chip it is a property of the counter, so that it is the same wherever the program
//! counts.

use crate::error::ArchError;
use p4_ir::ir::{ArgValue, ExternCall, InstanceId, Program};

const ARGUMENT: &str = "adjust_byte_count";

/// The direct counters and meters that count fewer bytes than a packet has, and how many fewer.
pub(super) fn of(program: &Program) -> Result<Vec<(InstanceId, u64)>, ArchError> {
    let is_direct =
        |call: &&ExternCall| matches!(&*call.name, "DirectCounter.count" | "DirectMeter.execute");
    let mut known: Vec<(InstanceId, u64)> = Vec::new();
    for call in program.calls.iter().filter(is_direct) {
        let Some(instance) = call.instance else {
            continue;
        };
        let name = || &program.instances[instance as usize].name;
        let bytes = bytes(program, call).ok_or_else(|| {
            let message = format!("{}: {ARGUMENT} must be a constant", name());
            ArchError::new(message, call.span)
        })?;
        match known.iter().find(|(other, _)| *other == instance) {
            Some((_, before)) if *before != bytes => {
                let message = format!(
                    "{}: {ARGUMENT} is {bytes} here and {before} elsewhere, and must be the same for all of its entries",
                    name()
                );
                return Err(ArchError::new(message, call.span));
            }
            Some(_) => {}
            None => known.push((instance, bytes)),
        }
    }
    known.retain(|(_, bytes)| *bytes > 0);
    Ok(known)
}

/// What a call takes off; 0 if it says nothing, `None` if only running the program tells.
fn bytes(program: &Program, call: &ExternCall) -> Option<u64> {
    let mut given = call.args.iter().filter(|arg| &*arg.name == ARGUMENT);
    match given.next().map(|arg| &arg.value) {
        None | Some(ArgValue::Missing) => Some(0),
        Some(ArgValue::Scalar(place)) => program.constant(place.slot),
        Some(_) => None,
    }
}
