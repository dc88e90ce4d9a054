//! Tables of which each pipe, or each group of pipes, has entries of its own.
//!
//! The table of the program is that of scope 0; for scope K there is a further one, named `NAME@K`.

use crate::error::UpdateError;
use crate::recent::Recent;
use crate::state::State;
use crate::table::Kind;
use crate::value::to_words;
use num_bigint::BigUint;
use p4_ir::ir::TableId;

/// For each pipe, the table in place of each of the program's; empty as long as all share theirs.
pub(crate) type Routes = Vec<Vec<TableId>>;

impl State {
    /// The name of a table's part for a scope.
    pub fn scoped_name(table: &str, scope: u8) -> String {
        match scope {
            0 => table.to_string(),
            _ => format!("{table}@{scope}"),
        }
    }

    /// From now on pipe P finds the entries of scope `of_pipe[P]`. All entries must be gone.
    pub fn set_scopes(&mut self, table: &str, of_pipe: &[u8]) -> Result<(), UpdateError> {
        let index = self.table_named(table)?;
        let name = self.tables[index].name.to_string();
        let count = of_pipe.iter().copied().max().unwrap_or(0);
        let mut own = vec![index as TableId];
        for scope in 1.. {
            let scoped = State::scoped_name(&name, scope);
            match self.tables.iter().position(|table| *table.name == *scoped) {
                Some(at) => own.push(at as TableId),
                None if scope > count => break,
                None => {
                    let mut copy = self.tables[index].clone();
                    copy.name = scoped.into();
                    own.push(self.tables.len() as TableId);
                    self.tables.push(copy);
                }
            }
        }
        let mut parts = own.iter().map(|own| &self.tables[*own as usize]);
        if parts.any(|part| !part.added().is_empty()) {
            return Err(UpdateError::NotEmpty { table: name });
        }
        self.recent = vec![Recent::default(); self.tables.len()].into();
        for scope in &own {
            let part = &mut self.tables[*scope as usize];
            part.default = part.program_default.clone();
            part.default_leads = None;
        }
        self.routes.resize(of_pipe.len(), Vec::new());
        for (route, scope) in self.routes.iter_mut().zip(of_pipe) {
            let known = route.len()..self.program.tables.len();
            route.extend(known.map(|table| table as TableId));
            route[index] = own[usize::from(*scope)];
        }
        Ok(())
    }

    /// From now on only these bits of a table's keys count; a key that is left out counts wholly. All
    /// keys must be exact and all entries gone.
    pub fn set_key_mask(
        &mut self,
        table: &str,
        masks: &[(String, BigUint)],
    ) -> Result<(), UpdateError> {
        let index = self.table_named(table)?;
        self.forget_recent();
        let table = &mut self.tables[index];
        let name = table.name.to_string();
        if table.len() > 0 {
            return Err(UpdateError::NotEmpty { table: name });
        }
        let mut bits = vec![u64::MAX; table.key_words()];
        let mut counts_wholly = true;
        for (key, mask) in masks {
            let known = table.keys.iter().find(|own| *own.name == **key);
            let known = known.filter(|own| own.kind == Kind::Exact);
            let Some(own) = known else {
                return Err(UpdateError::WrongKind {
                    key: key.clone(),
                    kind: "another kind than exact".to_string(),
                });
            };
            let Some(words) = to_words(mask, own.width) else {
                return Err(UpdateError::TooWide {
                    name: key.clone(),
                    width: own.width,
                    bits: mask.bits(),
                });
            };
            bits[own.at..own.at + own.words].copy_from_slice(&words);
            counts_wholly &= mask.count_ones() == u64::from(own.width);
        }
        table.key_mask = (!counts_wholly).then(|| bits.into());
        Ok(())
    }

    /// The table in which packets of a pipe look for entries.
    #[inline]
    pub fn routed(&self, table: TableId, pipe: u8) -> TableId {
        match self.routes.get(usize::from(pipe)) {
            None => table,
            Some(route) => route.get(table as usize).copied().unwrap_or(table),
        }
    }
}
