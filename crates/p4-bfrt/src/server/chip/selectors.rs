//! Groups of members of an action profile, some of them out of use.

use super::rows::{index_of, parts};
use super::{Chip, Row, RowKey};
use crate::messages::{TableData, TableEntry};
use crate::schema::fields::{ACTION_MEMBER_ID, GET_MEMBER_ID, MAX_GROUP_SIZE, MEMBER_STATUS};
use crate::schema::{FieldType, Kind, Table};
use crate::server::{key_of, values, Scope, ALL_PIPES};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use p4_state::Update;

/// The group that the program's selector gets: the members that are in use. One to which entries lead
/// keeps at least one of them.
pub fn follow(table: &Table, key: &RowKey, row: Option<&Row>) -> Vec<Update> {
    if table.kind != Kind::Selector {
        return Vec::new();
    }
    let (profile, group) = (table.source().to_string(), index_of(key) as u32);
    let members = row.map(active);
    let is_empty = members.as_ref().is_none_or(Vec::is_empty);
    let unused = is_empty.then(|| Update::FindUnused {
        profile: profile.clone(),
        group,
    });
    let set = Update::SetMemberGroup {
        profile,
        group,
        members,
    };
    unused.into_iter().chain([set]).collect()
}

/// Pipes have groups of their own only if a table that uses them is divided.
pub fn check_target(chip: &Chip, scope: Scope<'_>, table: &Table) -> Result<(), Refusal> {
    let users = scope.schema.tables.iter();
    let mut users = users.filter(|user| user.depends_on.contains(&table.id));
    let is_divided = |user: &Table| chip.scope_of(user, ALL_PIPES).is_none();
    if scope.pipe == ALL_PIPES || is_divided(table) || users.any(is_divided) {
        return Ok(());
    }
    let message = format!("{}: all pipes share its groups; name all pipes", table.name);
    Err(Refusal::invalid(message))
}

/// No group is larger than the program lets the largest be.
pub fn check(table: &Table, row: Option<&Row>) -> Result<(), Refusal> {
    let mut fields = table.data.iter().flat_map(|data| &data.one_of);
    let field = fields.find(|own| own.id == MAX_GROUP_SIZE);
    let Some(FieldType::Uint {
        default: Some(most),
        ..
    }) = field.map(|own| &own.field_type)
    else {
        return Ok(());
    };
    let size = row.and_then(|row| row.number(MAX_GROUP_SIZE)).unwrap_or(0);
    match size > *most {
        true => {
            let message = format!("{}: a group has at most {most} members", table.name);
            Err(Refusal::invalid(message))
        }
        false => Ok(()),
    }
}

/// Members without a status are in use.
fn active(row: &Row) -> Vec<u32> {
    let status = row.flags(MEMBER_STATUS);
    let members = row.numbers(ACTION_MEMBER_ID).iter().enumerate();
    members
        .filter(|(at, _)| status.get(*at).copied().unwrap_or(true))
        .map(|(_, member)| *member)
        .collect()
}

/// The member that a hash picks in a group, while no packet has taken one out.
pub fn member_for(
    switch: &Switch,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<TableEntry, Refusal> {
    let Some(key) = key_of(asked) else {
        let message = format!("{} needs a key", table.name);
        return Err(Refusal::invalid(message));
    };
    let parts = parts(table, key)?;
    let number = |at: usize| BigUint::from_bytes_be(&parts[at].0).to_u64().unwrap_or(0);
    let (group, hash) = (number(0), number(1));
    let selector = table
        .depends_on
        .iter()
        .find_map(|id| scope.schema.table(*id));
    let groups = match selector {
        Some(selector) => switch.state().member_groups(selector.source())?,
        None => Vec::new(),
    };
    let found = groups.into_iter().find(|(id, _)| u64::from(*id) == group);
    let members = found.map_or(Vec::new(), |(_, members)| members);
    let Some(place) = hash.checked_rem(members.len() as u64) else {
        let message = format!("{}: group {group} has no members", table.name);
        return Err(Refusal::new(Code::NotFound, message));
    };
    let member = BigUint::from(members[place as usize]);
    Ok(TableEntry {
        table_id: table.id,
        name: asked.name.clone(),
        data: Some(TableData {
            action_id: 0,
            fields: vec![values::field(GET_MEMBER_ID, &FieldType::uint(64), &member)],
        }),
        ..TableEntry::default()
    })
}
