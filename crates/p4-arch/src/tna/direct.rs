//! Direct registers and filters for the control plane. Each pipe has cells of its own for the entries
//! of a table, which go by their numbers ([`EntryView::handle`](p4_state::EntryView)).

use super::externs::direct_filter;
use super::filters::{LpfConfig, WredConfig};
use super::pipes::PIPES;
use super::switch::{check_wred, Switch};
use crate::error::ArchError;
use num_bigint::BigUint;
use p4_ir::ir::{words, InstanceId};
use p4_syntax::span::Span;

impl Switch {
    /// The fields of an entry's cell. Fails if the table has no direct register.
    pub fn direct_register(
        &self,
        table: &str,
        entry: u64,
        pipe: u8,
    ) -> Result<Vec<BigUint>, ArchError> {
        let id = self.direct_of(table, "DirectRegister")?;
        let cell = self
            .core
            .externs
            .direct_cell(id, pipe, entry, &self.core.image);
        let mut rest = cell.map_or(&[][..], Vec::as_slice);
        let fields = self.field_words(id).into_iter().map(|n| {
            let (own, behind) = rest.split_at(n.min(rest.len()));
            rest = behind;
            let bytes: Vec<u8> = own.iter().flat_map(|word| word.to_le_bytes()).collect();
            BigUint::from_bytes_le(&bytes)
        });
        Ok(fields.collect())
    }

    /// Sets an entry's cell, a number for each field. Fails if the table has no direct register.
    pub fn set_direct_register(
        &mut self,
        table: &str,
        entry: u64,
        pipe: u8,
        fields: &[BigUint],
    ) -> Result<(), ArchError> {
        let id = self.direct_of(table, "DirectRegister")?;
        let mut cell = Vec::new();
        for (n, value) in self.field_words(id).into_iter().zip(fields) {
            let digits = value.iter_u64_digits().chain(std::iter::repeat(0));
            cell.extend(digits.take(n));
        }
        self.core.externs.direct.insert((id, pipe, entry), cell);
        Ok(())
    }

    /// Configures the low-pass filter of one entry. Fails if the table has none.
    pub fn set_direct_lpf(
        &mut self,
        table: &str,
        entry: u64,
        pipe: u8,
        config: Option<LpfConfig>,
    ) -> Result<(), ArchError> {
        let id = self.direct_of(table, "DirectLpf")?;
        let configs = self.core.externs.filters.means.entry(id).or_default();
        configs.set(Some(direct_filter(pipe, entry)), config);
        Ok(())
    }

    /// The same for random early detection, whose lower threshold must be below the upper one.
    pub fn set_direct_wred(
        &mut self,
        table: &str,
        entry: u64,
        pipe: u8,
        config: Option<WredConfig>,
    ) -> Result<(), ArchError> {
        check_wred(table, config)?;
        let id = self.direct_of(table, "DirectWred")?;
        let configs = self.core.externs.filters.drops.entry(id).or_default();
        configs.set(Some(direct_filter(pipe, entry)), config);
        Ok(())
    }

    /// Forgets what an entry had that is no longer there.
    pub fn forget_direct(&mut self, table: &str, entry: u64) {
        for id in self.direct_ids(table).to_vec() {
            for pipe in 0..PIPES as u8 {
                let externs = &mut self.core.externs;
                externs.direct.remove(&(id, pipe, entry));
                externs.filters.forget(id, pipe, direct_filter(pipe, entry));
            }
        }
    }

    /// A table's direct registers and filters.
    fn direct_ids(&self, table: &str) -> &[InstanceId] {
        let mut tables = self.core.image.program().tables.iter();
        // Names have their pipeline in front where there are several.
        let is_it = |name: &str| {
            let front = name.strip_suffix(table);
            front.is_some_and(|front| front.is_empty() || front.ends_with('.'))
        };
        let at = tables.position(|own| is_it(&own.name));
        let direct = at.and_then(|at| self.core.image.direct.get(at));
        direct.map_or(&[], |direct| &direct.registers)
    }

    fn direct_of(&self, table: &str, extern_type: &str) -> Result<InstanceId, ArchError> {
        let instances = &self.core.image.program().instances;
        let mut ids = self.direct_ids(table).iter().copied();
        let found = ids.find(|id| &*instances[*id as usize].extern_type == extern_type);
        found.ok_or_else(|| {
            let message = format!("{table} has no {extern_type}");
            ArchError::new(message, Span::NONE)
        })
    }

    /// How many words each field of a direct register's cell has.
    fn field_words(&self, id: InstanceId) -> Vec<usize> {
        let types = &self.core.image.program().instances[id as usize].types;
        let leaves = types.first().map_or(&[][..], |own| &own.leaves);
        let words = leaves.iter().map(|(_, width, _)| words(*width) as usize);
        words.collect()
    }
}
