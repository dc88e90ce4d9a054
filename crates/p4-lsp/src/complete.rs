//! Completion: what can stand at the cursor.

use crate::analysis::Analysis;
use crate::context::{context, Context, Link, Wanted};
use crate::hover;
use crate::members;
use crate::scope::{self, Around};
use crate::target::Target;
use crate::text::Lines;
use p4_check::types::Type;
use p4_check::Checked;
use p4_syntax::ast::*;
use serde_json::{json, Value};
use std::collections::HashSet;

/// Kinds of the protocol's `CompletionItemKind`.
mod kind {
    pub const METHOD: u32 = 2;
    pub const FUNCTION: u32 = 3;
    pub const FIELD: u32 = 5;
    pub const VARIABLE: u32 = 6;
    pub const CLASS: u32 = 7;
    pub const INTERFACE: u32 = 8;
    pub const MODULE: u32 = 9;
    pub const PROPERTY: u32 = 10;
    pub const ENUM: u32 = 13;
    pub const KEYWORD: u32 = 14;
    pub const FILE: u32 = 17;
    pub const ENUM_MEMBER: u32 = 20;
    pub const CONSTANT: u32 = 21;
    pub const STRUCT: u32 = 22;
    pub const TYPE_PARAMETER: u32 = 25;
}

const MAX_ITEMS: usize = 2000;

const TOP_LEVEL: &[&str] = &[
    "action",
    "const",
    "control",
    "enum",
    "error",
    "extern",
    "header",
    "header_union",
    "match_kind",
    "package",
    "parser",
    "struct",
    "type",
    "typedef",
];
const CONTROL_ITEMS: &[&str] = &["action", "apply", "const", "table"];
const PARSER_ITEMS: &[&str] = &["const", "state", "value_set"];
const BASE_TYPES: &[&str] = &[
    "bit", "bool", "error", "int", "list", "string", "tuple", "varbit", "void",
];
const DIRECTIONS: &[&str] = &["in", "inout", "out"];
const STATEMENTS: &[&str] = &[
    "break", "const", "continue", "else", "exit", "for", "if", "return", "switch",
];
const VALUES: &[&str] = &["error", "false", "this", "true"];
const TABLE_PROPERTIES: &[&str] = &[
    "actions",
    "const",
    "default_action",
    "entries",
    "key",
    "size",
    "implementation",
    "counters",
    "meters",
    "support_timeout",
];
const ANNOTATIONS: &[&str] = &[
    "name",
    "hidden",
    "tableonly",
    "defaultonly",
    "noWarn",
    "deprecated",
    "optional",
    "length",
    "field_list",
    "controller_header",
    "atomic",
    "pure",
    "noSideEffects",
    "pragma",
];
const DIRECTIVES: &[&str] = &[
    "define", "elif", "else", "endif", "error", "if", "ifdef", "ifndef", "include", "line",
    "pragma", "undef", "warning",
];
const BUILT_IN_FILES: &[&str] = &["core.p4", "v1model.p4", "tna.p4", "t2na.p4"];

/// What can stand at `offset` of `text`. `pos` is that place in the checked program; `files` are
/// names of files that can be included.
pub(crate) fn complete(
    analysis: &Analysis,
    checked: &Checked,
    text: &str,
    offset: usize,
    pos: u32,
    files: &[String],
) -> Vec<Value> {
    let Context { wanted, around } = context(&text[..offset]);
    let around = find_around(checked, &around);
    let mut items = Items {
        analysis,
        checked,
        seen: HashSet::new(),
        found: Vec::new(),
    };
    let values = || scope::values(checked, around, pos);
    let named = |name: &str| {
        values()
            .into_iter()
            .find(|target| scope::name(*target) == name)
    };
    match wanted {
        Wanted::Nothing => {}
        Wanted::Member(links) => {
            let start = |name: &str| {
                let types = || scope::types(checked, around);
                let found = named(name);
                found.or_else(|| {
                    types()
                        .into_iter()
                        .find(|target| scope::name(*target) == name)
                })
            };
            items.members(&follow(checked, &links, &start));
        }
        Wanted::Include(written) => {
            // Behind the quote
            let start = offset - written.len() + 1;
            let range = Lines::new(text).range(text, start..offset);
            items.includes(&written, files, &range);
        }
        Wanted::Directive => items.words(DIRECTIVES, kind::KEYWORD),
        Wanted::Annotation => items.words(ANNOTATIONS, kind::PROPERTY),
        Wanted::TopLevel => {
            items.words(TOP_LEVEL, kind::KEYWORD);
            items.types(around);
        }
        Wanted::ControlItem => {
            items.words(CONTROL_ITEMS, kind::KEYWORD);
            items.types(around);
        }
        Wanted::ParserItem => {
            items.words(PARSER_ITEMS, kind::KEYWORD);
            items.types(around);
        }
        Wanted::ExternItem => {
            items.words(&["abstract"], kind::KEYWORD);
            items.types(around);
        }
        Wanted::TableProperty => items.words(TABLE_PROPERTIES, kind::PROPERTY),
        Wanted::MatchKind => items.match_kinds(),
        Wanted::Action => items.targets(values().into_iter().filter(is_action)),
        Wanted::ActionOf(table) => match table.as_deref().and_then(named) {
            Some(Target::Decl(decl)) => {
                let listed = actions_of(decl);
                items.targets(listed.into_iter().filter_map(named));
                items.words(&["default"], kind::KEYWORD);
            }
            _ => items.targets(values().into_iter().filter(is_action)),
        },
        Wanted::State { select } => {
            items.states(around.container);
            if select {
                items.words(&["select"], kind::KEYWORD);
            }
        }
        Wanted::Type { directions } => {
            if directions {
                items.words(DIRECTIONS, kind::KEYWORD);
            }
            items.types(around);
        }
        Wanted::Statement { in_state } => {
            items.targets(values());
            items.words(STATEMENTS, kind::KEYWORD);
            if in_state {
                items.words(&["transition"], kind::KEYWORD);
            }
            items.types(around);
        }
        Wanted::Expression => {
            items.targets(values());
            items.words(VALUES, kind::KEYWORD);
            items.types(around);
        }
    }
    items.found
}

/// The declarations that the tokens say are around the cursor.
fn find_around<'a>(checked: &Checked<'a>, around: &[(String, String)]) -> Around<'a> {
    let mut found = Around::default();
    for (keyword, name) in around {
        let is_it = |decl: &&Decl| *decl.name.name == **name;
        match (keyword.as_str(), found.container) {
            ("state", Some(parser)) => {
                let mut states = scope::states(parser).iter();
                found.state = states.find(|state| *state.name.name == **name);
            }
            ("action", Some(container)) => {
                found.local = scope::locals(container).iter().find(is_it);
            }
            (_, None) => found.container = checked.program.decls.iter().rev().find(is_it),
            _ => {}
        }
    }
    found
}

fn is_action(target: &Target) -> bool {
    matches!(target, Target::Decl(decl) if matches!(decl.kind, DeclKind::Action { .. }))
}

/// Names of the actions that a table lists.
fn actions_of(table: &Decl) -> Vec<&str> {
    let DeclKind::Table(properties) = &table.kind else {
        return Vec::new();
    };
    let lists = properties
        .iter()
        .filter_map(|property| match &property.value {
            PropertyValue::Actions(actions) => Some(actions),
            _ => None,
        });
    lists
        .flatten()
        .map(|action| &*action.path.ident.name)
        .collect()
}

/// The type of what the links lead to.
fn follow<'a>(
    checked: &Checked<'a>,
    links: &[Link],
    start: &dyn Fn(&str) -> Option<Target<'a>>,
) -> Type {
    let mut ty = Type::Unknown;
    for (at, link) in links.iter().enumerate() {
        ty = match link {
            Link::Name(name) if at == 0 && name == "error" => Type::TypeName(Box::new(Type::Error)),
            Link::Name(name) if at == 0 => match start(name) {
                Some(target) => scope::type_of(checked, target),
                None => Type::Unknown,
            },
            Link::Name(name) => {
                let members = members::members(checked, &ty);
                let member = members.into_iter().find(|member| member.name == *name);
                member.map_or(Type::Unknown, |member| member.ty)
            }
            Link::Index => match ty {
                Type::Stack(element, _) => *element,
                _ => Type::Unknown,
            },
            Link::Call(argument) => match (ty, argument) {
                // `packet.lookahead<T>()`
                (Type::Param(..), Some(name)) => match start(name) {
                    Some(target) => match scope::type_of(checked, target) {
                        Type::TypeName(named) => *named,
                        _ => Type::Unknown,
                    },
                    None => Type::Unknown,
                },
                (ty, _) => ty,
            },
        };
    }
    ty
}

struct Items<'c, 'a> {
    analysis: &'c Analysis,
    checked: &'c Checked<'a>,
    seen: HashSet<String>,
    found: Vec<Value>,
}

impl<'a> Items<'_, 'a> {
    fn add(&mut self, label: &str, kind: u32, detail: Option<String>, more: Option<String>) {
        let wanted = !label.is_empty() && !label.starts_with("__");
        if wanted && self.found.len() < MAX_ITEMS && self.seen.insert(label.to_string()) {
            let mut item = json!({ "label": label, "kind": kind });
            if let Some(detail) = detail {
                item["detail"] = detail.into();
            }
            if let Some(more) = more {
                item["documentation"] = more.into();
            }
            self.found.push(item);
        }
    }

    fn words(&mut self, words: &[&str], kind: u32) {
        for word in words {
            self.add(word, kind, None, None);
        }
    }

    fn targets(&mut self, targets: impl IntoIterator<Item = Target<'a>>) {
        for target in targets {
            let detail = hover::short(self.analysis, self.checked, target);
            let more = hover::comment(self.analysis, target);
            self.add(scope::name(target), kind_of(target), detail, more);
        }
    }

    fn types(&mut self, around: Around<'a>) {
        self.targets(scope::types(self.checked, around));
        self.words(BASE_TYPES, kind::KEYWORD);
    }

    fn members(&mut self, ty: &Type) {
        for member in members::members(self.checked, ty) {
            let detail = match member.target {
                Target::BuiltIn(..) if !member.is_method => Some(member.ty.written()),
                Target::BuiltIn(..) => {
                    Some(format!("{} {}(...)", member.ty.written(), member.name))
                }
                Target::Field(..) => Some(member.ty.written()),
                target => hover::short(self.analysis, self.checked, target),
            };
            let more = match member.target {
                Target::BuiltIn(_, words) => Some(words.to_string()),
                target => hover::comment(self.analysis, target),
            };
            let kind = match member.target {
                _ if member.is_method => kind::METHOD,
                Target::Member(..) => kind::ENUM_MEMBER,
                Target::BuiltIn(..) => kind::PROPERTY,
                _ => kind::FIELD,
            };
            self.add(&member.name, kind, detail, more);
        }
    }

    fn match_kinds(&mut self) {
        for decl in &self.checked.program.decls {
            if let DeclKind::MatchKind { members } = &decl.kind {
                self.targets(members.iter().map(|member| Target::Member(decl, member)));
            }
        }
    }

    fn states(&mut self, parser: Option<&'a Decl>) {
        if let Some(parser) = parser {
            let states = scope::states(parser).iter();
            self.targets(states.map(|state| Target::State(parser, state)));
        }
        for (name, words) in members::FINAL_STATES {
            self.targets([Target::BuiltIn(name, words)]);
        }
    }

    /// Names of files, which editors would not take for one word.
    fn includes(&mut self, written: &str, files: &[String], range: &Value) {
        let built_in = BUILT_IN_FILES.iter().filter(|_| written.starts_with('<'));
        for name in built_in.copied().chain(files.iter().map(String::as_str)) {
            self.found.push(json!({
                "label": name,
                "kind": kind::FILE,
                "filterText": name,
                "textEdit": { "range": range, "newText": name },
            }));
        }
    }
}

fn kind_of(target: Target) -> u32 {
    match target {
        Target::Param(_) => kind::VARIABLE,
        Target::Field(..) => kind::FIELD,
        Target::Member(..) => kind::ENUM_MEMBER,
        Target::TypeParam(..) => kind::TYPE_PARAMETER,
        Target::State(..) => kind::MODULE,
        Target::BuiltIn(..) | Target::Number(_) => kind::KEYWORD,
        Target::Decl(decl) => match &decl.kind {
            DeclKind::Const { .. } => kind::CONSTANT,
            DeclKind::Variable { .. } | DeclKind::Instance { .. } => kind::VARIABLE,
            DeclKind::Enum { .. } => kind::ENUM,
            DeclKind::Action { .. } | DeclKind::Function { .. } | DeclKind::ExternFunction(_) => {
                kind::FUNCTION
            }
            DeclKind::Method { .. } => kind::METHOD,
            DeclKind::Table(_) | DeclKind::ValueSet { .. } => kind::PROPERTY,
            DeclKind::ExternObject { .. } | DeclKind::Parser { .. } | DeclKind::Control { .. } => {
                kind::CLASS
            }
            DeclKind::ParserType(_) | DeclKind::ControlType(_) | DeclKind::Package { .. } => {
                kind::INTERFACE
            }
            _ => kind::STRUCT,
        },
    }
}
