//! Lines that begin with `#`.

use super::Preprocessor;
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::{Token, TokenKind};

/// One `#if` that is open.
pub(super) struct Condition {
    span: Span,
    /// The text being read is in a branch that counts.
    pub(super) active: bool,
    /// Some branch was active before, or none may ever be.
    done: bool,
    seen_else: bool,
}

impl Preprocessor<'_> {
    pub(super) fn is_active(&self) -> bool {
        let conditions = self.files.last().map(|file| &file.conditions);
        conditions
            .and_then(|all| all.last())
            .is_none_or(|innermost| innermost.active)
    }

    /// Carries out the directive whose `#` was just read.
    pub(super) fn directive(&mut self, hash: &Token) {
        let Some(file) = self.files.last_mut() else {
            return;
        };
        let name = {
            let saved = file.lexer.clone();
            let name = file.lexer.next(&mut self.names);
            if name.line_start || name.kind == TokenKind::Eof {
                file.lexer = saved;
                return; // a `#` alone does nothing
            }
            name
        };
        let (line, raw) = file.lexer.rest_of_line(&mut self.names);
        let place = hash.span.to(name.span);
        match (&*name.text, self.is_active()) {
            ("if", _) => self.open_condition(place, |this| this.condition(line, place)),
            ("ifdef", _) => {
                self.open_condition(place, |this| this.is_defined(&line, place, "#ifdef"))
            }
            ("ifndef", _) => {
                self.open_condition(place, |this| !this.is_defined(&line, place, "#ifndef"))
            }
            ("elif", _) => self.elif(place, line),
            ("else", _) => self.else_branch(place),
            ("endif", _) => self.endif(place),
            (_, false) => {}
            ("include", true) => self.include(place, line, raw),
            ("define", true) => self.define(place, line),
            ("undef", true) => match line.first() {
                Some(name) if name.kind == TokenKind::Ident => {
                    self.macros.remove(&name.text);
                }
                _ => self.expected_macro_name(place, "#undef"),
            },
            ("error", true) => {
                let text = self.message_text(raw, "#error");
                self.report(Diagnostic::error(
                    "E0024",
                    place.to(self.trimmed(raw)),
                    text,
                ));
            }
            ("warning", true) => {
                let text = self.message_text(raw, "#warning");
                self.report(Diagnostic::warning(
                    "W0025",
                    place.to(self.trimmed(raw)),
                    text,
                ));
            }
            ("pragma", true) => {
                if let ([only], Some(file)) = (&line[..], self.files.last()) {
                    if only.is_ident("once") {
                        self.once.insert(file.source);
                    }
                }
            }
            ("line", true) => self.line_directive(place, line, raw),
            (_, true) if name.kind == TokenKind::Int => {
                let mut line = line;
                line.insert(0, name);
                self.line_directive(place, line, raw);
            }
            (_, true) => self.unknown_directive(place, &name),
        }
    }

    fn unknown_directive(&mut self, place: Span, name: &Token) {
        let message = format!("There is no directive `#{}`.", name.spelling());
        const KNOWN: &str =
            "`#include`, `#define`, `#undef`, `#if`, `#ifdef`, `#ifndef`, `#elif`, \
             `#else`, `#endif`, `#error`, `#warning`, `#line` and `#pragma` exist. \
             Comments begin with `//`.";
        self.report(Diagnostic::error("E0014", place, message).hint(KNOWN));
    }

    /// `raw` without the blanks around its text.
    pub(super) fn trimmed(&self, raw: Span) -> Span {
        let text = self.sources.snippet(raw);
        let lo = raw.lo + (text.len() - text.trim_start().len()) as u32;
        let hi = raw.hi - (text.len() - text.trim_end().len()) as u32;
        if lo < hi {
            Span { lo, hi }
        } else {
            Span {
                lo: raw.lo,
                hi: raw.lo,
            }
        }
    }

    fn message_text(&self, raw: Span, directive: &str) -> String {
        let text = self.sources.snippet(self.trimmed(raw));
        if text.is_empty() {
            format!("This line says `{directive}`.")
        } else {
            text.to_string()
        }
    }

    fn open_condition(&mut self, span: Span, condition: impl FnOnce(&mut Self) -> bool) {
        let outer = self.is_active();
        let active = outer && condition(self);
        if let Some(file) = self.files.last_mut() {
            let done = active || !outer;
            file.conditions.push(Condition {
                span,
                active,
                done,
                seen_else: false,
            });
        }
    }

    fn elif(&mut self, place: Span, line: Vec<Token>) {
        let Some(open) = self.innermost(place, "#elif") else {
            return;
        };
        let (done, seen_else) = (open.done, open.seen_else);
        if seen_else {
            self.after_else(place, "#elif");
            return;
        }
        let active = !done && self.condition(line, place);
        if let Some(open) = self.innermost(place, "#elif") {
            open.active = active;
            open.done |= active;
        }
    }

    fn else_branch(&mut self, place: Span) {
        let Some(open) = self.innermost(place, "#else") else {
            return;
        };
        if open.seen_else {
            self.after_else(place, "#else");
            return;
        }
        open.active = !open.done;
        open.done = true;
        open.seen_else = true;
    }

    fn endif(&mut self, place: Span) {
        if self.innermost(place, "#endif").is_some() {
            if let Some(file) = self.files.last_mut() {
                file.conditions.pop();
            }
        }
    }

    fn after_else(&mut self, place: Span, directive: &str) {
        let message = format!("This `{directive}` comes after the `#else` of the same `#if`.");
        self.report(
            Diagnostic::error("E0020", place, message).hint("`#else` must be the last branch."),
        );
    }

    /// The innermost open condition of this file; reports when there is none.
    fn innermost(&mut self, place: Span, directive: &str) -> Option<&mut Condition> {
        if self
            .files
            .last()
            .is_none_or(|file| file.conditions.is_empty())
        {
            let message = format!("This `{directive}` belongs to no `#if`.");
            self.report(
                Diagnostic::error("E0020", place, message)
                    .hint("Remove it, or write the `#if` it should end."),
            );
        }
        self.files.last_mut()?.conditions.last_mut()
    }

    fn is_defined(&mut self, line: &[Token], place: Span, directive: &str) -> bool {
        match line.first() {
            Some(name) if name.kind == TokenKind::Ident => self.has_macro(&name.text),
            _ => {
                self.expected_macro_name(place, directive);
                false
            }
        }
    }

    pub(super) fn expected_macro_name(&mut self, place: Span, directive: &str) {
        let message = format!("I expected the name of a macro after `{directive}`.");
        self.report(
            Diagnostic::error("E0015", place, message).hint(
                "A name consists of letters, digits and `_`, and does not begin with a digit.",
            ),
        );
    }

    /// `#line 12 "file"` and the `# 12 "file"` that other preprocessors leave behind.
    fn line_directive(&mut self, place: Span, line: Vec<Token>, raw: Span) {
        let line = match line.first() {
            Some(first) if first.kind == TokenKind::Int => line,
            _ => self.expand_list(line),
        };
        let number = line.first().filter(|t| t.kind == TokenKind::Int);
        let Some(number) = number.and_then(|t| t.text.parse::<u32>().ok()) else {
            let error =
                Diagnostic::error("E0028", place, "I expected a line number after `#line`.");
            self.report(error.hint("Write `#line 12` or `#line 12 \"file.p4\"`."));
            return;
        };
        let file = line
            .get(1)
            .filter(|t| t.kind == TokenKind::Str)
            .map(|t| t.text.clone());
        // The line after this one begins just behind the line end.
        self.sources.mark_line(raw.hi + 1, number, file.as_deref());
    }

    /// Leaves a file that was read to its end.
    pub(super) fn close_file(&mut self) {
        let Some(file) = self.files.pop() else { return };
        for open in file.conditions {
            self.report(
                Diagnostic::error("E0021", open.span, "This `#if` is never closed.")
                    .hint("Write `#endif` where its text ends."),
            );
        }
    }
}
