//! Action selectors, and packets that take members out of their groups (`SelectorAction`).
//!
//! On the chip a group is a word of memory with a bit for each of its places, which the driver sets.
//! A place is picked by a hash and by these bits alone, so that a stateful ALU which clears one
//! moves the group's packets to other members with the next packet.

use p4_ir::ir::{ConstArg, Instance, InstanceId, Program};
use rustc_hash::FxHashSet;

/// Places of a group in one word of memory.
const WORD: u64 = 120;

/// How a selector was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    resilient: bool,
    /// Places that belong to each group, so that index `group * places + place` is one of them
    places: u64,
    /// The register that stands for its bits
    pub register: Option<InstanceId>,
}

impl Selector {
    /// `None` if the instance is not an action selector.
    pub fn of(program: &Program, instance: &Instance) -> Option<Selector> {
        if &*instance.extern_type != "ActionSelector" {
            return None;
        }
        let args = &instance.args;
        let register = args.iter().find_map(|arg| match arg {
            ConstArg::Instance(id) => {
                let known = program.instances.get(*id as usize)?;
                (&*known.extern_type == "Register").then_some(*id)
            }
            _ => None,
        });
        // The first number is the size of the profile in the older form, else that of a group.
        let number = args.iter().enumerate().find_map(|(at, arg)| match arg {
            ConstArg::Int(number) if at > 0 => u64::try_from(number).ok(),
            _ => None,
        });
        let resilient =
            |arg: &ConstArg| matches!(arg, ConstArg::Member(name) if &**name == "RESILIENT");
        Some(Selector {
            resilient: args.iter().any(resilient),
            places: number.unwrap_or(WORD).max(1),
            register,
        })
    }

    /// Group and place of an index.
    pub fn place(&self, index: u64) -> (u32, u64) {
        let group = u32::try_from(index / self.places).unwrap_or(u32::MAX);
        (group, index % self.places)
    }

    fn index(&self, group: u32, place: usize) -> Option<u64> {
        let place = place as u64;
        (place < self.places).then(|| u64::from(group) * self.places + place)
    }

    /// Which of a group's places a hash picks; `None` if all of its bits are clear. Fair: one of
    /// those that are set, all as often. Resilient: whoever has a place that is set keeps it; the
    /// hash has three tries of 14 bits, then the next place that is set is taken.
    pub fn pick(&self, hash: u64, places: usize, is_set: impl Fn(usize) -> bool) -> Option<usize> {
        let modulo = |hash: u64, count: usize| Some(hash.checked_rem(count as u64)? as usize);
        if !self.resilient {
            let count = (0..places).filter(|place| is_set(*place)).count();
            let which = modulo(hash, count)?;
            return (0..places).filter(|place| is_set(*place)).nth(which);
        }
        let first = modulo(hash, places)?;
        let tries = [
            Some(first),
            modulo(hash >> 14, places),
            modulo(hash >> 28, places),
        ];
        let next = (1..places).map(|step| (first + step) % places);
        let mut all = tries.into_iter().flatten().chain(next);
        all.find(|place| is_set(*place))
    }
}

/// The bits that packets have cleared: selector, pipe and index.
#[derive(Debug, Default)]
pub(super) struct Cleared(FxHashSet<(InstanceId, u8, u64)>);

impl Cleared {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, selector: InstanceId, pipe: u8, index: u64) -> bool {
        self.0.contains(&(selector, pipe, index))
    }

    /// Whether the bit of a group's place is set.
    pub fn is_set(
        &self,
        selector: (InstanceId, &Selector),
        pipe: u8,
        group: u32,
        place: usize,
    ) -> bool {
        let (id, selector) = selector;
        let index = selector.index(group, place);
        index.is_none_or(|index| !self.contains(id, pipe, index))
    }

    pub fn set(&mut self, selector: InstanceId, pipe: u8, index: u64, bit: bool) {
        let key = (selector, pipe, index);
        if bit {
            self.0.remove(&key);
        } else {
            self.0.insert(key);
        }
    }

    /// The driver sets all bits of a group that it writes.
    pub fn forget(&mut self, id: InstanceId, selector: &Selector, group: u32) {
        self.0
            .retain(|(own, _, index)| *own != id || selector.place(*index).0 != group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(resilient: bool) -> Selector {
        Selector {
            resilient,
            places: WORD,
            register: None,
        }
    }

    // If this fails, a group sends packets to members that are down, or none at all, or moves flows
    // of members that are up.
    #[test]
    fn places_that_are_set_are_picked() {
        for places in 1..7 {
            for down in 0u32..1 << places {
                let is_set = |place: usize| down >> place & 1 == 0;
                let all_set = |_: usize| true;
                for hash in (0..2000).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                    let fair = selector(false).pick(hash, places, is_set);
                    let resilient = selector(true).pick(hash, places, is_set);
                    let some_are_set = down != (1 << places) - 1;
                    for found in [fair, resilient] {
                        assert_eq!(found.is_some(), some_are_set);
                        assert!(found.is_none_or(|place| place < places && is_set(place)));
                    }
                    let before = selector(true).pick(hash, places, all_set);
                    if before.is_some_and(is_set) {
                        assert_eq!(resilient, before, "its member is up");
                    }
                }
            }
        }
        assert_eq!(selector(false).pick(5, 0, |_| true), None);
        assert_eq!(selector(true).pick(5, 0, |_| true), None);
    }

    // If this fails, members of a group are not used alike.
    #[test]
    fn fair_is_fair() {
        let is_set = |place: usize| place != 2;
        let mut seen = [0; 5];
        for hash in 0..4000 {
            if let Some(place) = selector(false).pick(hash, 5, is_set) {
                seen[place] += 1;
            }
        }
        assert_eq!(seen, [1000, 1000, 0, 1000, 1000]);
    }
}
