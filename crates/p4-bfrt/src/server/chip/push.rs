//! From rows to the switch.

use super::{filters, generator, hashes, mirrors, ports, replication, Chip, RowKey};
use crate::schema::{Kind, Schema};
use p4_arch::tna::Switch;
use p4_time::Time;
use std::collections::BTreeSet;

impl Chip {
    /// Puts all rows that have changed into the switch.
    pub fn settle(&mut self, switch: &mut Switch, schema: &Schema, now: Time) {
        let changes = std::mem::take(&mut self.undo);
        let changes = changes.into_iter().map(|own| (own.table, own.key));
        let changes: BTreeSet<(u32, RowKey)> = changes.collect();
        let mut replicates = false;
        for config in std::mem::take(&mut self.device) {
            switch.each(|own| replication::device(own, &config));
        }
        for (id, key) in &changes {
            let Some(table) = schema.table(*id) else {
                continue;
            };
            let row = self.row(*id, key);
            match table.kind {
                Kind::PreLag => switch.each(|own| replication::lag(own, key, row)),
                Kind::PrePrune => switch.each(|own| replication::pruning(own, key, row)),
                Kind::PrePort => switch.each(|own| replication::port(own, key, row)),
                Kind::PreMgid | Kind::PreNode | Kind::PreEcmp => replicates = true,
                Kind::MirrorCfg => switch.each(|own| mirrors::session(own, key, row)),
                Kind::PortMetadata => {
                    ports::metadata(switch.program_mut(self.program), table, key, row);
                }
                Kind::PortConfigure => {
                    self.configure_port(switch, now, key);
                    self.loop_port(switch, key);
                }
                Kind::PortStat => self.set_counters(key),
                Kind::Lpf => {
                    filters::lpf(switch.program_mut(self.program), table, key, row);
                }
                Kind::Wred => {
                    filters::wred(switch.program_mut(self.program), table, key, row);
                }
                Kind::DynHashAlgorithm | Kind::DynHashConfigure => {
                    hashes::change(switch.program_mut(self.program), self, schema, table);
                }
                Kind::PktgenAppCfg => generator::app(switch, self, schema, now, key),
                Kind::PktgenPortCfg => {
                    self.clear_port_down(*id, key);
                    generator::all(switch, self, schema, now);
                }
                Kind::PktgenPktBuffer => generator::all(switch, self, schema, now),
                _ => {}
            }
        }
        if replicates {
            replication::groups(switch, self, schema, &changes);
        }
    }
}
