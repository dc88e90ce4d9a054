//! What belongs at the cursor, found out from the tokens before it: text that is being typed has no
//! tree yet.

use p4_fmt::scan::{Kind, Piece};

/// What belongs at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    /// A member of what these links lead to
    Member(Vec<Link>),
    /// A file name in `#include`; how it is written so far
    Include(String),
    Directive,
    Annotation,
    TopLevel,
    ControlItem,
    ParserItem,
    ExternItem,
    TableProperty,
    MatchKind,
    /// An action in a table's `actions`
    Action,
    /// One of the actions of the table of this name
    ActionOf(Option<String>),
    State {
        select: bool,
    },
    Type {
        directions: bool,
    },
    Statement {
        in_state: bool,
    },
    Expression,
}

/// A step from a name to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Name(String),
    Index,
    /// A call, with its type argument if that is a name
    Call(Option<String>),
}

/// The cursor's surroundings.
pub(crate) struct Context {
    pub wanted: Wanted,
    /// The keyword and name of the parser, control or other declaration around, outermost first
    pub around: Vec<(String, String)>,
}

/// A bracket that is open at the cursor.
struct Frame {
    bracket: char,
    /// The tokens of the statement that it belongs to, up to the bracket
    head: Vec<usize>,
}

/// What is wanted at the end of `text`.
pub(crate) fn context(text: &str) -> Context {
    let pieces = p4_fmt::scan(text);
    let nothing = |wanted| Context {
        wanted,
        around: Vec::new(),
    };
    if let Some(last) = pieces.last() {
        let touches = last.end() == text.len();
        match last.kind {
            Kind::LineComment if !text[last.start..].contains('\n') => {
                return nothing(Wanted::Nothing)
            }
            Kind::OpenComment | Kind::OpenString => return nothing(Wanted::Nothing),
            Kind::Directive if !text[last.end()..].contains('\n') => {
                return nothing(directive(&text[last.start..]));
            }
            Kind::Pragma | Kind::Number if touches => return nothing(Wanted::Nothing),
            _ => {}
        }
    }
    let mut tokens: Vec<Piece> = pieces
        .into_iter()
        .filter(|p| matches!(p.kind, Kind::Word | Kind::Number | Kind::Str | Kind::Punct))
        .collect();
    // The word being typed is not context.
    if tokens
        .last()
        .is_some_and(|t| t.kind == Kind::Word && t.end() == text.len())
    {
        tokens.pop();
    }
    let reader = Reader { tokens: &tokens };
    let (frames, statement) = reader.frames();
    Context {
        wanted: reader.wanted(&frames, &statement),
        around: reader.around(&frames),
    }
}

fn directive(line: &str) -> Wanted {
    let word = line.trim_start_matches(['#', ' ', '\t']);
    if word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return Wanted::Directive;
    }
    let target = word.strip_prefix("include").map(str::trim_start);
    match target {
        Some(target) if target.starts_with(['"', '<']) && !target[1..].contains(['"', '>']) => {
            Wanted::Include(target.to_string())
        }
        _ => Wanted::Nothing,
    }
}

struct Reader<'a> {
    tokens: &'a [Piece<'a>],
}

impl Reader<'_> {
    fn text(&self, token: usize) -> &str {
        self.tokens.get(token).map_or("", |piece| piece.text)
    }

    fn is_word(&self, token: usize) -> bool {
        self.tokens
            .get(token)
            .is_some_and(|piece| piece.kind == Kind::Word)
    }

    /// What is open, and the tokens of the statement at the cursor.
    fn frames(&self) -> (Vec<Frame>, Vec<usize>) {
        let mut frames: Vec<Frame> = Vec::new();
        let mut statement: Vec<usize> = Vec::new();
        for (i, token) in self.tokens.iter().enumerate() {
            if token.kind != Kind::Punct {
                statement.push(i);
                continue;
            }
            match token.text {
                "(" | "[" | "{" => {
                    let bracket = token.text.chars().next().unwrap_or_default();
                    let head = std::mem::take(&mut statement);
                    frames.push(Frame { bracket, head });
                }
                ")" | "]" => {
                    let open = if token.text == ")" { '(' } else { '[' };
                    if frames.last().is_some_and(|frame| frame.bracket == open) {
                        statement = frames.pop().map(|frame| frame.head).unwrap_or_default();
                        statement.push(i);
                    }
                }
                "}" => {
                    // It closes what was left open within its braces.
                    if let Some(at) = frames.iter().rposition(|frame| frame.bracket == '{') {
                        frames.truncate(at);
                        statement.clear();
                    }
                }
                ";" if frames.last().is_none_or(|frame| frame.bracket == '{') => statement.clear(),
                _ => statement.push(i),
            }
        }
        (frames, statement)
    }

    /// Index within `head` of the first of some words, beyond annotations.
    fn keyword<'w>(&self, head: &[usize], words: &[&'w str]) -> Option<(usize, &'w str)> {
        head.iter().enumerate().find_map(|(at, &token)| {
            let previous = at.checked_sub(1).map(|before| self.text(head[before]));
            let found = words.iter().find(|word| **word == self.text(token))?;
            (previous != Some("@") && previous != Some(".")).then_some((at, *found))
        })
    }

    fn has(&self, tokens: &[usize], text: &str) -> bool {
        tokens.iter().any(|&token| self.text(token) == text)
    }

    /// Keyword and name of each declaration that is open.
    fn around(&self, frames: &[Frame]) -> Vec<(String, String)> {
        const NAMED: &[&str] = &[
            "parser",
            "control",
            "extern",
            "action",
            "state",
            "table",
            "apply",
            "struct",
            "header",
            "header_union",
            "enum",
        ];
        let named = |frame: &Frame| {
            let (at, word) = self.keyword(&frame.head, NAMED)?;
            let name = frame.head.get(at + 1).map_or("", |&token| self.text(token));
            (frame.bracket != '[').then(|| (word.to_string(), name.to_string()))
        };
        frames.iter().filter_map(named).collect()
    }

    fn wanted(&self, frames: &[Frame], statement: &[usize]) -> Wanted {
        let last = statement.last().map_or("", |&token| self.text(token));
        match last {
            "." => {
                let dot = statement[statement.len() - 1];
                return self.links(dot).map_or(Wanted::Nothing, Wanted::Member);
            }
            "@" => return Wanted::Annotation,
            _ => {}
        }
        if self.in_type_arguments(statement) {
            return Wanted::Type { directions: false };
        }
        match frames.last() {
            None => self.top_level(statement),
            Some(frame) if frame.bracket == '{' => self.in_braces(frames, frame, statement),
            Some(frame) => self.in_parentheses(frame, statement),
        }
    }

    /// Behind `bit<8>, ` in `tuple<bit<8>, `, or behind `f<`.
    fn in_type_arguments(&self, statement: &[usize]) -> bool {
        let mut depth = 0;
        for (at, &token) in statement.iter().enumerate().rev() {
            match self.text(token) {
                ">" => depth += 1,
                "<" if depth > 0 => depth -= 1,
                "<" => {
                    let before = at.checked_sub(1).map(|at| statement[at]);
                    return match before.map(|token| self.text(token)) {
                        Some("tuple" | "list" | "value_set") => true,
                        // `a <` may be a comparison, `a<` hardly is one.
                        Some("bit" | "int" | "varbit") | None => false,
                        Some(_) => self.tokens[token].gap == 0,
                    };
                }
                "," | "." => {}
                _ if self.is_word(token) || depth > 0 => {}
                _ => return false,
            }
        }
        false
    }

    fn top_level(&self, statement: &[usize]) -> Wanted {
        let Some((_, word)) = self.keyword(
            statement,
            &[
                "const",
                "typedef",
                "type",
                "enum",
                "extern",
                "control",
                "parser",
                "struct",
                "header",
                "header_union",
                "action",
                "package",
            ],
        ) else {
            return match statement.is_empty() || self.text(statement[statement.len() - 1]) == ")" {
                true => Wanted::TopLevel,
                false => Wanted::Nothing,
            };
        };
        let at_type = statement.len() == 1;
        match word {
            "const" if self.has(statement, "=") => Wanted::Expression,
            "const" | "typedef" | "type" | "extern" if at_type => {
                Wanted::Type { directions: false }
            }
            _ => Wanted::Nothing,
        }
    }

    fn in_braces(&self, frames: &[Frame], frame: &Frame, statement: &[usize]) -> Wanted {
        let head = &frame.head;
        const KINDS: &[&str] = &[
            "parser",
            "control",
            "extern",
            "table",
            "key",
            "actions",
            "entries",
            "struct",
            "header",
            "header_union",
            "enum",
            "error",
            "match_kind",
            "state",
            "apply",
            "action",
            "select",
            "switch",
            "if",
            "else",
            "for",
        ];
        let typed = |wanted| match statement.is_empty() {
            true => wanted,
            false => self.declaration(statement),
        };
        // `x = {`: a list, whatever the words before
        let assigned = head.last().is_some_and(|&token| self.text(token) == "=");
        match self.keyword(head, KINDS).map(|(_, word)| word) {
            Some("key") if assigned => match self.has(statement, ":") {
                true => Wanted::MatchKind,
                false => Wanted::Expression,
            },
            Some("actions") if assigned && statement.is_empty() => Wanted::Action,
            Some("entries") if assigned && self.has(statement, ":") => {
                Wanted::ActionOf(self.table_around(frames))
            }
            _ if assigned => Wanted::Expression,
            Some("parser") => typed(Wanted::ParserItem),
            Some("control") => typed(Wanted::ControlItem),
            Some("extern") => typed(Wanted::ExternItem),
            Some("table") => self.in_table(frames, statement),
            Some("struct" | "header" | "header_union") if statement.is_empty() => {
                Wanted::Type { directions: false }
            }
            Some("struct" | "header" | "header_union" | "enum" | "error" | "match_kind") => {
                Wanted::Nothing
            }
            Some("select") => match self.has(statement, ":") {
                true => Wanted::State { select: false },
                false => Wanted::Expression,
            },
            Some("switch") if statement.is_empty() => match self.switched_table(head) {
                Some(table) => Wanted::ActionOf(Some(table)),
                None => Wanted::Expression,
            },
            Some("state") => self.in_state(statement),
            _ => typed(Wanted::Statement {
                in_state: self.is_in_state(frames),
            }),
        }
    }

    fn is_in_state(&self, frames: &[Frame]) -> bool {
        frames
            .iter()
            .any(|frame| self.keyword(&frame.head, &["state"]).is_some())
    }

    fn in_state(&self, statement: &[usize]) -> Wanted {
        match statement {
            [] => Wanted::Statement { in_state: true },
            [word] if self.text(*word) == "transition" => Wanted::State { select: true },
            _ => self.declaration(statement),
        }
    }

    fn in_table(&self, frames: &[Frame], statement: &[usize]) -> Wanted {
        match self.keyword(statement, &["default_action"]) {
            Some(_) if self.has(statement, "=") => Wanted::ActionOf(self.table_around(frames)),
            _ if self.has(statement, "=") => Wanted::Expression,
            _ if statement.iter().all(|&token| self.text(token) == "const") => {
                Wanted::TableProperty
            }
            _ => Wanted::Nothing,
        }
    }

    /// The table whose braces are open.
    fn table_around(&self, frames: &[Frame]) -> Option<String> {
        frames.iter().rev().find_map(|frame| {
            let (at, _) = self.keyword(&frame.head, &["table"])?;
            Some(self.text(*frame.head.get(at + 1)?).to_string())
        })
    }

    /// The table in `switch (t.apply().action_run)`. The parentheses are closed, so what was in them
    /// stands between the tokens of the head.
    fn switched_table(&self, head: &[usize]) -> Option<String> {
        let (&first, &last) = (head.first()?, head.last()?);
        let apply = (first..last).find(|&token| self.text(token) == "apply")?;
        let table = apply.checked_sub(2)?;
        (self.text(apply - 1) == ".").then(|| self.text(table).to_string())
    }

    /// Within a statement that has begun.
    fn declaration(&self, statement: &[usize]) -> Wanted {
        let first = statement.first().map_or("", |&token| self.text(token));
        let last = statement.last().map_or("", |&token| self.text(token));
        match (first, last) {
            (_, "const") => Wanted::Type { directions: false },
            ("return", _) => Wanted::Expression,
            (_, "else" | ")") => Wanted::Statement { in_state: false },
            // `bit<8> `: the name of a variable
            _ if self.is_word(statement[statement.len() - 1])
                || last == ">" && !self.has(statement, "=") =>
            {
                Wanted::Nothing
            }
            _ => Wanted::Expression,
        }
    }

    fn in_parentheses(&self, frame: &Frame, statement: &[usize]) -> Wanted {
        if frame.bracket == '[' {
            return Wanted::Expression;
        }
        let head = &frame.head;
        if let Some(&[at, _]) = head.last_chunk::<2>() {
            if self.text(at) == "@" {
                return Wanted::Nothing;
            }
        }
        const DECLARES: &[&str] = &["parser", "control", "action", "extern", "package"];
        // Functions and methods: a type, a name, and no `=` before
        let declares = self.keyword(head, DECLARES).is_some();
        if !declares {
            return Wanted::Expression;
        }
        let since_comma = statement.rsplit(|&token| self.text(token) == ",").next();
        match since_comma.unwrap_or_default() {
            [] => Wanted::Type { directions: true },
            [word] if matches!(self.text(*word), "in" | "out" | "inout") => {
                Wanted::Type { directions: false }
            }
            _ => Wanted::Nothing,
        }
    }

    /// The links that lead to the dot at `dot`.
    fn links(&self, dot: usize) -> Option<Vec<Link>> {
        let mut links = Vec::new();
        let mut at = dot;
        loop {
            at = at.checked_sub(1)?;
            match self.text(at) {
                "]" => {
                    at = self.opening(at, "[", "]")?;
                    links.push(Link::Index);
                    continue;
                }
                ")" => {
                    at = self.opening(at, "(", ")")?;
                    let mut argument = None;
                    if at > 0 && self.text(at - 1) == ">" {
                        at = self.opening(at - 1, "<", ">")?;
                        argument = Some(self.text(at + 1).to_string());
                    }
                    links.push(Link::Call(argument));
                    continue;
                }
                _ if self.is_word(at) => links.push(Link::Name(self.text(at).to_string())),
                _ => return None,
            }
            if at == 0 || self.text(at - 1) != "." {
                links.reverse();
                return Some(links);
            }
            at -= 1;
            // `.name`: a name at the top level
            if at == 0 || !(self.is_word(at - 1) || matches!(self.text(at - 1), ")" | "]")) {
                links.reverse();
                return Some(links);
            }
        }
    }

    fn opening(&self, close: usize, open_text: &str, close_text: &str) -> Option<usize> {
        let mut depth = 0usize;
        for at in (0..=close).rev() {
            if self.text(at) == close_text {
                depth += 1;
            } else if self.text(at) == open_text {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }
}
