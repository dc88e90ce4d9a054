//! Macros: definition and expansion, as the C preprocessor does them.
//!
//! A macro is not expanded within its own expansion. That is kept by the stack of
//! [`Context`]s: a macro is disabled as long as its body is being read, and a name met while its
//! macro is disabled is marked so that it stays as it is for good.

use super::include::BYTES_PER_TOKEN;
use super::{in_parentheses, Preprocessor};
use crate::ast::Name;
use crate::diag::Diagnostic;
use crate::lexer::Lexer;
use crate::span::Span;
use crate::token::{quote, Token, TokenKind};
use std::cell::Cell;
use std::rc::Rc;

/// Macro arguments within macro arguments.
const MAX_ARGUMENT_DEPTH: u32 = 100;
/// Parameters of one macro.
const MAX_PARAMETERS: usize = 255;
/// Stands in a macro's text for all arguments behind the named ones: `#define F(a, ...)`.
const OTHERS: &str = "__VA_ARGS__";
/// What is in parentheses behind it stays only where there are such arguments.
const IF_OTHERS: &str = "__VA_OPT__";
const COUNTER: &str = "__COUNTER__";
pub(super) const HAS_INCLUDE: &str = "__has_include";
/// Length of a name or string that `##` or `#` builds.
const MAX_TEXT: usize = 4096;

pub(super) struct Macro {
    /// `None`: used without parentheses.
    params: Option<Vec<Name>>,
    /// The last parameter stands for all further arguments.
    variadic: bool,
    body: Vec<Token>,
    span: Span,
    disabled: Cell<bool>,
}

impl Macro {
    fn same_as(&self, other: &Macro) -> bool {
        let same_token = |(a, b): (&Token, &Token)| a.kind == b.kind && a.text == b.text;
        self.params == other.params
            && self.variadic == other.variadic
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

/// One use of a macro with parameters.
struct Call<'a> {
    params: &'a [Name],
    variadic: bool,
    /// As written. One fewer than parameters where the variable ones are left out, not just empty.
    arguments: Vec<Vec<Token>>,
    expanded: Vec<Option<Vec<Token>>>,
    span: Span,
}

impl Call<'_> {
    fn parameter(&self, token: &Token) -> Option<usize> {
        let is_named = |name: &Name| token.kind == TokenKind::Ident && *name == token.text;
        self.params.iter().position(is_named)
    }

    fn argument(&self, parameter: usize) -> &[Token] {
        self.arguments.get(parameter).map_or(&[], Vec::as_slice)
    }
}

impl Preprocessor<'_> {
    pub(super) fn has_macro(&self, name: &str) -> bool {
        self.macros.contains_key(name)
            || matches!(name, "__FILE__" | "__LINE__" | COUNTER | HAS_INCLUDE)
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
        let (params, variadic) = if takes_arguments {
            let Some((params, variadic, body_start)) = self.parameters(&name, &rest) else {
                return;
            };
            rest.drain(..body_start);
            (Some(params), variadic)
        } else {
            (None, false)
        };
        let new = Macro {
            params,
            variadic,
            body: rest,
            span: name.span,
            disabled: Cell::new(false),
        };
        if let Some(mistake) = mistake_in(&new) {
            self.report(mistake);
            return;
        }
        if let Some(old) = self.macros.get(&name.text).filter(|old| !old.same_as(&new)) {
            let warning = Diagnostic::warning(
                "W0019",
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

    /// `(a, b)` of a macro definition, whether the last is variadic, and how many tokens it takes.
    fn parameters(&mut self, name: &Token, tokens: &[Token]) -> Option<(Vec<Name>, bool, usize)> {
        let close = tokens
            .iter()
            .position(|token| token.kind == TokenKind::RParen);
        let list = close.map_or(tokens, |close| &tokens[..close]);
        let read = close.and_then(|_| self.parameter_names(&list[1..]));
        if read.is_none() {
            let span = tokens[0].span.to(list.last().unwrap_or(&tokens[0]).span);
            let message = format!("I cannot read the parameters of the macro `{}`.", name.text);
            self.report(Diagnostic::error("E0015", span, message).hint(format!(
                "Write up to {MAX_PARAMETERS} different names, separated by commas: `#define MAX(a, b) ...`."
            )));
        }
        read.map(|(params, variadic)| (params, variadic, list.len() + 1))
    }

    fn parameter_names(&mut self, list: &[Token]) -> Option<(Vec<Name>, bool)> {
        use TokenKind::{Comma, Dots, Ident};
        let mut names = Vec::new();
        let mut variadic = false;
        if list.is_empty() {
            return Some((names, variadic));
        }
        for parameter in list.split(|token| token.kind == Comma) {
            let (name, dots) = match parameter {
                [name] if name.kind == Ident => (name.text.clone(), false),
                [name, dots] if name.kind == Ident && dots.kind == Dots => {
                    (name.text.clone(), true)
                }
                [dots] if dots.kind == Dots => (self.names.intern(OTHERS), true),
                _ => return None,
            };
            if variadic || names.contains(&name) || names.len() == MAX_PARAMETERS {
                return None;
            }
            names.push(name);
            variadic = dots;
        }
        Some((names, variadic))
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
                return self.built_in_macro(token);
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

    /// `__FILE__` and `__LINE__`, which say where they are used, and `__COUNTER__`, how often.
    fn built_in_macro(&mut self, token: Token) -> Token {
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
            COUNTER => {
                self.counter += 1;
                (TokenKind::Int, Some((self.counter - 1).to_string()))
            }
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
        let mut call = Call {
            params: found.params.as_deref().unwrap_or_default(),
            variadic: found.variadic,
            arguments: Vec::new(),
            expanded: Vec::new(),
            span: token.span,
        };
        if found.params.is_some() {
            let next = self.read();
            if next.kind != TokenKind::LParen {
                if next.kind != TokenKind::Eof {
                    self.contexts
                        .push(Context::new(vec![next], ContextKind::PutBack));
                }
                return Some(token);
            }
            self.arguments(&token, &mut call)?;
        }
        let mut body = self.substitute(&found.body, &mut call);
        if let Some(first) = body.first_mut() {
            first.line_start = token.line_start;
            first.indent = token.indent;
            first.space = token.space;
        }
        self.count(body.len() + 1, call.span);
        self.contexts
            .push(Context::new(body, ContextKind::Body(found.clone())));
        None
    }

    /// Reads the arguments of a macro up to the closing parenthesis, and fits their number.
    fn arguments(&mut self, name: &Token, call: &mut Call) -> Option<()> {
        let expected = call.params.len();
        let named = expected - usize::from(call.variadic);
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
                TokenKind::Comma if open == 0 && !(call.variadic && arguments.len() > named) => {
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
        call.span = name.span.to(close);
        if named == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        let left_out = call.variadic && arguments.len() == named;
        if arguments.len() != expected && !left_out {
            let message = format!(
                "The macro `{}` takes {}, but here it gets {}.",
                name.text,
                count_of(expected),
                arguments.len()
            );
            self.report(Diagnostic::error("E0016", call.span, message));
            arguments.resize(expected, Vec::new());
        }
        call.arguments = arguments;
        call.expanded = vec![None; expected];
        Some(())
    }

    /// The body of a macro, or a part of it, with its arguments put in.
    fn substitute(&mut self, body: &[Token], call: &mut Call) -> Vec<Token> {
        let mut result: Vec<Token> = Vec::new();
        let mut rest = body;
        let mut paste = false;
        // Of what stands before a `##` nothing came.
        let mut no_left = true;
        while let Some((token, mut after)) = rest.split_first() {
            if token.kind == TokenKind::HashHash {
                paste = true;
                rest = after;
                continue;
            }
            let next = after.first();
            let pasted = paste || next.is_some_and(|next| next.kind == TokenKind::HashHash);
            let parameter = call.parameter(token);
            let mut piece = match parameter {
                Some(index) if pasted => call.argument(index).to_vec(),
                Some(index) => self.expanded(index, call).to_vec(),
                None if token.kind == TokenKind::Hash && !call.params.is_empty() => {
                    let index = next.and_then(|next| call.parameter(next));
                    let argument = index.map_or(&[][..], |index| call.argument(index));
                    after = after.get(1..).unwrap_or_default();
                    vec![self.stringize(argument, token, call.span)]
                }
                None if call.variadic && token.is_ident(IF_OTHERS) => {
                    let (inside, behind) = in_parentheses(after).unwrap_or((&[], after));
                    after = behind;
                    if self.expanded(call.params.len() - 1, call).is_empty() {
                        Vec::new()
                    } else {
                        self.substitute(inside, call)
                    }
                }
                None => vec![Token {
                    span: call.span,
                    line_start: false,
                    ..token.clone()
                }],
            };
            // Reading the body is work too, even where nothing comes of it.
            self.count(piece.len().max(rest.len() - after.len()), call.span);
            if self.stopped {
                return Vec::new();
            }
            rest = after;
            if let Some(first) = piece.first_mut() {
                first.space = token.space;
            }
            let empty = piece.is_empty();
            if std::mem::take(&mut paste) {
                let comma = result.last().is_some_and(|t| t.kind == TokenKind::Comma);
                let left_out = parameter.is_some_and(|index| index >= call.arguments.len());
                if comma && left_out && !no_left {
                    result.pop(); // GNU's `, ## __VA_ARGS__`
                    no_left = true;
                } else if !empty && !no_left {
                    let right = piece.remove(0);
                    if let Some(left) = result.pop() {
                        self.join(&mut result, left, right, call.span);
                    }
                }
                no_left &= empty;
            } else {
                no_left = empty;
            }
            result.append(&mut piece);
        }
        result
    }

    /// An argument with its macros expanded, once.
    fn expanded<'u>(&mut self, parameter: usize, call: &'u mut Call) -> &'u [Token] {
        if call.expanded[parameter].is_none() {
            let argument = call.argument(parameter);
            call.expanded[parameter] = Some(self.expand_argument(argument, call.span));
        }
        call.expanded[parameter].as_deref().unwrap_or_default()
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
        self.count(text.len() / BYTES_PER_TOKEN, span);
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
        self.count(text.len() / BYTES_PER_TOKEN, span);
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

/// What is wrong with the text of a macro.
fn mistake_in(new: &Macro) -> Option<Diagnostic> {
    let lone = lone_paste(&new.body);
    let (None, Some(params)) = (&lone, &new.params) else {
        return lone;
    };
    let mut rest = &new.body[..];
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        let next_is_param = || after.first().is_some_and(|t| params.contains(&t.text));
        let mistake = if token.kind == TokenKind::Hash && !next_is_param() {
            let message = "`#` must be followed by a parameter of the macro.";
            let error = Diagnostic::error("E0029", token.span, message);
            Some(error.hint("`#x` makes a string of the argument `x`."))
        } else if new.variadic && token.is_ident(IF_OTHERS) {
            match in_parentheses(after) {
                Some((inside, _)) if !inside.iter().any(|t| t.is_ident(IF_OTHERS)) => {
                    lone_paste(inside)
                }
                _ => {
                    let message =
                        "`__VA_OPT__` must be followed by `(` and `)`, without another within.";
                    let error = Diagnostic::error("E0015", token.span, message);
                    Some(error.hint("`__VA_OPT__(,)` is a comma where further arguments follow."))
                }
            }
        } else {
            None
        };
        if mistake.is_some() {
            return mistake;
        }
    }
    None
}

/// A `##` at an end of `text`.
fn lone_paste(text: &[Token]) -> Option<Diagnostic> {
    let mut ends = text.first().into_iter().chain(text.last());
    let paste = ends.find(|token| token.kind == TokenKind::HashHash)?;
    let message = "`##` joins two things, but here it has one.";
    let error = Diagnostic::error("E0015", paste.span, message);
    Some(error.hint("Put `##` between two names of the macro's text."))
}

fn count_of(arguments: usize) -> String {
    match arguments {
        0 => "no arguments".to_string(),
        1 => "one argument".to_string(),
        n => format!("{n} arguments"),
    }
}
