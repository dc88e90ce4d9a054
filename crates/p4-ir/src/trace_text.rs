//! Events as sentences, with the names of the program.

use crate::interp::errors;
use crate::ir::{words, EnumInfo, HeaderLayout, LayoutId, Place, Program, Slot, ValueKind};
use crate::trace::{Event, Step};
use crate::undefined::Why;
use std::fmt::Write;

fn undefined(program: &Program, var: u32, why: Why, words: &[u64]) -> String {
    let Some(var) = program.vars.get(var as usize) else {
        return "?".into();
    };
    let what = match why {
        Why::Invalid => "its header is invalid",
        Why::Unset => "nothing was assigned to it",
        Why::OutOfRange => {
            return format!(
                "undefined: {} and its like are read beyond the end of the stack",
                var.name
            )
        }
    };
    let noise = value(program, &var.place, words);
    format!("undefined: {} is read, but {what}; noise {noise}", var.name)
}

/// What happened in `step`, in one line.
pub fn describe(program: &Program, step: &Step) -> String {
    match &step.event {
        Event::Block { block } => {
            let name = program
                .blocks
                .get(*block as usize)
                .map_or("?", |block| &block.name);
            format!("-- {name}")
        }
        Event::State { state, .. } => {
            let name = program
                .states
                .get(*state as usize)
                .map_or("?", |state| &state.name);
            format!("state {name}")
        }
        Event::Extract {
            layout,
            base,
            bits,
            words,
            ..
        } => {
            let name = header_name(program, *base);
            format!(
                "extract {name} ({bits} bits): {}",
                header_fields(program, *layout, words)
            )
        }
        Event::Emit {
            layout,
            base,
            words,
        } => {
            let name = header_name(program, *base);
            format!("emit {name}: {}", header_fields(program, *layout, words))
        }
        Event::Apply {
            table,
            key,
            hit,
            action,
            data,
            entry,
        } => apply(program, *table, key, *hit, *action, data, *entry),
        Event::Extern { call, args } => extern_call(program, *call, args),
        Event::Change { var, before, after } => {
            let Some(var) = program.vars.get(*var as usize) else {
                return "?".into();
            };
            let (before, after) = (
                value(program, &var.place, before),
                value(program, &var.place, after),
            );
            format!("{}: {before} -> {after}", var.name)
        }
        Event::Undefined { var, why, value } => undefined(program, *var, *why, value),
        Event::Reject { error } => format!("parser error {}", error_name(program, *error)),
        Event::OutOfFuel => {
            "stopped: too many instructions, is there a loop without an end?".into()
        }
        Event::Note { text } => text.clone(),
    }
}

fn apply(
    program: &Program,
    table: u32,
    key: &[u64],
    hit: bool,
    action: u32,
    data: &[u64],
    entry: Option<u64>,
) -> String {
    let Some(table) = program.tables.get(table as usize) else {
        return "?".into();
    };
    let mut text = format!("table {} [", table.name);
    let mut rest = key;
    for (i, key) in table.keys.iter().enumerate() {
        let n = (words(key.place.width) as usize).min(rest.len());
        let (own, after) = rest.split_at(n);
        rest = after;
        let separator = if i == 0 { "" } else { ", " };
        let _ = write!(
            text,
            "{separator}{}={}",
            key.name,
            value(program, &key.place, own)
        );
    }
    text.push_str(match (hit, entry) {
        (true, Some(_)) => "] hit entry ",
        (true, None) => "] hit",
        (false, _) => "] miss",
    });
    if let (true, Some(entry)) = (hit, entry) {
        let _ = write!(text, "{entry}");
    }
    let action = table
        .actions
        .get(action as usize)
        .and_then(|a| program.actions.get(a.action as usize));
    let Some(action) = action else { return text };
    let mut rest = data;
    let params: Vec<String> = action
        .params
        .iter()
        .map(|param| {
            let n = (words(param.place.width) as usize).min(rest.len());
            let (own, after) = rest.split_at(n);
            rest = after;
            format!("{}={}", param.name, value(program, &param.place, own))
        })
        .collect();
    let _ = write!(text, " -> {}({})", action.name, params.join(", "));
    text
}

fn extern_call(program: &Program, call: u32, args: &[Vec<u64>]) -> String {
    use crate::ir::ArgValue;
    let Some(call) = program.calls.get(call as usize) else {
        return "?".into();
    };
    let shown: Vec<String> = call
        .args
        .iter()
        .zip(args)
        .filter_map(|(arg, words)| match &arg.value {
            ArgValue::Scalar(place) => {
                Some(format!("{}={}", arg.name, value(program, place, words)))
            }
            ArgValue::String(text) => Some(format!("{text:?}")),
            ArgValue::List(leaves) if leaves.len() <= 8 => {
                let mut rest = &words[..];
                let parts: Vec<String> = leaves
                    .iter()
                    .map(|(place, _)| {
                        let n = crate::interp_prepare::place_words(place).min(rest.len());
                        let (own, after) = rest.split_at(n);
                        rest = after;
                        value(program, place, own)
                    })
                    .collect();
                Some(format!("{}={{{}}}", arg.name, parts.join(", ")))
            }
            ArgValue::List(leaves) => Some(format!("{}={{{} fields}}", arg.name, leaves.len())),
            ArgValue::Instance(_) | ArgValue::Missing => None,
        })
        .collect();
    let receiver = call
        .instance
        .and_then(|id| program.instances.get(id as usize));
    let method = call.name.rsplit('.').next().unwrap_or_default();
    match receiver {
        Some(instance) => format!("{}.{method}({})", instance.name, shown.join(", ")),
        None => format!("{}({})", call.name, shown.join(", ")),
    }
}

/// The name of the header instance whose valid word is at `base`, as in `hdr.ipv4`.
pub fn header_name(program: &Program, base: Slot) -> String {
    for storage in &program.storages {
        if let Some(header) = storage.headers.iter().find(|header| header.base == base) {
            // A block's parameter may be the header itself.
            return match header.name.is_empty() {
                true => storage.key.to_string(),
                false => format!("{}.{}", storage.key, header.name),
            };
        }
    }
    // A local header: its valid word may be a named variable.
    let var = program
        .vars
        .iter()
        .find(|var| var.header == Some(base) && var.place.slot != base);
    var.and_then(|var| var.name.rsplit_once('.'))
        .map_or("a header".into(), |(name, _)| name.into())
}

/// The name of a parser error.
pub fn error_name(program: &Program, error: u32) -> &str {
    if error == errors::UNMATCHED {
        return "NoMatch, not noted";
    }
    program.errors.get(error as usize).map_or("?", |name| name)
}

fn header_fields(program: &Program, layout: LayoutId, words: &[u64]) -> String {
    let Some(layout) = program.layouts.get(layout as usize) else {
        return String::new();
    };
    let fields = fields(program, layout, words).map(|(name, value)| format!("{name}={value}"));
    fields.collect::<Vec<_>>().join(", ")
}

/// The fields of a header whose frame words are `words`, with their values as text.
pub fn fields<'a>(
    program: &'a Program,
    layout: &'a HeaderLayout,
    words: &'a [u64],
) -> impl Iterator<Item = (&'a str, String)> + 'a {
    layout.fields.iter().map(|field| {
        let kind = if field.varbit {
            ValueKind::Varbit
        } else {
            field.kind
        };
        let place = Place {
            slot: 0,
            width: field.width,
            kind,
        };
        let n = crate::interp_prepare::place_words(&place);
        let own = words
            .get(field.offset as usize..field.offset as usize + n)
            .unwrap_or_default();
        (&*field.name, value(program, &place, own))
    })
}

/// A value as a reader of the program would write it: decimal up to 9999, else hexadecimal.
pub fn value(program: &Program, place: &Place, words: &[u64]) -> String {
    let low = words.first().copied().unwrap_or(0);
    match place.kind {
        ValueKind::Bool => (low != 0).to_string(),
        ValueKind::Valid => if low != 0 { "valid" } else { "invalid" }.into(),
        ValueKind::Error => format!("error.{}", error_name(program, low as u32)),
        ValueKind::Enum(id) => member(program, id, |info| {
            info.members.get(low as usize).map(|m| &*m.0)
        })
        .unwrap_or_else(|| low.to_string()),
        ValueKind::SerEnum(id) => {
            let by_value =
                |info: &'_ EnumInfo| info.members.iter().position(|m| m.1.as_slice() == words);
            let info = program.enums.get(id as usize);
            match info.and_then(|info| {
                by_value(info).map(|i| format!("{}.{}", info.name, info.members[i].0))
            }) {
                Some(name) => name,
                None => number(words),
            }
        }
        ValueKind::Varbit => {
            let limbs = words.get(1..).unwrap_or_default();
            format!("{} bits {}", low, number(limbs))
        }
        ValueKind::Int if place.width <= 64 => {
            crate::interp_alu::signed(low, place.width).to_string()
        }
        ValueKind::Int | ValueKind::Bit | ValueKind::NextIndex => number(words),
    }
}

fn member<'a>(
    program: &'a Program,
    id: u32,
    find: impl Fn(&'a EnumInfo) -> Option<&'a str>,
) -> Option<String> {
    let info = program.enums.get(id as usize)?;
    find(info).map(|name| format!("{}.{name}", info.name))
}

fn number(words: &[u64]) -> String {
    let used = words
        .iter()
        .rposition(|word| *word != 0)
        .map_or(1, |last| last + 1);
    let words = words.get(..used).unwrap_or_default();
    match words {
        [] => "0".into(),
        [small] if *small < 10_000 => small.to_string(),
        [rest @ .., top] => {
            let mut text = format!("0x{top:x}");
            for word in rest.iter().rev() {
                let _ = write!(text, "{word:016x}");
            }
            text
        }
    }
}
