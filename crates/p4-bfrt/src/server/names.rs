//! Ids for clients that know names alone.

use crate::messages::{DataFieldName, ObjectId};
use crate::schema::{Schema, Table};
use p4_runtime::{Code, Refusal};

/// The id of what a client names.
pub fn id_of(schema: &Schema, asked: &ObjectId) -> Result<u32, Refusal> {
    let absent = |what: &str, name: &str| {
        let message = format!("there is no {what} {name}");
        Refusal::new(Code::NotFound, message)
    };
    if let Some(own) = &asked.learn {
        let mut filters = schema.learn_filters.iter();
        let filter = filters.find(|filter| filter.name == own.learn_name);
        let filter = filter.ok_or_else(|| absent("digest", &own.learn_name))?;
        let Some(field) = &own.data_field else {
            return Ok(filter.id);
        };
        let mut fields = filter.fields.iter();
        let found = fields.find(|known| known.name == field.field);
        return found
            .map(|known| known.id)
            .ok_or_else(|| absent("field", &field.field));
    }
    let Some(own) = &asked.table else {
        return Err(Refusal::invalid("an id is asked for with a name"));
    };
    let table = schema.table_named(&own.table_name);
    let table = table.ok_or_else(|| absent("table", &own.table_name))?;
    if let Some(action) = &own.action {
        let known = table.action_named(&action.name).map(|known| known.id);
        return known.ok_or_else(|| absent("action", &action.name));
    }
    if let Some(key) = &own.key_field {
        let known = table.key.iter().find(|known| known.name == key.name);
        let known = known.map(|known| known.id);
        return known.ok_or_else(|| absent("key field", &key.name));
    }
    if let Some(field) = &own.data_field {
        return data_field(table, field).ok_or_else(|| absent("data field", &field.field));
    }
    Ok(table.id)
}

fn data_field(table: &Table, asked: &DataFieldName) -> Option<u32> {
    let action = table.action_named(&asked.action).into_iter();
    let params = action.flat_map(|own| &own.data);
    let shared = table.data.iter().flat_map(|data| &data.one_of);
    let mut fields = params.chain(shared);
    fields
        .find(|field| field.name == asked.field)
        .map(|field| field.id)
}
