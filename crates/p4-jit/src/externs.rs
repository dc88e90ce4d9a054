//! Calls of externs: the host's business, but for what the architecture says is so little that it
//! can be done in its place.

use crate::context;
use crate::emit::Emitter;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use p4_ir::ir::{CallId, Op, Slot};
use p4_ir::native::{Inline, InternetChecksum, Term, Then};

pub(crate) fn call(e: &mut Emitter, op: &Op, id: CallId) {
    match e.prepared.inline(id) {
        None | Some(Inline::Cell(_) | Inline::Unpack(_)) => call_host(e, id),
        Some(
            Inline::ByArguments
            | Inline::Pure
            | Inline::Sum(..)
            | Inline::Undoable
            | Inline::Later(_)
            | Inline::Cut(_),
        ) => {
            let ended = e.call_thunk(context::call_by_arguments as *const u8, &[id.into()]);
            e.forget_written(op);
            e.unless_over(ended);
        }
        Some(Inline::Store(values)) => {
            for (slot, value) in values {
                let value = e.number(*value);
                e.set(*slot, value);
            }
        }
        Some(Inline::Unless(slot)) => {
            let condition = e.get(*slot);
            let (work, after) = (e.builder.create_block(), e.builder.create_block());
            e.ins().brif(condition, work, &[], after, &[]);
            e.builder.switch_to_block(work);
            call_host(e, id);
            e.ins().jump(after, &[]);
            e.builder.switch_to_block(after);
        }
        Some(Inline::Checksum(sum)) => checksum(e, id, sum),
    }
}

/// Nothing is known afterwards.
fn call_host(e: &mut Emitter, id: CallId) {
    let ended = e.call_thunk(context::call as *const u8, &[id.into()]);
    e.known.clear();
    e.unless_over(ended);
}

fn checksum(e: &mut Emitter, id: CallId, sum: &InternetChecksum) {
    let condition = sum.condition.map(|slot| e.get(slot));
    let known = e.known.clone();
    let (work, after) = (e.builder.create_block(), e.builder.create_block());
    match condition {
        Some(condition) => e.ins().brif(condition, work, &[], after, &[]),
        None => e.ins().jump(work, &[]),
    };
    e.builder.switch_to_block(work);
    let lengths: Vec<Value> = sum.data.varbits().iter().map(|slot| e.get(*slot)).collect();
    let any = lengths.into_iter().reduce(|a, b| e.ins().bor(a, b));
    if let Some(any) = any {
        let within = e.known.clone();
        let (slow, quick) = (e.cold_block(), e.builder.create_block());
        e.ins().brif(any, slow, &[], quick, &[]);
        e.builder.switch_to_block(slow);
        call_host(e, id);
        e.ins().jump(after, &[]);
        e.builder.switch_to_block(quick);
        e.known = within;
    }
    let changed = sum_up(e, sum, sum.data.fixed());
    e.ins().jump(after, &[]);
    e.builder.switch_to_block(after);
    e.known = known;
    if let Some(slot) = changed {
        e.forget(slot, 1);
    }
}

/// Computes the checksum of the terms and does with it what is to be done; the slot that this may have changed.
pub(crate) fn sum_up(e: &mut Emitter, sum: &InternetChecksum, terms: &[Term]) -> Option<Slot> {
    let all = ones_sum(e, terms);
    let all = e.ins().bnot(all);
    let result = e.cut(all, sum.mask & 0xffff);
    match sum.then {
        Then::Store => {
            e.set(sum.value, result);
            Some(sum.value)
        }
        Then::Compare(flag) => {
            if let Some(flag) = flag {
                let (given, old) = (e.get(sum.value), e.get(flag));
                let differs = e.ins().icmp(IntCC::NotEqual, given, result);
                let one = e.number(1);
                let new = e.ins().select(differs, one, old);
                e.set(flag, new);
            }
            flag
        }
    }
}

/// The ones' complement sum of the terms
pub(crate) fn ones_sum(e: &mut Emitter, terms: &[Term]) -> Value {
    let mut all: Option<Value> = None;
    for term in terms {
        // Halves, so that no sum of a frame's words runs over.
        let word = e.get(term.slot);
        let (low, high) = (e.cut(word, u32::MAX.into()), e.ins().ushr_imm_u(word, 32));
        let both = e.ins().iadd(low, high);
        let up = match term.up {
            0 => both,
            up => e.ins().ishl_imm_u(both, i64::from(up)),
        };
        all = Some(match all {
            Some(all) => e.ins().iadd(all, up),
            None => up,
        });
    }
    let mut all = all.unwrap_or_else(|| e.number(0));
    // 64 bits to 33, to 18, to 17, to 16: each fold leaves the carry of the one before.
    for bits in [32, 16, 16, 16] {
        all = fold(e, all, bits);
    }
    all
}

/// Adds what is above so many bits to what is below.
pub(crate) fn fold(e: &mut Emitter, all: Value, bits: i64) -> Value {
    let (low, high) = (e.cut(all, (1 << bits) - 1), e.ins().ushr_imm_u(all, bits));
    e.ins().iadd(low, high)
}
