//! A list whose first items are where it is itself.
//!
//! A network of a thousand switches is larger than what a processor has at hand: its caches, and its table of
//! where pages of memory are. A page that is not in that table costs more than a line that is not in the first
//! cache. So what packets need of a switch is within the switch, and not wherever there was room for a list.

use std::ops::{Index, IndexMut};

/// The first `N` items here, and the others elsewhere. There is a default item at each of the `N` places that
/// is not in use.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Near<T, const N: usize> {
    first: [T; N],
    others: Box<[T]>,
}

impl<T: Default, const N: usize> From<Vec<T>> for Near<T, N> {
    fn from(mut items: Vec<T>) -> Near<T, N> {
        let others = items.split_off(items.len().min(N));
        let mut first = items.into_iter();
        Near {
            first: std::array::from_fn(|_| first.next().unwrap_or_default()),
            others: others.into(),
        }
    }
}

impl<T, const N: usize> Near<T, N> {
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(N) {
            None => self.first.get(index),
            Some(other) => self.others.get(other),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        match index.checked_sub(N) {
            None => self.first.get_mut(index),
            Some(other) => self.others.get_mut(other),
        }
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.others)
    }
}

impl<T, const N: usize> Index<usize> for Near<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match index.checked_sub(N) {
            None => &self.first[index],
            Some(other) => &self.others[other],
        }
    }
}

impl<T, const N: usize> IndexMut<usize> for Near<T, N> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        match index.checked_sub(N) {
            None => &mut self.first[index],
            Some(other) => &mut self.others[other],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Near;

    /// Otherwise a switch with a fifth table would answer with what another table holds.
    #[test]
    fn items_here_and_elsewhere_are_found_as_in_a_list() {
        for length in 0..9 {
            let items: Vec<u32> = (0..length).map(|item| item + 100).collect();
            let mut near: Near<u32, 4> = items.clone().into();
            for (index, item) in items.iter().enumerate() {
                assert_eq!((near.get(index), near[index]), (Some(item), *item));
                near[index] += 1;
                *near.get_mut(index).expect("it was there") += 1;
                assert_eq!(near[index], item + 2);
            }
            assert_eq!(near.get(items.len().max(4)), None);
            assert_eq!(near.iter_mut().count(), items.len().max(4));
        }
    }
}
