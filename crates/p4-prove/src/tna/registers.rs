//! Cells of registers: each pipe has its own, and the control plane writes all of them alike.

use crate::path::{Step, Stop};
use crate::run::{Run, State, Write};
use crate::term::{Term, Terms};
use num_bigint::BigUint;
use p4_arch::tna::{Apply, Image};
use p4_ir::ir::{words, InstanceId, Place, Slot};

/// Bits of an index behind those of its pipe
const INDEX_BITS: u32 = 30;

/// The index without its pipe, 32 bits
pub(crate) fn in_its_pipe(index: Term, terms: &mut Terms) -> Term {
    let own = terms.slice(index, 0, INDEX_BITS);
    terms.fit(own, 32)
}

impl Run<'_, '_, '_> {
    /// Index and pipe in 32 bits, and whether there is such a cell.
    fn cell_at(
        &mut self,
        image: &Image,
        register: InstanceId,
        index: Option<Slot>,
        state: &State,
    ) -> (Term, Term) {
        let index = match index {
            Some(slot) => self.get(state, slot, 32),
            None => self.terms.number(0, 32),
        };
        let cells = image.cells(register).min(1 << INDEX_BITS);
        let cells = self.terms.number(cells, 32);
        let inside = self.terms.less(index, cells);
        let pipe = match self.chip.pipe {
            Some(pipe) => pipe,
            None => self.terms.number(0, 2),
        };
        let own = self.terms.slice(index, 0, INDEX_BITS);
        (self.terms.concat(pipe, own), inside)
    }

    /// What a cell holds before the packet
    fn before(
        &mut self,
        image: &Image,
        register: InstanceId,
        leaf: usize,
        index: Term,
        width: u32,
    ) -> Term {
        let name = &*self.program.instances[register as usize].name;
        if !self.world.registers.iter().any(|own| own == name) {
            return self.initial(image, register, leaf, width);
        }
        let function = self.function_of(register, leaf);
        let index = in_its_pipe(index, self.terms);
        self.terms.apply(function, index, width)
    }

    /// What the program says that all cells begin with
    fn initial(&mut self, image: &Image, register: InstanceId, leaf: usize, width: u32) -> Term {
        let instance = &self.program.instances[register as usize];
        let leaves = instance.types.first().map_or(&[][..], |t| &t.leaves[..]);
        let before = leaves.iter().take(leaf);
        let first: u32 = before.map(|leaf| words(leaf.1)).sum();
        let given = image.initial(register).unwrap_or_default();
        let own = given.iter().skip(first as usize);
        let digits = own.take(words(width) as usize).rev();
        let value = digits.fold(BigUint::default(), |sum, word| (sum << 64u32) + *word);
        self.terms.constant(value, width)
    }

    /// Puts a cell's value at the places; zeros if there is no such cell.
    pub(crate) fn read_chip_cell(
        &mut self,
        image: &Image,
        register: InstanceId,
        index: Option<Slot>,
        places: &[Place],
        state: &mut State,
    ) {
        let (index, inside) = self.cell_at(image, register, index, state);
        let writes = self.writes.get(&register).cloned().unwrap_or_default();
        for (leaf, place) in places.iter().enumerate() {
            let width = place.width.max(1);
            let mut value = self.before(image, register, leaf, index, width);
            for write in &writes {
                let same = self.terms.equal(index, write.index);
                let when = self.terms.and(write.when, same);
                value = self.terms.choose(when, write.values[leaf], value);
            }
            let zero = self.terms.number(0, width);
            let value = self.terms.choose(inside, value, zero);
            self.put(state, place.slot, width, value);
        }
    }

    pub(crate) fn write_chip_cell(
        &mut self,
        image: &Image,
        register: InstanceId,
        index: Option<Slot>,
        values: Vec<Term>,
        state: &State,
    ) {
        let (index, inside) = self.cell_at(image, register, index, state);
        let when = self.terms.all(&state.guard);
        let when = self.terms.and(when, inside);
        let write = Write {
            when,
            index,
            values,
        };
        self.writes.entry(register).or_default().push(write);
    }

    pub(crate) fn values(&mut self, places: &[Place], state: &State) -> Vec<Term> {
        let places = places.iter();
        places.map(|p| self.get(state, p.slot, p.width)).collect()
    }

    /// Runs the body of a `RegisterAction` between reading a cell and writing it.
    pub(crate) fn register_action(
        &mut self,
        image: &Image,
        register: InstanceId,
        index: Slot,
        apply: &Apply,
        result: &[Place],
        state: &mut State,
    ) -> Step<()> {
        let at = Some(index);
        let number = self.word(state, index);
        self.read_chip_cell(image, register, at, &apply.value, state);
        let before = self.values(&apply.value, state);
        for place in &apply.output {
            let zero = self.terms.number(0, 1);
            self.put(state, place.slot, place.width, zero);
        }
        let guard = state.guard.clone();
        let after = self.run_all(apply.entry, state.clone())?;
        *state = after.ok_or_else(|| Stop::Unsupported("an action without end".into()))?;
        state.guard = guard;
        let values = self.values(&apply.value, state);
        if values != before {
            let mut there = state.clone();
            self.set(&mut there, index, number);
            self.write_chip_cell(image, register, at, values, &there);
        }
        for (from, to) in apply.output.iter().zip(result) {
            let value = self.get(state, from.slot, from.width);
            self.put(state, to.slot, to.width, value);
        }
        Ok(())
    }
}
