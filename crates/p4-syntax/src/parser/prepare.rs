//! What the parser wants of the token list: keywords told from names, one end token, and nothing
//! in it that is not a token of P4, except inside annotations, where anything goes.

use crate::diag::{Diagnostic, MAX_DIAGNOSTICS};
use crate::lexer::MAX_NUMBER_LENGTH;
use crate::span::Span;
use crate::token::{shorten, Token, TokenKind};

/// Readies preprocessed tokens for [`super::parse`]. `end` is the end of the main file.
pub(crate) fn prepare(
    tokens: Vec<Token>,
    end: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Token> {
    let mut prepared = Vec::with_capacity(tokens.len() + 1);
    let mut annotation = Annotation::Outside;
    let mut indent = 0;
    for mut token in tokens {
        if token.line_start {
            indent = token.indent;
        }
        token.indent = indent;
        annotation = annotation.step(&token);
        match token.kind {
            TokenKind::Ident => {
                token.kind = TokenKind::keyword(&token.text).unwrap_or(TokenKind::Ident);
            }
            _ if diagnostics.len() >= MAX_DIAGNOSTICS => {}
            TokenKind::OpenString => diagnostics.push(
                Diagnostic::error(
                    "E0003",
                    token.span,
                    "This string has no closing quote on its line.",
                )
                .hint("Write `\"` where the string ends."),
            ),
            TokenKind::BadNumber if !annotation.is_body() => diagnostics.push(bad_number(&token)),
            TokenKind::Unknown | TokenKind::Hash | TokenKind::HashHash if !annotation.is_body() => {
                diagnostics.push(unknown(&token));
                continue;
            }
            _ => {}
        }
        prepared.push(token);
    }
    prepared.push(Token {
        kind: TokenKind::Eof,
        span: end,
        text: "".into(),
        line_start: true,
        indent: 0,
        space: true,
        no_expand: false,
    });
    prepared
}

/// How far an annotation has been read: `@`, name, and the depth of its parentheses.
#[derive(Clone, Copy)]
enum Annotation {
    Outside,
    At,
    Name,
    Body(usize),
    Pragma,
}

impl Annotation {
    fn step(self, token: &Token) -> Annotation {
        match (self, token.kind) {
            (Annotation::Pragma, _) if !token.line_start => Annotation::Pragma,
            (Annotation::At, TokenKind::Ident) if &*token.text == "pragma" => Annotation::Pragma,
            (Annotation::At, TokenKind::Ident) => Annotation::Name,
            (Annotation::Name, TokenKind::LParen) => Annotation::Body(1),
            (Annotation::Body(depth), TokenKind::LParen) => Annotation::Body(depth + 1),
            (Annotation::Body(1), TokenKind::RParen) => Annotation::Outside,
            (Annotation::Body(depth), TokenKind::RParen) => Annotation::Body(depth - 1),
            (Annotation::Body(depth), _) => Annotation::Body(depth),
            (_, TokenKind::At) => Annotation::At,
            _ => Annotation::Outside,
        }
    }

    /// Inside the parentheses of an annotation, or behind `@pragma`.
    fn is_body(self) -> bool {
        matches!(self, Annotation::Body(_) | Annotation::Pragma)
    }
}

fn bad_number(token: &Token) -> Diagnostic {
    let text = &*token.text;
    if text.len() > MAX_NUMBER_LENGTH {
        let message = format!("This number has more than {MAX_NUMBER_LENGTH} digits.");
        return Diagnostic::error("E0004", token.span, message)
            .hint("No field can hold it; write a smaller one.");
    }
    let hint = if text.ends_with(['w', 's'])
        && text[..text.len() - 1].bytes().all(|b| b.is_ascii_digit())
    {
        "Behind the width comes the value, as in `8w255` or `8s1`; a sign goes before it all: `-8s1`."
    } else if text.contains(['w', 's']) {
        "A number with a width is written `8w255` or `8w0xFF`: width, `w` or `s`, value."
    } else if text.starts_with("0") {
        "Numbers are written 10, 0x0A, 0b1010, 0o12 or 0d10; `_` may separate digits."
    } else {
        "A name cannot begin with a digit; a number is written 10, 0x0A, 0b1010 or 8w10."
    };
    Diagnostic::error(
        "E0004",
        token.span,
        format!("I cannot read the number `{}`.", shorten(text)),
    )
    .hint(hint)
}

fn unknown(token: &Token) -> Diagnostic {
    let text = token.spelling();
    let hint = match &*text {
        text if text.starts_with(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}', '\'']) => {
            "Strings are written between straight double quotes: \"text\"."
        }
        "#" | "##" => "A directive such as `#include` must come first on its line.",
        "$" => "Names are made of letters, digits and `_`.",
        _ => "Remove it; outside comments and strings P4 uses only plain ASCII characters.",
    };
    Diagnostic::error(
        "E0001",
        token.span,
        format!("The character `{}` means nothing in P4.", shorten(&text)),
    )
    .hint(hint)
}
