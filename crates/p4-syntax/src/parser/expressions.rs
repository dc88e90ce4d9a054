//! Expressions: operators by precedence, casts, literals, lists, keysets.
//!
//! Precedence follows C, except that `&`, `^` and `|` bind tighter than comparisons
//! (specification, section 8).

use super::{Parse, Parser, HEIGHT_PER_NESTING};
use crate::ast::{BinOp, Expr, ExprKind, Ident, UnOp};
use crate::diag::Diagnostic;
use crate::lexer::parse_number;
use crate::span::Span;
use crate::token::TokenKind;

/// Tokens looked at to tell a tuple from an expression in parentheses.
const KEYSET_LOOKAHEAD: usize = 1000;

impl Parser {
    /// An expression without parts that are expressions.
    pub(super) fn leaf(&mut self, span: Span, kind: ExprKind) -> Expr {
        self.height = 1;
        Expr {
            id: self.id(),
            span,
            kind,
        }
    }

    /// An expression whose highest part has height `below`. Flat text such as `a + b + c` makes
    /// deep trees too, on which later passes recurse; so height has a limit of its own.
    pub(super) fn tree(&mut self, span: Span, kind: ExprKind, below: u32) -> Parse<Expr> {
        self.check_height(below)?;
        self.height = below + 1;
        Ok(Expr {
            id: self.id(),
            span,
            kind,
        })
    }

    /// Gives up on a tree whose parts are `below` high already.
    pub(super) fn check_height(&mut self, below: u32) -> Parse<()> {
        if below >= self.max_depth.saturating_mul(HEIGHT_PER_NESTING) {
            return Err(self.too_deep(self.previous_span()));
        }
        Ok(())
    }

    pub(super) fn expression(&mut self) -> Parse<Expr> {
        self.nested(Self::conditional)
    }

    /// Runs a rule where `>` compares again, such as inside parentheses.
    pub(super) fn with_greater<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.no_greater, false);
        let result = rule(self);
        self.no_greater = outer;
        result
    }

    fn conditional(&mut self) -> Parse<Expr> {
        let cond = self.binary(0)?;
        if !self.eat(TokenKind::Question) {
            return Ok(cond);
        }
        let mut below = self.height;
        let yes = self.with_greater(Self::expression)?;
        below = below.max(self.height);
        self.expect(TokenKind::Colon, "between the two choices of `?`")?;
        let no = self.nested(Self::conditional)?;
        below = below.max(self.height);
        let span = cond.span.to(no.span);
        self.tree(
            span,
            ExprKind::Conditional(Box::new(cond), Box::new(yes), Box::new(no)),
            below,
        )
    }

    /// The binary operator here, how many tokens it has, and how tightly it binds.
    pub(super) fn operator(&self) -> Option<(BinOp, usize, u32)> {
        use TokenKind::*;
        if self.half {
            return None;
        }
        let next = self.nth(1);
        let joined = |kind: TokenKind| next.kind == kind && !next.space;
        let (op, power) = match self.kind() {
            Gt | Ge if self.no_greater => return None,
            Gt if joined(Gt) => return Some((BinOp::Shr, 2, 8)),
            Gt if joined(Ge) => return None, // `>>=`
            OrOr => (BinOp::Or, 1),
            AndAnd => (BinOp::And, 2),
            EqEq => (BinOp::Eq, 3),
            Ne => (BinOp::Ne, 3),
            Lt => (BinOp::Lt, 4),
            Gt => (BinOp::Gt, 4),
            Le => (BinOp::Le, 4),
            Ge => (BinOp::Ge, 4),
            Or => (BinOp::BitOr, 5),
            Xor => (BinOp::BitXor, 6),
            And => (BinOp::BitAnd, 7),
            Shl => (BinOp::Shl, 8),
            Plus => (BinOp::Add, 9),
            Minus => (BinOp::Sub, 9),
            PlusSat => (BinOp::AddSat, 9),
            MinusSat => (BinOp::SubSat, 9),
            Concat => (BinOp::Concat, 9),
            Star => (BinOp::Mul, 10),
            Slash => (BinOp::Div, 10),
            Percent => (BinOp::Mod, 10),
            _ => return None,
        };
        Some((op, 1, power))
    }

    fn binary(&mut self, minimum: u32) -> Parse<Expr> {
        let mut left = self.unary()?;
        while let Some((op, length, power)) = self.operator() {
            if power <= minimum {
                break;
            }
            for _ in 0..length {
                self.bump();
            }
            let below = self.height;
            let right = self.nested(|parser| parser.binary(power))?;
            let below = below.max(self.height);
            let span = left.span.to(right.span);
            left = self.tree(
                span,
                ExprKind::Binary(op, Box::new(left), Box::new(right)),
                below,
            )?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Expr> {
        let op = match self.kind() {
            TokenKind::Not => UnOp::Not,
            TokenKind::Tilde => UnOp::Complement,
            TokenKind::Minus => UnOp::Neg,
            TokenKind::Plus => UnOp::Plus,
            TokenKind::LParen => {
                return match self.cast_type() {
                    Some((start, ty)) => {
                        let below = self.height;
                        let value = self.nested(Self::unary)?;
                        let (span, below) = (start.to(value.span), below.max(self.height));
                        self.tree(span, ExprKind::Cast(Box::new(ty), Box::new(value)), below)
                    }
                    None => self.postfix(false),
                };
            }
            _ => return self.postfix(false),
        };
        let start = self.bump();
        let operand = self.nested(Self::unary)?;
        let (span, below) = (start.to(operand.span), self.height);
        self.tree(span, ExprKind::Unary(op, Box::new(operand)), below)
    }

    /// `(T)`, if that is what stands here.
    fn cast_type(&mut self) -> Option<(Span, crate::ast::TypeRef)> {
        let place = self.at;
        if self.not_casts.contains(&place) {
            return None;
        }
        let start = self.span();
        let cast = self.attempt(|parser| {
            parser.bump();
            if !parser.begins_type() {
                return Err(super::Failed);
            }
            let ty = parser.with_greater(Self::type_ref)?;
            parser.expect(TokenKind::RParen, "after the type")?;
            Ok((start, ty))
        });
        if cast.is_none() {
            self.not_casts.insert(place);
        }
        cast
    }

    /// What an operator may be applied to, before any `.member`, `[index]` or `(arguments)`.
    pub(super) fn primary(&mut self) -> Parse<Expr> {
        use TokenKind::*;
        let span = self.span();
        let kind = match self.kind() {
            Int => self.integer(),
            BadNumber => ExprKind::Error,
            Str | OpenString => ExprKind::String(self.text()),
            True => ExprKind::Bool(true),
            False => ExprKind::Bool(false),
            This => ExprKind::This,
            Dots => ExprKind::Dots,
            Invalid => ExprKind::Invalid,
            LBrace => return self.braces(),
            LParen => return self.parentheses(),
            Error => return self.error_member(),
            Dot => return self.path(),
            kind if kind.is_name() => return self.path(),
            _ => return Err(self.no_expression()),
        };
        self.bump();
        Ok(self.leaf(span, kind))
    }

    fn integer(&mut self) -> ExprKind {
        match parse_number(&self.token().text) {
            Some(number) => ExprKind::Int {
                value: number.value(),
                width: number.width,
            },
            None => ExprKind::Error,
        }
    }

    fn no_expression(&mut self) -> super::Failed {
        if self.is_at(TokenKind::Underscore) || self.is_at(TokenKind::Default) {
            let message = format!("`{}` is not a value.", self.token().text);
            let error = Diagnostic::error("E0105", self.span(), message);
            return self.fail(error.hint(
                "It may be alone in a keyset or as an argument, where it means \"anything\".",
            ));
        }
        if self.begins_type() {
            let message = format!(
                "I expected a value, but `{}` is a type.",
                self.token().spelling()
            );
            let error = Diagnostic::error("E0105", self.span(), message);
            return self.fail(
                error.hint("To convert a value, write the type in parentheses: `(bit<8>) x`."),
            );
        }
        self.unexpected("E0105", "a value")
    }

    fn parentheses(&mut self) -> Parse<Expr> {
        let open = self.bump();
        let mut inner = self.with_greater(Self::expression)?;
        if !self.is_at(TokenKind::RParen) {
            let failed = self.unexpected("E0100", "`)`");
            self.label_last(open, "to close this");
            return Err(failed);
        }
        self.bump();
        inner.span = self.span_from(open);
        Ok(inner)
    }

    /// Adds a label to the diagnostic just reported, if it was.
    pub(super) fn label_last(&mut self, span: Span, text: &str) {
        if self.quiet || self.last_error_at != Some(self.at) {
            return;
        }
        if let Some(last) = self
            .diagnostics
            .last_mut()
            .filter(|last| last.labels.is_empty())
        {
            last.labels.push((span, text.to_string()));
        }
    }

    /// `{a, b}`, `{x = a, y = b}`, either ending in `...`.
    fn braces(&mut self) -> Parse<Expr> {
        let start = self.bump();
        let named = self.kind().is_name() && self.nth_kind(1) == TokenKind::Assign;
        let mut items = Vec::new();
        let mut fields: Vec<(Ident, Expr)> = Vec::new();
        let mut rest = false;
        let mut below = 0;
        while !self.is_at(TokenKind::RBrace) && !self.is_at(TokenKind::Comma) {
            let last_dots = matches!(
                (self.kind(), self.nth_kind(1), self.nth_kind(2)),
                (TokenKind::Dots, TokenKind::RBrace, _)
                    | (TokenKind::Dots, TokenKind::Comma, TokenKind::RBrace)
            );
            if last_dots {
                self.bump();
                rest = true;
            } else if named {
                let name = self.name("the name of a field")?;
                self.expect(TokenKind::Assign, "after the name of a field")?;
                fields.push((name, self.with_greater(Self::expression)?));
                below = below.max(self.height);
            } else {
                items.push(self.with_greater(Self::expression)?);
                below = below.max(self.height);
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if items.is_empty() && fields.is_empty() {
            self.eat(TokenKind::Comma); // `{,}` is an empty list
        }
        if !self.is_at(TokenKind::RBrace) {
            let failed = self.unexpected("E0100", "`}` or `,` in this list");
            self.label_last(start, "the list begins here");
            return Err(failed);
        }
        self.bump();
        let span = self.span_from(start);
        let kind = match named {
            true => ExprKind::Struct { fields, rest },
            false => ExprKind::List { items, rest },
        };
        self.tree(span, kind, below)
    }

    /// The keyset of a select case or a table entry: one expression per component.
    pub(super) fn keyset(&mut self) -> Parse<Vec<Expr>> {
        if self.is_tuple_keyset() {
            self.bump();
            return self.comma_list(TokenKind::RParen, "in this keyset", Self::keyset_element);
        }
        Ok(vec![self.simple_keyset()?])
    }

    fn keyset_element(&mut self) -> Parse<Expr> {
        if !self.is_tuple_keyset() {
            return self.simple_keyset();
        }
        self.nested(|parser| {
            let start = parser.bump();
            let items =
                parser.comma_list(TokenKind::RParen, "in this keyset", Self::keyset_element)?;
            let span = parser.span_from(start);
            Ok(parser.leaf(span, ExprKind::Tuple(items)))
        })
    }

    /// A `(` whose parenthesis holds what no expression can hold, and has `:`, `,` or `)` behind it.
    fn is_tuple_keyset(&self) -> bool {
        use TokenKind::*;
        if !self.is_at(LParen) {
            return false;
        }
        let mut open = 0usize;
        let mut is_tuple = false;
        for (offset, token) in self.tokens[self.at..]
            .iter()
            .enumerate()
            .take(KEYSET_LOOKAHEAD)
        {
            match token.kind {
                LParen | LBracket | LBrace => open += 1,
                RParen | RBracket | RBrace => open -= 1,
                Comma | Mask | DotDot | Default | Underscore if open == 1 => is_tuple = true,
                Semi | Eof => return false,
                _ => {}
            }
            if open == 0 {
                let behind = self
                    .tokens
                    .get(self.at + offset + 1)
                    .map(|token| token.kind);
                return is_tuple && matches!(behind, Some(Colon | Comma | RParen));
            }
        }
        false
    }

    /// `value`, `value &&& mask`, `lo .. hi`, `default`, `_`.
    fn simple_keyset(&mut self) -> Parse<Expr> {
        let span = self.span();
        if self.eat(TokenKind::Default) || self.eat(TokenKind::Underscore) {
            return Ok(self.leaf(span, ExprKind::DontCare));
        }
        let left = self.expression()?;
        let make = match self.kind() {
            TokenKind::Mask => ExprKind::Mask,
            TokenKind::DotDot => ExprKind::Range,
            _ => return Ok(left),
        };
        self.bump();
        let below = self.height;
        let right = self.expression()?;
        let below = below.max(self.height);
        let span = left.span.to(right.span);
        self.tree(span, make(Box::new(left), Box::new(right)), below)
    }

    /// What a `for` loop runs over: a value or `lo .. hi`.
    pub(super) fn collection(&mut self) -> Parse<Expr> {
        self.simple_keyset()
    }
}
