//! Which thread begins with which partitions.

/// A share that is so much larger than the mean is worth moving partitions to other cores
const UNEVEN: f64 = 1.1;

/// Partitions in turn: nothing is known of their work.
pub(crate) fn in_turn(partitions: usize, threads: usize) -> Vec<Vec<u32>> {
    let share = |thread| (thread..partitions).step_by(threads).map(|one| one as u32);
    (0..threads).map(|thread| share(thread).collect()).collect()
}

/// Better shares by the work of each partition; none if those that there are will do.
pub(crate) fn better(work: &[u64], now: &[Vec<u32>]) -> Option<Vec<Vec<u32>>> {
    let sum = |share: &Vec<u32>| share.iter().map(|one| work[*one as usize]).sum::<u64>();
    let largest = now.iter().map(sum).max().unwrap_or(0);
    let mean = work.iter().sum::<u64>() as f64 / now.len() as f64;
    if largest as f64 <= UNEVEN * mean {
        return None;
    }
    let mut order: Vec<u32> = (0..work.len() as u32).collect();
    order.sort_by_key(|one| std::cmp::Reverse(work[*one as usize]));
    let mut shares = vec![(0, Vec::new()); now.len()];
    for one in order {
        if let Some(least) = shares
            .iter_mut()
            .min_by_key(|share: &&mut (u64, _)| share.0)
        {
            least.0 += work[one as usize].max(1);
            least.1.push(one);
        }
    }
    Some(shares.into_iter().map(|share| share.1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails one thread works while the others wait, or a partition is left out.
    #[test]
    fn shares_are_whole_and_even() {
        let work = [50, 1, 1, 1, 50, 1, 1, 1, 90, 4];
        let first = in_turn(work.len(), 2);
        let shares = better(&work, &first).unwrap();
        let mut all: Vec<u32> = shares.concat();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<u32>>());
        let sums: Vec<u64> = shares
            .iter()
            .map(|share| share.iter().map(|one| work[*one as usize]).sum())
            .collect();
        assert_eq!(sums, [100, 100]);
        assert_eq!(better(&work, &shares), None, "they will do");
    }
}
