//! One instruction at a time, for native code: what it does not do itself is done here, by the
//! interpreter's own means, so that there is one meaning of every instruction.

use crate::interp::{errors, Machine, Prepared};
use crate::interp_headers::{load_at, store_at};
use crate::ir::{words, Op, Pc};
use crate::{interp_headers, wide};

/// Executes instruction `pc`, which neither jumps nor asks a host; `Err` with an error code where
/// it ends the parser. Other instructions do nothing: native code has them itself.
pub fn execute_aside(prepared: &Prepared, pc: Pc, machine: &mut Machine) -> Result<(), u32> {
    let program = prepared.program();
    let Machine {
        frame,
        packet,
        length_delta,
        out_of_stack,
        scratch,
        ..
    } = machine;
    let frame = frame.as_mut_slice();
    let Some(op) = prepared.code().get(pc as usize) else {
        return Ok(());
    };
    match *op {
        Op::Wide { op } => wide::execute(&program.wide[op as usize], frame, scratch),
        Op::LoadAt { r, d, idx } => {
            *out_of_stack |= !load_at(frame, &program.dynamic[r as usize], d, idx);
        }
        Op::StoreAt { r, s, idx } => {
            *out_of_stack |= !store_at(frame, &program.dynamic[r as usize], s, idx);
        }
        Op::SetValid { layout, base } => {
            *length_delta += interp_headers::set_valid(prepared, layout, base, frame);
        }
        Op::SetInvalid { layout, base } => {
            *length_delta -= interp_headers::set_invalid(prepared, layout, base, frame);
        }
        Op::StackShift { stack, by } => {
            interp_headers::shift(&program.stacks[stack as usize], by, frame);
        }
        Op::Extract { layout, base } => {
            interp_headers::extract(prepared, layout, base, packet, frame, 0)?;
        }
        Op::ExtractVar { layout, base, bits } => {
            let bits = frame[bits as usize];
            interp_headers::extract(prepared, layout, base, packet, frame, bits)?;
        }
        Op::ExtractNext { stack } => {
            let stack = &program.stacks[stack as usize];
            interp_headers::extract_next(prepared, stack, packet, frame, 0)?;
        }
        Op::ExtractNextVar { stack, bits } => {
            let bits = frame[bits as usize];
            let stack = &program.stacks[stack as usize];
            interp_headers::extract_next(prepared, stack, packet, frame, bits)?;
        }
        Op::Lookahead { w, d } => {
            if packet.remaining() < w as usize {
                return Err(errors::PACKET_TOO_SHORT);
            }
            packet.peek_wide(0, w, &mut frame[d as usize..(d + words(w)) as usize]);
        }
        Op::Emit { layout, base } => {
            let header = &frame[base as usize..][..prepared.layout_words(layout)];
            if header[0] != 0 {
                prepared.plan(layout).emit(packet, header);
            }
        }
        _ => {}
    }
    Ok(())
}
