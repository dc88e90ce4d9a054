//! What the compiler has to say, as editors show it.

use crate::analysis::{built_in_name, Analysis, File};
use crate::uri;
use p4_syntax::{Diagnostic, Severity, Span};
use serde_json::{json, Value};
use std::collections::BTreeMap;

/// Where things that a diagnostic points to can be opened.
pub(crate) struct Links<'a> {
    /// A path to a built-in file, by name and text
    pub show: &'a dyn Fn(&str, &str) -> Option<String>,
    /// The address of the page that explains a code
    pub page: &'a dyn Fn(&str) -> Option<String>,
}

/// Diagnostics by the path of their file; every file of the program has an entry. A mistake in a file
/// that `is_open` does not know is also told where the open file includes it.
pub(crate) fn by_file(
    analysis: &Analysis,
    diagnostics: &[Diagnostic],
    links: &Links,
    is_open: &dyn Fn(&str) -> bool,
) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for file in analysis
        .files()
        .filter(|file| built_in_name(file.name).is_none())
    {
        found.entry(uri::normal(file.name)).or_default();
    }
    for diagnostic in diagnostics {
        let Some((file, value)) = shown(analysis, diagnostic, links) else {
            continue;
        };
        let path = uri::normal(file.name);
        if !is_open(&path) {
            for (path, value) in at_includes(analysis, file, diagnostic, links, is_open) {
                found.entry(path).or_default().push(value);
            }
        }
        if built_in_name(file.name).is_none() {
            found.entry(path).or_default().push(value);
        }
    }
    found
}

/// The file and the JSON of a diagnostic.
fn shown<'a>(
    analysis: &'a Analysis,
    diagnostic: &Diagnostic,
    links: &Links,
) -> Option<(File<'a>, Value)> {
    let (file, range) = match analysis.place(diagnostic.span) {
        Some(place) => place,
        // What has no place of its own is told at the top of the main file.
        None => (analysis.files().next()?, 0..0),
    };
    let range = file.lines.range(file.text, range);
    let mut value = base(diagnostic, links);
    value["range"] = range;
    let related: Vec<Value> = diagnostic
        .labels
        .iter()
        .filter_map(|(span, text)| {
            let location = analysis.location(*span, links.show)?;
            Some(json!({ "location": location, "message": text }))
        })
        .collect();
    if !related.is_empty() {
        value["relatedInformation"] = related.into();
    }
    Some((file, value))
}

fn base(diagnostic: &Diagnostic, links: &Links) -> Value {
    let message = match &diagnostic.hint {
        Some(hint) => format!("{}\n{hint}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let mut value = json!({
        "severity": match diagnostic.severity {
            Severity::Error => 1,
            Severity::Warning => 2,
            Severity::Note => 3,
        },
        "code": diagnostic.code,
        "source": "p4lab",
        "message": message,
    });
    if let Some(page) = (links.page)(diagnostic.code) {
        value["codeDescription"] = json!({ "href": page });
    }
    value
}

/// The `#include` lines of open files that lead to a mistake in `file`.
fn at_includes(
    analysis: &Analysis,
    file: File,
    diagnostic: &Diagnostic,
    links: &Links,
    is_open: &dyn Fn(&str) -> bool,
) -> Vec<(String, Value)> {
    if diagnostic.severity != Severity::Error {
        return Vec::new();
    }
    let mut inner = file.index;
    while let Some(span) = analysis.parsed.sources.included_from(inner) {
        let Some((outer, range)) = analysis.place(span) else {
            break;
        };
        let path = uri::normal(outer.name);
        if is_open(&path) {
            let mut value = base(diagnostic, links);
            let message = format!("In this file: {}", diagnostic.message);
            value["message"] = message.into();
            value["range"] = outer.lines.range(outer.text, range);
            let there = analysis.location(diagnostic.span, links.show);
            if let Some(location) = there.filter(|_| diagnostic.span != Span::NONE) {
                value["relatedInformation"] = json!([{
                    "location": location,
                    "message": "the mistake",
                }]);
            }
            return vec![(path, value)];
        }
        inner = outer.index;
    }
    Vec::new()
}
