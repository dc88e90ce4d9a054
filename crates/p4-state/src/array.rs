//! Cells by number, such as a counter's.

const PAGE: usize = 64;

/// `size` cells, most of which nobody ever touches: sixty thousand subscribers' meters are declared,
/// and a test of the program has three subscribers. So a page of cells is made when one of them is
/// first written; those of pages that are not there are as in the beginning.
#[derive(Clone, Debug)]
pub(crate) struct Array<T> {
    size: u64,
    first: T,
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T: Copy> Array<T> {
    /// All cells hold `value`. The size has been checked.
    pub fn new(size: u64, value: T) -> Array<T> {
        let pages = (size as usize).div_ceil(PAGE);
        Array {
            size,
            first: value,
            pages: std::iter::repeat_with(|| None).take(pages).collect(),
        }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn get(&self, index: u64) -> Option<&T> {
        let (page, cell) = self.place(index)?;
        match self.pages.get(page)? {
            Some(page) => page.get(cell),
            None => Some(&self.first),
        }
    }

    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut T> {
        let (page, cell) = self.place(index)?;
        let first = self.first;
        let page = self.pages.get_mut(page)?;
        page.get_or_insert_with(|| Box::new([first; PAGE]))
            .get_mut(cell)
    }

    fn place(&self, index: u64) -> Option<(usize, usize)> {
        let index = (index < self.size).then_some(index as usize)?;
        Some((index / PAGE, index % PAGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, a counter of one subscriber shows another's packets, or none.
    #[test]
    fn each_cell_is_its_own() {
        let size = 2 * PAGE as u64 + 3;
        let mut array = Array::new(size, 7);
        for index in (0..size).step_by(5) {
            *array.get_mut(index).unwrap() = index;
        }
        for index in 0..size {
            let wanted = if index % 5 == 0 { index } else { 7 };
            assert_eq!(array.get(index), Some(&wanted), "{index}");
        }
        assert_eq!(array.get(size), None);
        assert_eq!(array.get_mut(size), None);
        assert_eq!(Array::new(0, 7).get(0), None);
    }

    // If this fails, a switch for sixty thousand subscribers is slow to make, and large.
    #[test]
    fn what_is_not_written_is_not_made() {
        let mut array = Array::new(1 << 16, 0u64);
        *array.get_mut(40_000).unwrap() = 1;
        assert_eq!(array.get(1), Some(&0));
        assert_eq!(array.pages.iter().flatten().count(), 1);
    }
}
