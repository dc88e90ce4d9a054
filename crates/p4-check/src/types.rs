//! Types as the checker knows them.

use p4_syntax::ast::{Decl, DeclKind, Name, NodeId};
use std::fmt;

/// What a named type is; kept in the type so that most questions need no look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Header,
    Union,
    Struct,
    Enum,
    /// An enum with an underlying type
    SerEnum,
    /// `type T N;`
    NewType,
    Extern,
    ParserType,
    ControlType,
    Parser,
    Control,
    Package,
}

impl Kind {
    /// The kind of type that a declaration makes; None for one that makes no type of its own.
    pub fn of(decl: &Decl) -> Option<Kind> {
        Some(match &decl.kind {
            DeclKind::Enum {
                underlying: None, ..
            } => Kind::Enum,
            DeclKind::Enum { .. } => Kind::SerEnum,
            DeclKind::Header { .. } => Kind::Header,
            DeclKind::HeaderUnion { .. } => Kind::Union,
            DeclKind::Struct { .. } => Kind::Struct,
            DeclKind::Typedef { new_type: true, .. } => Kind::NewType,
            DeclKind::ExternObject { .. } => Kind::Extern,
            DeclKind::ParserType(_) => Kind::ParserType,
            DeclKind::ControlType(_) => Kind::ControlType,
            DeclKind::Parser { .. } => Kind::Parser,
            DeclKind::Control { .. } => Kind::Control,
            DeclKind::Package { .. } => Kind::Package,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Something is wrong with it and that has been reported: compatible with everything.
    Unknown,
    Void,
    Bool,
    /// Arbitrary precision, known at compile time
    Int,
    Bit(u32),
    Signed(u32),
    Varbit(u32),
    String,
    Error,
    MatchKind,
    /// A declared type: its declaration, its name, its type arguments
    Named(Kind, NodeId, Name, Vec<Type>),
    Stack(Box<Type>, u32),
    Tuple(Vec<Type>),
    List(Box<Type>),
    /// `{a = 1, b = 2}` before it is known what it is to become
    StructLit(Vec<(Name, Type)>),
    /// `{#}`
    InvalidLit,
    /// `...`
    DotsLit,
    /// `_`
    DontCare,
    /// A set of values: masks, ranges, value sets
    Set(Box<Type>),
    /// The n-th type parameter of a declaration
    Param(NodeId, u32, Name),
    /// A type still to be inferred
    Infer(u32),
    Action(NodeId),
    Function(NodeId),
    Table(NodeId),
    /// What `table.apply()` returns
    TableResult(NodeId),
    /// What `table.apply().action_run` is
    ActionRun(NodeId),
    /// The expression names a type
    TypeName(Box<Type>),
}

impl Type {
    /// `bit<W>` or `int<W>`
    pub fn fixed_width(&self) -> Option<u32> {
        match self {
            Type::Bit(width) | Type::Signed(width) => Some(*width),
            _ => None,
        }
    }

    /// The width of `bit<W>` or `int<W>`, and whether it has a sign.
    pub fn width_and_sign(&self) -> Option<(u32, bool)> {
        self.fixed_width()
            .map(|width| (width, matches!(self, Type::Signed(_))))
    }

    pub fn is_numeric(&self) -> bool {
        matches!(self, Type::Bit(_) | Type::Signed(_) | Type::Int)
    }

    pub fn is_kind(&self, kind: Kind) -> bool {
        matches!(self, Type::Named(k, ..) if *k == kind)
    }

    /// The type with the type parameters of `owner` replaced by `args`.
    pub fn substitute(&self, owner: NodeId, args: &[Type]) -> Type {
        if args.is_empty() {
            return self.clone();
        }
        self.map_params(&|decl, index| {
            (decl == owner)
                .then(|| args.get(index as usize).cloned())
                .flatten()
        })
    }

    /// The type with each type parameter replaced where `f` gives a type.
    pub fn map_params(&self, f: &dyn Fn(NodeId, u32) -> Option<Type>) -> Type {
        let many = |types: &[Type]| types.iter().map(|t| t.map_params(f)).collect::<Vec<_>>();
        match self {
            Type::Param(decl, index, _) => f(*decl, *index).unwrap_or_else(|| self.clone()),
            Type::Named(kind, decl, name, args) => {
                Type::Named(*kind, *decl, name.clone(), many(args))
            }
            Type::Stack(element, size) => Type::Stack(Box::new(element.map_params(f)), *size),
            Type::Tuple(items) => Type::Tuple(many(items)),
            Type::List(element) => Type::List(Box::new(element.map_params(f))),
            Type::StructLit(fields) => Type::StructLit(
                fields
                    .iter()
                    .map(|(name, ty)| (name.clone(), ty.map_params(f)))
                    .collect(),
            ),
            Type::Set(element) => Type::Set(Box::new(element.map_params(f))),
            Type::TypeName(ty) => Type::TypeName(Box::new(ty.map_params(f))),
            other => other.clone(),
        }
    }
}

impl Type {
    /// The type as a program writes it: `bit<8>`, `my_header_t`.
    pub fn written(&self) -> String {
        let list = |items: &[Type]| {
            let items: Vec<String> = items.iter().map(Type::written).collect();
            items.join(", ")
        };
        match self {
            Type::Void => "void".into(),
            Type::Bool => "bool".into(),
            Type::Int => "int".into(),
            Type::Bit(width) => format!("bit<{width}>"),
            Type::Signed(width) => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::String => "string".into(),
            Type::Error => "error".into(),
            Type::MatchKind => "match_kind".into(),
            Type::Named(_, _, name, args) if args.is_empty() => name.to_string(),
            Type::Named(_, _, name, args) => format!("{name}<{}>", list(args)),
            Type::Stack(element, size) => format!("{}[{size}]", element.written()),
            Type::Tuple(items) => format!("tuple<{}>", list(items)),
            Type::List(element) => format!("list<{}>", element.written()),
            Type::StructLit(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, ty)| format!("{name} = {}", ty.written()))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
            Type::DotsLit => "...".into(),
            // Not known or not asked for
            Type::DontCare | Type::Infer(_) | Type::Unknown => "_".into(),
            Type::Param(_, _, name) => name.to_string(),
            Type::Set(element) => format!("set<{}>", element.written()),
            Type::TypeName(ty) => ty.written(),
            Type::InvalidLit => "{#}".into(),
            Type::Action(_) => "action".into(),
            Type::Function(_) => "function".into(),
            Type::Table(_) | Type::TableResult(_) | Type::ActionRun(_) => "table".into(),
        }
    }
}

/// For sentences: what can be written stands in backquotes, the rest is described.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let described = match self {
            Type::Unknown => "an unknown type",
            Type::Infer(_) => "a type to be inferred",
            Type::InvalidLit => "an invalid header",
            Type::Action(_) => "an action",
            Type::Function(_) => "a function",
            Type::Table(_) => "a table",
            Type::TableResult(_) => "the result of a table",
            Type::ActionRun(_) => "an action of a table",
            Type::Set(element) => return write!(f, "a set of {element}"),
            Type::TypeName(ty) => return write!(f, "the type {ty}"),
            written => return write!(f, "`{}`", written.written()),
        };
        f.write_str(described)
    }
}
