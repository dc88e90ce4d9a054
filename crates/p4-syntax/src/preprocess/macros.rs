//! Macros: definition and expansion, as the C preprocessor does them.
//!
//! A macro is not expanded within its own expansion. That is kept by the stack of
//! [`Context`]s: a macro is disabled as long as its body is being read, and a name met while its
//! macro is disabled is marked so that it stays as it is for good.

use super::Preprocessor;
use crate::ast::Name;
use crate::diag::Diagnostic;
use crate::lexer::Lexer;
use crate::span::Span;
use crate::token::{quote, Token, TokenKind};
use std::cell::Cell;
use std::rc::Rc;

/// Macro arguments within macro arguments.
const MAX_ARGUMENT_DEPTH: u32 = 100;
/// Stands in a macro's text for all arguments behind the named ones: `#define F(a, ...)`.
const OTHERS: &str = "__VA_ARGS__";
/// Length of a name or string that `##` or `#` builds.
const MAX_TEXT: usize = 4096;

pub(super) struct Macro {
    /// `None`: used without parentheses.
    params: Option<Vec<Name>>,
    body: Vec<Token>,
    span: Span,
    disabled: Cell<bool>,
}

impl Macro {
    fn same_as(&self, other: &Macro) -> bool {
        let same_token = |(a, b): (&Token, &Token)| a.kind == b.kind && a.text == b.text;
        self.params == other.params
            && self.body.len() == other.body.len()
            && self.body.iter().zip(&other.body).all(same_token)
    }
}

/// Tokens to be read before anything else.
pub(super) struct Context {
    tokens: std::vec::IntoIter<Token>,
    kind: ContextKind,
}

enum ContextKind {
    Body(Rc<Macro>),
    /// A macro argument or the line of a directive: nothing is read past its end.
    Argument,
    /// One token that was read too early.
    PutBack,
}

impl Context {
    fn new(tokens: Vec<Token>, kind: ContextKind) -> Context {
        if let ContextKind::Body(origin) = &kind {
            origin.disabled.set(true);
        }
        Context {
            tokens: tokens.into_iter(),
            kind,
        }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.tokens.next()
    }

    pub(super) fn is_argument(&self) -> bool {
        matches!(self.kind, ContextKind::Argument)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let ContextKind::Body(origin) = &self.kind {
            origin.disabled.set(false);
        }
    }
}

impl Preprocessor<'_> {
    pub(super) fn has_macro(&self, name: &str) -> bool {
        self.macros.contains_key(name) || matches!(name, "__FILE__" | "__LINE__")
    }

    /// Macros of the command line, read as if from a file of that name.
    pub(super) fn define_options(&mut self) {
        for (name, value) in &self.options.defines {
            let base = self
                .sources
                .add_file("<command line>", &format!("{name} {value}"));
            let source = self.sources.last_index();
            let mut lexer = Lexer::new(self.sources.text(source), base);
            let mut line = vec![lexer.next(&mut self.names)];
            line.extend(lexer.rest_of_line(&mut self.names).0);
            self.define(line[0].span, line);
        }
    }

    pub(super) fn define(&mut self, place: Span, line: Vec<Token>) {
        let mut line = line.into_iter();
        let Some(name) = line.next().filter(|token| token.kind == TokenKind::Ident) else {
            self.expected_macro_name(place, "#define");
            return;
        };
        let mut rest: Vec<Token> = line.collect();
        let takes_arguments = rest
            .first()
            .is_some_and(|token| token.kind == TokenKind::LParen && !token.space);
        let params = if takes_arguments {
            let Some((params, body_start)) = self.parameters(&name, &rest) else {
                return;
            };
            rest.drain(..body_start);
            Some(params)
        } else {
            None
        };
        let new = Macro {
            params,
            body: rest,
            span: name.span,
            disabled: Cell::new(false),
        };
        if !self.body_is_valid(&new) {
            return;
        }
        if let Some(old) = self.macros.get(&name.text).filter(|old| !old.same_as(&new)) {
            let warning = Diagnostic::warning(
                "E0019",
                name.span,
                format!(
                    "The macro `{}` is defined a second time, differently.",
                    name.text
                ),
            )
            .label(old.span, "it was defined here first")
            .hint(format!(
                "Write `#undef {}` first if this is intended.",
                name.text
            ));
            self.report(warning);
        }
        self.macros.insert(name.text, Rc::new(new));
    }

    /// `(a, b)` of a macro definition, and how many tokens it takes.
    fn parameters(&mut self, name: &Token, tokens: &[Token]) -> Option<(Vec<Name>, usize)> {
        let mut params = Vec::new();
        let close = tokens
            .iter()
            .position(|token| token.kind == TokenKind::RParen);
        let list = close.map_or(tokens, |close| &tokens[..close]);
        let mut well_formed = close.is_some();
        for (position, token) in list.iter().enumerate().skip(1) {
            let expected = if position % 2 == 1 {
                TokenKind::Ident
            } else {
                TokenKind::Comma
            };
            let is_others = token.kind == TokenKind::Dots && position + 1 == list.len();
            well_formed &= token.kind == expected || is_others && expected == TokenKind::Ident;
            if is_others {
                params.push(self.names.intern(OTHERS));
            }
            if token.kind == TokenKind::Ident {
                well_formed &= !params.contains(&token.text);
                params.push(token.text.clone());
            }
        }
        // `(a,)` ends in a comma.
        well_formed &= list.len() % 2 == 0 || list.len() == 1;
        if !well_formed {
            let span = tokens[0].span.to(list.last().unwrap_or(&tokens[0]).span);
            let message = format!("I cannot read the parameters of the macro `{}`.", name.text);
            self.report(
                Diagnostic::error("E0015", span, message)
                    .hint("Write different names, separated by commas: `#define MAX(a, b) ...`."),
            );
            return None;
        }
        close.map(|close| (params, close + 1))
    }

    fn body_is_valid(&mut self, new: &Macro) -> bool {
        let paste =
            |token: Option<&Token>| token.filter(|t| t.kind == TokenKind::HashHash).cloned();
        if let Some(token) = paste(new.body.first()).or(paste(new.body.last())) {
            self.report(
                Diagnostic::error(
                    "E0015",
                    token.span,
                    "`##` joins two things, but here it has one.",
                )
                .hint("Put `##` between two names of the macro's text."),
            );
            return false;
        }
        let Some(params) = &new.params else {
            return true;
        };
        for (position, token) in new.body.iter().enumerate() {
            let next_is_param = new
                .body
                .get(position + 1)
                .is_some_and(|next| params.contains(&next.text));
            if token.kind == TokenKind::Hash && !next_is_param {
                self.report(
                    Diagnostic::error(
                        "E0029",
                        token.span,
                        "`#` must be followed by a parameter of the macro.",
                    )
                    .hint("`#x` makes a string of the argument `x`."),
                );
                return false;
            }
        }
        true
    }

    /// Expands all macros in `tokens`, alone.
    pub(super) fn expand_list(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        self.contexts
            .push(Context::new(tokens, ContextKind::Argument));
        let mut expanded = Vec::new();
        loop {
            let token = self.next_expanded();
            if token.kind == TokenKind::Eof || self.stopped {
                break;
            }
            expanded.push(token);
        }
        self.contexts.pop();
        expanded
    }

    /// The next token after expansion.
    pub(super) fn next_expanded(&mut self) -> Token {
        loop {
            let mut token = self.read();
            if token.kind != TokenKind::Ident || token.no_expand || self.stopped {
                return token;
            }
            let Some(found) = self.macros.get(&token.text).cloned() else {
                return self.place_macro(token);
            };
            if found.disabled.get() {
                token.no_expand = true;
                return token;
            }
            if let Some(unused) = self.enter(&found, token) {
                return unused;
            }
        }
    }

    /// `__FILE__` and `__LINE__`, which say where they are used.
    fn place_macro(&mut self, token: Token) -> Token {
        let (kind, text) = match &*token.text {
            "__FILE__" => (
                TokenKind::Str,
                self.sources
                    .locate(token.span.lo)
                    .map(|l| l.file.to_string()),
            ),
            "__LINE__" => (
                TokenKind::Int,
                self.sources
                    .locate(token.span.lo)
                    .map(|l| l.line.to_string()),
            ),
            _ => return token,
        };
        let text = self.names.intern(&text.unwrap_or_default());
        Token {
            kind,
            text,
            ..token
        }
    }

    /// Begins the expansion of `found`, used at `token`. Gives the token back when the macro takes
    /// arguments and there are none.
    fn enter(&mut self, found: &Rc<Macro>, token: Token) -> Option<Token> {
        let mut span = token.span;
        let mut body = match &found.params {
            None => self.substitute(found, &[], &[], span),
            Some(params) => {
                let next = self.read();
                if next.kind != TokenKind::LParen {
                    if next.kind != TokenKind::Eof {
                        self.contexts
                            .push(Context::new(vec![next], ContextKind::PutBack));
                    }
                    return Some(token);
                }
                let (arguments, close) = self.arguments(&token, params)?;
                span = span.to(close);
                self.substitute(found, params, &arguments, span)
            }
        };
        if let Some(first) = body.first_mut() {
            first.line_start = token.line_start;
            first.indent = token.indent;
            first.space = token.space;
        }
        self.count(body.len() + 1, span);
        self.contexts
            .push(Context::new(body, ContextKind::Body(found.clone())));
        None
    }

    /// Reads the arguments of a macro up to the closing parenthesis, and fits their number.
    fn arguments(&mut self, name: &Token, params: &[Name]) -> Option<(Vec<Vec<Token>>, Span)> {
        let expected = params.len();
        let takes_others = params.last().is_some_and(|last| &**last == OTHERS);
        let mut arguments = vec![Vec::new()];
        let mut open = 0usize;
        let close = loop {
            let mut token = self.read();
            self.count(1, name.span);
            token.space |= std::mem::take(&mut token.line_start);
            match token.kind {
                TokenKind::Eof => {
                    let message = format!("The arguments of the macro `{}` do not end.", name.text);
                    self.report(
                        Diagnostic::error("E0017", name.span, message)
                            .hint("Write `)` after the last argument."),
                    );
                    return None;
                }
                TokenKind::RParen if open == 0 => break token.span,
                TokenKind::Comma if open == 0 && !(takes_others && arguments.len() == expected) => {
                    arguments.push(Vec::new());
                    continue;
                }
                TokenKind::LParen => open += 1,
                TokenKind::RParen => open -= 1,
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        };
        if expected == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if takes_others && arguments.len() + 1 == expected {
            arguments.push(Vec::new());
        }
        if arguments.len() != expected {
            let message = format!(
                "The macro `{}` takes {}, but here it gets {}.",
                name.text,
                count_of(expected),
                arguments.len()
            );
            self.report(Diagnostic::error("E0016", name.span.to(close), message));
            arguments.resize(expected, Vec::new());
        }
        Some((arguments, close))
    }

    /// The body of a macro with its arguments put in.
    fn substitute(
        &mut self,
        found: &Macro,
        params: &[Name],
        arguments: &[Vec<Token>],
        span: Span,
    ) -> Vec<Token> {
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; params.len()];
        let mut result: Vec<Token> = Vec::new();
        let mut body = found.body.iter().peekable();
        let mut paste = false;
        while let Some(token) = body.next() {
            if token.kind == TokenKind::HashHash {
                paste = true;
                continue;
            }
            let parameter = |token: &Token| {
                params
                    .iter()
                    .position(|p| token.kind == TokenKind::Ident && *p == token.text)
            };
            let pasted = paste
                || body
                    .peek()
                    .is_some_and(|next| next.kind == TokenKind::HashHash);
            let mut piece = match parameter(token) {
                Some(index) if pasted => arguments[index].clone(),
                Some(index) => {
                    if expanded[index].is_none() {
                        expanded[index] = Some(self.expand_argument(&arguments[index], span));
                    }
                    expanded[index].clone().unwrap_or_default()
                }
                None if token.kind == TokenKind::Hash && !params.is_empty() => {
                    let index = body.next().and_then(parameter);
                    let argument = index.map_or(&[][..], |index| &arguments[index]);
                    vec![self.stringize(argument, token, span)]
                }
                None => vec![Token {
                    span,
                    line_start: false,
                    ..token.clone()
                }],
            };
            self.count(piece.len(), span);
            if self.stopped {
                return Vec::new();
            }
            if let Some(first) = piece.first_mut() {
                first.space = token.space;
            }
            if std::mem::take(&mut paste) && !result.is_empty() && !piece.is_empty() {
                let right = piece.remove(0);
                if let Some(left) = result.pop() {
                    self.join(&mut result, left, right, span);
                }
            }
            result.append(&mut piece);
        }
        result
    }

    fn expand_argument(&mut self, argument: &[Token], span: Span) -> Vec<Token> {
        if self.argument_depth >= MAX_ARGUMENT_DEPTH {
            self.stop(
                Diagnostic::error(
                    "E0026",
                    span,
                    "Macro uses are nested too deeply within each other.",
                )
                .hint("Give the inner results names of their own."),
            );
            return Vec::new();
        }
        self.argument_depth += 1;
        let expanded = self.expand_list(argument.to_vec());
        self.argument_depth -= 1;
        expanded
    }

    /// `#x`: the argument as a string.
    fn stringize(&mut self, argument: &[Token], hash: &Token, span: Span) -> Token {
        let mut text = String::new();
        for (position, token) in argument.iter().enumerate() {
            if position > 0 && token.space {
                text.push(' ');
            }
            text.push_str(&match token.kind {
                TokenKind::Str => quote(&token.text),
                _ => token.spelling(),
            });
        }
        if text.len() > MAX_TEXT {
            self.too_long(span);
            text.clear();
        }
        let text = self.names.intern(&text);
        Token {
            kind: TokenKind::Str,
            span,
            text,
            line_start: false,
            ..hash.clone()
        }
    }

    /// `left ## right`: one token, or two that stand side by side, as p4c's preprocessor leaves what is
    /// none.
    fn join(&mut self, result: &mut Vec<Token>, left: Token, right: Token, span: Span) {
        let text = left.spelling() + &right.spelling();
        if text.len() > MAX_TEXT {
            self.too_long(span);
            return;
        }
        let mut lexer = Lexer::new(text.as_str().into(), 0);
        let joined = lexer.next(&mut self.names);
        let whole = lexer.next(&mut self.names).kind == TokenKind::Eof;
        if whole
            && !matches!(
                joined.kind,
                TokenKind::Unknown | TokenKind::OpenComment | TokenKind::Eof
            )
        {
            result.push(Token {
                span,
                line_start: false,
                space: left.space,
                ..joined
            });
            return;
        }
        let right = Token {
            space: false,
            ..right
        };
        result.extend([left, right]);
    }

    fn too_long(&mut self, span: Span) {
        let message = format!("A macro builds a text of more than {MAX_TEXT} characters here.");
        self.report(Diagnostic::error("E0018", span, message).hint("Build it from fewer pieces."));
    }
}

fn count_of(arguments: usize) -> String {
    match arguments {
        0 => "no arguments".to_string(),
        1 => "one argument".to_string(),
        n => format!("{n} arguments"),
    }
}
