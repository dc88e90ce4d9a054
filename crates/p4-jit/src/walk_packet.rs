//! A packet's bytes on a path: where in it one is, which bits fields are, and what is emitted.

use crate::emit::offset;
use crate::flow::Unsupported;
use crate::paths::at;
use crate::walk::{unsupported, Here, Leaf, Walker};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{types, InstBuilder, MemFlagsData, Value};
use p4_ir::ir::{mask, words, LayoutId, Slot};
use p4_ir::packet_plan::{Copies, Plan};
use p4_ir::paths::End;
use std::ops::Range;

/// Some bytes of the output.
#[derive(Clone, Copy)]
pub(crate) enum Piece {
    /// As they are in the packet, from this byte on
    Raw { from: u32, n: u32 },
    /// The most significant bytes of a word, at most 8
    Built { word: Value, n: u32 },
}

impl<'a> Walker<'a> {
    /// Goes on only if the packet has so many bits more.
    pub fn need(&mut self, here: &mut Here, bits: u32) -> Result<(), Unsupported> {
        let end = here.cursor + bits;
        if end > MAX_BITS {
            return unsupported("very long headers");
        }
        let bytes = end.div_ceil(8);
        if bytes > here.have {
            let length = self.length;
            let code = IntCC::UnsignedGreaterThanOrEqual;
            let is = self.e.ins().icmp_imm_u(code, length, i64::from(bytes));
            self.go_on_if(is);
            here.have = bytes;
        }
        Ok(())
    }

    /// So many bits of the packet, at most 64, of which it is known to have all.
    pub fn bits(&mut self, here: &Here, from: u32, n: u32) -> Value {
        if n == 0 {
            return self.e.number(0);
        }
        let (input, flags, end) = (self.input, fixed_memory(), from + n);
        // A window of eight bytes that the packet has
        let first = (from / 8).min(here.have.saturating_sub(8));
        if here.have >= 8 && end <= first * 8 + 64 {
            let word = self.e.ins().load(types::I64, flags, input, first as i32);
            let word = self.e.ins().bswap(word);
            let down = first * 8 + 64 - end;
            let value = match down {
                0 => word,
                _ => self.e.ins().ushr_imm_u(word, i64::from(down)),
            };
            return match from == first * 8 {
                true => value,
                false => self.e.cut(value, mask(n)),
            };
        }
        if n == 1 || n <= 8 - from % 8 {
            // Within one byte
            let byte = self
                .e
                .ins()
                .load(types::I8, flags, input, (from / 8) as i32);
            let byte = self.e.ins().uextend(types::I64, byte);
            let down = 8 - from % 8 - n;
            let value = match down {
                0 => byte,
                _ => self.e.ins().ushr_imm_u(byte, i64::from(down)),
            };
            return self.e.cut(value, mask(n));
        }
        let low = n / 2;
        let high = self.bits(here, from, n - low);
        let below = self.bits(here, from + n - low, low);
        let high = self.e.ins().ishl_imm_u(high, i64::from(low));
        self.e.ins().bor(high, below)
    }

    fn copies(&self, layout: LayoutId) -> Result<(&'a Plan, Copies<'a>), Unsupported> {
        let plan = self.e.prepared.plan(layout);
        match plan.copies() {
            Some(copies) => Ok((plan, copies)),
            None => unsupported("a header that is not whole bytes"),
        }
    }

    /// Extracts a header whose varbit field, if it has one, has so many bits.
    pub fn extract(
        &mut self,
        here: &mut Here,
        layout: LayoutId,
        base: Slot,
        varbit: u32,
    ) -> Result<(), Unsupported> {
        let (plan, copies) = self.copies(layout)?;
        if plan.bits > MAX_BITS as usize || !varbit.is_multiple_of(8) {
            return unsupported("very long headers, or parts of a byte");
        }
        self.need(here, plan.bits as u32 + varbit)?;
        let one = self.e.number(1);
        self.e.set(base, one);
        let middle = self.before_varbit(layout);
        for take in copies.takes {
            let n = take.mask.count_ones();
            let window = if take.long { 128 } else { 64 };
            let end = take.byte * 8 + window - u32::from(take.down);
            let within = if end - n < middle { end } else { end + varbit };
            self.take(base + take.offset, here, here.cursor + within - n, n);
        }
        if let Some((from, to)) = copies.varbit {
            let length = self.e.number(varbit.into());
            self.e.set(base + from, length);
            let limbs = base + from + 1..base + to;
            self.take_limbs(limbs, here, here.cursor + middle, varbit);
        }
        here.cursor += plan.bits as u32 + varbit;
        Ok(())
    }

    /// Puts the bits that come next into slots; they are not consumed.
    pub fn look_ahead(&mut self, here: &mut Here, bits: u32, d: Slot) -> Result<(), Unsupported> {
        self.need(here, bits)?;
        self.take_limbs(d..d + words(bits), here, here.cursor, bits);
        Ok(())
    }

    /// Puts bits of the packet into slots, those on the right first; slots beyond them are zero.
    fn take_limbs(&mut self, slots: Range<Slot>, here: &Here, from: u32, bits: u32) {
        let mut left = bits;
        for slot in slots {
            let n = left.min(64);
            left -= n;
            self.take(slot, here, from + left, n);
        }
    }

    /// Puts bits of the packet into a slot.
    fn take(&mut self, slot: Slot, here: &Here, from: u32, n: u32) {
        let value = self.bits(here, from, n);
        if n > 0 {
            self.sources.insert(value, (from, n));
        }
        self.e.set(slot, value);
    }

    /// Bits of a header in front of its varbit; all if it has none.
    fn before_varbit(&self, layout: LayoutId) -> u32 {
        let fields = self.e.program.layouts[layout as usize].fields.iter();
        fields
            .take_while(|field| !field.varbit)
            .map(|field| field.width)
            .sum()
    }

    pub fn emit(
        &mut self,
        here: &mut Here,
        layout: LayoutId,
        base: Slot,
    ) -> Result<(), Unsupported> {
        if self.constant(base)? == 0 {
            return Ok(());
        }
        let (_, copies) = self.copies(layout)?;
        let mut parts = Vec::new();
        let (middle, mut bits) = (self.before_varbit(layout), 0);
        let mut varbit = copies.varbit;
        for put in copies.puts {
            if bits == middle {
                self.emit_varbit(&mut parts, base, varbit.take())?;
            }
            let value = self.e.get(base + put.offset);
            let (down, n) = (u32::from(put.down), u32::from(put.bits));
            bits += n;
            push(&mut parts, Part { value, down, n });
        }
        self.emit_varbit(&mut parts, base, varbit)?;
        for parts in parts {
            self.emit_word(here, &parts);
        }
        Ok(())
    }

    /// The limbs of a varbit, from the most significant on.
    fn emit_varbit(
        &mut self,
        parts: &mut Vec<Vec<Part>>,
        base: Slot,
        varbit: Option<(u32, u32)>,
    ) -> Result<(), Unsupported> {
        let Some((from, to)) = varbit else {
            return Ok(());
        };
        let mut left = self.varbit_length(base + from)?;
        if !left.is_multiple_of(8) || left > (to - from - 1) * 64 {
            return unsupported("parts of a byte");
        }
        while left > 0 {
            let limb = (left - 1) / 64;
            let value = self.e.get(base + from + 1 + limb);
            let n = left - limb * 64;
            push(parts, Part { value, down: 0, n });
            left -= n;
        }
        Ok(())
    }

    /// The bits of a varbit whose length is at this slot; none if that is not known.
    pub fn varbit_length(&mut self, slot: Slot) -> Result<u32, Unsupported> {
        let length = self.e.get(slot);
        match self.e.constant_of(length) {
            Some(length) => Ok(length as u32),
            None => {
                self.require(length, 0)?;
                Ok(0)
            }
        }
    }

    /// Emits up to eight bytes.
    fn emit_word(&mut self, here: &mut Here, parts: &[Part]) {
        let n = parts.iter().map(|part| part.n).sum::<u32>() / 8;
        let piece = match self.raw(parts) {
            Some(from) => Piece::Raw { from, n },
            None => Piece::Built {
                word: self.join(parts),
                n,
            },
        };
        match (here.pieces.last_mut(), piece) {
            (Some(Piece::Raw { from, n }), Piece::Raw { from: own, n: more })
                if *from + *n == own =>
            {
                *n += more;
            }
            _ => here.pieces.push(piece),
        }
    }

    /// The byte of the packet from which on these bits are there as they are.
    fn raw(&self, parts: &[Part]) -> Option<u32> {
        let mut next = None;
        for part in parts {
            let (from, n) = self.sources.get(&part.value)?;
            // Bits of the limb above those that are put
            let above = n.checked_sub(part.down + part.n)?;
            let first = from + above;
            if next.is_some_and(|next| next != first) {
                return None;
            }
            next = Some(first + part.n);
        }
        let bits: u32 = parts.iter().map(|part| part.n).sum();
        let first = next? - bits;
        first.is_multiple_of(8).then_some(first / 8)
    }

    /// The bits joined, from the most significant on.
    fn join(&mut self, parts: &[Part]) -> Value {
        let mut word: Option<Value> = None;
        let mut filled = 0;
        for part in parts {
            let mut bits = part.value;
            if part.down > 0 {
                bits = self.e.ins().ushr_imm_u(bits, i64::from(part.down));
            }
            let bits = self.e.cut(bits, mask(part.n));
            filled += part.n;
            let bits = match 64 - filled {
                0 => bits,
                up => self.e.ins().ishl_imm_u(bits, i64::from(up)),
            };
            word = Some(match word {
                Some(word) => self.e.ins().bor(word, bits),
                None => bits,
            });
        }
        word.unwrap_or_else(|| self.e.number(0))
    }

    /// The packet's path ends here. If its last block has been, it is written.
    pub fn leaf(&mut self, mut here: Here) -> Result<(), Unsupported> {
        let (head, payload) = match here.done == self.segment.blocks.len() {
            true => {
                let (head, payload) = self.write(&mut here)?;
                (head, Some(payload))
            }
            false => (0, None),
        };
        let cut = here.cut.take().map(|length| {
            self.tell(&mut here, length);
            here.n_told - 1
        });
        let told = self.e.fixed(at::TOLD);
        let (own, flags) = (&here.told, self.e.of_packet);
        // What a path does not tell is zero.
        for index in 0..self.segment.told {
            if own.iter().all(|(other, _)| *other != index) {
                let zero = self.e.number(0);
                let place = offset(index as u32);
                self.e.ins().store(flags, zero, told, place);
            }
        }
        for (index, value) in own {
            let place = offset(*index as u32);
            self.e.ins().store(flags, *value, told, place);
        }
        self.leaves.push(Leaf {
            end: End {
                calls: here.calls,
                cut,
                events: here.events,
            },
            head,
            payload,
            told: here.n_told,
        });
        self.end(self.leaves.len() as u64);
        Ok(())
    }

    /// Writes what has been emitted: how many bytes, and where in the packet the payload begins.
    fn write(&mut self, here: &mut Here) -> Result<(usize, usize), Unsupported> {
        if !here.cursor.is_multiple_of(8) {
            return unsupported("payload that does not begin at a byte");
        }
        let mut payload = here.cursor / 8;
        while let Some(Piece::Raw { from, n }) = here.pieces.last() {
            if from + n != payload {
                break;
            }
            payload = *from;
            here.pieces.pop();
        }
        let output = self.e.fixed(at::OUTPUT);
        let mut head = 0;
        for piece in &here.pieces {
            head += match *piece {
                Piece::Raw { from, n } => {
                    self.copy(from, output, head, n);
                    n
                }
                Piece::Built { word, n } => {
                    // What is beyond its end will be written over.
                    self.e.store_bytes(word, output, head);
                    n
                }
            };
        }
        Ok((head as usize, payload as usize))
    }

    /// Copies bytes of the packet to the output.
    fn copy(&mut self, from: u32, output: Value, to: u32, n: u32) {
        let (input, flags) = (self.input, fixed_memory());
        let mut at = 0;
        for ty in [types::I8X16, types::I64, types::I32, types::I16, types::I8] {
            while n - at >= ty.bytes() {
                let place = (from + at) as i32;
                let word = self.e.ins().load(ty, flags, input, place);
                let own = self.e.of_packet;
                self.e.ins().store(own, word, output, (to + at) as i32);
                at += ty.bytes();
            }
        }
    }
}

/// Adds bits to words of 64, which are filled one after the other.
fn push(words: &mut Vec<Vec<Part>>, part: Part) {
    let bits = |word: &Vec<Part>| word.iter().map(|part| part.n).sum();
    let mut left = 64 - words.last().map_or(64, bits);
    if left == 0 {
        words.push(Vec::new());
        left = 64;
    }
    let n = part.n.min(left);
    let rest = part.n - n;
    let down = part.down + rest;
    if let Some(word) = words.last_mut() {
        word.push(Part { down, n, ..part });
    }
    if rest > 0 {
        push(words, Part { n: rest, ..part });
    }
}

/// Bits of a limb
#[derive(Clone, Copy)]
struct Part {
    value: Value,
    /// Bits of it below
    down: u32,
    n: u32,
}

/// Bits of all headers of a packet
pub(crate) const MAX_BITS: u32 = 1 << 18;

/// Of memory that does not change during a run
pub(crate) fn fixed_memory() -> MemFlagsData {
    MemFlagsData::new()
        .with_notrap()
        .with_readonly()
        .with_can_move()
}
