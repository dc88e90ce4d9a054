//! Lines of bmv2's command line, `simple_switch_CLI`, as scripts use them.
//!
//! [`read`] splits a line and checks what can be checked without a program; [`Cli`] carries lines
//! out. The command line names entries, members, groups and nodes by handles, numbers that bmv2
//! gives out in its own way, so [`Cli`] gives them out in the same way.

mod crc;
mod groups;
mod profiles;
mod run;
mod tables;
mod values;

use crate::cursor::{Cursor, Result};
pub use run::{Cli, Printed};

/// A line of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub name: &'static str,
    pub args: Vec<String>,
}

/// What stands at one place of a command; the words are those of the usage texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    /// A number up to a largest one, and what messages call it
    Number(&'static str, u64),
}

const MAX_PORT: u64 = 511;
const MAX_U32: u64 = u32::MAX as u64;

fn kind(word: &str) -> Kind {
    match word {
        "INDEX" => Kind::Number("an index", MAX_U32),
        "PORT" => Kind::Number("a port", MAX_PORT),
        "SESSION" => Kind::Number("a session number", MAX_U32),
        "GROUP" => Kind::Number("a group number", MAX_U32),
        "NODE" => Kind::Number("a node number", MAX_U32),
        "RID" => Kind::Number("a replication id", 65_535),
        "HANDLE" => Kind::Number("an entry's handle", u64::MAX),
        "MEMBER" => Kind::Number("a member's handle", MAX_U32),
        "PACKETS" => Kind::Number("a number of packets", u64::MAX),
        "BYTES" => Kind::Number("a number of bytes", u64::MAX),
        "RATE" => Kind::Number("a rate in packets per second", u64::MAX),
        "PRIORITY" => Kind::Number("a priority", 7),
        "MILLISECONDS" => Kind::Number("a time in milliseconds", MAX_U32),
        _ => Kind::Text,
    }
}

/// Every command with what follows it. `[X]` may be left out, `X...` may come any number of times.
pub const COMMANDS: &[(&str, &str)] = &[
    ("mirroring_add", "SESSION PORT"),
    ("mirroring_add_mc", "SESSION GROUP"),
    ("mirroring_delete", "SESSION"),
    ("mirroring_get", "SESSION"),
    ("mc_mgrp_create", "GROUP"),
    ("mc_mgrp_destroy", "GROUP"),
    ("mc_node_create", "RID PORTS..."),
    ("mc_node_update", "NODE PORTS..."),
    ("mc_node_associate", "GROUP NODE"),
    ("mc_node_dissociate", "GROUP NODE"),
    ("mc_node_destroy", "NODE"),
    ("mc_set_lag_membership", "INDEX PORT..."),
    ("mc_dump", ""),
    ("register_write", "REGISTER INDEX VALUE"),
    ("register_read", "REGISTER [INDEX]"),
    ("register_reset", "REGISTER"),
    ("counter_read", "COUNTER INDEX"),
    ("counter_write", "COUNTER INDEX PACKETS BYTES"),
    ("counter_reset", "COUNTER"),
    ("meter_set_rates", "METER INDEX RATE:BURST RATE:BURST"),
    ("meter_array_set_rates", "METER RATE:BURST RATE:BURST"),
    ("meter_get_rates", "METER INDEX"),
    ("set_queue_depth", "PACKETS [PORT] [PRIORITY]"),
    ("set_queue_rate", "RATE [PORT] [PRIORITY]"),
    (
        "set_crc16_parameters",
        "NAME POLYNOMIAL INITIAL XOR REFLECT_DATA REFLECT_REMAINDER",
    ),
    (
        "set_crc32_parameters",
        "NAME POLYNOMIAL INITIAL XOR REFLECT_DATA REFLECT_REMAINDER",
    ),
    ("table_add", "TABLE ACTION KEYS..."),
    ("table_modify", "TABLE ACTION HANDLE ARGUMENTS..."),
    ("table_delete", "TABLE HANDLE"),
    ("table_clear", "TABLE"),
    ("table_set_default", "TABLE ACTION ARGUMENTS..."),
    ("table_reset_default", "TABLE"),
    ("table_set_timeout", "TABLE HANDLE MILLISECONDS"),
    ("table_num_entries", "TABLE"),
    ("table_dump", "TABLE"),
    ("table_dump_entry", "TABLE HANDLE"),
    ("table_dump_entry_from_key", "TABLE KEYS..."),
    ("table_info", "TABLE"),
    ("table_show_actions", "TABLE"),
    ("table_indirect_add", "TABLE KEYS..."),
    ("table_indirect_add_with_group", "TABLE KEYS..."),
    ("table_indirect_delete", "TABLE HANDLE"),
    ("table_indirect_set_default", "TABLE MEMBER"),
    ("table_indirect_set_default_with_group", "TABLE GROUP"),
    ("table_indirect_reset_default", "TABLE"),
    ("act_prof_create_member", "PROFILE ACTION ARGUMENTS..."),
    (
        "act_prof_modify_member",
        "PROFILE ACTION MEMBER ARGUMENTS...",
    ),
    ("act_prof_delete_member", "PROFILE MEMBER"),
    ("act_prof_create_group", "PROFILE"),
    ("act_prof_delete_group", "PROFILE GROUP"),
    ("act_prof_add_member_to_group", "PROFILE MEMBER GROUP"),
    ("act_prof_remove_member_from_group", "PROFILE MEMBER GROUP"),
    ("act_prof_dump", "PROFILE"),
    ("act_prof_dump_member", "PROFILE MEMBER"),
    ("act_prof_dump_group", "PROFILE GROUP"),
    ("pvs_add", "SET VALUE"),
    ("pvs_remove", "SET VALUE"),
    ("pvs_clear", "SET"),
    ("pvs_get", "SET"),
    ("show_tables", ""),
    ("show_actions", ""),
    ("show_ports", ""),
    ("show_pvs", ""),
    ("switch_info", ""),
    ("get_time_elapsed", ""),
    ("get_time_since_epoch", ""),
];

/// What p4c's runner hands to the command line.
pub const PREFIXES: &[&str] = &["mirroring_", "mc_", "register_", "counter_", "meter_"];

/// The rest of a line whose first word was `word`, if that is a command.
pub fn read(word: &str, line: &mut Cursor) -> Option<Result<Line>> {
    let (name, usage) = COMMANDS.iter().find(|(name, _)| *name == word)?;
    Some(arguments(name, usage, line))
}

/// How a command is written.
pub fn usage(name: &str) -> Option<String> {
    let (name, usage) = COMMANDS.iter().find(|(known, _)| *known == name)?;
    let text = usage.replace("KEYS...", "KEY... => VALUE... [PRIORITY]");
    Some(format!("{name} {text}").trim_end().to_string())
}

fn arguments(name: &'static str, usage: &str, line: &mut Cursor) -> Result<Line> {
    let remedy = format!("write: {}", self::usage(name).unwrap_or_default());
    let mut args = Vec::new();
    for word in usage.split_whitespace() {
        let optional = word.strip_prefix('[').and_then(|w| w.strip_suffix(']'));
        let many = word.strip_suffix("...");
        let what = optional.or(many).unwrap_or(word);
        if many.is_some() {
            while !line.at_end() {
                args.push(argument(what, line, &remedy)?);
            }
        } else if optional.is_none() || !line.at_end() {
            args.push(argument(what, line, &remedy)?);
        }
    }
    line.finish(&remedy)?;
    Ok(Line { name, args })
}

fn argument(what: &str, line: &mut Cursor, remedy: &str) -> Result<String> {
    match kind(what) {
        Kind::Number(called, max) => Ok(line.small::<u64>(called, max, remedy)?.to_string()),
        Kind::Text if line.at_end() => {
            let wanted = what.to_lowercase().replace('_', " ");
            Err(line.error(format!("expected a {wanted}, but the line ends"), remedy))
        }
        Kind::Text => Ok(line.word()),
    }
}
