//! A histogram of fixed relative precision, after Tene's HdrHistogram: the octaves of the values, and
//! equal parts of each.

use p4_time::Time;

/// Parts of an octave, as a power of two.
const PART_BITS: u32 = 9;
const PARTS: usize = 1 << PART_BITS;

/// Largest relative error of a percentile: half a part at the start of its octave. Values below 1,024 ps
/// are exact.
pub const PERCENTILE_ERROR: f64 = 0.5 / PARTS as f64;

/// How often which times were seen. Memory follows the octaves that occur, 4 KB each, and never
/// the number of values.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    octaves: Vec<Option<Box<[u64; PARTS]>>>,
    count: u64,
    sum: u128,
    least: Time,
    most: Time,
}

impl Histogram {
    pub fn add(&mut self, value: Time) {
        self.least = if self.count == 0 {
            value
        } else {
            self.least.min(value)
        };
        self.most = self.most.max(value);
        self.count += 1;
        self.sum += u128::from(value.picos());
        let (octave, part) = place(value.picos());
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        self.octaves[octave].get_or_insert_with(|| Box::new([0; PARTS]))[part] += 1;
    }

    /// Adds all values of another one.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.least = match self.count {
            0 => other.least,
            _ => self.least.min(other.least),
        };
        self.most = self.most.max(other.most);
        self.count += other.count;
        self.sum += other.sum;
        if self.octaves.len() < other.octaves.len() {
            self.octaves.resize(other.octaves.len(), None);
        }
        for (own, more) in self.octaves.iter_mut().zip(&other.octaves) {
            let Some(more) = more else { continue };
            let own = own.get_or_insert_with(|| Box::new([0; PARTS]));
            own.iter_mut()
                .zip(more.iter())
                .for_each(|(own, more)| *own += more);
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact, rounded down to a picosecond; `None` of nothing.
    pub fn mean(&self) -> Option<Time> {
        let mean = self.sum.checked_div(self.count.into())?;
        Some(Time::from_picos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The least and the most value, exactly.
    pub fn range(&self) -> Option<(Time, Time)> {
        (self.count > 0).then_some((self.least, self.most))
    }

    /// The least value that `percent` of all values do not exceed (nearest rank), to within
    /// [`PERCENTILE_ERROR`] of it; `None` of nothing.
    pub fn percentile(&self, percent: f64) -> Option<Time> {
        let rank = (percent / 100.0 * self.count as f64).ceil() as u64;
        let rank = rank.clamp(1, self.count.max(1));
        let mut seen = 0;
        for (octave, parts) in self.octaves.iter().enumerate() {
            let Some(parts) = parts else { continue };
            for (part, count) in parts.iter().enumerate() {
                seen += count;
                if seen >= rank {
                    let middle = Time::from_picos(middle(octave, part));
                    return Some(middle.clamp(self.least, self.most));
                }
            }
        }
        None
    }
}

/// Values below `PARTS` are octave 0, one part each; above, an octave begins at each power of two.
fn place(value: u64) -> (usize, usize) {
    if value < PARTS as u64 {
        return (0, value as usize);
    }
    let shift = value.ilog2() - PART_BITS;
    (shift as usize + 1, (value >> shift) as usize - PARTS)
}

fn middle(octave: usize, part: usize) -> u64 {
    match octave.checked_sub(1) {
        None => part as u64,
        Some(shift) => (((PARTS + part) as u64) << shift) + ((1 << shift) >> 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // If this fails a latency in a report is off by more than the report says.
        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            values in prop::collection::vec((0u32..64, any::<u64>()).prop_map(|(s, v)| v >> s), 1..200),
            percent in 0.0..100.0f64,
        ) {
            let mut histogram = Histogram::default();
            // In two parts, as they come from two partitions
            let mut rest = Histogram::default();
            for (place, value) in values.iter().enumerate() {
                let part = if place % 3 == 0 { &mut rest } else { &mut histogram };
                part.add(Time::from_picos(*value));
            }
            histogram.merge(&rest);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = (percent / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
            let exact = sorted[rank - 1] as f64;
            let found = histogram.percentile(percent).unwrap().picos() as f64;
            prop_assert!((found - exact).abs() <= exact * PERCENTILE_ERROR, "{found} for {exact}");
            let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
            let mean = (sum / values.len() as u128) as u64;
            prop_assert_eq!(histogram.mean(), Some(Time::from_picos(mean)));
            let range = (sorted[0], sorted[sorted.len() - 1]);
            prop_assert_eq!(
                histogram.range().map(|(least, most)| (least.picos(), most.picos())),
                Some(range)
            );
        }
    }

    #[test]
    fn nothing_has_no_percentile_and_the_largest_value_fits() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.percentile(50.0), histogram.mean()), (None, None));
        histogram.add(Time::MAX);
        assert_eq!(histogram.percentile(100.0), Some(Time::MAX));
    }
}
