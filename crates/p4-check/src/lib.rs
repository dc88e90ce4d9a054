//! Names, types and constants of a P4_16 program.
//!
//! [`check`] walks the tree once, in source order (P4 declares before it uses), and notes what it
//! finds in side tables indexed by `NodeId`: the type of every expression, what every path refers
//! to, which arguments a call binds, where a value is converted, and the value of what is known at
//! compile time. Bodies with type parameters are checked once, with the parameters as opaque
//! types; whoever specialises them (the lowering) substitutes.
#![forbid(unsafe_code)]

mod abstracts;
mod annotations;
mod args;
mod call;
mod coerce;
mod consts;
mod control;
mod decl;
mod entries;
mod expr;
mod fit;
mod hints;
mod instance;
pub mod lint;
mod lvalue;
mod meant;
mod names;
mod operators;
mod packet;
mod parser;
mod scope;
mod shape;
mod stmt;
mod table;
mod table_actions;
mod type_ref;
pub mod types;
pub mod value;
mod wellformed;

pub use operators::operator_symbol;
use p4_syntax::ast::{self, Decl, NodeId, Param};
use p4_syntax::diag::{Diagnostic, Severity};
use p4_syntax::span::Span;
use p4_syntax::{HashMap, HashSet};
use scope::Scopes;
use types::Type;
use value::Value;

/// What a path refers to.
#[derive(Clone, Copy, Debug)]
pub enum Def<'a> {
    Const(&'a Decl),
    Var(&'a Decl),
    Param(&'a Param),
    /// An instance of an extern, parser, control or package
    Instance(&'a Decl),
    Type(&'a Decl),
    TypeParam(&'a Decl, u32),
    Action(&'a Decl),
    /// A function or extern function; earlier overloads are behind it.
    Function(&'a Decl),
    Table(&'a Decl),
    ValueSet(&'a Decl),
}

impl<'a> Def<'a> {
    /// Where it was declared.
    pub fn span(&self) -> Span {
        match self {
            Def::Param(param) => param.name.span,
            Def::Const(d)
            | Def::Var(d)
            | Def::Instance(d)
            | Def::Type(d)
            | Def::TypeParam(d, _)
            | Def::Action(d)
            | Def::Function(d)
            | Def::Table(d)
            | Def::ValueSet(d) => d.name.span,
        }
    }
}

/// What a call expression (or an unnamed instance) turned out to be.
#[derive(Clone, Debug)]
pub struct CallInfo<'a> {
    pub kind: CallKind<'a>,
    /// Type arguments of the function or method, written or inferred; may mention type parameters
    /// of the declaration around the call.
    pub type_args: Vec<Type>,
    /// For each parameter the index of its argument, `None` if left out.
    pub args: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
pub enum CallKind<'a> {
    /// An action or a function with a body
    Action(&'a Decl),
    Function(&'a Decl),
    ExternFunction(&'a Decl),
    /// Method of an extern instance; the base expression is the instance.
    Method {
        object: &'a Decl,
        method: &'a Decl,
    },
    /// `t.apply()`
    TableApply(&'a Decl),
    /// `p.apply(...)` of a parser or control instance, whose declaration this is
    BlockApply(&'a Decl),
    /// `C.apply(...)` on the type itself: an instance without constructor arguments
    TypeApply(&'a Decl),
    /// `T(...)`: an unnamed instance
    Construct(&'a Decl),
    Builtin(Builtin),
}

/// Methods that the language itself gives to headers, stacks and unions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    IsValid,
    SetValid,
    SetInvalid,
    PushFront,
    PopFront,
    /// `minSizeInBits()` and so on, of what has this size
    Size(u64),
}

/// A checked program: the tree and what was found out about it. When `diagnostics` holds an error,
/// the tables may have holes and the program must not be lowered.
pub struct Checked<'a> {
    pub program: &'a ast::Program,
    /// Types of expressions, before conversion
    pub types: Vec<Option<Type>>,
    /// Types that `TypeRef`s denote
    pub type_refs: Vec<Option<Type>>,
    /// Conversions: the expression's value is converted to this type before use
    pub coercions: HashMap<NodeId, Type>,
    /// What path expressions refer to
    pub defs: HashMap<NodeId, Def<'a>>,
    pub calls: HashMap<NodeId, CallInfo<'a>>,
    /// Values known when checking (not those that depend on constructor parameters)
    pub values: HashMap<NodeId, Value>,
    /// Constants without a value, because of an error
    pub(crate) unknown_consts: HashSet<NodeId>,
    /// Every declaration by its id
    pub decls: HashMap<NodeId, &'a Decl>,
    /// What the names in table and entry action lists and in `default_action` refer to
    pub action_refs: HashMap<NodeId, &'a Decl>,
    /// For an action reference with arguments: for each parameter the index of its argument
    pub action_args: HashMap<NodeId, Vec<Option<usize>>>,
    /// All members of `error`, NoError first, in order of declaration
    pub errors: Vec<ast::Name>,
    /// The last instance named `main`
    pub main: Option<&'a Decl>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked<'_> {
    pub fn expr_type(&self, id: NodeId) -> &Type {
        self.types
            .get(id.0 as usize)
            .and_then(Option::as_ref)
            .unwrap_or(&Type::Unknown)
    }

    pub fn type_ref(&self, id: NodeId) -> &Type {
        self.type_refs
            .get(id.0 as usize)
            .and_then(Option::as_ref)
            .unwrap_or(&Type::Unknown)
    }
}

/// Checks a parsed program. Never fails: problems are in `Checked::diagnostics`.
pub fn check(program: &ast::Program) -> Checked<'_> {
    let mut checker = Checker {
        out: Checked {
            program,
            types: vec![None; program.node_count as usize],
            type_refs: vec![None; program.node_count as usize],
            coercions: HashMap::default(),
            defs: HashMap::default(),
            calls: HashMap::default(),
            values: HashMap::default(),
            unknown_consts: HashSet::default(),
            decls: HashMap::default(),
            action_refs: HashMap::default(),
            action_args: HashMap::default(),
            errors: Vec::new(),
            main: None,
            diagnostics: Vec::new(),
        },
        reported: [0; 2],
        scopes: Scopes::new(),
        inferred: Vec::new(),
        match_kinds: Vec::new(),
        overloads: HashMap::default(),
        sizes: HashMap::default(),
        oversized: HashSet::default(),
        dependent_consts: 0,
        unfinished: Vec::new(),
        missed_errors: false,
        context: Context::default(),
    };
    for decl in &program.decls {
        checker.declaration(decl);
    }
    checker.control_plane_names(&program.decls);
    checker.shared_table_names(&program.decls);
    let undefined = lint::undefined(&checker.out);
    checker.out.diagnostics.extend(undefined);
    checker
        .out
        .diagnostics
        .sort_by_key(|d| (d.span.lo, d.span.hi));
    checker.out
}

/// Where in a program the checker is, as far as rules depend on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// The type that `return` must give, inside functions (`Void` in actions and controls)
    pub return_type: Option<Type>,
    pub in_action: bool,
    pub in_parser: bool,
    pub in_control: bool,
    pub in_function: bool,
    /// The table whose properties are being checked
    pub in_table: Option<NodeId>,
    /// Among the arguments that a table's `actions` give
    pub in_action_args: bool,
    /// Depth of loops around
    pub loops: u32,
    /// The extern declaration whose methods are being declared or implemented
    pub this: Option<Type>,
}

/// So many errors are reported, and so many warnings.
const MAX_REPORTED: u32 = 200;

pub(crate) struct Checker<'a> {
    out: Checked<'a>,
    /// Number of warnings and errors so far
    reported: [u32; 2],
    scopes: Scopes<'a>,
    /// What each inference variable has been found to be
    inferred: Vec<Option<Type>>,
    match_kinds: Vec<ast::Name>,
    /// Functions of the same name declared earlier, by declaration
    overloads: HashMap<NodeId, &'a Decl>,
    /// Number of values in each type with parts, and how deep they are nested
    sizes: HashMap<Type, (u64, u32)>,
    /// Types that are too large to be used
    oversized: HashSet<NodeId>,
    /// Constants whose values depend on constructor parameters
    dependent_consts: u32,
    /// Names of the declarations around, which cannot be used yet
    unfinished: Vec<&'a ast::Ident>,
    /// Whether the use of `error` in a program without errors has been reported
    missed_errors: bool,
    context: Context,
}

impl<'a> Checker<'a> {
    pub(crate) fn report(&mut self, mut diagnostic: Diagnostic) {
        let is_error = diagnostic.severity == Severity::Error;
        let reported = &mut self.reported[usize::from(is_error)];
        *reported += 1;
        if *reported > MAX_REPORTED {
            return;
        }
        diagnostic.message = sentence(&diagnostic.message);
        let hint = diagnostic.hint.as_deref();
        diagnostic.hint = hint.or(hints::usual(diagnostic.code)).map(sentence);
        self.out.diagnostics.push(diagnostic);
    }

    /// Whether no more errors are reported.
    pub(crate) fn full(&self) -> bool {
        self.reported[1] >= MAX_REPORTED
    }

    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    pub(crate) fn set_type(&mut self, id: NodeId, ty: Type) -> Type {
        if let Some(place) = self.out.types.get_mut(id.0 as usize) {
            *place = Some(ty.clone());
        }
        ty
    }
}

/// `text` with a capital at its start, unless it starts with code, and a full stop at its end.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let mut sentence: String = match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    };
    if !sentence.ends_with(['.', '?', '!']) {
        sentence.push('.');
    }
    sentence
}
