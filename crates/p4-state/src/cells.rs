//! Arrays of counters, registers and meters.

/// One counter: packets and bytes are both counted, whatever its declared type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// Cells of a page; a power of two, and a small one, as most programs use few of those that they declare.
const PAGE: u64 = 16;

/// An array whose cells are made a page at a time, when one of them is first written: a program may
/// declare hundreds of thousands of meters, and a test of it use two.
#[derive(Clone, Debug)]
#[repr(C)] // what every packet needs comes first
pub(crate) struct Array<T> {
    size: u64,
    /// The first page apart, since most arrays need no other: one look less
    first: Option<Box<Page<T>>>,
    others: Vec<Option<Box<Page<T>>>>,
    /// What cells hold that have not been written; apart, since a meter is large
    rest: Box<T>,
}

/// A small program's cells are in one line of the cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Page<T>([T; PAGE as usize]);

impl<T: Copy> Array<T> {
    /// `size` cells that all hold `value`.
    pub fn new(size: u64, value: T) -> Array<T> {
        Array {
            size,
            rest: Box::new(value),
            first: None,
            others: vec![None; (size.div_ceil(PAGE) as usize).saturating_sub(1)],
        }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// A cell; `None` beyond the end.
    #[inline]
    pub fn get(&self, index: u64) -> Option<&T> {
        let page = match self.page(index)?.checked_sub(1) {
            None => &self.first,
            Some(other) => self.others.get(other)?,
        };
        Some(
            page.as_ref()
                .map_or(&self.rest, |page| &page.0[place(index)]),
        )
    }

    /// A cell to write; `None` beyond the end.
    #[inline]
    pub fn get_mut(&mut self, index: u64) -> Option<&mut T> {
        let page = match self.page(index)?.checked_sub(1) {
            None => &mut self.first,
            Some(other) => self.others.get_mut(other)?,
        };
        let page = page.get_or_insert_with(|| new_page(&self.rest));
        Some(&mut page.0[place(index)])
    }

    #[inline]
    fn page(&self, index: u64) -> Option<usize> {
        (index < self.size).then_some((index / PAGE) as usize)
    }
}

/// Apart from the cells that are there, since it takes room on the stack.
#[cold]
fn new_page<T: Copy>(rest: &T) -> Box<Page<T>> {
    Box::new(Page([*rest; PAGE as usize]))
}

#[inline]
fn place(index: u64) -> usize {
    (index % PAGE) as usize
}

/// A register array: `stride` words per cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub size: u64,
    /// Width of each leaf of a cell's type, in order
    pub widths: Box<[u32]>,
    pub stride: usize,
    pub cells: Vec<u64>,
}

impl Registers {
    pub fn cell(&self, index: u64) -> Option<&[u64]> {
        let index = (index < self.size).then_some(index as usize)?;
        self.cells
            .get(index * self.stride..(index + 1) * self.stride)
    }

    pub fn cell_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        let index = (index < self.size).then_some(index as usize)?;
        self.cells
            .get_mut(index * self.stride..(index + 1) * self.stride)
    }
}

/// What a meter measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterUnit {
    Bytes,
    Packets,
}

/// Two rates in units per second and two bursts in units, units being bytes or packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterConfig {
    pub committed_rate: u64,
    pub committed_burst: u64,
    pub peak_rate: u64,
    pub peak_burst: u64,
}

/// What a meter says of a packet; the numbers are v1model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    Green = 0,
    Yellow = 1,
    Red = 2,
}

/// A two-rate three-colour meter. Tokens are counted in units per 10^12, so that refilling by
/// picoseconds is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meter {
    config: Option<MeterConfig>,
    committed: u128,
    peak: u128,
    /// Picoseconds; `None` until the first packet
    last: Option<u64>,
}

const SCALE: u128 = 1_000_000_000_000;

impl Meter {
    /// Buckets start full.
    pub fn new(config: Option<MeterConfig>) -> Meter {
        let full = config.unwrap_or_default();
        Meter {
            config,
            committed: u128::from(full.committed_burst) * SCALE,
            peak: u128::from(full.peak_burst) * SCALE,
            last: None,
        }
    }

    pub fn config(&self) -> Option<MeterConfig> {
        self.config
    }

    /// The colour of `units` at time `now` in picoseconds. As in bmv2: the peak bucket is asked
    /// first, and a packet pays only into the buckets that could take it.
    pub fn execute(&mut self, units: u64, now: u64) -> Color {
        let Some(config) = self.config else {
            return Color::Green;
        };
        let elapsed = u128::from(now.saturating_sub(self.last.unwrap_or(now)));
        self.last = Some(now.max(self.last.unwrap_or(now)));
        let refill = |tokens: u128, rate: u64, burst: u64| {
            (tokens + elapsed * u128::from(rate)).min(u128::from(burst) * SCALE)
        };
        self.committed = refill(
            self.committed,
            config.committed_rate,
            config.committed_burst,
        );
        self.peak = refill(self.peak, config.peak_rate, config.peak_burst);
        let cost = u128::from(units) * SCALE;
        if self.peak < cost {
            return Color::Red;
        }
        self.peak -= cost;
        if self.committed < cost {
            return Color::Yellow;
        }
        self.committed -= cost;
        Color::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails, a counter far up in its array counts for another, or a big program is slow to
    // start.
    #[test]
    fn an_array_makes_the_pages_that_are_written() {
        let mut array = Array::new(3 * PAGE + 1, 7);
        let last = 3 * PAGE;
        assert_eq!((array.get(0), array.get(last)), (Some(&7), Some(&7)));
        assert_eq!((array.get(last + 1), array.get(u64::MAX)), (None, None));
        assert!(array.get_mut(last + 1).is_none());
        *array.get_mut(last).unwrap() = 1;
        *array.get_mut(PAGE).unwrap() = 2;
        let seen = [0, PAGE - 1, PAGE, PAGE + 1, last].map(|index| *array.get(index).unwrap());
        assert_eq!(seen, [7, 7, 2, 7, 1]);
        let made = array.others.iter().filter(|page| page.is_some()).count();
        assert_eq!(
            (array.first.is_some(), made, array.others.len()),
            (false, 2, 3)
        );
        assert_eq!(Array::new(0, 0).get(0), None);
    }

    // If this fails, the policing labs mark the wrong packets. The colours are bmv2's.
    #[test]
    fn colours_as_bmv2_gives_them() {
        let config = MeterConfig {
            committed_rate: 0,
            committed_burst: 10,
            peak_rate: 0,
            peak_burst: 20,
        };
        let mut meter = Meter::new(Some(config));
        let colors = [2, 10, 3, 2, 2, 2, 2].map(|bytes| meter.execute(bytes, 0) as u8);
        assert_eq!(colors, [0, 1, 0, 0, 0, 2, 2]);
        assert_eq!(Meter::new(None).execute(1 << 40, 0), Color::Green);
    }

    // If this fails, a meter lets more or less through than its rate over time.
    #[test]
    fn refills_exactly() {
        let config = MeterConfig {
            committed_rate: 3,
            committed_burst: 1,
            peak_rate: 1000,
            peak_burst: 1000,
        };
        let mut meter = Meter::new(Some(config));
        let third = 333_333_333_333;
        let colors: Vec<_> = (0..=9_000u64)
            .map(|i| meter.execute(1, i * 111_111_111_112))
            .collect();
        // 1000 seconds at 3 packets per second, and the burst of one
        let green = colors
            .iter()
            .filter(|color| **color == Color::Green)
            .count();
        assert!((2_999..=3_001).contains(&green), "{green}");
        let mut meter = Meter::new(Some(config));
        assert_eq!(meter.execute(1, 0), Color::Green);
        assert_eq!(meter.execute(1, third), Color::Yellow);
        assert_eq!(meter.execute(1, third + 1), Color::Green);
    }
}
