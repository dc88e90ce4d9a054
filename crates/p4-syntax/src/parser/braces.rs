//! Lists in braces, which is where recovery happens: an item that fails is skipped. When the braces
//! of the file do not match, indentation tells which one was forgotten.

use super::recovery::Level;
use super::{Failed, Parse, Parser};
use crate::diag::Diagnostic;
use crate::token::{Token, TokenKind};
use std::cmp::Ordering;

/// Which braces a file lacks. Where none is missing, indentation is not looked at.
#[derive(Clone, Copy)]
pub(super) struct Missing {
    pub open: bool,
    pub close: bool,
}

/// How the line begins on which the innermost item starts, and what list it is in.
#[derive(Clone, Copy)]
pub(super) struct ItemStart {
    pub indent: u32,
    pub top_level: bool,
    /// The token at which the list of items begins.
    pub list: usize,
}

/// Keywords of declarations that stand in no braces at all.
fn is_top_level_only(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Control | Parser | Header | HeaderUnion | Struct | Enum | Package | Extern | Typedef
    )
}

pub(super) fn missing_braces(tokens: &[Token]) -> Missing {
    let mut missing = Missing {
        open: false,
        close: false,
    };
    let mut open = 0usize;
    for token in tokens {
        match token.kind {
            TokenKind::LBrace => open += 1,
            TokenKind::RBrace if open == 0 => missing.open = true,
            TokenKind::RBrace => open -= 1,
            kind if is_top_level_only(kind) && token.line_start => missing.close |= open > 0,
            _ => {}
        }
    }
    missing.close |= open > 0;
    missing
}

impl Parser {
    /// `{`, items, `}`.
    pub(super) fn braced<T>(
        &mut self,
        what: &str,
        item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let open = self.open_brace(what)?;
        Ok(self.items_until_brace(open, item))
    }

    /// The index of `{`; `None` where it is missing before an indented body.
    fn open_brace(&mut self, what: &str) -> Parse<Option<usize>> {
        if self.is_at(TokenKind::LBrace) {
            let open = self.at;
            self.bump();
            return Ok(Some(open));
        }
        let after_assign = self
            .at
            .checked_sub(1)
            .map(|before| self.tokens[before].kind);
        let body_follows =
            self.body_follows() || (self.missing.open && after_assign == Some(TokenKind::Assign));
        let failed = self.unexpected("E0100", &format!("`{{` {what}"));
        if body_follows {
            return Ok(None);
        }
        // Something else stands in its place.
        let next = self.nth(1);
        if self.missing.open && next.line_start && next.indent > self.item.indent {
            self.bump();
            return Ok(None);
        }
        Err(failed)
    }

    /// A `{` is missing somewhere, and what stands here looks like what it should begin.
    pub(super) fn body_follows(&self) -> bool {
        let token = self.token();
        self.missing.open
            && token.line_start
            && token.indent > self.item.indent
            && token.kind != TokenKind::Eof
    }

    fn items_until_brace<T>(
        &mut self,
        open: Option<usize>,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Vec<T> {
        let mut items = Vec::new();
        let (outer, list) = (self.item, self.at);
        let on_own_line = open.filter(|&open| self.tokens[open].line_start);
        let indent = on_own_line.map_or(outer.indent, |open| self.tokens[open].indent);
        let first = self.token();
        let indented = first.line_start && first.indent > outer.indent;
        loop {
            let ended = self.is_outside(outer, indented) || self.closes_outer(indent);
            if self.is_at(TokenKind::Eof) || ended {
                self.unclosed(open);
                break;
            }
            if self.is_at(TokenKind::RBrace) {
                if !self.is_stray(indent) {
                    self.bump();
                    break;
                }
                self.stray_brace();
                continue;
            }
            let before = self.at;
            self.item = ItemStart {
                indent: self.token().indent,
                top_level: false,
                list,
            };
            match item(self) {
                Ok(value) => items.push(value),
                Err(Failed) => self.skip_item(before, Level::Inner),
            }
            if self.at == before {
                self.bump();
            }
        }
        self.item = outer;
        items
    }

    fn unclosed(&mut self, open: Option<usize>) {
        let open = open.map_or(self.behind(), |open| self.tokens[open].span);
        let error = Diagnostic::error("E0102", open, "This `{` is never closed.")
            .label(self.behind(), "I expected its `}` by here")
            .hint("Add the missing `}`.");
        self.report(error);
    }

    /// Reports a `}` without its `{`, and goes past it.
    pub(super) fn stray_brace(&mut self) {
        let error = Diagnostic::error("E0103", self.span(), "This `}` closes nothing.")
            .hint("Remove it, or look for a missing `{` or a `}` too many further up.");
        self.report(error);
        self.bump();
    }

    /// The current token stands outside the braces that `item` has opened: their content is
    /// `indented` and it is not, or it begins a declaration and its line no deeper than the item.
    fn is_outside(&self, item: ItemStart, indented: bool) -> bool {
        let token = self.token();
        if !self.missing.close || !token.line_start || self.is_at(TokenKind::RBrace) {
            return false;
        }
        let declares = self.begins_declaration();
        let same_level = is_top_level_only(token.kind) || !item.top_level;
        match token.indent.cmp(&item.indent) {
            Ordering::Less => indented || declares,
            Ordering::Equal => indented || (declares && same_level),
            Ordering::Greater => false,
        }
    }

    /// The current token is a `}` that stands too far left to close what is indented by `indent`.
    fn closes_outer(&self, indent: u32) -> bool {
        let token = self.token();
        self.missing.close
            && self.is_at(TokenKind::RBrace)
            && token.line_start
            && token.indent < indent
    }

    /// The current `}` stands too far right to close what is indented by `indent`.
    fn is_stray(&self, indent: u32) -> bool {
        self.missing.open && self.token().line_start && self.token().indent > indent
    }

    /// Skips from `{` to its `}`, or to where that was clearly forgotten.
    pub(super) fn skip_braces(&mut self) {
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::LBrace => open += 1,
                TokenKind::RBrace => open = open.saturating_sub(1),
                kind if self.missing.close
                    && is_top_level_only(kind)
                    && self.token().line_start =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
            if open == 0 {
                return;
            }
        }
    }
}
