//! Between bytes and headers.

use crate::path::{Step, Stop};
use crate::run::{Run, State};
use crate::term::Term;
use p4_ir::interp::errors;
use p4_ir::ir::{LayoutId, Op, Slot};

impl Run<'_, '_, '_> {
    /// An instruction that reads or writes the packet, or none of those; the parser's error if it
    /// ends with one.
    pub(crate) fn packet_op(&mut self, op: Op, state: &mut State) -> Step<Option<u32>> {
        match op {
            Op::Extract { layout, base } => self.extract(layout, base, None, state),
            Op::ExtractVar { layout, base, bits } => self.extract(layout, base, Some(bits), state),
            Op::ExtractNext { stack } => self.extract_next(stack, None, state),
            Op::ExtractNextVar { stack, bits } => self.extract_next(stack, Some(bits), state),
            Op::Lookahead { w, d } => {
                if !self.has(w as usize)? {
                    return Ok(Some(errors::PACKET_TOO_SHORT));
                }
                let value = self.packet.bits(self.cursor, w.max(1), self.terms);
                self.put(state, d, w, value);
                Ok(None)
            }
            Op::Advance { bits } => {
                let bits = self.word(state, bits);
                let Some(bits) = self.terms.small(bits).filter(|bits| *bits < 1 << 20) else {
                    return Err(Stop::Unsupported("advance by an unknown number".into()));
                };
                if !self.has(bits as usize)? {
                    return Ok(Some(errors::PACKET_TOO_SHORT));
                }
                self.cursor += bits as usize;
                Ok(None)
            }
            Op::Emit { layout, base } => {
                let valid = self.truth(state, base);
                if self.paths.decide(self.terms, valid)? {
                    self.emit(layout, base, state)?;
                }
                Ok(None)
            }
            other => self.simple(other, state).map(|()| None),
        }
    }

    /// Whether there are `bits` more bits; reads them if so.
    fn has(&mut self, bits: usize) -> Step<bool> {
        let bytes = (self.cursor + bits).div_ceil(8);
        let Run {
            packet,
            terms,
            paths,
            world,
            ..
        } = self;
        packet.reach(bytes, world.length, terms, paths)
    }

    fn extract_next(
        &mut self,
        stack: u32,
        bits: Option<Slot>,
        state: &mut State,
    ) -> Step<Option<u32>> {
        let stack = self.program.stacks[stack as usize].clone();
        let next = self.word(state, stack.next);
        let Some(next) = self.terms.small(next) else {
            return Err(Stop::Unsupported("a stack of unknown size".into()));
        };
        if next >= u64::from(stack.count) {
            return Ok(Some(errors::STACK_OUT_OF_BOUNDS));
        }
        let base = stack.element(next as u32);
        let error = self.extract(stack.layout.unwrap_or_default(), base, bits, state)?;
        if error.is_none() {
            let after = self.terms.number(next + 1, 64);
            self.set(state, stack.next, after);
        }
        Ok(error)
    }

    fn extract(
        &mut self,
        layout: LayoutId,
        base: Slot,
        varbit: Option<Slot>,
        state: &mut State,
    ) -> Step<Option<u32>> {
        let layout = &self.program.layouts[layout as usize];
        let most = layout.fields.iter().find(|field| field.varbit);
        let most = most.map_or(0, |field| field.width);
        let varbit = match varbit {
            Some(slot) => match self.varbit(slot, most, state)? {
                Ok(bits) => bits,
                Err(error) => return Ok(Some(error)),
            },
            None => 0,
        };
        if !self.has((layout.fixed_bits + varbit) as usize)? {
            return Ok(Some(errors::PACKET_TOO_SHORT));
        }
        let one = self.terms.number(1, 1);
        self.set(state, base, one);
        for field in &layout.fields {
            let mut slot = base + field.offset;
            let mut width = field.width;
            if field.varbit {
                width = varbit;
                let length = self.terms.number(varbit.into(), 64);
                self.set(state, slot, length);
                slot += 1;
                let zero = self.terms.number(0, 1);
                self.put(state, slot, field.width, zero);
            }
            if width == 0 {
                continue;
            }
            let value = self.packet.bits(self.cursor, width, self.terms);
            self.put(state, slot, field.width, value);
            self.cursor += width as usize;
        }
        Ok(None)
    }

    /// Decides on the length of a varbit field; the inner error is the parser's.
    fn varbit(&mut self, slot: Slot, most: u32, state: &State) -> Step<Result<u32, u32>> {
        let bits = self.word(state, slot);
        if self.terms.small(bits).is_none() {
            let mut tried = 0;
            for length in (0..=most).step_by(8) {
                let width = self.terms.width(bits).max(32);
                let (whole, number) = (
                    self.terms.fit(bits, width),
                    self.terms.number(length.into(), width),
                );
                let equal = self.terms.equal(whole, number);
                if self.paths.decide(self.terms, equal)? {
                    return Ok(Ok(length));
                }
                let could = self.paths.could(equal);
                tried += u32::from(could);
                if tried >= self.bounds.varbits {
                    return Err(Stop::Bound("lengths of a varbit field"));
                }
            }
            return Err(Stop::Bound("lengths of a varbit field"));
        }
        let bits = self.terms.small(bits).unwrap_or(u64::MAX);
        if bits == 0 {
            return Ok(Ok(0));
        }
        if !bits.is_multiple_of(8) {
            return Ok(Err(errors::PARSER_INVALID_ARGUMENT));
        }
        if bits > u64::from(most) {
            return Ok(Err(errors::HEADER_TOO_SHORT));
        }
        Ok(Ok(bits as u32))
    }

    fn emit(&mut self, layout: LayoutId, base: Slot, state: &mut State) -> Step<()> {
        let layout = &self.program.layouts[layout as usize];
        for field in &layout.fields {
            let mut slot = base + field.offset;
            let mut width = field.width;
            if field.varbit {
                let length = self.known_length(slot, state)?;
                width = length.min(width);
                slot += 1;
            }
            if width == 0 {
                continue;
            }
            let value = self.get(state, slot, field.width);
            let value = self.terms.fit(value, width);
            self.write(value);
        }
        Ok(())
    }

    /// The length of a varbit field, which is decided if it has to be.
    pub(crate) fn known_length(&mut self, slot: Slot, state: &State) -> Step<u32> {
        let length = self.word(state, slot);
        let length = self.paths.concrete(self.terms, length)?;
        let unknown = || Stop::Unsupported("a varbit field of unknown length".into());
        length
            .and_then(|bits| u32::try_from(bits).ok())
            .ok_or_else(unknown)
    }

    /// Appends bits to the outgoing packet.
    fn write(&mut self, value: Term) {
        let mut all = match self.loose.take() {
            Some(loose) => self.terms.concat(loose, value),
            None => value,
        };
        loop {
            let width = self.terms.width(all);
            if width < 8 {
                break;
            }
            let byte = self.terms.slice(all, width - 8, 8);
            self.output.push(byte);
            if width == 8 {
                return;
            }
            all = self.terms.slice(all, 0, width - 8);
        }
        self.loose = Some(all);
    }
}
