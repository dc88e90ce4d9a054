//! Calls that belong into one block only: a clone from ingress is made at the end of ingress.

use super::calls;
use super::stages::block::{COMPUTE, DEPARSER, EGRESS, INGRESS, PARSER, VERIFY};
use crate::error::ArchError;
use p4_ir::ir::{CallId, Op, Pc, Program};

const BLOCKS: [(u32, &str); 6] = [
    (PARSER, "the parser"),
    (VERIFY, "the verification of checksums"),
    (INGRESS, "ingress"),
    (EGRESS, "egress"),
    (COMPUTE, "the update of checksums"),
    (DEPARSER, "the deparser"),
];

/// Refuses the first call that stands in the wrong block, as p4c does.
pub(super) fn check(program: &Program) -> Result<(), ArchError> {
    for (place, block) in BLOCKS {
        for id in reached(program, program.blocks[place as usize].entry) {
            let call = &program.calls[id as usize];
            let (belongs, what) = match &*call.name {
                "clone" | "clone_preserving_field_list" => match calls::clone_type(program, call) {
                    Some("I2E") => ("ingress", "a clone of type I2E"),
                    Some("E2E") => ("egress", "a clone of type E2E"),
                    _ => continue,
                },
                "resubmit_preserving_field_list" => ("ingress", "resubmit"),
                "recirculate_preserving_field_list" => ("egress", "recirculate"),
                _ => continue,
            };
            if belongs != block {
                let message = format!("{what} is made in {belongs}; it has no effect in {block}");
                return Err(ArchError::new(message, call.span));
            }
        }
    }
    Ok(())
}

/// The calls that a block can come to, in the order of the code.
fn reached(program: &Program, entry: Pc) -> Vec<CallId> {
    let mut seen = vec![false; program.code.len()];
    let mut todo = vec![entry];
    let mut found = Vec::new();
    while let Some(pc) = todo.pop() {
        let Some(op) = program.code.get(pc as usize) else {
            continue;
        };
        if std::mem::replace(&mut seen[pc as usize], true) {
            continue;
        }
        let mut goes_on = true;
        match *op {
            Op::Jmp { t } => {
                todo.push(t);
                goes_on = false;
            }
            Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } | Op::Call { t } => todo.push(t),
            Op::Switch { table, .. } => {
                if let Some(table) = program.switches.get(table as usize) {
                    todo.extend(table.cases.iter().map(|case| case.1));
                    todo.push(table.default);
                }
                goes_on = false;
            }
            Op::Apply { table } => {
                let listed = program
                    .tables
                    .get(table as usize)
                    .map(|table| &table.actions);
                let actions = listed.into_iter().flatten();
                let entries = actions.filter_map(|a| program.actions.get(a.action as usize));
                todo.extend(entries.map(|action| action.entry));
            }
            Op::Extern { call } if (call as usize) < program.calls.len() => found.push(call),
            Op::Ret | Op::Reject { .. } | Op::Trap => goes_on = false,
            _ => {}
        }
        if goes_on {
            todo.push(pc + 1);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
