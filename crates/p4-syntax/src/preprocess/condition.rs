//! The integer expressions of `#if` and `#elif`, in 64-bit arithmetic as the C preprocessor has it.

use super::Preprocessor;
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::{Token, TokenKind};

/// Nesting of parentheses and prefix operators in one condition.
const MAX_DEPTH: u32 = 100;

struct Evaluator<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    end: Span,
}

/// What was wrong, and where.
struct Wrong(&'static str, Span, String);

type Value = Result<i64, Wrong>;

impl Preprocessor<'_> {
    /// Whether the condition holds; a malformed one is reported and does not.
    pub(super) fn condition(&mut self, line: Vec<Token>, place: Span) -> bool {
        let resolved = self.resolve_defined(line);
        let tokens = self.expand_list(resolved);
        let end = tokens.last().map_or(place, |last| Span {
            lo: last.span.hi,
            hi: last.span.hi,
        });
        let mut evaluator = Evaluator {
            tokens: &tokens,
            at: 0,
            depth: 0,
            end,
        };
        let result = evaluator.whole();
        match result {
            Ok(value) => value != 0,
            Err(Wrong(code, span, message)) => {
                self.report(Diagnostic::error(code, span, message).hint(
                    "A condition is made of numbers, macros, `defined(NAME)` and the operators of C.",
                ));
                false
            }
        }
    }

    /// `defined X` and `defined(X)` to 1 or 0, before macros are expanded.
    fn resolve_defined(&mut self, line: Vec<Token>) -> Vec<Token> {
        let mut resolved = Vec::with_capacity(line.len());
        let mut rest = &line[..];
        while let Some((token, after)) = rest.split_first() {
            let (name, after) = match after {
                _ if !token.is_ident("defined") => (None, after),
                [open, name, close, after @ ..]
                    if open.kind == TokenKind::LParen && close.kind == TokenKind::RParen =>
                {
                    (Some(name), after)
                }
                [name, after @ ..] => (Some(name), after),
                [] => (None, after),
            };
            rest = after;
            match name.filter(|name| name.kind == TokenKind::Ident) {
                Some(name) => {
                    let text = if self.has_macro(&name.text) { "1" } else { "0" };
                    let text = self.names.intern(text);
                    resolved.push(Token {
                        kind: TokenKind::Int,
                        text,
                        ..token.clone()
                    });
                }
                None => resolved.push(token.clone()),
            }
        }
        resolved
    }
}

impl Evaluator<'_> {
    fn whole(&mut self) -> Value {
        let value = self.conditional(true)?;
        match self.tokens.get(self.at) {
            None => Ok(value),
            Some(token) => Err(self.unexpected(token)),
        }
    }

    fn unexpected(&self, token: &Token) -> Wrong {
        Wrong(
            "E0022",
            token.span,
            format!(
                "I do not understand {} in this condition.",
                token.describe()
            ),
        )
    }

    fn kind(&self) -> Option<TokenKind> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == Some(kind);
        self.at += usize::from(found);
        found
    }

    fn nested(&mut self, parse: impl FnOnce(&mut Self) -> Value) -> Value {
        if self.depth >= MAX_DEPTH {
            return Err(Wrong(
                "E0022",
                self.end,
                "This condition is nested too deeply.".to_string(),
            ));
        }
        self.depth += 1;
        let value = parse(self);
        self.depth -= 1;
        value
    }

    /// `live` is false in the operand that `&&`, `||` or `?:` does not need: there a division by
    /// zero is not an error.
    fn conditional(&mut self, live: bool) -> Value {
        let condition = self.binary(0, live)?;
        if !self.eat(TokenKind::Question) {
            return Ok(condition);
        }
        let yes = self.nested(|this| this.conditional(live && condition != 0))?;
        if !self.eat(TokenKind::Colon) {
            return Err(self.missing("I expected `:` after the first choice of `?`."));
        }
        let no = self.nested(|this| this.conditional(live && condition == 0))?;
        Ok(if condition != 0 { yes } else { no })
    }

    fn missing(&self, message: &str) -> Wrong {
        let span = self
            .tokens
            .get(self.at)
            .map_or(self.end, |token| token.span);
        Wrong("E0022", span, message.to_string())
    }

    /// The operator at this place, how many tokens it has and how tightly it binds.
    fn operator(&self) -> Option<(TokenKind, usize, u32)> {
        use TokenKind::*;
        let kind = self.kind()?;
        let second = self.tokens.get(self.at + 1);
        if kind == Gt && second.is_some_and(|next| next.kind == Gt && !next.space) {
            return Some((Shl, 2, 8)); // told apart from `<<` by its length
        }
        let power = match kind {
            OrOr => 1,
            AndAnd => 2,
            Or => 3,
            Xor => 4,
            And => 5,
            EqEq | Ne => 6,
            Lt | Gt | Le | Ge => 7,
            Shl => 8,
            Plus | Minus => 9,
            Star | Slash | Percent => 10,
            _ => return None,
        };
        Some((kind, 1, power))
    }

    fn binary(&mut self, minimum: u32, live: bool) -> Value {
        let mut left = self.unary(live)?;
        while let Some((kind, length, power)) = self.operator() {
            if power <= minimum {
                break;
            }
            let span = self.tokens[self.at].span;
            self.at += length;
            let needed = match kind {
                TokenKind::OrOr => left == 0,
                TokenKind::AndAnd => left != 0,
                _ => true,
            };
            let live = live && needed;
            let right = self.nested(|this| this.binary(power, live))?;
            left = apply(kind, length, left, right)
                .or((!live).then_some(0))
                .ok_or_else(|| Wrong("E0023", span, "This divides by zero.".to_string()))?;
        }
        Ok(left)
    }

    fn unary(&mut self, live: bool) -> Value {
        let Some(token) = self.tokens.get(self.at) else {
            return Err(self.missing("I expected a condition here."));
        };
        self.at += 1;
        match token.kind {
            TokenKind::Not => Ok(i64::from(self.nested(|this| this.unary(live))? == 0)),
            TokenKind::Tilde => Ok(!self.nested(|this| this.unary(live))?),
            TokenKind::Minus => Ok(self.nested(|this| this.unary(live))?.wrapping_neg()),
            TokenKind::Plus => self.nested(|this| this.unary(live)),
            TokenKind::LParen => {
                let value = self.nested(|this| this.conditional(live))?;
                if !self.eat(TokenKind::RParen) {
                    return Err(self.missing("I expected `)` in this condition."));
                }
                Ok(value)
            }
            TokenKind::Int | TokenKind::BadNumber => {
                integer(&token.text).ok_or_else(|| self.unexpected(token))
            }
            // A name that is not a macro counts as 0.
            TokenKind::Ident => Ok(0),
            _ => Err(self.unexpected(token)),
        }
    }
}

fn apply(kind: TokenKind, length: usize, a: i64, b: i64) -> Option<i64> {
    use TokenKind::*;
    Some(match kind {
        OrOr => i64::from(a != 0 || b != 0),
        AndAnd => i64::from(a != 0 && b != 0),
        Or => a | b,
        Xor => a ^ b,
        And => a & b,
        EqEq => i64::from(a == b),
        Ne => i64::from(a != b),
        Lt => i64::from(a < b),
        Gt => i64::from(a > b),
        Le => i64::from(a <= b),
        Ge => i64::from(a >= b),
        Shl if length == 2 => a.wrapping_shr(b as u32),
        Shl => a.wrapping_shl(b as u32),
        Plus => a.wrapping_add(b),
        Minus => a.wrapping_sub(b),
        Star => a.wrapping_mul(b),
        Slash if b != 0 => a.wrapping_div(b),
        Percent if b != 0 => a.wrapping_rem(b),
        _ => return None,
    })
}

/// A C integer: decimal, octal (leading 0), hexadecimal or binary, with `u` and `l` behind it.
fn integer(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']).replace('_', "");
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, &digits[..]),
    };
    u64::from_str_radix(digits, radix)
        .ok()
        .map(|value| value as i64)
}
