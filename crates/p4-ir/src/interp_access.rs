//! Which words each instruction reads and writes, and where it may jump. The check of a program
//! before it runs and the tracer both follow this list, so they cannot disagree.

use crate::interp_prepare::place_words;
use crate::ir::{words, Alu, ArgValue, LayoutId, Op, Pc, Place, Program, Slot, WideKind};

/// One use of the frame or of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read { slot: Slot, n: u32 },
    Write { slot: Slot, n: u32 },
    Jump(Pc),
}

/// An index or width that makes no sense.
#[derive(Clone, Copy, Debug)]
pub struct Bad(pub &'static str);

/// Tells `each` what `op` does.
pub fn accesses(program: &Program, op: &Op, each: &mut impl FnMut(Access)) -> Result<(), Bad> {
    use Access::{Jump, Read, Write};
    let word = |slot| Read { slot, n: 1 };
    let set = |slot| Write { slot, n: 1 };
    match *op {
        Op::Mov { d, s } => [set(d), word(s)].into_iter().for_each(&mut *each),
        Op::MovN { d, s, n } => {
            each(Write { slot: d, n });
            each(Read { slot: s, n });
        }
        Op::MovIf { d, s, c } => [set(d), word(s), word(c)].into_iter().for_each(&mut *each),
        Op::MovNIf { d, s, c, n } => {
            each(Write {
                slot: d,
                n: n.into(),
            });
            each(Read {
                slot: s,
                n: n.into(),
            });
            each(word(c));
        }
        Op::Zero { d, n } | Op::Undefine { d, n } => each(Write { slot: d, n }),
        Op::Alu { w, d, a, b, .. } => {
            narrow(w)?;
            [set(d), word(a), word(b)].into_iter().for_each(&mut *each)
        }
        Op::Concat { w, d, a, b } => {
            narrow(w)?;
            [set(d), word(a), word(b)].into_iter().for_each(&mut *each)
        }
        Op::Not { w, d, a } | Op::Neg { w, d, a } => {
            narrow(w)?;
            [set(d), word(a)].into_iter().for_each(&mut *each)
        }
        Op::SignExtend { from, to, d, a } => {
            narrow(from.max(to))?;
            [set(d), word(a)].into_iter().for_each(&mut *each)
        }
        Op::NotBool { d, a } => [set(d), word(a)].into_iter().for_each(&mut *each),
        Op::Slice { lo, w, d, a } => {
            narrow(lo.saturating_add(w))?;
            [set(d), word(a)].into_iter().for_each(&mut *each)
        }
        Op::Insert { lo, w, d, s } => {
            narrow(lo.saturating_add(w))?;
            [set(d), word(d), word(s)].into_iter().for_each(&mut *each)
        }
        Op::Wide { op } => wide(program, op, each)?,
        Op::LoadAt { r, d, idx } | Op::StoreAt { r, s: d, idx } => {
            let r = program
                .dynamic
                .get(r as usize)
                .ok_or(Bad("no such run-time index"))?;
            let span = reach(r.stride, r.count, r.n)?;
            each(word(idx));
            if matches!(op, Op::LoadAt { .. }) {
                each(Read {
                    slot: r.base,
                    n: span,
                });
                each(Write { slot: d, n: r.n });
            } else {
                each(Read { slot: d, n: r.n });
                each(Write {
                    slot: r.base,
                    n: span,
                });
                if let Some(valid) = r.valid {
                    each(Read {
                        slot: valid,
                        n: reach(r.stride, r.count, 1)?,
                    });
                }
            }
        }
        Op::Jmp { t } | Op::Call { t } => each(Jump(t)),
        Op::JmpIf { c, t } | Op::JmpIfNot { c, t } => {
            [word(c), Jump(t)].into_iter().for_each(&mut *each)
        }
        Op::Switch { v, table } => {
            each(word(v));
            let table = program
                .switches
                .get(table as usize)
                .ok_or(Bad("no such switch"))?;
            table.cases.iter().for_each(|case| each(Jump(case.1)));
            each(Jump(table.default));
        }
        Op::Ret | Op::Trap => {}
        Op::SetValid { layout, base }
        | Op::SetInvalid { layout, base }
        | Op::Extract { layout, base } => {
            each(Write {
                slot: base,
                n: header(program, layout)?,
            });
        }
        Op::ExtractVar { layout, base, bits } => {
            each(word(bits));
            each(Write {
                slot: base,
                n: header(program, layout)?,
            });
        }
        Op::Emit { layout, base } => each(Read {
            slot: base,
            n: header(program, layout)?,
        }),
        Op::StackShift { stack, .. } => each(whole_stack(program, stack)?),
        Op::ExtractNext { stack } => each(extractable(program, stack)?),
        Op::ExtractNextVar { stack, bits } => {
            each(word(bits));
            each(extractable(program, stack)?);
        }
        Op::StackLast { stack, d } => {
            each(whole_stack(program, stack)?);
            each(set(d));
        }
        Op::State { state } => {
            program
                .states
                .get(state as usize)
                .ok_or(Bad("no such state"))?;
        }
        Op::Lookahead { w, d } => each(Write {
            slot: d,
            n: words(w),
        }),
        Op::Advance { bits } => each(word(bits)),
        Op::PacketLength { d } => each(set(d)),
        Op::Reject { err } => each(word(err)),
        Op::InValueSet { set: id, d, key } => {
            let set_info = program
                .value_sets
                .get(id as usize)
                .ok_or(Bad("no such value set"))?;
            let n = set_info
                .fields
                .iter()
                .map(|field| words(field.place.width))
                .sum();
            each(Read { slot: key, n });
            each(set(d));
        }
        Op::Apply { table } => {
            let table = program
                .tables
                .get(table as usize)
                .ok_or(Bad("no such table"))?;
            if table.key_words
                != table
                    .keys
                    .iter()
                    .map(|key| words(key.place.width))
                    .sum::<u32>()
            {
                return Err(Bad("the table's key words do not add up"));
            }
            each(Read {
                slot: table.key,
                n: table.key_words,
            });
            each(set(table.hit));
            each(set(table.chosen));
        }
        Op::Extern { call } => call_places(program, call, each)?,
    }
    Ok(())
}

fn narrow(width: u8) -> Result<(), Bad> {
    if width <= 64 {
        Ok(())
    } else {
        Err(Bad("a narrow operation is wider than 64 bits"))
    }
}

/// Words from the start of the first element to the end of the last.
fn reach(stride: u32, count: u32, n: u32) -> Result<u32, Bad> {
    let Some(last) = count.checked_sub(1) else {
        return Ok(0);
    };
    last.checked_mul(stride)
        .and_then(|start| start.checked_add(n))
        .ok_or(Bad("a stack is too large"))
}

fn header(program: &Program, layout: LayoutId) -> Result<u32, Bad> {
    program
        .layouts
        .get(layout as usize)
        .map(|layout| layout.words)
        .ok_or(Bad("no such layout"))
}

fn whole_stack(program: &Program, stack: u32) -> Result<Access, Bad> {
    let stack = program
        .stacks
        .get(stack as usize)
        .ok_or(Bad("no such stack"))?;
    let elements = stack
        .count
        .checked_mul(stack.stride)
        .ok_or(Bad("a stack is too large"))?;
    let n = elements.checked_add(1).ok_or(Bad("a stack is too large"))?;
    Ok(Access::Write {
        slot: stack.next,
        n,
    })
}

fn extractable(program: &Program, stack: u32) -> Result<Access, Bad> {
    let whole = whole_stack(program, stack)?;
    let stack = &program.stacks[stack as usize];
    let layout = stack
        .layout
        .ok_or(Bad("a stack of unions is extracted as a whole"))?;
    if header(program, layout)? > stack.stride {
        return Err(Bad("the elements of a stack overlap"));
    }
    Ok(whole)
}

fn wide(program: &Program, op: u32, each: &mut impl FnMut(Access)) -> Result<(), Bad> {
    use Access::{Read, Write};
    let op = program
        .wide
        .get(op as usize)
        .ok_or(Bad("no such wide operation"))?;
    let (dn, an, bn) = (words(op.dw), words(op.aw), words(op.bw));
    each(Write { slot: op.d, n: dn });
    each(Read { slot: op.a, n: an });
    match op.kind {
        WideKind::Alu(alu) => {
            let shift = matches!(alu, Alu::Shl | Alu::Shr | Alu::ShrS);
            let compares = matches!(
                alu,
                Alu::Eq | Alu::Ne | Alu::Lt | Alu::Le | Alu::LtS | Alu::LeS
            );
            each(Read { slot: op.b, n: bn });
            if !shift && op.aw != op.bw || !compares && op.dw != op.aw || op.aw == 0 {
                return Err(Bad("the operands of a wide operation differ in width"));
            }
        }
        WideKind::Concat => {
            each(Read { slot: op.b, n: bn });
            if u64::from(op.dw) != u64::from(op.aw) + u64::from(op.bw) {
                return Err(Bad("a concatenation is not as wide as its parts"));
            }
        }
        WideKind::Not | WideKind::Neg => {
            if op.dw != op.aw {
                return Err(Bad("the operands of a wide operation differ in width"));
            }
        }
        WideKind::Slice { lo } => {
            if u64::from(lo) + u64::from(op.dw) > u64::from(op.aw) {
                return Err(Bad("a slice goes beyond its value"));
            }
        }
        WideKind::Insert { lo } => {
            if u64::from(lo) + u64::from(op.aw) > u64::from(op.dw) {
                return Err(Bad("a slice goes beyond its value"));
            }
        }
        WideKind::SignExtend => {}
    }
    Ok(())
}

fn call_places(program: &Program, call: u32, each: &mut impl FnMut(Access)) -> Result<(), Bad> {
    let call = program
        .calls
        .get(call as usize)
        .ok_or(Bad("no such call"))?;
    let mut visit = |place: &Place, is_in: bool, is_out: bool| {
        let (slot, n) = (place.slot, place_words(place) as u32);
        if is_in {
            each(Access::Read { slot, n });
        }
        if is_out {
            each(Access::Write { slot, n });
        }
    };
    for arg in &call.args {
        match &arg.value {
            ArgValue::Scalar(place) => visit(place, true, arg.is_out),
            ArgValue::List(leaves) => {
                for (place, valid) in leaves {
                    visit(place, true, arg.is_out);
                    if let Some(slot) = *valid {
                        visit(
                            &Place {
                                slot,
                                width: 1,
                                kind: crate::ir::ValueKind::Valid,
                            },
                            true,
                            false,
                        );
                    }
                }
            }
            ArgValue::String(_) | ArgValue::Instance(_) | ArgValue::Missing => {}
        }
    }
    call.result
        .iter()
        .for_each(|place| visit(place, false, true));
    Ok(())
}
