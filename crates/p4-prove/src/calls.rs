//! Externs on terms.

use crate::path::{Step, Stop};
use crate::run::{Asked, Run, State, Target, Write};
use crate::term::{Binary, Function, Term, Terms};
use p4_arch::v1model::{Algorithm, Call, Checksum, Image};
use p4_ir::ir::{CallId, Place, ValueKind};

const DROP_PORT: u64 = 511;

impl Run<'_, '_, '_> {
    /// `merged`: other branches run as well, so nothing may be decided.
    pub(crate) fn call(&mut self, id: CallId, state: &mut State, merged: bool) -> Step<()> {
        let image = match self.code.target {
            Target::V1Model(image) => image,
            Target::Tna(image) => return self.chip_call(image, id, state, merged),
        };
        match &image.calls()[id as usize] {
            Call::MarkToDrop {
                egress_spec,
                mcast_grp,
            } => {
                for (slot, value) in [(egress_spec, DROP_PORT), (mcast_grp, 0)] {
                    if let Some(slot) = slot {
                        let value = self.terms.number(value, 16);
                        self.set(state, *slot, value);
                    }
                }
            }
            Call::Count { counter, index } => {
                let name = &self.program.instances[*counter as usize].name;
                if self.world.counters.iter().any(|own| **own == **name) {
                    let index = self.get(state, *index, 32);
                    self.write_cell(*counter, index, Vec::new(), state);
                }
            }
            // No meter has rates.
            Call::DirectCount | Call::Log { .. } | Call::Digest { .. } => {}
            Call::Meter { result, .. } | Call::DirectMeter { result, .. } => {
                let green = self.terms.number(0, 1);
                self.put(state, result.slot, result.width, green);
            }
            Call::RegisterRead {
                register,
                index,
                result,
            } => {
                let index = self.get(state, *index, 32);
                self.register_read(*register, index, result, state);
            }
            Call::RegisterWrite {
                register,
                index,
                value,
            } => {
                let index = self.get(state, *index, 32);
                let places = value.iter();
                let values = places.map(|p| self.get(state, p.slot, p.width)).collect();
                self.write_cell(*register, index, values, state);
            }
            Call::Hash {
                algorithm,
                result,
                base,
                data,
                max,
            } => {
                let data = self.join(data.places(), state, merged)?;
                let hash = self.hash(*algorithm, data)?;
                let hash = self.terms.fit(hash, 64);
                let max = self.get(state, max.slot, max.width);
                let width = self.terms.width(max).max(64);
                let (max, hash) = (self.terms.fit(max, width), self.terms.fit(hash, width));
                // Where max is 0, so is the remainder.
                let number = self.terms.binary(Binary::Mod, hash, max);
                let base = self.get(state, base.slot, base.width);
                let (a, b) = (
                    self.terms.fit(base, result.width),
                    self.terms.fit(number, result.width),
                );
                let sum = self.terms.binary(Binary::Add, a, b);
                self.put(state, result.slot, result.width, sum);
            }
            Call::Checksum(checksum) => self.checksum(image, checksum, state, merged)?,
            Call::Clone { session, list } => {
                let session = self.get(state, *session, 15);
                self.ask_for(state, Asked::Clone, Asked::CloneSession, session);
                let list = match list {
                    Some(slot) => self.get(state, *slot, 32),
                    None => self.terms.number(u32::MAX.into(), 32),
                };
                let slot = self.asked(Asked::CloneList);
                self.set(state, slot, list);
            }
            Call::Resubmit { list } => {
                let list = self.get(state, *list, 32);
                self.ask_for(state, Asked::Resubmit, Asked::ResubmitList, list);
            }
            Call::Recirculate { list } => {
                let list = self.get(state, *list, 32);
                self.ask_for(state, Asked::Recirculate, Asked::RecirculateList, list);
            }
            Call::Require { check, name } => {
                let check = self.truth(state, *check);
                if self.paths.known(self.terms, check) != Some(true) {
                    return Err(Stop::Unsupported((*name).into()));
                }
            }
            Call::Random { .. } => return Err(Stop::Unsupported("random".into())),
            Call::Truncate { .. } => return Err(Stop::Unsupported("truncate".into())),
            Call::Native(_) => return Err(Stop::Unsupported("an extern function".into())),
        }
        Ok(())
    }

    fn ask_for(&mut self, state: &mut State, what: Asked, detail: Asked, value: Term) {
        let one = self.terms.number(1, 1);
        let (what, detail) = (self.asked(what), self.asked(detail));
        self.set(state, what, one);
        self.set(state, detail, value);
    }

    fn write_cell(&mut self, instance: u32, index: Term, values: Vec<Term>, state: &State) {
        let when = self.terms.all(&state.guard);
        let inside = self.is_inside(instance, index);
        let when = self.terms.and(when, inside);
        let write = Write {
            when,
            index,
            values,
        };
        self.writes.entry(instance).or_default().push(write);
    }

    fn is_inside(&mut self, register: u32, index: Term) -> Term {
        let instance = &self.program.instances[register as usize];
        let size = match instance.args.first() {
            Some(p4_ir::ir::ConstArg::Int(size)) => u64::try_from(size).unwrap_or(u64::MAX),
            _ => 0,
        };
        if size > u64::from(u32::MAX) {
            return self.terms.truth(true);
        }
        let size = self.terms.number(size, 32);
        self.terms.less(index, size)
    }

    /// The number of a register's leaf in both programs.
    pub(crate) fn function_of(&mut self, register: u32, leaf: usize) -> Function {
        let name = format!("{}#{leaf}", self.program.instances[register as usize].name);
        let found = self.registers.iter().position(|other| *other == name);
        let number = found.unwrap_or_else(|| {
            self.registers.push(name);
            self.registers.len() - 1
        });
        Function::Cell(number as u32)
    }

    /// What a cell holds now.
    pub(crate) fn cell(&mut self, register: u32, leaf: usize, index: Term, width: u32) -> Term {
        let name = &*self.program.instances[register as usize].name;
        let mut value = match self.world.registers.iter().any(|other| other == name) {
            true => {
                let function = self.function_of(register, leaf);
                let value = self.terms.apply(function, index, width);
                let promise = self.world.promised(name, value, self.bounds, self.terms);
                self.paths.believe_always(promise);
                value
            }
            false => self.terms.number(0, width),
        };
        let writes = self.writes.get(&register).cloned().unwrap_or_default();
        for write in writes {
            let same = self.terms.equal(index, write.index);
            let when = self.terms.and(write.when, same);
            value = self.terms.choose(when, write.values[leaf], value);
        }
        value
    }

    fn register_read(&mut self, register: u32, index: Term, places: &[Place], state: &mut State) {
        let inside = self.is_inside(register, index);
        // So that the solver makes up no cell that there is not
        let first = self.terms.number(0, 32);
        let index = self.terms.choose(inside, index, first);
        for (leaf, place) in places.iter().enumerate() {
            let value = self.cell(register, leaf, index, place.width);
            let zero = self.terms.number(0, place.width);
            let value = self.terms.choose(inside, value, zero);
            self.put(state, place.slot, place.width, value);
        }
    }

    /// The values joined to whole bytes; `None` for no bits at all.
    pub(crate) fn join(
        &mut self,
        places: &[Place],
        state: &State,
        merged: bool,
    ) -> Step<Option<Term>> {
        let mut all: Option<Term> = None;
        for place in places {
            let (mut slot, mut width) = (place.slot, place.width);
            if place.kind == ValueKind::Varbit {
                let length = self.word(state, slot);
                let known = self.terms.small(length);
                width = match (known, merged) {
                    (Some(bits), _) => bits as u32,
                    (None, false) => self.known_length(slot, state)?,
                    (None, true) => {
                        return Err(Stop::Unsupported("a hash over an unknown length".into()))
                    }
                };
                slot += 1;
            }
            if width == 0 {
                continue;
            }
            let value = self.get(state, slot, place.width);
            let value = self.terms.fit(value, width);
            all = Some(match all {
                Some(all) => self.terms.concat(all, value),
                None => value,
            });
        }
        Ok(all.map(|all| {
            let odd = self.terms.width(all) % 8;
            match odd {
                0 => all,
                _ => {
                    let zeros = self.terms.number(0, 8 - odd);
                    self.terms.concat(all, zeros)
                }
            }
        }))
    }

    /// Whether one knows how many bits the values have.
    fn has_known_length(&self, places: &[Place], state: &State) -> bool {
        let mut varbits = places
            .iter()
            .filter(|place| place.kind == ValueKind::Varbit);
        varbits.all(|place| self.terms.small(self.word(state, place.slot)).is_some())
    }

    fn hash(&mut self, algorithm: Algorithm, data: Option<Term>) -> Step<Term> {
        let Some(data) = data else {
            return Ok(self.terms.number(algorithm.hash(&[]), 64));
        };
        let width = self.terms.width(data);
        Ok(match algorithm {
            Algorithm::Crc32 => self.terms.apply(Function::Crc32, data, 32),
            Algorithm::Crc16 => self.terms.apply(Function::Crc16, data, 16),
            Algorithm::Identity => {
                let bits = width.min(64);
                self.terms.slice(data, width - bits, bits)
            }
            Algorithm::Csum16 => self.terms.apply(Function::Csum16, data, 16),
            Algorithm::Xor16 => {
                let mut sum = self.terms.number(0, 16);
                for word in words16(data, self.terms) {
                    sum = self.terms.binary(Binary::Xor, sum, word);
                }
                sum
            }
            Algorithm::Custom(_) => return Err(Stop::Unsupported("a CRC of its own".into())),
            Algorithm::Random => return Err(Stop::Unsupported("random".into())),
        })
    }

    fn checksum(
        &mut self,
        image: &Image,
        checksum: &Checksum,
        state: &mut State,
        merged: bool,
    ) -> Step<()> {
        let mut when = self.truth(state, checksum.condition);
        if !merged && !self.has_known_length(checksum.data.places(), state) {
            let decided = self.paths.decide(self.terms, when)?;
            when = self.terms.truth(decided);
        }
        if self.terms.small(when) == Some(0) {
            return Ok(());
        }
        if checksum.payload {
            return Err(Stop::Unsupported("a checksum over the payload".into()));
        }
        let data = self.join(checksum.data.places(), state, merged)?;
        let sum = self.hash(checksum.algorithm, data)?;
        let place = checksum.value;
        let old = self.get(state, place.slot, place.width);
        let sum = self.terms.fit(sum, place.width);
        if checksum.update {
            let value = self.terms.choose(when, sum, old);
            self.put(state, place.slot, place.width, value);
            return Ok(());
        }
        let equal = self.terms.equal(old, sum);
        let wrong = self.terms.not(equal);
        let wrong = self.terms.and(when, wrong);
        if let Some(field) = image.standard().checksum_error {
            let before = self.truth(state, field.slot());
            let error = self.terms.or(before, wrong);
            self.set(state, field.slot(), error);
        }
        Ok(())
    }
}

/// Words of 16 bits; a last odd byte is the upper half of a word.
fn words16(data: Term, terms: &mut Terms) -> Vec<Term> {
    let zeros = terms.number(0, 8);
    let data = match terms.width(data) % 16 {
        0 => data,
        _ => terms.concat(data, zeros),
    };
    let words = terms.width(data) / 16;
    (0..words)
        .map(|at| terms.slice(data, at * 16, 16))
        .collect()
}

/// The Internet checksum of `data`, said in additions (RFC 1071).
pub(crate) fn internet_checksum(data: Term, terms: &mut Terms) -> Term {
    let mut sum = terms.number(0, 32);
    for word in words16(data, terms) {
        let word = terms.fit(word, 32);
        sum = terms.binary(Binary::Add, sum, word);
    }
    for _ in 0..2 {
        let (low, high) = (terms.slice(sum, 0, 16), terms.slice(sum, 16, 16));
        let (low, high) = (terms.fit(low, 32), terms.fit(high, 32));
        sum = terms.binary(Binary::Add, low, high);
    }
    let sum = terms.slice(sum, 0, 16);
    terms.not(sum)
}
