//! Headers: validity, and their ways between packet and frame.

use crate::context::{aside, at, status};
use crate::emit::Emitter;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use p4_ir::interp::errors;
use p4_ir::ir::{LayoutId, Op, Pc, Slot};
use p4_ir::packet_plan::{Copies, Plan, Put, Take};
use p4_ir::{accesses, Access};

impl<'a> Emitter<'a> {
    fn plan(&self, layout: LayoutId) -> &'a Plan {
        self.prepared.plan(layout)
    }

    fn layout_words(&self, layout: LayoutId) -> u32 {
        self.program.layouts[layout as usize].words
    }

    /// Lets the interpreter execute the instruction at `pc`.
    pub fn execute_aside(&mut self, pc: Pc, op: &Op) {
        let error = self.call_thunk(aside as *const u8, &[pc.into()]);
        self.forget_written(op);
        let (bad, good) = (self.cold_block(), self.builder.create_block());
        self.ins().brif(error, bad, &[], good, &[]);
        self.builder.switch_to_block(bad);
        self.unless_over(error);
        let code = self.ins().iadd_imm_s(error, -1);
        self.reject(code);
        self.builder.switch_to_block(good);
    }

    /// Whatever `op` writes may have changed.
    pub fn forget_written(&mut self, op: &Op) {
        // The program has been checked, so this finds nothing wrong.
        let _ = accesses(self.program, op, &mut |access| {
            if let Access::Write { slot, n } = access {
                self.forget(slot, n);
            }
        });
    }

    /// Ends the parser with the error code `code`.
    pub fn reject(&mut self, code: Value) {
        let code = self.cut(code, u32::MAX.into());
        let code = self.ins().ishl_imm_u(code, 8);
        let ended = self.ins().bor_imm_u(code, status::REJECTED as i64);
        self.leave_with(ended);
    }

    /// Ends the parser with `error` if `condition` holds.
    pub fn reject_if(&mut self, condition: Value, error: u32) {
        let (bad, good) = (self.cold_block(), self.builder.create_block());
        self.ins().brif(condition, bad, &[], good, &[]);
        self.builder.switch_to_block(bad);
        self.leave(status::REJECTED, error.into());
        self.builder.switch_to_block(good);
    }

    /// Ends the parser unless the packet has so many bits more; gives those that it has.
    pub fn need(&mut self, bits: Value) -> Value {
        let (all, cursor) = (self.own(at::BITS), self.own(at::CURSOR));
        let left = self.ins().isub(all, cursor);
        let short = self.ins().icmp(IntCC::UnsignedLessThan, left, bits);
        self.reject_if(short, errors::PACKET_TOO_SHORT);
        cursor
    }

    /// The address of the byte with the bit `bit` of the packet.
    fn input(&mut self, bit: Value) -> Value {
        let input = self.own(at::INPUT);
        let byte = self.ins().ushr_imm_u(bit, 3);
        self.ins().iadd(input, byte)
    }

    /// The next `w` bits, at most 57.
    pub fn look_ahead(&mut self, w: u32) -> Value {
        let bits = self.number(w.into());
        let cursor = self.need(bits);
        if w == 0 {
            return self.number(0);
        }
        let address = self.input(cursor);
        let mut word = self.load_bytes(address, 0);
        if !self.aligned {
            let within = self.ins().band_imm_u(cursor, 7);
            word = self.ins().ishl(word, within);
        }
        self.ins().ushr_imm_u(word, i64::from(64 - w))
    }

    pub fn extract(&mut self, pc: Pc, op: &Op, layout: LayoutId, base: Slot, bits: Option<Slot>) {
        let plan = self.plan(layout);
        let copies = plan.copies().filter(|_| self.aligned);
        let Some(copies) = copies else {
            return self.execute_aside(pc, op);
        };
        let Some(bits) = bits else {
            return self.extract_bytes(plan, copies, base);
        };
        // An empty varbit field is the usual case.
        let bits = self.get(bits);
        let (slow, quick) = (self.cold_block(), self.builder.create_block());
        let after = self.builder.create_block();
        self.ins().brif(bits, slow, &[], quick, &[]);
        let known = self.known.clone();
        self.builder.switch_to_block(slow);
        self.execute_aside(pc, op);
        self.ins().jump(after, &[]);
        self.known = known;
        self.builder.switch_to_block(quick);
        self.extract_bytes(plan, copies, base);
        self.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        self.forget(base, self.layout_words(layout));
    }

    fn extract_bytes(&mut self, plan: &Plan, copies: Copies<'_>, base: Slot) {
        let bits = self.number(plan.bits as u64);
        let cursor = self.need(bits);
        let address = self.input(cursor);
        let one = self.number(1);
        self.set(base, one);
        self.take_fields(copies.takes, base, address);
        if let Some((from, to)) = copies.varbit {
            self.clear(base + from, to - from);
        }
        let cursor = self.ins().iadd_imm_s(cursor, plan.bits as i64);
        self.set_own(at::CURSOR, cursor);
    }

    /// Reads the limbs that follow each other in the packet; those within the same eight bytes by
    /// one load.
    fn take_fields(&mut self, takes: &[Take], base: Slot, address: Value) {
        let mut window: Option<(u32, Value)> = None;
        for take in takes {
            let value = if take.long {
                // The lower end of a window of 128 bits
                let down = i64::from(take.down);
                let high = self.load_bytes(address, take.byte);
                let low = self.load_bytes(address, take.byte + 8);
                let low = self.ins().ushr_imm_u(low, down);
                let high = self.ins().ishl_imm_u(high, 64 - down);
                let both = self.ins().bor(high, low);
                self.cut(both, take.mask)
            } else {
                let end = take.byte * 8 + 64 - u32::from(take.down);
                let first = end - take.mask.count_ones();
                let holds =
                    |(at, _): &(u32, Value)| (at * 8..=end).contains(&first) && end <= at * 8 + 64;
                let (at, word) = match window.filter(holds) {
                    Some(window) => window,
                    None => *window.insert((take.byte, self.load_bytes(address, take.byte))),
                };
                let down = i64::from(at * 8 + 64 - end);
                let low = match down {
                    0 => word,
                    // An empty field
                    64.. => self.number(0),
                    _ => self.ins().ushr_imm_u(word, down),
                };
                match first == at * 8 {
                    true => low,
                    false => self.cut(low, take.mask),
                }
            };
            self.set(base + take.offset, value);
        }
    }

    pub fn emit(&mut self, pc: Pc, op: &Op, layout: LayoutId, base: Slot) {
        let plan = self.plan(layout);
        let (there, after) = (self.builder.create_block(), self.builder.create_block());
        let valid = self.get(base);
        self.ins().brif(valid, there, &[], after, &[]);
        let known = self.known.clone();
        self.builder.switch_to_block(there);
        match plan.copies() {
            None => self.execute_aside(pc, op),
            Some(copies) => {
                let (quick, slow) = (self.builder.create_block(), self.cold_block());
                let emitted = self.own(at::EMITTED);
                let fits = self.fits(plan, copies, base, emitted);
                self.ins().brif(fits, quick, &[], slow, &[]);
                self.builder.switch_to_block(slow);
                self.execute_aside(pc, op);
                self.ins().jump(after, &[]);
                self.builder.switch_to_block(quick);
                self.write(plan, copies.puts, base, emitted);
            }
        }
        self.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        self.known = known;
    }

    /// Whether the header is whole bytes, begins at one and has room in the output.
    fn fits(&mut self, plan: &Plan, copies: Copies<'_>, base: Slot, emitted: Value) -> Value {
        let room = self.own(at::ROOM);
        let room = self.ins().ishl_imm_u(room, 3);
        let end = self.ins().iadd_imm_s(emitted, plan.bits as i64);
        let fits = self.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, room);
        let mut odd = self.ins().band_imm_u(emitted, 7);
        if let Some((from, _)) = copies.varbit {
            let length = self.get(base + from);
            odd = self.ins().bor(odd, length);
        }
        let even = self.ins().icmp_imm_u(IntCC::Equal, odd, 0);
        self.ins().band(fits, even)
    }

    /// Joins the fields to words and stores them; up to 8 bytes behind them lose their meaning.
    fn write(&mut self, plan: &Plan, puts: &[Put], base: Slot, emitted: Value) {
        let output = self.own(at::OUTPUT);
        let byte = self.ins().ushr_imm_u(emitted, 3);
        let address = self.ins().iadd(output, byte);
        let mut word: Option<Value> = None;
        let (mut at, mut before) = (0, None);
        for put in puts {
            let mut bits = self.get(base + put.offset);
            if put.down > 0 {
                bits = self.ins().ushr_imm_u(bits, i64::from(put.down));
            }
            // Of a limb that is cut, only the first part has nothing above it.
            if before.replace(put.offset) == Some(put.offset) {
                bits = self.cut(bits, put.mask);
            }
            let joined = match word {
                Some(word) => {
                    let high = self.ins().ishl_imm_u(word, i64::from(put.bits));
                    self.ins().bor(high, bits)
                }
                None => bits,
            };
            word = Some(joined);
            if put.store != 0 {
                let up = i64::from(64 - put.store);
                let aligned = match up {
                    0 => joined,
                    _ => self.ins().ishl_imm_u(joined, up),
                };
                self.store_bytes(aligned, address, at);
                at += 8;
                word = None;
            }
        }
        let emitted = self.ins().iadd_imm_s(emitted, plan.bits as i64);
        self.set_own(at::EMITTED, emitted);
    }

    pub fn set_valid(&mut self, layout: LayoutId, base: Slot) {
        let n = self.layout_words(layout);
        let bytes = (self.plan(layout).bits / 8) as i64;
        let valid = self.get(base);
        let (fresh, after) = (self.builder.create_block(), self.builder.create_block());
        self.ins().brif(valid, after, &[], fresh, &[]);
        let mut known = self.known.clone();
        self.builder.switch_to_block(fresh);
        self.clear(base, n);
        let one = self.number(1);
        self.set(base, one);
        self.change_length(bytes);
        self.ins().jump(after, &[]);
        self.builder.switch_to_block(after);
        known.retain(|slot, _| *slot < base || *slot - base >= n);
        self.known = known;
    }

    pub fn set_invalid(&mut self, pc: Pc, op: &Op, layout: LayoutId, base: Slot) {
        let plan = self.plan(layout);
        if plan.varbit_max() > 0 || self.program.keeps_invalid {
            return self.execute_aside(pc, op);
        }
        let valid = self.get(base);
        let bytes = self.number((plan.bits / 8) as u64);
        let none = self.number(0);
        let lost = self.ins().select(valid, bytes, none);
        let delta = self.own(at::LENGTH_DELTA);
        let delta = self.ins().isub(delta, lost);
        self.set_own(at::LENGTH_DELTA, delta);
        let n = self.layout_words(layout);
        self.clear(base, n);
    }

    fn change_length(&mut self, bytes: i64) {
        let delta = self.own(at::LENGTH_DELTA);
        let delta = self.ins().iadd_imm_s(delta, bytes);
        self.set_own(at::LENGTH_DELTA, delta);
    }

    /// Skips bits that a slot says.
    pub fn advance(&mut self, bits: Slot) {
        let bits = self.get(bits);
        let cursor = self.need(bits);
        let cursor = self.ins().iadd(cursor, bits);
        self.set_own(at::CURSOR, cursor);
    }
}
