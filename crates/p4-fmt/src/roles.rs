//! What a token is for, as far as spacing depends on it.

use crate::scan::{Kind, Piece};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing special: words, numbers, most punctuation
    Plain,
    /// `<` and `>` around type arguments
    TypeOpen,
    TypeClose,
    /// An operator in front of its operand
    Prefix,
    /// An operator between two operands; `>>` is two of them
    Infix,
    /// An operator between two operands within `[]`, written as densely as its author did
    Dense {
        spaced: bool,
    },
    /// The `)` of a cast
    CastClose,
    /// The `:` of `c ? a : b`
    Else,
    /// `@name`, and everything in its parentheses
    Annotation {
        body: bool,
    },
}

/// Type arguments longer than this are not recognised.
const MAX_TYPE_ARGUMENTS: usize = 400;

/// Words that a parenthesis or a prefix operator follows at a distance.
pub(crate) fn is_keyword_before_value(word: &str) -> bool {
    matches!(
        word,
        "if" | "else"
            | "for"
            | "in"
            | "inout"
            | "out"
            | "switch"
            | "return"
            | "const"
            | "transition"
            | "default_action"
    )
}

fn is_sized_type(word: &str) -> bool {
    matches!(
        word,
        "bit" | "int" | "varbit" | "tuple" | "list" | "value_set"
    )
}

fn is_type_word(word: &str) -> bool {
    is_sized_type(word) || matches!(word, "bool" | "error" | "string" | "void")
}

const INFIX: &[&str] = &[
    "|+|=", "|-|=", "&&&", "<<=", "|+|", "|-|", "..", "<<", "&&", "||", "==", "!=", ">=", "<=",
    "++", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+:", "=", "<", ">", "+", "-", "*", "/",
    "%", "&", "|", "^", "?",
];

/// The role of each piece.
pub(crate) fn roles(pieces: &[Piece]) -> Vec<Role> {
    let mut finder = Finder {
        tokens: (0..pieces.len())
            .filter(|&i| is_token(&pieces[i]))
            .collect(),
        pieces,
        roles: vec![Role::Plain; pieces.len()],
    };
    finder.annotations();
    finder.type_arguments();
    finder.operators();
    finder.roles
}

fn is_token(piece: &Piece) -> bool {
    !piece.is_comment() && !matches!(piece.kind, Kind::Directive | Kind::Pragma)
}

struct Finder<'a> {
    pieces: &'a [Piece<'a>],
    /// Indices of the pieces that are tokens
    tokens: Vec<usize>,
    roles: Vec<Role>,
}

impl<'a> Finder<'a> {
    fn piece(&self, token: usize) -> Option<&'a Piece<'a>> {
        self.tokens.get(token).map(|&i| &self.pieces[i])
    }

    fn is(&self, token: usize, text: &str) -> bool {
        self.piece(token).is_some_and(|p| p.is(text))
    }

    fn role(&self, token: usize) -> Role {
        self.tokens
            .get(token)
            .map_or(Role::Plain, |&i| self.roles[i])
    }

    fn set(&mut self, token: usize, role: Role) {
        if let Some(&i) = self.tokens.get(token) {
            self.roles[i] = role;
        }
    }

    fn annotations(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            if !self.is(at, "@") {
                at += 1;
                continue;
            }
            self.set(at, Role::Annotation { body: false });
            self.set(at + 1, Role::Annotation { body: false });
            at += 2;
            let (open, close) = match () {
                () if self.is(at, "(") => ("(", ")"),
                () if self.is(at, "[") => ("[", "]"),
                () => continue,
            };
            let mut depth = 0;
            while at < self.tokens.len() {
                depth += usize::from(self.is(at, open));
                depth -= usize::from(self.is(at, close));
                let body = !(self.is(at, open) && depth == 1);
                self.set(at, Role::Annotation { body });
                at += 1;
                if depth == 0 {
                    break;
                }
            }
        }
    }

    fn type_arguments(&mut self) {
        for at in 1..self.tokens.len() {
            if self.is(at, "<") && self.role(at) == Role::Plain {
                if let Some(brackets) = self.matching(at) {
                    for (token, role) in brackets {
                        self.set(token, role);
                    }
                }
            }
        }
    }

    /// The `<` and `>` of type arguments that begin at `open`.
    fn matching(&self, open: usize) -> Option<Vec<(usize, Role)>> {
        let before = self.piece(open - 1)?;
        if before.kind != Kind::Word {
            return None;
        }
        let gap = |token: usize| {
            let piece = self.piece(token);
            piece.is_some_and(|p| p.gap > 0 || p.newlines > 0)
        };
        let spaced = gap(open) && gap(open + 1);
        if spaced && !is_sized_type(before.text) {
            return None;
        }
        let (mut found, mut depth, mut parens) = (Vec::new(), 0, 0);
        for token in open..(open + MAX_TYPE_ARGUMENTS).min(self.tokens.len()) {
            let piece = self.piece(token)?;
            match (piece.kind, piece.text) {
                (Kind::Punct, "(") => parens += 1,
                (Kind::Punct, ")") if parens == 0 => return None,
                (Kind::Punct, ")") => parens -= 1,
                (Kind::Punct, ";" | "{" | "}") => return None,
                _ if parens > 0 => {}
                (Kind::Punct, "<") => {
                    depth += 1;
                    found.push((token, Role::TypeOpen));
                }
                (Kind::Punct, ">") => {
                    depth -= 1;
                    found.push((token, Role::TypeClose));
                    if depth == 0 {
                        return Some(found);
                    }
                }
                (Kind::Word | Kind::Number, _) | (Kind::Punct, "," | "." | "[" | "]") => {}
                _ => return None,
            }
        }
        None
    }

    fn operators(&mut self) {
        // What is open: the bracket, and how many `?` wait for their `:`.
        let mut open: Vec<(usize, &str, usize)> = Vec::new();
        for at in 0..self.tokens.len() {
            let Some(piece) = self.piece(at) else { break };
            if self.role(at) != Role::Plain || piece.kind != Kind::Punct {
                continue;
            }
            match piece.text {
                "(" | "[" | "{" => open.push((at, piece.text, 0)),
                ")" | "]" | "}" => {
                    let opener = open.pop();
                    if let (")", Some((from, "(", _))) = (piece.text, opener) {
                        if self.is_cast(from, at) {
                            self.set(at, Role::CastClose);
                        }
                    }
                }
                ":" => {
                    let bracket = open.last().map(|frame| frame.1);
                    match open.last_mut() {
                        Some(frame) if frame.2 > 0 => {
                            frame.2 -= 1;
                            self.set(at, Role::Else);
                        }
                        _ if bracket == Some("[") => self.dense(at),
                        _ => {}
                    }
                }
                "~" | "!" => self.set(at, Role::Prefix),
                "-" | "+" if self.is_prefix(at) => self.set(at, Role::Prefix),
                text if INFIX.contains(&text) => {
                    if text == "?" {
                        match open.last_mut() {
                            Some(frame) => frame.2 += 1,
                            None => open.push((at, "", 1)),
                        }
                    }
                    match open.last().is_some_and(|frame| frame.1 == "[") {
                        true => self.dense(at),
                        false => self.set(at, Role::Infix),
                    }
                }
                _ => {}
            }
        }
    }

    fn dense(&mut self, at: usize) {
        let gap = |token: usize| self.piece(token).is_some_and(|p| p.gap > 0);
        let spaced = gap(at) || gap(at + 1);
        self.set(at, Role::Dense { spaced });
    }

    /// Whether an operator at `at` has no operand before it.
    fn is_prefix(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else {
            return true;
        };
        let Some(piece) = self.piece(before) else {
            return true;
        };
        match (piece.kind, piece.text) {
            (Kind::Word, word) => is_keyword_before_value(word),
            (Kind::Punct, ")") => self.role(before) == Role::CastClose,
            (Kind::Punct, "]" | "}" | "{#}" | "...") => false,
            (Kind::Punct, _) => self.role(before) != Role::TypeClose,
            _ => false,
        }
    }

    /// Whether the parentheses from `open` to `close` hold a type that what follows is cast to.
    fn is_cast(&self, open: usize, close: usize) -> bool {
        let before = open.checked_sub(1);
        let may_begin_value = before.is_none_or(|before| {
            self.piece(before).is_some_and(|piece| match piece.kind {
                Kind::Word => matches!(piece.text, "return" | "in"),
                Kind::Punct => {
                    !matches!(piece.text, ")" | "]" | "}") && self.role(before) != Role::TypeClose
                }
                _ => false,
            })
        });
        let first = match self.is(open + 1, ".") {
            true => open + 2,
            false => open + 1,
        };
        let holds_type = self.piece(first).is_some_and(|p| p.kind == Kind::Word)
            && (first + 1 == close
                || self.role(first + 1) == Role::TypeOpen
                    && self.role(close - 1) == Role::TypeClose);
        let surely_type =
            first + 1 != close || self.piece(first).is_some_and(|p| is_type_word(p.text));
        let operand_follows = self.piece(close + 1).is_some_and(|piece| match piece.kind {
            Kind::Word => piece.text != "in",
            Kind::Number | Kind::Str => true,
            // `(x) - y` is a difference
            _ if matches!(piece.text, "-" | "+") => surely_type,
            _ => matches!(piece.text, "(" | "~" | "!" | "{"),
        });
        may_begin_value && holds_type && operand_follows
    }
}
