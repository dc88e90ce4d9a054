//! Tables: properties, keys, actions and entries.

use super::items::Head;
use super::{Parse, Parser};
use crate::ast::{
    ActionRef, Decl, DeclKind, Entry, KeyElement, Path, PropertyValue, TableProperty,
};
use crate::diag::Diagnostic;
use crate::token::TokenKind;

impl Parser {
    pub(super) fn table(&mut self, head: Head) -> Parse<Decl> {
        self.bump();
        let name = self.name("the name of the table")?;
        self.scopes.declare_object(&name.name);
        let properties = self.braced("and the properties of the table", Self::table_property)?;
        Ok(self.decl(head, name, DeclKind::Table(properties)))
    }

    fn table_property(&mut self) -> Parse<TableProperty> {
        use TokenKind::*;
        let head = self.head()?;
        if self.is_at(Semi) {
            let error = Diagnostic::error("E0121", self.span(), "This `;` ends nothing.");
            // `size = N;` where `N` is defined with a `;` of its own
            let doubled = self.previous_kind() == Semi && self.at > 1;
            return Err(self.fail(match doubled {
                true if self.tokens[self.at - 2].span == self.previous_span() => error
                    .label(self.previous_span(), "this macro ends with a `;` already")
                    .hint("Remove the `;` at the end of its `#define`."),
                true => error.hint("Remove it; the property has ended before it."),
                false => error.hint("Remove it; nothing follows the `}` of a property."),
            }));
        }
        let is_const = self.eat(Const);
        let keyword = self.kind();
        if !keyword.is_name() {
            return Err(self.unexpected("E0115", "a property such as `key`, `actions` or `size`"));
        }
        let name = self.take_ident();
        let braced = matches!(keyword, Key | Actions | Entries);
        if braced && self.is_at(LBrace) {
            let message = format!("I expected `=` after `{}`.", name.name);
            let error = Diagnostic::error("E0115", self.behind(), message);
            self.report(error.hint(format!("Write `{} = {{ ... }}`.", name.name)));
        } else if !self.eat(Assign) {
            let expected = format!("`=` after the property `{}`", name.name);
            return Err(self.unexpected("E0115", &expected));
        }
        let value = match keyword {
            Key => PropertyValue::Key(self.braced("and a list", Self::key_element)?),
            Actions => PropertyValue::Actions(self.braced("and a list", Self::action_element)?),
            Entries => PropertyValue::Entries(self.braced("and a list", Self::entry)?),
            _ => {
                let value = self.expression()?;
                self.semicolon("this property")?;
                PropertyValue::Expr(value)
            }
        };
        let span = self.span_from(head.start);
        Ok(TableProperty {
            span,
            annotations: head.annotations,
            is_const,
            name,
            value,
        })
    }

    fn key_element(&mut self) -> Parse<KeyElement> {
        let start = self.span();
        let expr = self.expression()?;
        if !self.is_at(TokenKind::Colon) {
            let error = Diagnostic::error(
                "E0111",
                self.behind(),
                "This key does not say how it is matched.",
            );
            return Err(self.fail(error.hint("Write `: exact`, `: lpm` or `: ternary` after it.")));
        }
        self.bump();
        let match_kind = self.name("the kind of match, such as `exact`")?;
        let annotations = self.annotations()?;
        self.list_semicolon("key")?;
        Ok(KeyElement {
            expr,
            match_kind,
            annotations,
            span: self.span_from(start),
        })
    }

    fn action_element(&mut self) -> Parse<ActionRef> {
        let head = self.head()?;
        let mut action = self.action_ref()?;
        self.list_semicolon("action")?;
        action.span = self.span_from(head.start);
        action.annotations = head.annotations;
        Ok(action)
    }

    fn action_ref(&mut self) -> Parse<ActionRef> {
        let start = self.span();
        let absolute = self.eat(TokenKind::Dot);
        let ident = self.name("the name of an action")?;
        let args = match self.is_at(TokenKind::LParen) {
            true => Some(self.arguments()?),
            false => None,
        };
        let path = Path { absolute, ident };
        Ok(ActionRef {
            id: self.id(),
            annotations: Vec::new(),
            path,
            args,
            span: self.span_from(start),
        })
    }

    /// `const priority = 10: (key, key) : action(args) @annotation;`
    fn entry(&mut self) -> Parse<Entry> {
        let start = self.span();
        let is_const = self.eat(TokenKind::Const);
        let has_priority = self.is_at(TokenKind::Priority) && self.nth_kind(1) == TokenKind::Assign;
        let priority = match has_priority {
            true => {
                self.bump();
                self.bump();
                let priority = self.expression()?;
                if !self.is_at(TokenKind::Colon) {
                    return Err(self.unexpected("E0111", "`:` after the priority of this entry"));
                }
                self.bump();
                Some(priority)
            }
            false => None,
        };
        let keyset = self.keyset()?;
        if !self.is_at(TokenKind::Colon) {
            return Err(self.unexpected("E0111", "`:` and an action after the key of this entry"));
        }
        self.bump();
        let action = self.action_ref()?;
        let annotations = self.annotations()?;
        self.list_semicolon("entry")?;
        let span = self.span_from(start);
        Ok(Entry {
            span,
            annotations,
            is_const,
            priority,
            keyset,
            action,
        })
    }
}
