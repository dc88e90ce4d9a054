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
        for (id, key) in &changes {
            let Some(table) = schema.table(*id) else {
                continue;
            };
            let row = self.row(*id, key);
            match table.kind {
                Kind::PreLag => replication::lag(switch, key, row),
                Kind::PrePrune => replication::pruning(switch, key, row),
                Kind::PrePort => replication::port(switch, key, row),
                Kind::PreMgid | Kind::PreNode | Kind::PreEcmp => replicates = true,
                Kind::MirrorCfg => mirrors::session(switch, key, row),
                Kind::PortMetadata => ports::metadata(switch, table, key, row),
                Kind::PortConfigure => {
                    self.configure_port(switch, now, key);
                    self.loop_port(switch, key);
                }
                Kind::PortStat => self.set_counters(key),
                Kind::Lpf => filters::lpf(switch, table, key, row),
                Kind::Wred => filters::wred(switch, table, key, row),
                Kind::DynHashAlgorithm | Kind::DynHashConfigure => {
                    hashes::change(switch, self, schema, table);
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
