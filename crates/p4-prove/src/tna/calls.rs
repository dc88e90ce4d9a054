//! TNA's externs on terms.

use crate::path::{Step, Stop};
use crate::run::{Run, State};
use crate::term::{Binary, Function, Term};
use p4_arch::tna::{Call, Image, Sum};
use p4_ir::ir::{CallId, ConstArg, InstanceId, Place, Slot};

const PORT_METADATA_BITS: u32 = 64;

fn unsupported(what: &str) -> Step<()> {
    Err(Stop::Unsupported(what.into()))
}

impl Run<'_, '_, '_> {
    /// `merged`: other branches run as well, so nothing may be decided.
    pub(crate) fn chip_call(
        &mut self,
        image: &Image,
        id: CallId,
        state: &mut State,
        merged: bool,
    ) -> Step<()> {
        match &image.calls()[id as usize] {
            // What was counted and what digests say is not compared.
            Call::Count { .. } | Call::DirectCount | Call::Nothing | Call::Digest { .. } => {}
            Call::RegisterRead {
                register,
                index,
                result,
            } => self.read_chip_cell(image, *register, *index, result, state),
            Call::RegisterWrite {
                register,
                index,
                value,
                result,
            } => {
                let values = self.values(value, state);
                self.write_and_read(image, *register, *index, values, result, state);
            }
            Call::Action {
                register,
                index: Some(index),
                apply,
                result,
            } => self.register_action(image, *register, *index, apply, result, state)?,
            Call::Hash {
                hash,
                data,
                bits,
                symmetric,
                result,
            } => {
                if !symmetric.is_empty() {
                    return unsupported("a symmetric hash");
                }
                let data = self.join(data.places(), state, merged)?;
                let value = self.chip_hash(*hash, data, *bits as u32)?;
                self.put(state, result.slot, result.width, value);
            }
            Call::Checksum { checksum, sum } => self.chip_sum(*checksum, sum, state, merged)?,
            Call::Extreme {
                most,
                signed,
                a,
                b,
                result,
            } => {
                let (x, y) = (
                    self.get(state, a.slot, result.width),
                    self.get(state, b.slot, result.width),
                );
                let order = if *signed { Binary::LtS } else { Binary::Lt };
                let less = self.terms.binary(order, x, y);
                let value = match most {
                    true => self.terms.choose(less, y, x),
                    false => self.terms.choose(less, x, y),
                };
                self.put(state, result.slot, result.width, value);
            }
            Call::FunnelShift {
                result,
                high,
                low,
                by,
            } => {
                let width = result.width;
                let (high, low) = (self.get(state, *high, width), self.get(state, *low, width));
                let joined = self.terms.concat(high, low);
                let by = self.get(state, *by, 32);
                let (wide, own) = (self.terms.width(joined).max(32), 2 * width);
                let (joined, by) = (self.terms.fit(joined, wide), self.terms.fit(by, wide));
                let limit = self.terms.number(own.into(), wide);
                let inside = self.terms.less(by, limit);
                let shifted = self.terms.binary(Binary::Shr, joined, by);
                let zero = self.terms.number(0, wide);
                let value = self.terms.choose(inside, shifted, zero);
                self.put(state, result.slot, width, value);
            }
            Call::Known { value, result } => {
                let value = self.terms.number(*value, 64);
                self.put(state, result.slot, result.width, value);
            }
            Call::IsWritten { note, result } => {
                let value = match note {
                    Some(note) => self.truth(state, *note),
                    None => self.terms.truth(true),
                };
                self.put(state, result.slot, result.width, value);
            }
            Call::UnpackPort { result } => self.unpack_port(result, state)?,
            Call::Mirror { session, header } => {
                let session = self.get(state, *session, 16);
                let header = match header {
                    Some(header) => self.join(header.places(), state, merged)?,
                    None => None,
                };
                self.chip.mirror = Some((session, header));
            }
            Call::Resubmit { data } => {
                let data = match data {
                    Some(data) => self.join(data.places(), state, merged)?,
                    None => Some(self.terms.number(0, 64)),
                };
                let data = data.map_or_else(Vec::new, |data| self.bytes_of(data));
                self.chip.resubmit = Some(data);
            }
            Call::Action { .. } => return unsupported("a register used as a log"),
            Call::Meter { .. } | Call::DirectMeter { .. } => return unsupported("meters"),
            Call::DirectRead { .. } | Call::DirectWrite { .. } | Call::DirectAction { .. } => {
                return unsupported("direct registers");
            }
            Call::SelectorAction { .. } => return unsupported("action selectors"),
            Call::Filter { .. } => return unsupported("filters"),
            Call::Math { .. } => return unsupported("math units"),
            Call::Random { .. } => return unsupported("random"),
            Call::Counter(_) => return unsupported("the parser's counter"),
        }
        Ok(())
    }

    fn write_and_read(
        &mut self,
        image: &Image,
        register: InstanceId,
        index: Option<Slot>,
        values: Vec<Term>,
        result: &[Place],
        state: &mut State,
    ) {
        let mut before = state.clone();
        self.read_chip_cell(image, register, index, result, &mut before);
        self.write_chip_cell(image, register, index, values, state);
        *state = before;
    }

    /// A term of whole bytes as bytes
    pub(crate) fn bytes_of(&mut self, data: Term) -> Vec<Term> {
        let n = self.terms.width(data) / 8;
        (0..n)
            .rev()
            .map(|at| self.terms.slice(data, at * 8, 8))
            .collect()
    }

    fn chip_hash(&mut self, hash: InstanceId, data: Option<Term>, bits: u32) -> Step<Term> {
        let instance = &self.program.instances[hash as usize];
        let name = match instance.args.first() {
            Some(ConstArg::Member(name)) => &**name,
            _ => "",
        };
        let Some(data) = data else {
            return Err(Stop::Unsupported("a hash of nothing".into()));
        };
        Ok(match name {
            "CRC32" => self.terms.apply(Function::Crc32, data, 32),
            "CRC16" => self.terms.apply(Function::Crc16, data, 16),
            "IDENTITY" => {
                let padding = self.terms.width(data) - bits;
                self.terms.slice(data, padding, bits.min(64))
            }
            other => return Err(Stop::Unsupported(format!("the hash {other}"))),
        })
    }

    fn chip_sum(
        &mut self,
        checksum: InstanceId,
        sum: &Sum,
        state: &mut State,
        merged: bool,
    ) -> Step<()> {
        match sum {
            Sum::Add(data) => {
                let data = self.join(data.places(), state, merged)?;
                let data = data.map(|data| self.whole_words(data));
                let before = self.chip.sums.get(&checksum).copied().flatten();
                let all = match (before, data) {
                    (Some(before), Some(data)) => Some(self.terms.concat(before, data)),
                    (before, data) => before.or(data),
                };
                self.chip.sums.insert(checksum, all);
            }
            Sum::Subtract(_) => return unsupported("a checksum from which fields are taken"),
            Sum::Verify(result) => {
                let sum = self.inverted_sum(checksum);
                let wrong = self.terms.is_set(sum);
                self.put(state, result.slot, result.width, wrong);
            }
            Sum::Get(result) => {
                let sum = self.inverted_sum(checksum);
                let sum = self.terms.not(sum);
                self.put(state, result.slot, result.width, sum);
            }
            Sum::Update {
                data,
                zeros_as_ones,
                result,
            } => {
                let data = self.join(data.places(), state, merged)?;
                let mut sum = match data {
                    Some(data) => self.terms.apply(Function::Csum16, data, 16),
                    None => self.terms.number(0xffff, 16),
                };
                if let Some(slot) = zeros_as_ones {
                    let ones = self.truth(state, *slot);
                    let set = self.terms.is_set(sum);
                    let zero = self.terms.not(set);
                    let when = self.terms.and(ones, zero);
                    let all = self.terms.number(0xffff, 16);
                    sum = self.terms.choose(when, all, sum);
                }
                self.put(state, result.slot, result.width, sum);
            }
        }
        Ok(())
    }

    /// The Internet checksum of all that was added: the sum's complement.
    fn inverted_sum(&mut self, checksum: InstanceId) -> Term {
        match self.chip.sums.get(&checksum).copied().flatten() {
            Some(data) => self.terms.apply(Function::Csum16, data, 16),
            None => self.terms.number(0xffff, 16),
        }
    }

    /// An odd byte is the upper half of a word.
    fn whole_words(&mut self, data: Term) -> Term {
        match self.terms.width(data) % 16 {
            0 => data,
            _ => {
                let zeros = self.terms.number(0, 8);
                self.terms.concat(data, zeros)
            }
        }
    }

    fn unpack_port(&mut self, result: &[Place], state: &mut State) -> Step<()> {
        let behind = self.cursor + PORT_METADATA_BITS as usize;
        if behind.div_ceil(8) > self.packet.bytes.len() {
            return unsupported("port metadata behind the packet's beginning");
        }
        let bits: u32 = result.iter().map(|place| place.width).sum();
        let valid = bits == PORT_METADATA_BITS + 1;
        if valid {
            let one = self.terms.number(1, 1);
            self.set(state, result[0].slot, one);
        }
        let mut at = self.cursor;
        for place in &result[usize::from(valid)..] {
            if place.width == 0 || at + place.width as usize > behind {
                return unsupported("port metadata of more than 64 bits");
            }
            let value = self.packet.bits(at, place.width, self.terms);
            self.put(state, place.slot, place.width, value);
            at += place.width as usize;
        }
        self.cursor = behind;
        Ok(())
    }
}
