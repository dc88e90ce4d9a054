//! The integer expressions of `#if` and `#elif`, in 64-bit arithmetic as the C preprocessor has it.

use super::macros::HAS_INCLUDE;
use super::{in_parentheses, Preprocessor};
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

/// 64 bits; when one of two operands is unsigned, so is what comes of them.
#[derive(Clone, Copy)]
struct Number {
    bits: i64,
    unsigned: bool,
}

impl Number {
    fn signed(bits: impl Into<i64>) -> Number {
        Number {
            bits: bits.into(),
            unsigned: false,
        }
    }

    fn holds(self) -> bool {
        self.bits != 0
    }

    fn value(self) -> i128 {
        if self.unsigned {
            i128::from(self.bits as u64)
        } else {
            i128::from(self.bits)
        }
    }

    /// To the left, or to the right by a negative number.
    fn shifted(self, by: i128) -> Number {
        let by = by.clamp(-64, 64);
        let value = self.value();
        let value = if by < 0 { value >> -by } else { value << by };
        Number {
            bits: value as i64,
            ..self
        }
    }
}

type Value = Result<Number, Wrong>;

impl Preprocessor<'_> {
    /// Whether the condition holds; a malformed one is reported and does not.
    pub(super) fn condition(&mut self, line: Vec<Token>, place: Span) -> bool {
        match self.evaluate(line, place) {
            Ok(value) => value.holds(),
            Err(Wrong(code, span, message)) => {
                self.report(Diagnostic::error(code, span, message).hint(
                    "A condition is made of numbers, macros, `defined(NAME)`, `__has_include(\"FILE\")` and the operators of C.",
                ));
                false
            }
        }
    }

    fn evaluate(&mut self, line: Vec<Token>, place: Span) -> Value {
        let resolved = self.resolve(line)?;
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
        evaluator.whole()
    }

    /// `defined X`, `defined(X)` and `__has_include(FILE)` to 1 or 0, before macros are expanded.
    fn resolve(&mut self, line: Vec<Token>) -> Result<Vec<Token>, Wrong> {
        let mut resolved = Vec::with_capacity(line.len());
        let mut rest = &line[..];
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            let answer = if token.is_ident("defined") {
                self.asks_for_macro(after)
            } else if token.is_ident(HAS_INCLUDE) {
                self.asks_for_file(after)
            } else {
                resolved.push(token.clone());
                continue;
            };
            let Some((holds, after)) = answer else {
                let message = format!("I do not see what this `{}` asks for.", token.text);
                return Err(Wrong("E0022", token.span, message));
            };
            rest = after;
            resolved.push(Token {
                kind: TokenKind::Int,
                text: self.names.intern(if holds { "1" } else { "0" }),
                ..token.clone()
            });
        }
        Ok(resolved)
    }

    /// The answer to `X` or `(X)` behind `defined`, and what follows.
    fn asks_for_macro<'t>(&self, tokens: &'t [Token]) -> Option<(bool, &'t [Token])> {
        let (name, after) = match tokens {
            [open, name, close, after @ ..]
                if open.kind == TokenKind::LParen && close.kind == TokenKind::RParen =>
            {
                (name, after)
            }
            [name, after @ ..] => (name, after),
            [] => return None,
        };
        (name.kind == TokenKind::Ident).then(|| (self.has_macro(&name.text), after))
    }

    /// The answer to `("file")` or `(<file>)` behind `__has_include`, and what follows.
    fn asks_for_file<'t>(&mut self, tokens: &'t [Token]) -> Option<(bool, &'t [Token])> {
        let (inside, after) = in_parentheses(tokens)?;
        let raw = inside.first()?.span.to(inside.last()?.span);
        let target = self.include_target(inside.to_vec(), raw)?;
        Some((self.has_include(&target, raw), after))
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
        let yes = self.nested(|this| this.conditional(live && condition.holds()))?;
        if !self.eat(TokenKind::Colon) {
            return Err(self.missing("I expected `:` after the first choice of `?`."));
        }
        let no = self.nested(|this| this.conditional(live && !condition.holds()))?;
        Ok(Number {
            unsigned: yes.unsigned || no.unsigned,
            ..if condition.holds() { yes } else { no }
        })
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
                TokenKind::OrOr => !left.holds(),
                TokenKind::AndAnd => left.holds(),
                _ => true,
            };
            let live = live && needed;
            let right = self.nested(|this| this.binary(power, live))?;
            left = apply(kind, length, left, right, live)
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
            TokenKind::Not => {
                let value = self.nested(|this| this.unary(live))?;
                Ok(Number::signed(!value.holds()))
            }
            TokenKind::Tilde => self.nested(|this| this.unary(live)).map(|value| Number {
                bits: !value.bits,
                ..value
            }),
            TokenKind::Minus => self.nested(|this| this.unary(live)).map(|value| Number {
                bits: value.bits.wrapping_neg(),
                ..value
            }),
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
            TokenKind::Unknown => character(&token.text).ok_or_else(|| self.unexpected(token)),
            // A name that is not a macro counts as 0.
            TokenKind::Ident => Ok(Number::signed(0)),
            _ => Err(self.unexpected(token)),
        }
    }
}

fn apply(kind: TokenKind, length: usize, a: Number, b: Number, live: bool) -> Option<Number> {
    use TokenKind::*;
    let unsigned = a.unsigned || b.unsigned;
    let [x, y] = [a, b].map(|number| Number { unsigned, ..number }.value());
    let truth = |holds: bool| Some(Number::signed(holds));
    let value = match kind {
        OrOr => return truth(x != 0 || y != 0),
        AndAnd => return truth(x != 0 && y != 0),
        EqEq => return truth(x == y),
        Ne => return truth(x != y),
        Lt => return truth(x < y),
        Gt => return truth(x > y),
        Le => return truth(x <= y),
        Ge => return truth(x >= y),
        Shl if length == 2 => return Some(a.shifted(-b.value())),
        Shl => return Some(a.shifted(b.value())),
        Or => x | y,
        Xor => x ^ y,
        And => x & y,
        Plus => x + y,
        Minus => x - y,
        Star => x.wrapping_mul(y),
        Slash if y != 0 => x / y,
        Percent if y != 0 => x % y,
        Slash | Percent if !live => 0,
        _ => return None,
    };
    Some(Number {
        bits: value as i64,
        unsigned,
    })
}

/// A C integer: decimal, octal (leading 0), hexadecimal or binary, with `u` and `l` behind it.
/// One that has no place among the signed ones is unsigned.
fn integer(text: &str) -> Option<Number> {
    let plain = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let digits = plain.replace('_', "");
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, &digits[..]),
    };
    let value = u64::from_str_radix(digits, radix).ok()?;
    let suffix = &text[plain.len()..];
    Some(Number {
        bits: value as i64,
        unsigned: suffix.contains(['u', 'U']) || i64::try_from(value).is_err(),
    })
}

/// A character constant, `'a'` or `'\n'`; as for GCC on most machines, a character has a sign.
fn character(text: &str) -> Option<Number> {
    let content = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let byte = match content.as_bytes() {
        [byte] => *byte,
        [b'\\', b'x', ..] => u8::from_str_radix(&content[2..], 16).ok()?,
        [b'\\', b'0'..=b'7', ..] => u8::from_str_radix(&content[1..], 8).ok()?,
        [b'\\', escape] => match escape {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'\\' | b'\'' | b'"' | b'?' => *escape,
            _ => return None,
        },
        _ => return None,
    };
    Some(Number::signed(byte as i8))
}
