//! What can stand behind the dot.

use crate::target::Target;
use p4_check::types::{Kind, Type};
use p4_check::Checked;
use p4_syntax::ast::*;

/// One thing that can stand behind the dot.
pub(crate) struct Member<'a> {
    pub name: String,
    /// Of the member; of methods, what a call gives
    pub ty: Type,
    pub is_method: bool,
    pub target: Target<'a>,
}

/// States that every parser has.
pub(crate) const FINAL_STATES: &[(&str, &str)] = &[
    ("accept", "The packet is parsed; the controls follow."),
    ("reject", "Parsing fails; `parser_error` says why."),
];

const HEADER_METHODS: &[(&str, &str)] = &[
    ("isValid", "Whether the header is valid: in the packet."),
    (
        "setValid",
        "Makes the header valid. Fields that were not valid before have no value yet.",
    ),
    (
        "setInvalid",
        "Makes the header invalid: it leaves the packet.",
    ),
];

const STACK_METHODS: &[(&str, &str)] = &[
    (
        "push_front",
        "Moves all elements up by a number; the first ones become invalid.",
    ),
    (
        "pop_front",
        "Moves all elements down by a number; the last ones become invalid.",
    ),
];

/// Name, whether its type is that of the elements, words
const STACK_MEMBERS: &[(&str, bool, &str)] = &[
    (
        "next",
        true,
        "The first element that `extract` has not filled; in parsers only.",
    ),
    (
        "last",
        true,
        "The element that `extract` filled last; in parsers only.",
    ),
    (
        "lastIndex",
        false,
        "Index of the element that `extract` filled last; in parsers only.",
    ),
    (
        "size",
        false,
        "Number of elements of the stack, valid or not.",
    ),
];

const RESULT_MEMBERS: &[(&str, &str)] = &[
    ("hit", "Whether an entry matched."),
    ("miss", "Whether no entry matched."),
    ("action_run", "The action that ran, for `switch`."),
];

const SIZES: &[(&str, &str)] = &[
    ("minSizeInBits", "Smallest size in bits."),
    ("minSizeInBytes", "Smallest size in bytes."),
    ("maxSizeInBits", "Largest size in bits."),
    ("maxSizeInBytes", "Largest size in bytes."),
];

const TABLE_APPLY: (&str, &str) = (
    "apply",
    "Looks the key up and runs the action of the entry that matches.",
);

/// What stands behind the dot of an expression of type `ty`, in the order of declaration.
pub(crate) fn members<'a>(checked: &Checked<'a>, ty: &Type) -> Vec<Member<'a>> {
    match ty {
        Type::Named(kind, id, ..) => {
            let mut found = match checked.decls.get(id) {
                Some(decl) => declared(checked, ty, decl),
                None => Vec::new(),
            };
            if *kind == Kind::Header {
                found.extend(methods(HEADER_METHODS, header_result));
            }
            if *kind == Kind::Union {
                found.extend(methods(&HEADER_METHODS[..1], header_result));
            }
            if matches!(kind, Kind::Header | Kind::Union | Kind::Struct) {
                found.extend(methods(SIZES, |_| Type::Int));
            }
            found
        }
        Type::Stack(element, _) => {
            let plain = STACK_MEMBERS.iter().map(|(name, of_element, words)| {
                let ty = if *of_element {
                    (**element).clone()
                } else {
                    Type::Bit(32)
                };
                built_in(name, words, ty, false)
            });
            plain
                .chain(methods(STACK_METHODS, |_| Type::Void))
                .collect()
        }
        Type::Table(id) => {
            let (name, words) = TABLE_APPLY;
            vec![built_in(name, words, Type::TableResult(*id), true)]
        }
        Type::TableResult(id) => {
            let ty = |name| match name {
                "action_run" => Type::ActionRun(*id),
                _ => Type::Bool,
            };
            let all = RESULT_MEMBERS.iter();
            all.map(|(name, words)| built_in(name, words, ty(*name), false))
                .collect()
        }
        Type::TypeName(named) => type_members(checked, named),
        _ => Vec::new(),
    }
}

fn header_result(name: &str) -> Type {
    match name {
        "isValid" => Type::Bool,
        _ => Type::Void,
    }
}

fn built_in<'a>(name: &'static str, words: &'static str, ty: Type, is_method: bool) -> Member<'a> {
    Member {
        name: name.to_string(),
        ty,
        is_method,
        target: Target::BuiltIn(name, words),
    }
}

fn methods<'a>(
    all: &'static [(&'static str, &'static str)],
    ty: impl Fn(&str) -> Type + 'static,
) -> impl Iterator<Item = Member<'a>> {
    all.iter()
        .map(move |(name, words)| built_in(name, words, ty(name), true))
}

/// Fields, methods, and `apply` of blocks.
fn declared<'a>(checked: &Checked<'a>, ty: &Type, decl: &'a Decl) -> Vec<Member<'a>> {
    let Type::Named(_, id, _, args) = ty else {
        return Vec::new();
    };
    match &decl.kind {
        DeclKind::Header { fields, .. }
        | DeclKind::HeaderUnion { fields, .. }
        | DeclKind::Struct { fields, .. } => fields
            .iter()
            .map(|field| Member {
                name: field.name.name.to_string(),
                ty: checked.type_ref(field.ty.id).substitute(*id, args),
                is_method: false,
                target: Target::Field(decl, field),
            })
            .collect(),
        DeclKind::ExternObject { methods, .. } => methods
            .iter()
            .filter_map(|method| match &method.kind {
                DeclKind::Method {
                    proto,
                    is_constructor: false,
                    ..
                } => Some(Member {
                    name: method.name.name.to_string(),
                    ty: checked.type_ref(proto.ret.id).substitute(*id, args),
                    is_method: true,
                    target: Target::Decl(method),
                }),
                _ => None,
            })
            .collect(),
        DeclKind::Parser { .. } | DeclKind::Control { .. } => vec![Member {
            name: "apply".to_string(),
            ty: Type::Void,
            is_method: true,
            target: Target::Decl(decl),
        }],
        _ => Vec::new(),
    }
}

/// Members of enums, of `error` and of `match_kind`; `apply` of a block that is used without a name.
fn type_members<'a>(checked: &Checked<'a>, named: &Type) -> Vec<Member<'a>> {
    let member = |decl: &'a Decl, name: &'a Ident| Member {
        name: name.name.to_string(),
        ty: named.clone(),
        is_method: false,
        target: Target::Member(decl, name),
    };
    match named {
        Type::Named(_, id, ..) => match checked.decls.get(id) {
            Some(decl) => match &decl.kind {
                DeclKind::Enum { members, .. } => {
                    members.iter().map(|m| member(decl, &m.name)).collect()
                }
                DeclKind::Parser { .. } | DeclKind::Control { .. } => {
                    declared(checked, named, decl)
                }
                _ => Vec::new(),
            },
            None => Vec::new(),
        },
        Type::Error => checked
            .program
            .decls
            .iter()
            .filter_map(|decl| match &decl.kind {
                DeclKind::Error { members } => Some(members.iter().map(move |m| member(decl, m))),
                _ => None,
            })
            .flatten()
            .collect(),
        _ => Vec::new(),
    }
}
