//! Types as the checker knows them.

use p4_syntax::ast::{Name, NodeId};
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

    pub fn is_numeric(&self) -> bool {
        matches!(self, Type::Bit(_) | Type::Signed(_) | Type::Int)
    }

    pub fn is_kind(&self, kind: Kind) -> bool {
        matches!(self, Type::Named(k, ..) if *k == kind)
    }

    /// The type with the type parameters of `owner` replaced by `args`.
    pub fn substitute(&self, owner: NodeId, args: &[Type]) -> Type {
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

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[Type]| {
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    write!(f, ", ")?;
                }
                write!(f, "{item}")?;
            }
            Ok(())
        };
        match self {
            Type::Unknown => write!(f, "an unknown type"),
            Type::Void => write!(f, "void"),
            Type::Bool => write!(f, "bool"),
            Type::Int => write!(f, "int"),
            Type::Bit(width) => write!(f, "bit<{width}>"),
            Type::Signed(width) => write!(f, "int<{width}>"),
            Type::Varbit(width) => write!(f, "varbit<{width}>"),
            Type::String => write!(f, "string"),
            Type::Error => write!(f, "error"),
            Type::MatchKind => write!(f, "match_kind"),
            Type::Named(_, _, name, args) => {
                write!(f, "{name}")?;
                if !args.is_empty() {
                    write!(f, "<")?;
                    list(f, args)?;
                    write!(f, ">")?;
                }
                Ok(())
            }
            Type::Stack(element, size) => write!(f, "{element}[{size}]"),
            Type::Tuple(items) => {
                write!(f, "tuple<")?;
                list(f, items)?;
                write!(f, ">")
            }
            Type::List(element) => write!(f, "list<{element}>"),
            Type::StructLit(fields) => {
                write!(f, "{{")?;
                for (i, (name, ty)) in fields.iter().enumerate() {
                    write!(f, "{}{name} = {ty}", if i > 0 { ", " } else { "" })?;
                }
                write!(f, "}}")
            }
            Type::InvalidLit => write!(f, "an invalid header"),
            Type::DotsLit => write!(f, "..."),
            Type::DontCare => write!(f, "_"),
            Type::Set(element) => write!(f, "a set of {element}"),
            Type::Param(_, _, name) => write!(f, "{name}"),
            Type::Infer(_) => write!(f, "a type to be inferred"),
            Type::Action(_) => write!(f, "an action"),
            Type::Function(_) => write!(f, "a function"),
            Type::Table(_) => write!(f, "a table"),
            Type::TableResult(_) => write!(f, "the result of a table"),
            Type::ActionRun(_) => write!(f, "an action of a table"),
            Type::TypeName(ty) => write!(f, "the type {ty}"),
        }
    }
}
