//! Hashes: which slices of their fields they are of, by which algorithm, and what they come to.

use super::rows::{checked, untouched};
use super::{Chip, Row, RowKey};
use crate::messages::{
    Container, ContainerArray, DataField, DataValue, KeyValue, TableData, TableEntry,
};
use crate::schema::fields::{
    HASH_EXTEND, HASH_LENGTH, HASH_ORDER, HASH_ROTATE, HASH_SEED, HASH_START_BIT,
    HASH_USER_DEFINED, HASH_VALUE,
};
use crate::schema::hashes::{
    CRCS, FINAL_XOR, IDENTITY, INITIAL, NAME, POLYNOMIAL, REVERSE, WIDTH, XOR,
};
use crate::schema::{Data, Field, FieldType, Kind, Schema, Table};
use crate::server::{key_of, values, ALL_PIPES};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::tna::{HashAlgorithm, HashChange, HashSlice, Switch};
use p4_runtime::{Code, Refusal};
use std::collections::BTreeMap;

/// A slice of a field as a client names it: bits count from the lowest one. Those of order 0, or
/// without a bit, are not hashed.
#[derive(Clone, Copy)]
struct Slice {
    start: u64,
    length: u64,
    order: u64,
}

fn uint(id: u32, value: u64) -> DataField {
    DataField {
        field_id: id,
        value: Some(DataValue::Stream(values::bytes(&BigUint::from(value), 64))),
    }
}

fn number(value: &DataValue) -> u64 {
    match value {
        DataValue::Stream(bytes) => BigUint::from_bytes_be(bytes).to_u64().unwrap_or(u64::MAX),
        _ => 0,
    }
}

/// Whole, and with this order: what a field is while nobody says anything.
pub fn whole(parts: &[Data], order: u64) -> DataValue {
    let fields = parts.iter().flat_map(|part| &part.one_of);
    let val = fields.map(|part| match part.id {
        HASH_ORDER => uint(part.id, order),
        _ => DataField {
            field_id: part.id,
            value: Some(untouched(part)),
        },
    });
    DataValue::Containers(ContainerArray {
        container: vec![Container { val: val.collect() }],
    })
}

/// A slice with all that a client leaves out, but its order, which has no default.
pub fn container(table: &Table, parts: &[Data], given: &Container) -> Result<Container, Refusal> {
    let known = |id: u32| {
        parts
            .iter()
            .any(|part| part.one_of.iter().any(|own| own.id == id))
    };
    if let Some(odd) = given.val.iter().find(|own| !known(own.field_id)) {
        let message = format!("{} has no data field {}", table.name, odd.field_id);
        return Err(Refusal::invalid(message));
    }
    let part = |part: &Data, field: &Field| {
        let mut own = given.val.iter().filter(|own| own.field_id == field.id);
        let value = match own.next().and_then(|own| own.value.as_ref()) {
            Some(value) => checked(table, field, value)?,
            None if part.mandatory => {
                let message = format!("{}: a slice needs {}", table.name, field.name);
                return Err(Refusal::invalid(message));
            }
            None => untouched(field),
        };
        Ok(DataField {
            field_id: field.id,
            value: Some(value),
        })
    };
    let pairs = parts
        .iter()
        .flat_map(|own| own.one_of.iter().map(move |field| (own, field)));
    let val = pairs.map(|(own, field)| part(own, field));
    Ok(Container {
        val: val.collect::<Result<_, _>>()?,
    })
}

/// What a client's row comes to: fields that it does not name are not hashed; naming none brings the
/// program's way back.
pub fn replaced(table: &Table, mut row: Row) -> Option<Row> {
    if table.kind == Kind::DynHashConfigure {
        if row.fields.is_empty() {
            return None;
        }
        for (field, parts) in configured(table) {
            let absent = || whole(parts, 0);
            row.fields.entry(field.id).or_insert_with(absent);
        }
    }
    Some(row)
}

/// The fields of a hash.
fn configured(table: &Table) -> impl Iterator<Item = (&Field, &[Data])> {
    let fields = table.data.iter().flat_map(|data| &data.one_of);
    fields.filter_map(|field| match &field.field_type {
        FieldType::Container(parts) => Some((field, parts.as_slice())),
        _ => None,
    })
}

/// Bits of a field
fn width(parts: &[Data]) -> u64 {
    let fields = parts.iter().flat_map(|part| &part.one_of);
    let mut length = fields.filter(|own| own.id == HASH_LENGTH);
    length.next().map_or(0, |own| number(&untouched(own)))
}

/// The slices of a field that are hashed. One that begins within its field ends there.
fn slices(row: &Row, field: &Field, width: u64) -> Vec<Slice> {
    let Some(DataValue::Containers(list)) = row.fields.get(&field.id) else {
        return Vec::new();
    };
    let slice = |own: &Container| {
        let value = |id: u32| {
            let mut fields = own.val.iter().filter(|own| own.field_id == id);
            fields
                .next()
                .and_then(|own| own.value.as_ref())
                .map_or(0, number)
        };
        let start = value(HASH_START_BIT);
        Slice {
            start,
            length: value(HASH_LENGTH).min(width.saturating_sub(start)),
            order: value(HASH_ORDER),
        }
    };
    let slices = list.container.iter().map(slice);
    slices.filter(|own| own.order > 0).collect()
}

/// What the drivers refuse: slices that lie outside of their field or on each other, and more than
/// two, or two of different lengths, for one place in the order.
pub fn check(table: &Table, row: Option<&Row>) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Refusal::invalid(format!("{}: {what}", table.name)));
    let Some(row) = row else { return Ok(()) };
    if table.kind == Kind::DynHashAlgorithm {
        return check_algorithm(table, row);
    }
    let mut orders: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (field, parts) in configured(table) {
        let width = width(parts);
        let mut own = slices(row, field, width);
        own.sort_by_key(|own| own.start);
        if own.iter().any(|own| own.start >= width) {
            return wrong(&format!("{} has {width} bits", field.name));
        }
        if own
            .windows(2)
            .any(|two| two[0].start + two[0].length > two[1].start)
        {
            return wrong(&format!("slices of {} overlap", field.name));
        }
        for slice in own {
            orders.entry(slice.order).or_default().push(slice.length);
        }
    }
    for (order, lengths) in orders {
        if lengths.len() > 2 || lengths.iter().any(|own| *own != lengths[0]) {
            return wrong(&format!(
                "{order} is the order of {} slices; two of the same length may share one",
                lengths.len()
            ));
        }
    }
    Ok(())
}

fn check_algorithm(table: &Table, row: &Row) -> Result<(), Refusal> {
    let seed = row.number(HASH_SEED).unwrap_or(0);
    if seed != 0 {
        let message = format!("{}: hashes have no seeds here", table.name);
        return Err(Refusal::new(Code::Unimplemented, message));
    }
    let Some(HashAlgorithm::Crc {
        width,
        polynomial,
        initial,
        xor,
        ..
    }) = algorithm(row, 64)
    else {
        return Ok(());
    };
    let fits = |value: u64| width == 64 || value >> width.min(63) == 0;
    let is_whole = (1..=64).contains(&width) && polynomial & 1 == 1;
    match is_whole && fits(initial) && fits(xor) {
        true => Ok(()),
        false => Err(Refusal::invalid(format!(
            "{}: a CRC has 1 to 64 bits, an odd polynomial, and other values that fit",
            table.name
        ))),
    }
}

/// The algorithm that a row names; `None`: the program's. A CRC without a width has that of the result.
fn algorithm(row: &Row, result: u64) -> Option<HashAlgorithm> {
    if row.action == HASH_USER_DEFINED {
        let value = |id| row.number(id).unwrap_or(0);
        let width = row.number(WIDTH).unwrap_or(result);
        return Some(HashAlgorithm::Crc {
            width: u32::try_from(width).unwrap_or(u32::MAX),
            polynomial: value(POLYNOMIAL),
            initial: value(INITIAL),
            xor: value(FINAL_XOR),
            reflected: row.flag(REVERSE),
        });
    }
    match row.text(NAME)? {
        IDENTITY => Some(HashAlgorithm::Identity),
        XOR => Some(HashAlgorithm::Xor),
        name => {
            let own = CRCS.iter().find(|own| own.0 == name)?;
            let (width, polynomial, reflected, initial, xor) = own.1;
            Some(HashAlgorithm::Crc {
                width,
                polynomial,
                initial,
                xor,
                reflected,
            })
        }
    }
}

/// The name of a hash with its pipeline, and as the program has it.
fn names(table: &Table) -> (&str, &str) {
    let without = |name| match str::rsplit_once(name, '.') {
        Some((own, _)) => own,
        None => name,
    };
    (without(&table.name), without(table.source()))
}

/// Puts what clients have set of a hash into the switch; the schema has its name from there.
pub fn change(switch: &mut Switch, chip: &Chip, schema: &Schema, table: &Table) {
    let (full, source) = names(table);
    let key = RowKey {
        pipe: ALL_PIPES,
        parts: Vec::new(),
    };
    let of = |part: &str| {
        let table = schema.table_named(&format!("{full}.{part}"))?;
        Some((table, chip.row(table.id, &key)?))
    };
    let (settings, fields) = (of("algorithm"), of("configure"));
    let change = (settings.is_some() || fields.is_some()).then(|| HashChange {
        slices: fields.map(|(table, row)| positions(table, row)),
        algorithm: settings.and_then(|(_, row)| algorithm(row, result(schema, full))),
        width: result(schema, full) as u32,
        extend: settings.is_some_and(|(_, row)| row.flag(HASH_EXTEND)),
        rotate: settings.map_or(0, |(_, row)| row.number(HASH_ROTATE).unwrap_or(0) as u32),
    });
    let done = switch.change_hash(source, change);
    debug_assert!(done.is_ok(), "{done:?}");
}

/// Bits of a hash that the program takes
fn result(schema: &Schema, full: &str) -> u64 {
    let table = schema.table_named(&format!("{full}.compute"));
    let field = table.and_then(|table| table.field(0, HASH_VALUE));
    field.map_or(64, |own| own.field_type.width())
}

/// The slices of all fields, these joined.
fn positions(table: &Table, row: &Row) -> Vec<HashSlice> {
    let (mut out, mut before) = (Vec::new(), 0);
    for (field, parts) in configured(table) {
        let width = width(parts);
        for own in slices(row, field, width) {
            out.push(HashSlice {
                start: (before + width - own.start - own.length) as usize,
                length: own.length as usize,
                order: own.order,
            });
        }
        before += width;
    }
    out
}

/// What the fields of a client's key hash to.
pub fn computed(
    switch: &Switch,
    schema: &Schema,
    table: &Table,
    asked: &TableEntry,
) -> Result<TableEntry, Refusal> {
    let (full, source) = names(table);
    let Some(key) = key_of(asked) else {
        let message = format!("{} needs a key", table.name);
        return Err(Refusal::invalid(message));
    };
    let configure = schema.table_named(&format!("{full}.configure"));
    let (mut joined, mut bits) = (BigUint::ZERO, 0);
    for (field, parts) in configure.iter().flat_map(|own| configured(own)) {
        let own = table.key.iter().find(|own| own.name == field.name);
        let mut given = key
            .fields
            .iter()
            .filter(|own_key| own.is_some_and(|own| own.id == own_key.field_id));
        let width = width(parts);
        let value = match (own, given.next().and_then(|own| own.value.as_ref())) {
            (Some(own), Some(KeyValue::Exact(value))) => {
                values::number(&value.value, width, &own.name)?
            }
            (Some(_), _) => BigUint::ZERO,
            // A constant's name ends with its value.
            (None, _) => field
                .name
                .rsplit('_')
                .next()
                .and_then(|own| own.parse().ok())
                .unwrap_or_default(),
        };
        joined = joined << width | value;
        bits += width;
    }
    let data = values::bytes(&(joined << (bits.div_ceil(8) * 8 - bits)), bits);
    let value = switch.hash_of(source, &data, bits as usize);
    let value = value.map_err(|error| Refusal::new(Code::NotFound, error.to_string()))?;
    let value = value & (u64::MAX >> (64 - result(schema, full).clamp(1, 64)));
    let field = table.field(0, HASH_VALUE);
    let fields = field.map(|own| values::field(own.id, &own.field_type, &BigUint::from(value)));
    Ok(TableEntry {
        table_id: table.id,
        name: asked.name.clone(),
        data: Some(TableData {
            action_id: 0,
            fields: fields.into_iter().collect(),
        }),
        ..TableEntry::default()
    })
}
