//! Tokens, shared by the lexer, the preprocessor and the parser.

use crate::ast::Name;
use crate::span::Span;
use crate::HashSet;

macro_rules! token_kinds {
    ($($punct:ident $text:literal,)* ; $($keyword:ident $word:literal,)*) => {
        /// What a token is. Keywords appear only after preprocessing: a macro may have any name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum TokenKind {
            Ident,
            Int,
            Str,
            /// Starts with a digit but is no P4 number.
            BadNumber,
            /// A string whose closing quote is missing on its line.
            OpenString,
            /// A `/*` without its `*/`.
            OpenComment,
            /// A character P4 has no use for; in a directive also a character constant.
            Unknown,
            Eof,
            $($punct,)*
            $($keyword,)*
        }

        impl TokenKind {
            /// The spelling of punctuation and keywords.
            pub(crate) fn text(self) -> Option<&'static str> {
                match self {
                    $(TokenKind::$punct => Some($text),)*
                    $(TokenKind::$keyword => Some($word),)*
                    _ => None,
                }
            }

            pub(crate) fn keyword(word: &str) -> Option<TokenKind> {
                match word {
                    $($word => Some(TokenKind::$keyword),)*
                    _ => None,
                }
            }

            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$keyword)|*)
            }
        }

        /// Every keyword, to suggest the nearest one.
        pub(crate) const KEYWORDS: &[&str] = &[$($word),*];
    };
}

token_kinds! {
    LParen "(", RParen ")", LBracket "[", RBracket "]", LBrace "{", RBrace "}",
    Invalid "{#}", Semi ";", Comma ",", Colon ":", PlusColon "+:", Question "?", At "@",
    Dot ".", DotDot "..", Dots "...",
    Assign "=", PlusAssign "+=", MinusAssign "-=", MulAssign "*=", DivAssign "/=",
    ModAssign "%=", AndAssign "&=", OrAssign "|=", XorAssign "^=", ShlAssign "<<=",
    PlusSatAssign "|+|=", MinusSatAssign "|-|=",
    Lt "<", Gt ">", Le "<=", Ge ">=", EqEq "==", Ne "!=", Shl "<<",
    Plus "+", Minus "-", PlusSat "|+|", MinusSat "|-|", Concat "++",
    Star "*", Slash "/", Percent "%", And "&", Or "|", Xor "^", Tilde "~",
    AndAnd "&&", OrOr "||", Mask "&&&", Not "!", Hash "#", HashHash "##",
    ;
    Abstract "abstract", Action "action", Actions "actions", Apply "apply", Bool "bool",
    Bit "bit", Break "break", Const "const", Continue "continue", Control "control",
    Default "default", Else "else", Entries "entries", Enum "enum", Error "error", Exit "exit",
    Extern "extern", False "false", For "for", Header "header", HeaderUnion "header_union",
    If "if", In "in", InOut "inout", IntType "int", Key "key", List "list",
    MatchKind "match_kind", Out "out", Package "package", Parser "parser",
    Priority "priority", Return "return", Select "select", State "state", String "string",
    Struct "struct", Switch "switch", Table "table", This "this", Transition "transition",
    True "true", Tuple "tuple", Type "type", Typedef "typedef", Varbit "varbit",
    ValueSet "value_set", Void "void", Underscore "_",
}

impl TokenKind {
    /// Keywords that p4c accepts as names as well.
    pub(crate) fn is_name(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Ident | Actions | Apply | Entries | Key | Priority | State | Type | List
        )
    }
}

/// One token. `>>` is always two adjacent `>`, so that nested type arguments close.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// Identifiers, keywords, numbers and unknown characters as written; the content of strings;
    /// nothing for punctuation, whose kind says all.
    pub text: Name,
    /// First token of its line.
    pub line_start: bool,
    /// Bytes before it on its line; for the parser, before the first token of its line.
    pub indent: u32,
    /// Whitespace or a comment stands before it.
    pub space: bool,
    /// A macro name met within its own expansion; never expanded again.
    pub no_expand: bool,
}

impl Token {
    pub(crate) fn is_ident(&self, word: &str) -> bool {
        self.kind == TokenKind::Ident && &*self.text == word
    }

    /// The token as it would be written.
    pub(crate) fn spelling(&self) -> String {
        match self.kind {
            TokenKind::Str => quote(&self.text),
            TokenKind::OpenString => format!("\"{}", self.text),
            TokenKind::OpenComment => "/*".to_string(),
            TokenKind::Eof => String::new(),
            kind => kind
                .text()
                .map_or_else(|| self.text.to_string(), str::to_string),
        }
    }

    /// The token in the middle of a sentence.
    pub(crate) fn describe(&self) -> String {
        match self.kind {
            TokenKind::Eof => "the end of the file".to_string(),
            TokenKind::Str | TokenKind::OpenString => "a string".to_string(),
            TokenKind::Int | TokenKind::BadNumber => {
                format!("the number `{}`", shorten(&self.text))
            }
            kind if kind.is_keyword() && kind != TokenKind::Underscore => {
                format!("the keyword `{}`", self.text)
            }
            _ => format!("`{}`", shorten(&self.spelling())),
        }
    }
}

/// At most the first 40 characters, so that no message is as long as a hostile token.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

/// `text` as a P4 string literal.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Keeps one copy of every name.
#[derive(Default)]
pub(crate) struct Interner {
    names: HashSet<Name>,
    nothing: Name,
}

impl Interner {
    /// The text of what has none.
    pub(crate) fn nothing(&self) -> Name {
        self.nothing.clone()
    }

    pub(crate) fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name: Name = text.into();
        self.names.insert(name.clone());
        name
    }
}
