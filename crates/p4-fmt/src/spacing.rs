//! How many spaces stand between two pieces of a line.

use crate::roles::{is_keyword_before_value, Role};
use crate::scan::{punctuation, Kind, Piece};

/// A piece and what it is for.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub piece: &'a Piece<'a>,
    pub role: Role,
}

/// Columns between two pieces of one line.
pub(crate) fn gap(before: Token, after: Token) -> usize {
    let (a, b) = (before.piece, after.piece);
    if b.is_comment() {
        return match a.is("(") || a.is("[") {
            true => b.gap,
            false => b.gap.max(1),
        };
    }
    if a.is_comment() || b.kind == Kind::Directive {
        return b.gap;
    }
    let wanted = wanted(before, after);
    if wanted == 0 && would_join(a, b) {
        return 1;
    }
    wanted
}

fn wanted(before: Token, after: Token) -> usize {
    use Role::{Annotation, CastClose, Dense, Infix, Prefix, TypeClose, TypeOpen};
    let (a, b) = (before.piece, after.piece);
    match (before.role, after.role) {
        (Annotation { .. }, Annotation { body: true }) => return b.gap,
        (Annotation { body: false }, Annotation { .. }) if !b.is("@") => return 0,
        // `(@name`
        (_, Annotation { .. }) => return usize::from(!opens(a)),
        (Annotation { .. }, _) => return usize::from(!ends_or_closes(b)),
        _ => {}
    }
    if ends_or_closes(b) || opens(a) {
        return 0;
    }
    match (a.text, b.text) {
        ("{", "}") => return 0,
        (_, "{") if before.role == CastClose => return b.gap.min(1),
        ("{", _) | (_, "{" | "}") => return 1,
        _ => {}
    }
    match (before.role, after.role) {
        (_, TypeOpen | TypeClose) | (TypeOpen | Prefix | CastClose, _) => return 0,
        // The two halves of `>>`
        (Infix | Dense { .. }, Infix | Dense { .. }) if a.is(">") && b.gap == 0 => return 0,
        (_, Dense { spaced }) | (Dense { spaced }, _) => return usize::from(spaced),
        (_, Infix | Role::Else) | (Infix | Role::Else, _) => return 1,
        _ => {}
    }
    match b.text {
        _ if a.is(".") => 0,
        ":" if b.kind == Kind::Punct => 0,
        "." | "(" | "[" if b.kind == Kind::Punct => usize::from(!is_operand_end(before)),
        _ => 1,
    }
}

/// `;`, `,`, `)`, `]`: nothing stands before them.
fn ends_or_closes(piece: &Piece) -> bool {
    piece.kind == Kind::Punct && matches!(piece.text, ";" | "," | ")" | "]")
}

/// `(`, `[`: nothing stands behind them.
fn opens(piece: &Piece) -> bool {
    piece.kind == Kind::Punct && matches!(piece.text, "(" | "[")
}

/// Whether a call, an index or a member may follow directly.
fn is_operand_end(token: Token) -> bool {
    match token.piece.kind {
        Kind::Word => !is_keyword_before_value(token.piece.text),
        Kind::Number | Kind::Str => true,
        Kind::Punct => matches!(token.piece.text, ")" | "]") || token.role == Role::TypeClose,
        _ => false,
    }
}

/// Whether two pieces written without a space would be read as others.
fn would_join(a: &Piece, b: &Piece) -> bool {
    let is_word = |kind| matches!(kind, Kind::Word | Kind::Number);
    match (a.kind, b.kind) {
        (x, y) if is_word(x) && is_word(y) => true,
        (Kind::Punct, Kind::Punct) => {
            // `- -x`, as in other languages, though P4 has no `--`
            if matches!((a.text, b.text), ("-", "-") | ("+", "+")) {
                return true;
            }
            let joined = format!("{}{}", a.text, b.text);
            punctuation(&joined) != a.text.len()
                || joined.starts_with("//")
                || joined.starts_with("/*")
        }
        _ => false,
    }
}
