//! Entries that nothing has hit for a while.

use crate::error::UpdateError;
use crate::read::EntryView;
use crate::state::State;

/// When an entry was last of use. Times in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Idle {
    ttl: Option<u64>,
    /// Of the last hit, or of the first look at the entry
    since: Option<u64>,
    /// Of the last telling since then
    told: Option<u64>,
    /// Whether there was a hit since somebody asked for it
    hit: bool,
}

impl Idle {
    pub fn new(ttl: Option<u64>) -> Idle {
        Idle {
            ttl: ttl.filter(|ttl| *ttl > 0),
            ..Idle::default()
        }
    }

    pub fn ttl(&self) -> Option<u64> {
        self.ttl
    }

    pub fn since(&self) -> Option<u64> {
        self.since
    }

    pub fn hit(&mut self, now: u64) {
        self.since = Some(now);
        self.told = None;
        self.hit = true;
    }

    /// Whether the entry is to be told now. P4Runtime 1.5, 9.1.4: once when its time is over, and
    /// again whenever as much time has passed once more.
    fn is_due(&mut self, now: u64) -> bool {
        let (Some(ttl), Some(since)) = (self.ttl, self.since) else {
            self.since = self.since.or(Some(now));
            return false;
        };
        let due = now.saturating_sub(self.told.unwrap_or(since)) >= ttl;
        if due {
            self.told = Some(now);
        }
        due
    }

    /// Sets another time of the last hit, unless it is the same.
    fn move_to(&mut self, since: u64) {
        if self.since != Some(since) {
            self.since = Some(since);
            self.told = None;
        }
    }

    /// When [`Idle::is_due`] will next say so; `None` until the entry has been looked at.
    fn next(&self) -> Option<u64> {
        Some(self.told.or(self.since)?.saturating_add(self.ttl?))
    }
}

/// An entry that has been idle for its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleEntry {
    pub table: String,
    pub entry: EntryView,
}

impl State {
    /// Entries whose idle timeout is over at `now` picoseconds, each told once per timeout. An
    /// entry's time begins when it first hits or with the first call after it came.
    pub fn idle_entries(&mut self, now: u64) -> Vec<IdleEntry> {
        let mut found = Vec::new();
        for table in self.tables.iter_mut().filter(|table| table.idle_timeout) {
            for handle in table.idle_handles(|idle| idle.is_due(now)) {
                found.push((table.name.to_string(), handle));
            }
        }
        let view = |(table, handle): (String, u64)| {
            let entries = self.entries(&table).unwrap_or_default();
            let entry = entries.into_iter().find(|entry| entry.handle == handle)?;
            Some(IdleEntry { table, entry })
        };
        found.into_iter().filter_map(view).collect()
    }

    /// Gives the entries of a table that have a timeout another time of their last hit: `moved` is
    /// told the timeout and that time, in picoseconds.
    pub fn move_idle(
        &mut self,
        table: &str,
        moved: impl Fn(u64, u64) -> u64,
    ) -> Result<(), UpdateError> {
        let index = self.table_named(table)?;
        self.tables[index].idle_handles(|idle| {
            if let (Some(ttl), Some(since)) = (idle.ttl, idle.since) {
                idle.move_to(moved(ttl, since));
            }
            false
        });
        Ok(())
    }

    /// The numbers of a table's entries that were hit since the last call. The table needs
    /// `idle_timeout = true`.
    pub fn take_hits(&mut self, table: &str) -> Result<Vec<u64>, UpdateError> {
        let index = self.table_named(table)?;
        let table = &mut self.tables[index];
        if !table.idle_timeout {
            let table = table.name.to_string();
            return Err(UpdateError::NoTimeout { table });
        }
        Ok(table.idle_handles(|idle| std::mem::take(&mut idle.hit)))
    }

    /// When [`State::idle_entries`] has something to tell next, if nothing hits until then.
    pub fn next_idle(&self) -> Option<u64> {
        let tables = self.tables.iter().filter(|table| table.idle_timeout);
        let entries = tables.flat_map(|table| table.entries());
        entries
            .filter_map(|entry| entry.measured().idle.next())
            .min()
    }
}
