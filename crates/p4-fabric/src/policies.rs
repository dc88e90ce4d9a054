//! Policies as tables: for each value of the few numbers that a decision depends on, what is done.
//!
//! Whoever makes a table asks its author beforehand, once for each entry. So a run depends on tables
//! and seeds alone, and code that nobody has read never runs inside the simulator.

use crate::parameters::VoqDrop;
use crate::scenario::Refused;

/// Cells that a VOQ is ahead, from 0; the last entry is for all that is more
pub const AHEAD: usize = 128;
/// Buffer units that wait in a VOQ, from 0; as many as a port holds without any policy, and more
pub const BACKLOG: usize = 768;
/// Sixteenths of a port's payload that a flow has, from 0
pub const SHARES: usize = 17;

/// The tables of a fabric. What has no table is decided by the parameters.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// By whether a VOQ is suspended now, and the cells that it is ahead
    suspend: Option<Vec<bool>>,
    /// By the units of a new frame: what is dropped, by the units that wait already
    drop: Vec<(u64, Vec<VoqDrop>)>,
    /// By the share of a flow, whether the latest frame is its, and whether it has the largest share
    notify: Option<Vec<u16>>,
}

impl Policies {
    /// Whether a VOQ is suspended: `AHEAD` answers for one that is not, then as many for one that is.
    pub fn suspend(&mut self, table: Vec<bool>) -> Result<(), Refused> {
        self.suspend = Some(of_size("suspend", table, 2 * AHEAD)?);
        Ok(())
    }

    /// What is dropped when a frame of so many units finds `BACKLOG` lengths of a VOQ.
    pub fn drop(&mut self, units: u64, table: Vec<VoqDrop>) -> Result<(), Refused> {
        let table = of_size("drop", table, BACKLOG)?;
        self.drop.retain(|one| one.0 != units);
        self.drop.push((units, table));
        Ok(())
    }

    /// The weights by which a congested input draws the flow that it notifies.
    pub fn notify(&mut self, weights: Vec<u16>) -> Result<(), Refused> {
        self.notify = Some(of_size("notify", weights, 4 * SHARES)?);
        Ok(())
    }

    #[inline]
    pub(crate) fn suspends(&self, suspended: bool, ahead: u32) -> Option<bool> {
        let table = self.suspend.as_ref()?;
        Some(table[usize::from(suspended) * AHEAD + (ahead as usize).min(AHEAD - 1)])
    }

    #[inline]
    pub(crate) fn drops(&self, units: u64, backlog: u64) -> Option<VoqDrop> {
        let (_, table) = self.drop.iter().find(|one| one.0 == units)?;
        Some(table[(backlog as usize).min(BACKLOG - 1)])
    }

    /// The flow to notify, of those that hold buffer units; `unit` draws a number up to another one.
    /// `None` without a table; nobody is notified if all weights are 0.
    pub(crate) fn notifies(
        &self,
        held: &[(u32, u32)],
        latest: u32,
        unit: impl FnOnce(u64) -> u64,
    ) -> Option<Option<u32>> {
        let table = self.notify.as_ref()?;
        let all = held.iter().map(|one| u64::from(one.1)).sum::<u64>().max(1);
        let most = held.iter().map(|one| one.1).max().unwrap_or(0);
        let weight = |one: &(u32, u32)| {
            let share = (u64::from(one.1) * (SHARES as u64 - 1) + all / 2) / all;
            let at =
                4 * share as usize + 2 * usize::from(one.0 == latest) + usize::from(one.1 == most);
            match one.1 {
                0 => 0,
                _ => u64::from(table[at]),
            }
        };
        let sum: u64 = held.iter().map(weight).sum();
        if sum == 0 {
            return Some(None);
        }
        let mut left = unit(sum - 1);
        let chosen = held.iter().find(|one| {
            let own = weight(one);
            let here = left < own;
            left = left.saturating_sub(own);
            here
        });
        Some(chosen.map(|one| one.0))
    }
}

fn of_size<T>(name: &str, table: Vec<T>, wanted: usize) -> Result<Vec<T>, Refused> {
    if table.len() == wanted {
        return Ok(table);
    }
    let found = table.len();
    Err(Refused(format!(
        "the table {name} has {found} entries, not {wanted}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    // If this fails a policy is asked about another state than the one that it decides.
    #[test]
    fn each_state_has_its_own_entry() {
        let mut policies = Policies::default();
        assert_eq!(policies.suspends(false, 19), None);
        let above = |limit: usize| (0..AHEAD).map(move |ahead| ahead > limit);
        policies
            .suspend(above(18).chain(above(10)).collect())
            .unwrap();
        let seen: Vec<_> = [
            (false, 18),
            (false, 19),
            (true, 10),
            (true, 11),
            (false, 5000),
        ]
        .map(|(now, ahead)| policies.suspends(now, ahead) == Some(true))
        .into();
        assert_eq!(seen, [false, true, false, true, true]);

        let mut table = vec![VoqDrop::Off; BACKLOG];
        table[BACKLOG - 1] = VoqDrop::Head;
        policies.drop(6, table).unwrap();
        assert_eq!(policies.drops(6, 766), Some(VoqDrop::Off));
        assert_eq!(policies.drops(6, 10_000), Some(VoqDrop::Head));
        assert_eq!(policies.drops(7, 10_000), None);
        assert!(policies.suspend(vec![true; 3]).is_err());
    }

    // If this fails a port notifies a flow that its policy gives no weight.
    #[test]
    fn flows_are_notified_by_their_weights() {
        let held = [(7, 0), (8, 30), (9, 90)];
        let mut weights = vec![0; 4 * SHARES];
        let mut policies = Policies::default();
        assert_eq!(policies.notifies(&held, 8, |most| most), None);
        policies.notify(weights.clone()).unwrap();
        assert_eq!(policies.notifies(&held, 8, |most| most), Some(None));
        weights[4 * 4 + 2] = 5; // a quarter, the latest
        weights[4 * 12 + 1] = 10; // three quarters, the largest
        weights[0] = 99; // of a flow that holds nothing
        policies.notify(weights).unwrap();
        let by = |unit: u64| policies.notifies(&held, 8, |most| unit.min(most)).flatten();
        assert_eq!(
            [by(0), by(4), by(5), by(99)],
            [Some(8), Some(8), Some(9), Some(9)]
        );
    }
}
