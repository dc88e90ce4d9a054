//! Rows as clients write and read them, whatever they mean.

use super::{generator, hashes, ports, selectors, value_sets, Chip, Row, RowKey};
use crate::messages::{
    BoolArray, ContainerArray, DataField, DataValue, EntryName, Exact, IntArray,
    KeyField as WireKey, KeyValue, Range, TableData, TableEntry, TableKey, Ternary, TextArray,
    UpdateType,
};
use crate::schema::fields::{LPF_SPEC, WRED_SPEC};
use crate::schema::{Field, FieldType, Kind, Match, Table};
use crate::server::{key_of, no_entry, values, Scope, ALL_PIPES, PIPES};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use p4_arch::tna::Switch;
use p4_runtime::{Code, Refusal};
use p4_state::Update;

/// Thresholds of early detection, which nothing reaches until they are set.
const UNREACHED: [u32; 2] = [WRED_SPEC + 1, WRED_SPEC + 2];
const NEVER: u32 = 0xff00_0000;

/// Which rows a table has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Those that clients have put there
    Written,
    /// One for each number from 0 on
    Numbers,
    /// The same, but one that is not there yet can be modified, too
    Settable,
    /// One for each port
    Ports,
    /// One, which is its default entry
    One,
    /// Whatever key a client names
    Any,
}

fn extent(kind: Kind) -> Extent {
    match kind {
        Kind::PreLag | Kind::PrePrune | Kind::Lpf | Kind::Wred | Kind::PktgenAppCfg => {
            Extent::Numbers
        }
        Kind::PrePort | Kind::PktgenPortCfg | Kind::PortStat => Extent::Ports,
        Kind::PortMetadata => Extent::Settable,
        Kind::DevConfigure
        | Kind::RegisterParam
        | Kind::DynHashAlgorithm
        | Kind::DynHashConfigure => Extent::One,
        Kind::PktgenPktBuffer => Extent::Any,
        _ => Extent::Written,
    }
}

/// Whether every pipe has rows of its own.
fn by_pipe(kind: Kind) -> bool {
    matches!(kind, Kind::PktgenAppCfg | Kind::PktgenPktBuffer)
}

/// Tables whose key is a port.
fn is_port(kind: Kind) -> bool {
    matches!(kind, Kind::PortConfigure | Kind::PortMetadata)
}

/// Tables whose rows are set as a whole.
fn is_whole(kind: Kind) -> bool {
    matches!(kind, Kind::DynHashAlgorithm | Kind::DynHashConfigure)
}

/// Tables that only tell.
fn is_fact(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::PortHdlInfo
            | Kind::PortFpIdxInfo
            | Kind::PortStrInfo
            | Kind::SelectorGetMember
            | Kind::DynHashCompute
            | Kind::TblDbgCnt
    )
}

/// The pipes whose rows a request means.
fn pipes(kind: Kind, pipe: u32) -> Vec<u32> {
    match (by_pipe(kind), pipe) {
        // Which pipes have a value is the client's to say; parsers here share all values.
        _ if kind == Kind::ParserValueSet => vec![pipe],
        (false, _) => vec![ALL_PIPES],
        (true, ALL_PIPES) => (0..PIPES).collect(),
        (true, pipe) => vec![pipe],
    }
}

/// The number that is a whole key.
pub fn index_of(key: &RowKey) -> u64 {
    let first = key.parts.first();
    let number = first.map(|(bytes, _)| BigUint::from_bytes_be(bytes));
    number.and_then(|own| own.to_u64()).unwrap_or(0)
}

/// Which row a client means.
pub(super) fn parts(table: &Table, given: &TableKey) -> Result<super::Parts, Refusal> {
    let parts = table.key.iter().map(|field| {
        let mut own = given.fields.iter().filter(|own| own.field_id == field.id);
        let value = own.next().and_then(|own| own.value.as_ref());
        let width = values::width(&field.field_type);
        let bytes = |bytes: &[u8]| -> Result<Vec<u8>, Refusal> {
            match &field.field_type {
                FieldType::Text { .. } => Ok(bytes.to_vec()),
                _ => {
                    let number = values::number(bytes, width, &field.name)?;
                    Ok(values::bytes(&number, width))
                }
            }
        };
        match (field.match_type, value) {
            (Match::Exact, Some(KeyValue::Exact(own))) => Ok((bytes(&own.value)?, Vec::new())),
            (Match::Ternary, Some(KeyValue::Ternary(own))) => {
                let (value, mask) = (bytes(&own.value)?, bytes(&own.mask)?);
                let value = value.iter().zip(&mask).map(|(value, mask)| value & mask);
                Ok((value.collect(), mask))
            }
            (Match::Range, Some(KeyValue::Range(own))) => Ok((bytes(&own.low)?, bytes(&own.high)?)),
            (_, Some(_)) => {
                let (name, kind) = (&field.name, field.match_type.name());
                let message = format!("{}: {name} is a key of type {kind}", table.name);
                Err(Refusal::invalid(message))
            }
            (_, None) => {
                let message = format!("{} needs the key {}", table.name, field.name);
                Err(Refusal::invalid(message))
            }
        }
    });
    parts.collect()
}

fn shown_key(table: &Table, key: &RowKey) -> TableKey {
    let fields = table.key.iter().zip(&key.parts);
    let fields = fields.map(|(field, (first, second))| {
        let (first, second) = (first.clone(), second.clone());
        let value = match field.match_type {
            Match::Ternary => KeyValue::Ternary(Ternary {
                value: first,
                mask: second,
            }),
            Match::Range => KeyValue::Range(Range {
                low: first,
                high: second,
            }),
            _ => KeyValue::Exact(Exact { value: first }),
        };
        WireKey {
            field_id: field.id,
            value: Some(value),
        }
    });
    TableKey {
        fields: fields.collect(),
    }
}

/// What a client says of a field, in the one form in which it is kept.
pub fn checked(table: &Table, field: &Field, given: &DataValue) -> Result<DataValue, Refusal> {
    let wrong = |what: &str| {
        let message = format!("{}: {} needs {what}", table.name, field.name);
        Err(Refusal::invalid(message))
    };
    let width = values::width(&field.field_type);
    match (&field.field_type, field.repeated, given) {
        (FieldType::Bool { .. }, false, DataValue::Bool(_))
        | (FieldType::Bool { .. }, true, DataValue::Bools(_))
        | (FieldType::Float, false, DataValue::Float(_))
        | (FieldType::Text { .. }, true, DataValue::Texts(_)) => Ok(given.clone()),
        (FieldType::Text { choices, .. }, false, DataValue::Text(text)) => {
            // Algorithms are known by names in small letters, too.
            let folds = table.kind == Kind::DynHashAlgorithm;
            let is_it = |own: &&&str| **own == text || folds && own.eq_ignore_ascii_case(text);
            match choices.iter().find(is_it) {
                _ if choices.is_empty() => Ok(given.clone()),
                Some(own) => Ok(DataValue::Text(own.to_string())),
                None => wrong(&format!("one of {}", choices.join(", "))),
            }
        }
        (FieldType::Uint { .. }, true, DataValue::Ints(list)) => {
            match list
                .val
                .iter()
                .all(|own| BigUint::from(*own).bits() <= width)
            {
                true => Ok(given.clone()),
                false => wrong(&format!("numbers of {width} bits")),
            }
        }
        // A list of bytes comes in one piece, and goes as a list.
        (FieldType::Bytes { .. }, true, DataValue::Stream(bytes)) => {
            let val = bytes.iter().copied().map(u32::from).collect();
            Ok(DataValue::Ints(IntArray { val }))
        }
        (FieldType::Bytes { .. }, true, DataValue::Ints(_)) => Ok(given.clone()),
        (FieldType::Bool { .. }, false, DataValue::Stream(bytes)) => {
            let number = values::number(bytes, 1, &field.name)?;
            Ok(DataValue::Bool(number.bits() > 0))
        }
        (FieldType::Uint { .. } | FieldType::Bytes { .. }, false, DataValue::Stream(bytes)) => {
            let number = values::number(bytes, width, &field.name)?;
            Ok(DataValue::Stream(values::bytes(&number, width)))
        }
        (FieldType::Container(parts), true, DataValue::Containers(list)) => {
            let all = list.container.iter();
            let all = all.map(|own| hashes::container(table, parts, own));
            let container = all.collect::<Result<_, _>>()?;
            Ok(DataValue::Containers(ContainerArray { container }))
        }
        (FieldType::Container(_), ..) => wrong("a list of groups of fields"),
        (FieldType::Bool { .. }, true, _) => wrong("a list of truth values"),
        (FieldType::Bool { .. }, ..) => wrong("a truth value"),
        (FieldType::Float, ..) => wrong("a floating-point number"),
        (FieldType::Text { .. }, ..) => wrong("a text"),
        (_, true, _) => wrong("a list of numbers"),
        _ => wrong("a number"),
    }
}

/// What a field holds while nobody has set it.
pub fn untouched(field: &Field) -> DataValue {
    let width = values::width(&field.field_type);
    match (&field.field_type, field.repeated) {
        (FieldType::Bool { .. }, true) => DataValue::Bools(BoolArray::default()),
        (FieldType::Text { .. }, true) => DataValue::Texts(TextArray::default()),
        (FieldType::Container(parts), _) => hashes::whole(parts, field.id.into()),
        (_, true) => DataValue::Ints(IntArray::default()),
        (FieldType::Bool { default }, _) => DataValue::Bool(default.unwrap_or(false)),
        (FieldType::Float, _) => DataValue::Float(0.0),
        (FieldType::Text { .. }, _) if field.id == LPF_SPEC => {
            DataValue::Text("SAMPLE".to_string())
        }
        (FieldType::Uint { .. }, _) if UNREACHED.contains(&field.id) => {
            DataValue::Stream(NEVER.to_be_bytes().to_vec())
        }
        (FieldType::Text { choices, default }, _) => {
            let text = default.or(choices.first().copied()).unwrap_or_default();
            DataValue::Text(text.to_string())
        }
        (FieldType::Uint { default, .. }, _) => {
            let number = BigUint::from(default.unwrap_or(0));
            DataValue::Stream(values::bytes(&number, width))
        }
        (FieldType::Bytes { default, .. }, _) => {
            let number = default.and_then(|own| u64::try_from(own).ok());
            let number = BigUint::from(number.unwrap_or(0));
            DataValue::Stream(values::bytes(&number, width))
        }
    }
}

/// All fields of an entry's data: the table's, and those of the action.
pub(super) fn fields(table: &Table, action: u32) -> impl Iterator<Item = &Field> {
    let own = table.action(action).into_iter();
    let shared = table.data.iter().flat_map(|data| &data.one_of);
    own.flat_map(|own| &own.data).chain(shared)
}

/// What a client sets.
fn given(table: &Table, data: Option<&TableData>) -> Result<Row, Refusal> {
    let mut row = Row::default();
    let Some(data) = data else { return Ok(row) };
    if data.action_id != 0 && table.action(data.action_id).is_none() {
        let message = format!("{} has no action {}", table.name, data.action_id);
        return Err(Refusal::invalid(message));
    }
    row.action = data.action_id;
    for own in &data.fields {
        let Some(field) = table.field(data.action_id, own.field_id) else {
            let message = format!("{} has no data field {}", table.name, own.field_id);
            return Err(Refusal::invalid(message));
        };
        let read_only = table.data.iter().any(|data| {
            let mut fields = data.one_of.iter();
            data.read_only && fields.any(|own| own.id == field.id)
        });
        if read_only {
            let message = format!("{}: {} can only be read", table.name, field.name);
            return Err(Refusal::invalid(message));
        }
        let value = own.value.as_ref();
        let value = value
            .map(|value| checked(table, field, value))
            .transpose()?;
        row.fields.extend(value.map(|value| (field.id, value)));
    }
    Ok(row)
}

fn missing(table: &Table, row: &Row) -> Option<String> {
    let data = table.data.iter().filter(|data| data.mandatory);
    let mut fields = data.flat_map(|data| &data.one_of);
    let missing = fields.find(|own| !own.repeated && !row.fields.contains_key(&own.id))?;
    Some(format!("{} needs {}", table.name, missing.name))
}

/// Adds the elements of `change` to the lists of `row`, or takes them away. Lists that go together
/// have their elements at the same places; the first of them names the elements.
fn adapt(table: &Table, row: &mut Row, change: &Row, take: bool) {
    for names in lists(table.kind) {
        let Some(first) = names.first() else { continue };
        let named = change.numbers(*first);
        let before = row.numbers(*first).iter();
        let kept: Vec<bool> = before.map(|own| !named.contains(own)).collect();
        let added = if take { 0 } else { named.len() };
        for id in *names {
            let is_bool = fields(table, 0)
                .any(|own| own.id == *id && matches!(own.field_type, FieldType::Bool { .. }));
            let value = if is_bool {
                let val = joined(row.flags(*id), &kept, change.flags(*id), added);
                DataValue::Bools(BoolArray { val })
            } else {
                let val = joined(row.numbers(*id), &kept, change.numbers(*id), added);
                DataValue::Ints(IntArray { val })
            };
            row.fields.insert(*id, value);
        }
    }
}

/// What is kept of a list, and then as many elements of another; those that a list lacks are zero.
fn joined<T: Copy + Default>(old: &[T], kept: &[bool], new: &[T], added: usize) -> Vec<T> {
    let at = |list: &[T], place: usize| list.get(place).copied().unwrap_or_default();
    let left = kept.iter().enumerate().filter(|(_, kept)| **kept);
    let left = left.map(|(place, _)| at(old, place));
    left.chain((0..added).map(|place| at(new, place))).collect()
}

/// Fields whose lists go together.
fn lists(kind: Kind) -> &'static [&'static [u32]] {
    use crate::schema::fields::{ACTION_MEMBER_ID, MEMBER_STATUS};
    match kind {
        Kind::PreMgid => &[&[1, 2, 3], &[4, 5, 6]],
        Kind::PreEcmp | Kind::PrePrune | Kind::PreLag => &[&[1]],
        Kind::PreNode => &[&[2], &[3]],
        Kind::Selector => &[&[ACTION_MEMBER_ID, MEMBER_STATUS]],
        _ => &[],
    }
}

/// Writes a row; what it means for the tables of the program is returned.
pub fn write(
    chip: &mut Chip,
    scope: Scope<'_>,
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
) -> Result<Vec<Update>, Refusal> {
    if is_fact(table.kind) {
        let message = format!("{} can only be read", table.name);
        return Err(Refusal::new(Code::Unimplemented, message));
    }
    let given_key = key_of(entry);
    if table.kind == Kind::ParserValueSet {
        chip.attributes_of(table.id).check_target(table, scope)?;
        chip.scopes_of(table, scope.pipe)?;
    }
    let mut updates = Vec::new();
    if table.kind == Kind::Selector {
        selectors::check_target(chip, scope, table)?;
    }
    for pipe in pipes(table.kind, scope.pipe) {
        let key = match (given_key, extent(table.kind)) {
            (Some(key), _) => RowKey {
                pipe,
                parts: parts(table, key)?,
            },
            (None, Extent::One) => RowKey {
                pipe,
                parts: Vec::new(),
            },
            (None, _) if matches!(kind, UpdateType::Delete | UpdateType::Reset) => {
                updates.extend(clear(chip, table, pipe));
                continue;
            }
            (None, _) => {
                let message = format!("{} needs a key", table.name);
                return Err(Refusal::invalid(message));
            }
        };
        let row = changed(chip, table, kind, entry, &key)?;
        updates.extend(follow(chip, table, &key, row.as_ref())?);
        chip.set(table.id, key, row);
        if table.kind == Kind::ParserValueSet {
            updates.push(value_sets::members(chip, table));
        }
    }
    Ok(updates)
}

fn clear(chip: &mut Chip, table: &Table, pipe: u32) -> Vec<Update> {
    let rows = chip.rows_of(table.id);
    let keys = rows.filter(|(key, _)| key.pipe == pipe).map(|own| own.0);
    let keys: Vec<RowKey> = keys.cloned().collect();
    let mut updates = Vec::new();
    for key in keys {
        updates.extend(selectors::follow(table, &key, None));
        chip.set(table.id, key, None);
    }
    if table.kind == Kind::ParserValueSet {
        updates.push(value_sets::members(chip, table));
    }
    updates
}

/// A row after an update; `None`: it is gone.
fn changed(
    chip: &Chip,
    table: &Table,
    kind: UpdateType,
    entry: &TableEntry,
    key: &RowKey,
) -> Result<Option<Row>, Refusal> {
    let before = chip.row(table.id, key);
    let always = extent(table.kind) != Extent::Written;
    check_key(table, key)?;
    let change = match kind {
        UpdateType::Delete | UpdateType::Reset => {
            // A port that is not there goes without complaint.
            let always = always || table.kind == Kind::PortConfigure;
            return match before.is_some() || always {
                true => Ok(None),
                false => Err(no_entry(table)),
            };
        }
        _ => given(table, entry.data.as_ref())?,
    };
    let is_new = match kind {
        UpdateType::Insert if before.is_some() && !always => {
            let message = format!("{} already has an entry with this key", table.name);
            return Err(Refusal::new(Code::AlreadyExists, message));
        }
        UpdateType::Modify | UpdateType::ModifyInc if before.is_none() && !always => {
            return Err(no_entry(table));
        }
        _ => before.is_none(),
    };
    if let (true, false, Some(message)) = (is_new, always, missing(table, &change)) {
        return Err(Refusal::invalid(message));
    }
    let full = usize::try_from(table.size).unwrap_or(usize::MAX);
    let rows = chip.rows_of(table.id);
    let used = rows.filter(|(own, _)| own.pipe == key.pipe).count();
    if is_new && !always && full > 0 && used >= full {
        let message = format!("{} is full: its size is {full}", table.name);
        return Err(Refusal::new(Code::ResourceExhausted, message));
    }
    if is_whole(table.kind) {
        return Ok(hashes::replaced(table, change));
    }
    let mut row = before.cloned().unwrap_or_default();
    if kind == UpdateType::ModifyInc {
        let take = entry.table_flags.is_some_and(|flags| flags.mod_del);
        adapt(table, &mut row, &change, take);
        return Ok(Some(row));
    }
    if change.action != 0 && change.action != row.action {
        let old = table.action(row.action);
        for field in old.into_iter().flat_map(|old| &old.data) {
            row.fields.remove(&field.id);
        }
        row.action = change.action;
    }
    row.fields.extend(change.fields);
    Ok(Some(row))
}

fn check_key(table: &Table, key: &RowKey) -> Result<(), Refusal> {
    let (index, size) = (index_of(key), table.size.unsigned_abs());
    match extent(table.kind) {
        Extent::Numbers if index >= size => {
            let message = format!("{} has {size} entries, so none {index}", table.name);
            Err(Refusal::invalid(message))
        }
        Extent::Ports if !ports::exists(index) => Err(ports::unknown(index)),
        _ if is_port(table.kind) && !ports::exists(index) => Err(ports::unknown(index)),
        _ => Ok(()),
    }
}

/// What a row means for the program's tables.
fn follow(
    chip: &Chip,
    table: &Table,
    key: &RowKey,
    row: Option<&Row>,
) -> Result<Vec<Update>, Refusal> {
    if let (Kind::PreMgid | Kind::PreEcmp, Some(row)) = (table.kind, row) {
        super::replication::check(chip, table, row)?;
    }
    if table.kind == Kind::Selector {
        selectors::check(table, row)?;
    }
    super::filters::check(table, row)?;
    super::mirrors::check(table, key, row)?;
    hashes::check(table, row)?;
    if table.kind == Kind::RegisterParam {
        return Ok(vec![parameter(table, row)]);
    }
    Ok(selectors::follow(table, key, row))
}

/// A register parameter of a program, which it reads and only clients set.
fn parameter(table: &Table, row: Option<&Row>) -> Update {
    let field = fields(table, 0).next();
    let bytes = |value: &DataValue| match value {
        DataValue::Stream(bytes) => BigUint::from_bytes_be(bytes),
        _ => BigUint::ZERO,
    };
    let value = field.map(
        |field| match row.and_then(|row| row.fields.get(&field.id)) {
            Some(value) => bytes(value),
            None => bytes(&untouched(field)),
        },
    );
    Update::SetRegister {
        register: table.source().to_string(),
        index: Some(0),
        value: value.unwrap_or_default(),
    }
}

/// The rows that a client asks for.
pub fn read(
    switch: &Switch,
    chip: &Chip,
    scope: Scope<'_>,
    table: &Table,
    asked: &TableEntry,
) -> Result<Vec<TableEntry>, Refusal> {
    if let Some(found) = ports::looked_up(table, asked)? {
        return Ok(vec![found]);
    }
    if table.kind == Kind::SelectorGetMember {
        return selectors::member_for(switch, scope, table, asked).map(|own| vec![own]);
    }
    if table.kind == Kind::DynHashCompute {
        return hashes::computed(switch, scope.schema, table, asked).map(|own| vec![own]);
    }
    let pipe = match (by_pipe(table.kind), scope.pipe) {
        (_, pipe) if table.kind == Kind::ParserValueSet => pipe,
        (true, ALL_PIPES) => 0,
        (true, pipe) => pipe,
        (false, _) => ALL_PIPES,
    };
    let asked_pipes = pipes(table.kind, scope.pipe);
    let show = |key: &RowKey, row: &Row| shown(switch, chip, table, &asked_pipes, key, row);
    let of = |parts: super::Parts| {
        let key = RowKey { pipe, parts };
        let own = chip.row(table.id, &key).cloned();
        (key, own)
    };
    let named = key_of(asked).map(|key| parts(table, key)).transpose()?;
    let always = extent(table.kind);
    if let Some(parts) = named {
        let (key, row) = of(parts);
        check_key(table, &key)?;
        return match (row, always) {
            (None, Extent::Written | Extent::Settable) => Err(no_entry(table)),
            (row, _) => Ok(vec![show(&key, &row.unwrap_or_default())]),
        };
    }
    let width = table
        .key
        .first()
        .map_or(0, |own| values::width(&own.field_type));
    let numbered = |number: u64| {
        let number = values::bytes(&BigUint::from(number), width);
        let (key, row) = of(vec![(number, Vec::new())]);
        show(&key, &row.unwrap_or_default())
    };
    Ok(match always {
        Extent::Numbers => (0..table.size.unsigned_abs()).map(numbered).collect(),
        Extent::Ports => ports::all().map(numbered).collect(),
        Extent::One => {
            let (key, row) = of(Vec::new());
            let mut own = show(&key, &row.unwrap_or_default());
            own.name = None;
            own.is_default_entry = true;
            vec![own]
        }
        Extent::Written | Extent::Settable | Extent::Any => {
            let rows = chip.rows_of(table.id);
            let rows = rows.filter(|(key, _)| key.pipe == pipe);
            rows.map(|(key, row)| show(key, row)).collect()
        }
    })
}

fn shown(
    switch: &Switch,
    chip: &Chip,
    table: &Table,
    pipes: &[u32],
    key: &RowKey,
    row: &Row,
) -> TableEntry {
    let facts = |field: &Field| {
        let own = ports::fact(chip, table, key, row, field);
        own.or_else(|| generator::fact(switch, chip, table, pipes, key, field))
            .or_else(|| ports::count(chip, table, key, row, field))
    };
    let data = fields(table, row.action).map(|field| DataField {
        field_id: field.id,
        value: Some(
            facts(field)
                .or_else(|| row.fields.get(&field.id).cloned())
                .unwrap_or_else(|| untouched(field)),
        ),
    });
    let data = TableData {
        action_id: row.action,
        fields: data.collect(),
    };
    TableEntry {
        table_id: table.id,
        name: Some(EntryName::Key(shown_key(table, key))),
        data: Some(data),
        ..TableEntry::default()
    }
}

/// How many rows clients have put into a table.
pub fn usage(chip: &Chip, table: &Table) -> usize {
    chip.rows_of(table.id).count()
}

impl Row {
    pub fn number(&self, id: u32) -> Option<u64> {
        match self.fields.get(&id)? {
            DataValue::Stream(bytes) => BigUint::from_bytes_be(bytes).to_u64(),
            _ => None,
        }
    }

    pub fn flag(&self, id: u32) -> bool {
        matches!(self.fields.get(&id), Some(DataValue::Bool(true)))
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        match self.fields.get(&id)? {
            DataValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn numbers(&self, id: u32) -> &[u32] {
        match self.fields.get(&id) {
            Some(DataValue::Ints(own)) => &own.val,
            _ => &[],
        }
    }

    pub fn flags(&self, id: u32) -> &[bool] {
        match self.fields.get(&id) {
            Some(DataValue::Bools(own)) => &own.val,
            _ => &[],
        }
    }

    pub fn float(&self, id: u32) -> Option<f32> {
        match self.fields.get(&id)? {
            DataValue::Float(value) => Some(*value),
            _ => None,
        }
    }
}
