//! Operations on headers and stacks.

use crate::interp::{errors, Prepared};
use crate::ir::{DynamicRef, LayoutId, Slot, Stack};
use crate::packet::Packet;

/// Makes the header valid; its fields become zero if it was invalid. Returns the bytes gained.
pub(crate) fn set_valid(
    prepared: &Prepared,
    layout: LayoutId,
    base: Slot,
    frame: &mut [u64],
) -> i64 {
    let header = &mut frame[base as usize..][..prepared.layout_words(layout)];
    if header[0] != 0 {
        return 0;
    }
    header.fill(0);
    header[0] = 1;
    (prepared.plan(layout).bits / 8) as i64
}

/// Makes the header invalid and its fields zero. Returns the bytes lost.
pub(crate) fn set_invalid(
    prepared: &Prepared,
    layout: LayoutId,
    base: Slot,
    frame: &mut [u64],
) -> i64 {
    let header = &mut frame[base as usize..][..prepared.layout_words(layout)];
    let lost = if header[0] != 0 {
        prepared.plan(layout).current_bits(header) / 8
    } else {
        0
    };
    match prepared.program().keeps_invalid {
        true => header[0] = 0,
        false => header.fill(0),
    }
    lost as i64
}

/// Extracts the header at `base`, with `varbit` bits in its varbit field; or says which parser
/// error that is, having changed nothing. The order of the checks is that of P4_16 1.2.5, 13.8.
#[inline]
pub(crate) fn extract(
    prepared: &Prepared,
    layout: LayoutId,
    base: Slot,
    packet: &mut Packet,
    frame: &mut [u64],
    varbit: u64,
) -> Result<(), u32> {
    let plan = prepared.plan(layout);
    if varbit != 0 {
        check_varbit(plan.bits, plan.varbit_max(), packet.remaining(), varbit)?;
    } else if packet.remaining() < plan.bits {
        return Err(errors::PACKET_TOO_SHORT);
    }
    let header = &mut frame[base as usize..][..prepared.layout_words(layout)];
    plan.extract(packet, header, varbit as u32);
    Ok(())
}

fn check_varbit(fixed: usize, max: u32, remaining: usize, varbit: u64) -> Result<(), u32> {
    if !varbit.is_multiple_of(8) {
        return Err(errors::PARSER_INVALID_ARGUMENT);
    }
    if (remaining as u64) < (fixed as u64).saturating_add(varbit) {
        return Err(errors::PACKET_TOO_SHORT);
    }
    if varbit > u64::from(max) {
        return Err(errors::HEADER_TOO_SHORT);
    }
    Ok(())
}

/// Extracts into the next free element and returns its base.
pub(crate) fn extract_next(
    prepared: &Prepared,
    stack: &Stack,
    packet: &mut Packet,
    frame: &mut [u64],
    varbit: u64,
) -> Result<Slot, u32> {
    let next = frame[stack.next as usize];
    let layout = stack.layout.unwrap_or_default();
    if next >= u64::from(stack.count) {
        return Err(errors::STACK_OUT_OF_BOUNDS);
    }
    let base = stack.element(next as u32);
    extract(prepared, layout, base, packet, frame, varbit)?;
    frame[stack.next as usize] = next + 1;
    Ok(base)
}

/// `push_front(by)` or `pop_front(-by)`: elements move with their validity, new ones are invalid.
pub(crate) fn shift(stack: &Stack, by: i32, frame: &mut [u64]) {
    let count = stack.count;
    let n = by.unsigned_abs().min(count);
    let next = frame[stack.next as usize];
    let all = (count * stack.stride) as usize;
    let moved = (n * stack.stride) as usize;
    let elements = &mut frame[stack.next as usize + 1..][..all];
    if by >= 0 {
        elements.copy_within(..all - moved, moved);
        elements[..moved].fill(0);
        frame[stack.next as usize] = (next + u64::from(n)).min(count.into());
    } else {
        elements.copy_within(moved.., 0);
        elements[all - moved..].fill(0);
        frame[stack.next as usize] = next.saturating_sub(n.into());
    }
}

/// Gives whether the index is within the stack.
pub(crate) fn load_at(frame: &mut [u64], r: &DynamicRef, d: Slot, idx: Slot) -> bool {
    let (d, n) = (d as usize, r.n as usize);
    let Some(offset) = element(r, frame[idx as usize]) else {
        frame[d..d + n].fill(0);
        return false;
    };
    let from = r.base as usize + offset;
    frame.copy_within(from..from + n, d);
    true
}

/// Gives whether the index is within the stack.
pub(crate) fn store_at(frame: &mut [u64], r: &DynamicRef, s: Slot, idx: Slot) -> bool {
    let Some(offset) = element(r, frame[idx as usize]) else {
        return false;
    };
    let is_valid = |valid: Slot| frame[valid as usize + offset] != 0;
    if r.valid.is_none_or(is_valid) {
        let (s, n) = (s as usize, r.n as usize);
        frame.copy_within(s..s + n, r.base as usize + offset);
    }
    true
}

/// Words from the first element to element `index`, if there is one.
fn element(r: &DynamicRef, index: u64) -> Option<usize> {
    (index < u64::from(r.count)).then(|| index as usize * r.stride as usize)
}
