//! Diagnostics as text for a terminal, with the lines they speak of.

use crate::diag::{Diagnostic, Severity};
use crate::source::SourceMap;
use crate::span::Span;
use crate::HashMap;
use ariadne::{Cache, Color, Config, IndexType, Label, Report, ReportKind, Source};
use std::fmt;
use std::ops::Range;

/// The diagnostics one below the other, each with its code, source lines and hint; without colour
/// the text is plain. One without a place is a single line.
pub fn render(diags: &[Diagnostic], sources: &SourceMap, color: bool) -> String {
    let mut cache = Files {
        sources,
        ready: HashMap::default(),
    };
    let mut text = String::new();
    for diagnostic in diags {
        match label_range(sources, diagnostic.span) {
            Some(place) => text.push_str(&with_source(diagnostic, place, &mut cache, color)),
            None => text.push_str(&without_source(diagnostic)),
        }
    }
    text
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Note",
    }
}

fn without_source(diagnostic: &Diagnostic) -> String {
    let word = severity_word(diagnostic.severity);
    let mut text = format!("[{}] {word}: {}\n", diagnostic.code, diagnostic.message);
    if let Some(hint) = &diagnostic.hint {
        text.push_str(&format!("  Help: {hint}\n"));
    }
    text
}

type Place = (usize, Range<usize>);

fn with_source(
    diagnostic: &Diagnostic,
    place: Place,
    cache: &mut Files<'_>,
    color: bool,
) -> String {
    let (kind, paint) = match diagnostic.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
        Severity::Note => (ReportKind::Advice, Color::Cyan),
    };
    let config = Config::default()
        .with_color(color)
        .with_index_type(IndexType::Byte);
    let mut report = Report::build(kind, place.clone())
        .with_config(config)
        .with_code(diagnostic.code)
        .with_message(&diagnostic.message)
        .with_label(
            Label::new(place.clone())
                .with_color(paint)
                .with_message("here"),
        );
    for (span, message) in &diagnostic.labels {
        if let Some(place) = label_range(cache.sources, *span) {
            report = report.with_label(
                Label::new(place)
                    .with_color(Color::Blue)
                    .with_message(message),
            );
        }
    }
    if let Some(hint) = &diagnostic.hint {
        report = report.with_help(hint);
    }
    for note in notes(cache.sources, diagnostic.span, place.0) {
        report = report.with_note(note);
    }
    let mut bytes = Vec::new();
    match report.finish().write(cache, &mut bytes) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => without_source(diagnostic),
    }
}

/// File and bytes to underline: the first line of a span, and one character of an empty one.
fn label_range(sources: &SourceMap, span: Span) -> Option<Place> {
    let (index, range) = sources.range(span)?;
    let text = sources.text(index);
    let inside = text.get(range.clone())?;
    let length = inside.find('\n').unwrap_or(inside.len());
    let next = text[range.start..].chars().next().filter(|c| *c != '\n');
    let length = length.max(next.map_or(0, char::len_utf8));
    Some((index, range.start..range.start + length))
}

/// How the file came to be read, and where `#line` says the place is.
fn notes(sources: &SourceMap, span: Span, index: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(location) = sources.locate(span.lo) {
        if location.line != location.source_line || *location.file != *sources.name(index) {
            notes.push(format!(
                "`#line` calls this place {}:{}",
                location.file, location.line
            ));
        }
    }
    let mut included = sources.included_from(index);
    while let Some(location) = included.and_then(|span| sources.locate(span.lo)) {
        let name = sources.name(location.source_index);
        notes.push(format!("included from {}:{}", name, location.source_line));
        included = sources.included_from(location.source_index);
    }
    notes
}

struct Files<'a> {
    sources: &'a SourceMap,
    ready: HashMap<usize, Source<std::sync::Arc<str>>>,
}

impl Cache<usize> for &mut Files<'_> {
    type Storage = std::sync::Arc<str>;

    fn fetch(&mut self, id: &usize) -> Result<&Source<Self::Storage>, impl fmt::Debug> {
        let sources = self.sources;
        let source = self
            .ready
            .entry(*id)
            .or_insert_with(|| Source::from(sources.text(*id)));
        Ok::<_, fmt::Error>(&*source)
    }

    fn display<'b>(&self, id: &'b usize) -> Option<impl fmt::Display + 'b> {
        Some(self.sources.name(*id).to_string())
    }
}
