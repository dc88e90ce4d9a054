//! Carries lines out.

use super::groups::Groups;
use super::profiles::Profiles;
use super::tables::{action, entry_key, priority_is_missing, Handles};
use super::values::{integer, matched, number, small};
use super::{crc, Line};
use crate::resolve::find_table;
use crate::target::{KeySchema, MatchKind, QueueSetting, Target};
use num_bigint::BigUint;
use p4_state::{CloneSession, Entry, EntryKey, Match, MeterConfig, Target as Leads, Update};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, String>;

/// What a line prints, without line ends.
pub type Printed = Vec<String>;

/// What the command line remembers between lines.
#[derive(Debug, Default)]
pub struct Cli {
    pub handles: Handles,
    profiles: Profiles,
    groups: Groups,
    /// Members of the value sets
    sets: BTreeMap<String, Vec<BigUint>>,
}

impl Cli {
    /// Carries `line` out and gives what it prints, or why it cannot be done.
    pub fn carry_out(&mut self, target: &mut dyn Target, line: &Line) -> Result<Printed> {
        let args = &line.args;
        let text = |at: usize| args.get(at).map_or("", String::as_str);
        let count = |at: usize| small(text(at)).map(|value| value as u32);
        let done = |result: Result<()>| result.map(|()| Printed::new());
        match line.name {
            "mirroring_add" => {
                let port = Some(count(1)? as u16);
                done(set_session(target, count(0)?, port, None))
            }
            "mirroring_add_mc" => done(set_session(target, count(0)?, None, Some(count(1)?))),
            "mirroring_delete" => done(delete_session(target, count(0)?)),
            "mirroring_get" => {
                let session = target
                    .state()
                    .and_then(|state| state.session(count(0).ok()?));
                let session = session.ok_or(format!("there is no session {}", text(0)))?;
                Ok(vec![format!(
                    "port {:?}, group {:?}",
                    session.port, session.group
                )])
            }
            name if name.starts_with("mc_") => self.change_groups(target, line),
            "register_write" => {
                let value = integer(text(2))?;
                done(target.write(Update::SetRegister {
                    register: args[0].clone(),
                    index: Some(small(text(1))?),
                    value,
                }))
            }
            "register_read" => read_register(target, text(0), args.get(1)),
            "register_reset" => done(target.write(Update::SetRegister {
                register: args[0].clone(),
                index: None,
                value: BigUint::default(),
            })),
            "counter_read" => self.read_counter(target, text(0), text(1)),
            "counter_write" => {
                let (packets, bytes) = (small(text(2))?, small(text(3))?);
                self.write_counter(target, text(0), text(1), (packets, bytes))?;
                Ok(vec![format!("{}[{}] has been updated", text(0), text(1))])
            }
            "counter_reset" => done(self.reset_counter(target, text(0))),
            "meter_set_rates" => {
                let config = meter_config(&args[2..])?;
                done(self.set_meter(target, text(0), Some(text(1)), config))
            }
            "meter_array_set_rates" => {
                let config = meter_config(&args[1..])?;
                done(self.set_meter(target, text(0), None, config))
            }
            "meter_get_rates" => self.read_meter(target, text(0), text(1)),
            "set_queue_depth" | "set_queue_rate" => {
                let port = args.get(1).map(|port| small(port)).transpose()?;
                let priority = args.get(2).map(|priority| small(priority)).transpose()?;
                let value = small(text(0))?;
                let setting = match line.name {
                    "set_queue_depth" => QueueSetting::Depth(value),
                    _ => QueueSetting::Rate(value),
                };
                let (port, priority) = (port.map(|p| p as u16), priority.map(|p| p as u8));
                done(target.set_queue(port, priority, setting))
            }
            "set_crc16_parameters" => {
                done(target.set_crc(text(0), crc::parameters(16, &args[1..])?))
            }
            "set_crc32_parameters" => {
                done(target.set_crc(text(0), crc::parameters(32, &args[1..])?))
            }
            name if name.starts_with("table_") => self.change_table(target, line),
            name if name.starts_with("act_prof_") => self.change_profile(target, line),
            name if name.starts_with("pvs_") => self.change_set(target, line),
            "show_tables" => Ok(target
                .schema()
                .iter()
                .map(|table| table.name.clone())
                .collect()),
            // What is left shows the switch itself, of which a script has only one.
            _ => Ok(Printed::new()),
        }
    }

    fn change_groups(&mut self, target: &mut dyn Target, line: &Line) -> Result<Printed> {
        let args = &line.args;
        let count = |at: usize| small(args.get(at).map_or("", String::as_str)).map(|n| n as u32);
        let mut printed = Printed::new();
        let changed = match line.name {
            "mc_mgrp_create" => {
                self.groups.create(count(0)?);
                vec![count(0)?]
            }
            "mc_mgrp_destroy" => {
                self.groups.destroy(count(0)?);
                vec![count(0)?]
            }
            "mc_node_create" => {
                let handle = self.groups.create_node(count(0)? as u16, &args[1..])?;
                printed.push(format!("node was created with handle {handle}"));
                vec![]
            }
            "mc_node_update" => {
                let group = self.groups.update_node(count(0)?, &args[1..])?;
                group.into_iter().collect()
            }
            "mc_node_associate" => {
                self.groups.associate(count(0)?, count(1)?)?;
                vec![count(0)?]
            }
            "mc_node_dissociate" => {
                self.groups.dissociate(count(0)?, count(1)?)?;
                vec![count(0)?]
            }
            "mc_node_destroy" => self.groups.destroy_node(count(0)?)?.into_iter().collect(),
            "mc_set_lag_membership" => self.groups.set_lag(count(0)?.into(), &args[1..])?,
            _ => return Ok(self.groups.dump()),
        };
        for group in changed {
            let replicas = self.groups.replicas(group);
            target.write(Update::SetGroup { group, replicas })?;
        }
        Ok(printed)
    }

    /// The entry of a direct counter or meter, if the table is one's own.
    fn entry_of(&mut self, target: &dyn Target, table: &str, handle: &str) -> Result<EntryKey> {
        self.handles.entry(target, table, handle)
    }

    fn read_counter(&mut self, target: &dyn Target, name: &str, index: &str) -> Result<Printed> {
        let mut printed = Printed::new();
        let (packets, bytes) = match counted_table(target, name)? {
            Some(table) => {
                printed.push(format!("this is the direct counter for table {table}"));
                target.read_direct_counter(&self.entry_of(target, &table, index)?)?
            }
            None => target.read_counter(name, small(index)?)?,
        };
        printed.push(format!(
            "{name}[{index}]= ({bytes} bytes, {packets} packets)"
        ));
        Ok(printed)
    }

    fn write_counter(
        &mut self,
        target: &mut dyn Target,
        name: &str,
        index: &str,
        (packets, bytes): (u64, u64),
    ) -> Result<()> {
        match counted_table(target, name)? {
            Some(table) => {
                let key = self.entry_of(target, &table, index)?;
                target.write(Update::SetDirectCounter {
                    key,
                    packets,
                    bytes,
                })
            }
            None => target.write(Update::SetCounter {
                counter: name.to_string(),
                index: Some(small(index)?),
                packets,
                bytes,
            }),
        }
    }

    fn reset_counter(&mut self, target: &mut dyn Target, name: &str) -> Result<()> {
        let Some(table) = counted_table(target, name)? else {
            return target.write(Update::SetCounter {
                counter: name.to_string(),
                index: None,
                packets: 0,
                bytes: 0,
            });
        };
        for key in entries(target, &table)? {
            target.write(Update::SetDirectCounter {
                key,
                packets: 0,
                bytes: 0,
            })?;
        }
        Ok(())
    }

    fn set_meter(
        &mut self,
        target: &mut dyn Target,
        name: &str,
        index: Option<&str>,
        config: MeterConfig,
    ) -> Result<()> {
        let config = Some(config);
        let Some(table) = metered_table(target, name)? else {
            return target.write(Update::SetMeter {
                meter: name.to_string(),
                index: index.map(small).transpose()?,
                config,
            });
        };
        let keys = match index {
            Some(index) => vec![self.entry_of(target, &table, index)?],
            None => entries(target, &table)?,
        };
        keys.into_iter()
            .try_for_each(|key| target.write(Update::SetDirectMeter { key, config }))
    }

    fn read_meter(&mut self, target: &dyn Target, name: &str, index: &str) -> Result<Printed> {
        let state = target.state().ok_or("this switch has no meters")?;
        let config = match metered_table(target, name)? {
            Some(table) => {
                let key = self.entry_of(target, &table, index)?;
                state.direct_meter_config(&key)
            }
            None => state.meter_config(name, small(index)?),
        };
        let Some(config) = config.map_err(|error| error.to_string())? else {
            return Ok(Printed::new());
        };
        let rates = [
            (config.committed_rate, config.committed_burst),
            (config.peak_rate, config.peak_burst),
        ];
        let line = |(at, (rate, burst)): (usize, (u64, u64))| {
            let rate = rate as f64 / 1e6;
            format!("{at}: info rate = {rate}, burst size = {burst}")
        };
        Ok(rates.into_iter().enumerate().map(line).collect())
    }

    fn change_table(&mut self, target: &mut dyn Target, line: &Line) -> Result<Printed> {
        let args = &line.args;
        let table = find_table(target.schema(), &args[0])?.name.clone();
        self.handles.know(target, &table);
        let text = |at: usize| args.get(at).map_or("", String::as_str);
        let handle = |at: usize| small(text(at)).map(|value| value as u32);
        let mut printed = Printed::new();
        match line.name {
            "table_add" => {
                let (key, values) = entry_key(target, &table, &args[2..])?;
                priority_is_missing(target, &key, text(1), values, args)?;
                let leads = Leads::Action(action(target, text(1), values)?);
                printed.push(self.insert(target, key, leads)?);
            }
            "table_indirect_add" | "table_indirect_add_with_group" => {
                let (key, values) = entry_key(target, &table, &args[1..])?;
                let [member] = values else {
                    return Err("`=>` must be followed by one handle".to_string());
                };
                let member = small(member)? as u32;
                let leads = match line.name {
                    "table_indirect_add" => Leads::Member(member),
                    _ => Leads::Group(member),
                };
                printed.push(self.insert(target, key, leads)?);
            }
            "table_modify" => {
                let key = self.handles.entry(target, &table, text(2))?;
                let leads = Leads::Action(action(target, text(1), &args[3..])?);
                target.write(Update::Modify(Entry { key, target: leads }))?;
            }
            "table_delete" | "table_indirect_delete" => {
                let key = self.handles.entry(target, &table, text(1))?;
                target.write(Update::Delete(key.clone()))?;
                self.handles.remove(&key);
            }
            "table_clear" => {
                target.write(Update::Clear {
                    table: table.clone(),
                })?;
                self.handles.clear(&table);
            }
            "table_set_default" => {
                let action = Some(action(target, text(1), &args[2..])?);
                target.write(Update::SetDefault { table, action })?;
            }
            "table_reset_default" | "table_indirect_reset_default" => {
                let action = None;
                target.write(Update::SetDefault { table, action })?;
            }
            "table_indirect_set_default" => {
                let target_of_default = Leads::Member(handle(1)?);
                target.write(Update::SetDefaultTarget {
                    table,
                    target: target_of_default,
                })?;
            }
            "table_indirect_set_default_with_group" => {
                let target_of_default = Leads::Group(handle(1)?);
                target.write(Update::SetDefaultTarget {
                    table,
                    target: target_of_default,
                })?;
            }
            "table_set_timeout" => {
                let key = self.handles.entry(target, &table, text(1))?;
                let ttl = Some(small(text(2))?.saturating_mul(1_000_000_000));
                target.write(Update::SetIdleTimeout { key, ttl })?;
            }
            "table_num_entries" => printed.push(entries(target, &table)?.len().to_string()),
            _ => printed.extend(dump(target, &table)?),
        }
        Ok(printed)
    }

    fn insert(&mut self, target: &mut dyn Target, key: EntryKey, leads: Leads) -> Result<String> {
        target.write(Update::Insert(Entry {
            key: key.clone(),
            target: leads,
        }))?;
        let handle = self.handles.add(target, key);
        Ok(format!("Entry has been added with handle {handle}"))
    }

    fn change_profile(&mut self, target: &mut dyn Target, line: &Line) -> Result<Printed> {
        let args = &line.args;
        let text = |at: usize| args.get(at).map_or("", String::as_str);
        let handle = |at: usize| small(text(at)).map(|value| value as u32);
        let profiles = &mut self.profiles;
        let mut printed = Printed::new();
        match line.name {
            "act_prof_create_member" => {
                let action = action(target, text(1), &args[2..])?;
                let member = profiles.create_member(target, text(0), action)?;
                printed.push(format!("Member has been created with handle {member}"));
            }
            "act_prof_modify_member" => {
                let action = action(target, text(1), &args[3..])?;
                profiles.modify_member(target, text(0), handle(2)?, action)?;
            }
            "act_prof_delete_member" => profiles.delete_member(target, text(0), handle(1)?)?,
            "act_prof_create_group" => {
                let group = profiles.create_group(target, text(0))?;
                printed.push(format!("Group has been created with handle {group}"));
            }
            "act_prof_delete_group" => profiles.delete_group(target, text(0), handle(1)?)?,
            "act_prof_add_member_to_group" => {
                profiles.change_group(target, text(0), (handle(1)?, handle(2)?), true)?;
            }
            "act_prof_remove_member_from_group" => {
                profiles.change_group(target, text(0), (handle(1)?, handle(2)?), false)?;
            }
            _ => printed.extend(profiles.dump(target, text(0))?),
        }
        Ok(printed)
    }

    fn change_set(&mut self, target: &mut dyn Target, line: &Line) -> Result<Printed> {
        let state = target.state().ok_or("this switch has no value sets")?;
        let sets = &state.program().value_sets;
        let names = sets.iter().map(|set| &*set.name);
        let set = &sets[crate::resolve::find("value set", &line.args[0], names)?];
        let name = set.name.to_string();
        let widths: Vec<u32> = set.fields.iter().map(|field| field.place.width).collect();
        let kinds: Vec<bool> = set
            .fields
            .iter()
            .map(|f| &*f.match_kind == "exact")
            .collect();
        let width: u32 = widths.iter().sum();
        let mut members = self.sets.get(&name).cloned().unwrap_or_default();
        let bytes = bytes_in_set(width, target.bmv2_compat());
        match line.name {
            "pvs_add" | "pvs_remove" => {
                let value = number(&line.args[1], width)?;
                if value.bits() > u64::from(width) {
                    return Err(format!("{} does not fit {width} bits", line.args[1]));
                }
                members.retain(|member| *member != value);
                if line.name == "pvs_add" {
                    members.push(value);
                }
            }
            "pvs_clear" => members.clear(),
            _ => {
                let digits = bytes * 2;
                let lines = members.iter().map(|value| format!("{value:0digits$x}"));
                return Ok(lines.collect());
            }
        }
        // With more bytes than the field has, nothing ever matches.
        let effective = match bytes == width.div_ceil(8) as usize {
            true => members
                .iter()
                .map(|value| fields(value, &widths, &kinds))
                .collect(),
            false => Vec::new(),
        };
        target.write(Update::SetValueSet {
            set: name.clone(),
            members: effective,
        })?;
        self.sets.insert(name, members);
        Ok(Printed::new())
    }
}

/// Bytes that the command line sends for a member of a value set. simple_switch_CLI divides the
/// bits by eight without rounding, and so sends one byte too many unless a field has 8n+1 bits.
fn bytes_in_set(width: u32, bmv2_compat: bool) -> usize {
    let exact = width.div_ceil(8) as usize;
    exact + usize::from(bmv2_compat && width % 8 != 1)
}

/// A member's fields, the first one uppermost.
fn fields(value: &BigUint, widths: &[u32], exact: &[bool]) -> Vec<Match> {
    let mut below: u32 = widths.iter().sum();
    let field = |(width, exact): (&u32, &bool)| {
        below -= width;
        let key = KeySchema {
            name: String::new(),
            kind: MatchKind::Exact,
            width: *width,
        };
        let value = (value >> below) & ((BigUint::from(1u8) << *width) - 1u8);
        match exact {
            true => matched(&key, &value.to_string()).unwrap_or(Match::Any),
            false => Match::Ternary {
                value,
                mask: (BigUint::from(1u8) << *width) - 1u8,
            },
        }
    };
    widths.iter().zip(exact).map(field).collect()
}

fn set_session(
    target: &mut dyn Target,
    session: u32,
    port: Option<u16>,
    group: Option<u32>,
) -> Result<()> {
    let to = Some(CloneSession {
        group,
        port,
        truncate: None,
    });
    target.write(Update::SetSession { session, to })
}

fn delete_session(target: &mut dyn Target, session: u32) -> Result<()> {
    let unknown = |state: &p4_state::State| state.session(session).is_none();
    if target.state().is_some_and(unknown) {
        return Err(format!("there is no clone session {session}"));
    }
    target.write(Update::SetSession { session, to: None })
}

fn read_register(target: &dyn Target, name: &str, index: Option<&String>) -> Result<Printed> {
    if let Some(index) = index {
        let value = target.read_register(name, small(index)?)?;
        return Ok(vec![format!("{name}[{index}]= {value}")]);
    }
    let state = target.state().ok_or("give an index")?;
    let size = state
        .register_size(name)
        .map_err(|error| error.to_string())?;
    let cells = (0..size.min(MAX_PRINTED)).map(|index| target.read_register(name, index));
    let cells: Result<Vec<_>> = cells.map(|cell| cell.map(|v| v.to_string())).collect();
    Ok(vec![format!("{name}= {}", cells?.join(", "))])
}

/// Cells of an array that are printed.
const MAX_PRINTED: u64 = 65_536;

fn counted_table(target: &dyn Target, counter: &str) -> Result<Option<String>> {
    match target.state() {
        Some(state) => state
            .direct_counter_table(counter)
            .map_err(|error| error.to_string()),
        None => Ok(None),
    }
}

fn metered_table(target: &dyn Target, meter: &str) -> Result<Option<String>> {
    match target.state() {
        Some(state) => state
            .direct_meter_table(meter)
            .map_err(|error| error.to_string()),
        None => Ok(None),
    }
}

fn entries(target: &dyn Target, table: &str) -> Result<Vec<EntryKey>> {
    let state = target.state().ok_or("this switch shows no entries")?;
    let views = state.entries(table).map_err(|error| error.to_string())?;
    let key = |view: p4_state::EntryView| EntryKey {
        table: table.to_string(),
        matches: view.matches,
        priority: view.priority,
    };
    Ok(views.into_iter().map(key).collect())
}

/// A line per entry, and one for the default.
fn dump(target: &dyn Target, table: &str) -> Result<Printed> {
    let state = target.state().ok_or("this switch shows no entries")?;
    let views = state.entries(table).map_err(|error| error.to_string())?;
    let mut lines: Printed = views
        .iter()
        .map(|view| {
            let matches: Vec<_> = view
                .matches
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!("{}: {} -> {}", view.handle, matches.join(", "), view.target)
        })
        .collect();
    let default = state
        .default_action(table)
        .map_err(|error| error.to_string())?;
    lines.push(format!("default: {default}"));
    Ok(lines)
}

/// `RATE:BURST RATE:BURST`, the committed ones first; rates in units per microsecond.
fn meter_config(args: &[String]) -> Result<MeterConfig> {
    let pair = |at: usize| {
        let text = args.get(at).map_or("", String::as_str);
        let wrong = || format!("`{text}` is no RATE:BURST, such as 0.5:100");
        let (rate, burst) = text.split_once(':').ok_or_else(wrong)?;
        let rate: f64 = rate.parse().map_err(|_| wrong())?;
        if !rate.is_finite() || rate < 0.0 {
            return Err(wrong());
        }
        Ok(((rate * 1e6).round() as u64, small(burst)?))
    };
    let ((committed_rate, committed_burst), (peak_rate, peak_burst)) = (pair(0)?, pair(1)?);
    Ok(MeterConfig {
        committed_rate,
        committed_burst,
        peak_rate,
        peak_burst,
    })
}
