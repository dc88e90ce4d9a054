//! Finding things by a full name or a unique dotted suffix of it.

use crate::error::UpdateError;
use p4_syntax::edit_distance;

/// Index of the one of `names` that `wanted` means. `what` names the kind of thing for the
/// message: `table`, `action`.
pub(crate) fn find<'a>(
    what: &'static str,
    wanted: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, UpdateError> {
    if let Some(index) = names.clone().position(|name| name == wanted) {
        return Ok(index);
    }
    let is_suffix = |name: &str| {
        name.strip_suffix(wanted)
            .is_some_and(|front| front.ends_with('.'))
            && !wanted.is_empty()
    };
    let mut fitting = names
        .clone()
        .enumerate()
        .filter(|(_, name)| is_suffix(name));
    match (fitting.next(), fitting.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some((_, one)), Some((_, two))) => Err(UpdateError::Ambiguous {
            what,
            name: wanted.into(),
            one: one.into(),
            two: two.into(),
        }),
        (None, _) => Err(UpdateError::Unknown {
            what,
            name: wanted.into(),
            known: nearest(wanted, names),
        }),
    }
}

/// Up to five of `names` for a message, those that look like `wanted` first.
fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let last = |name| str::rsplit(name, '.').next().unwrap_or(name);
    let mut ranked: Vec<(usize, &str)> = names
        .map(|name| (edit_distance(last(wanted), last(name)), name))
        .collect();
    ranked.sort();
    ranked
        .into_iter()
        .take(5)
        .map(|(_, name)| name.to_string())
        .collect()
}
