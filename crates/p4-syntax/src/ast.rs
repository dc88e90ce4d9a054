//! The syntax tree of P4_16 (specification 1.2.5, appendix H), as plain owned data.
//!
//! Every expression, type and declaration has a [`NodeId`], unique in a [`Program`], by which later
//! passes attach what they find out. Nothing here is resolved: a [`Path`] is just what was written.

use crate::span::Span;
use num_bigint::BigInt;
use std::sync::Arc;

/// A number that names one node of the tree; dense from 0 to [`Program::node_count`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A name. Cheap to clone.
pub type Name = Arc<str>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

/// `name`, or `.name` when `absolute` (looked up at the top level only).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    pub absolute: bool,
    pub ident: Ident,
}

/// A whole program after preprocessing.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub decls: Vec<Decl>,
    /// One more than the largest [`NodeId`] in the tree.
    pub node_count: u32,
}

#[derive(Clone, Debug)]
pub struct Annotation {
    pub name: Ident,
    pub body: AnnotationBody,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum AnnotationBody {
    /// `@name`
    None,
    /// `@name(anything)`: the raw tokens as text, one entry per token (strings without quotes).
    /// When the tokens also parse as an expression list, `exprs` holds it.
    Unstructured {
        tokens: Vec<AnnotationToken>,
        exprs: Vec<Expr>,
    },
    /// `@name[e1, e2]`
    Exprs(Vec<Expr>),
    /// `@name[k = e, ...]`
    Pairs(Vec<(Ident, Expr)>),
}

#[derive(Clone, Debug)]
pub struct AnnotationToken {
    pub text: Name,
    /// The token was a string literal; `text` is its content.
    pub is_string: bool,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Decl {
    pub id: NodeId,
    /// From the first annotation to the closing brace or semicolon.
    pub span: Span,
    pub annotations: Vec<Annotation>,
    pub name: Ident,
    pub kind: DeclKind,
}

#[derive(Clone, Debug)]
pub enum DeclKind {
    Const {
        ty: TypeRef,
        value: Expr,
    },
    /// A variable with an optional initialiser (locals of parsers, controls, states, blocks).
    Variable {
        ty: TypeRef,
        init: Option<Expr>,
    },
    /// `Type(args) name;` or `Type(args) name = { abstract method bodies };`
    Instance {
        ty: TypeRef,
        args: Vec<Arg>,
        body: Option<Vec<Decl>>,
    },
    /// `error { a, b }`; the declaration's name is `error`.
    Error {
        members: Vec<Ident>,
    },
    /// `match_kind { a, b }`; the declaration's name is `match_kind`.
    MatchKind {
        members: Vec<Ident>,
    },
    Enum {
        underlying: Option<TypeRef>,
        members: Vec<EnumMember>,
    },
    Header {
        type_params: Vec<Ident>,
        fields: Vec<Field>,
    },
    HeaderUnion {
        type_params: Vec<Ident>,
        fields: Vec<Field>,
    },
    Struct {
        type_params: Vec<Ident>,
        fields: Vec<Field>,
    },
    /// `typedef T name;` (`new_type` false) or `type T name;` (true)
    Typedef {
        new_type: bool,
        ty: TypeRef,
    },
    Action {
        params: Vec<Param>,
        body: Block,
    },
    /// A function with a body, also a method body inside an instance declaration.
    Function {
        ret: TypeRef,
        type_params: Vec<Ident>,
        params: Vec<Param>,
        body: Block,
    },
    /// `extern T f<...>(...);`
    ExternFunction(MethodProto),
    ExternObject {
        type_params: Vec<Ident>,
        methods: Vec<Decl>,
    },
    /// A constructor (name equals the extern's), a method or an `abstract` method of an extern.
    /// Constructors have return type `void`.
    Method {
        proto: MethodProto,
        is_abstract: bool,
        is_constructor: bool,
    },
    ParserType(ParserProto),
    Parser {
        proto: ParserProto,
        ctor_params: Vec<Param>,
        locals: Vec<Decl>,
        states: Vec<State>,
    },
    ControlType(ParserProto),
    /// `apply`'s closing span is the block's span end.
    Control {
        proto: ParserProto,
        ctor_params: Vec<Param>,
        locals: Vec<Decl>,
        apply: Block,
    },
    /// `package name<...>(params);`
    Package {
        type_params: Vec<Ident>,
        params: Vec<Param>,
    },
    Table(Vec<TableProperty>),
    /// `value_set<T>(size) name;`
    ValueSet {
        element: TypeRef,
        size: Expr,
    },
}

#[derive(Clone, Debug)]
pub struct MethodProto {
    pub ret: TypeRef,
    pub type_params: Vec<Ident>,
    pub params: Vec<Param>,
}

/// Type and run-time parameters of a parser or control (the grammar is the same for both).
#[derive(Clone, Debug)]
pub struct ParserProto {
    pub type_params: Vec<Ident>,
    pub params: Vec<Param>,
}

#[derive(Clone, Debug)]
pub struct EnumMember {
    pub name: Ident,
    pub value: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub annotations: Vec<Annotation>,
    pub ty: TypeRef,
    pub name: Ident,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    None,
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug)]
pub struct Param {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub direction: Direction,
    pub ty: TypeRef,
    pub name: Ident,
    pub default: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct TypeRef {
    pub id: NodeId,
    pub span: Span,
    pub kind: TypeKind,
}

#[derive(Clone, Debug)]
pub enum TypeKind {
    Bool,
    Error,
    MatchKind,
    String,
    Void,
    /// `int`, of arbitrary precision
    Int,
    /// `_` as a type argument
    DontCare,
    /// `bit` (one bit), `bit<N>`, `bit<(expr)>`
    Bit(Option<Box<Expr>>),
    /// `int<N>`
    Signed(Box<Expr>),
    Varbit(Box<Expr>),
    Name(Path),
    Specialized(Path, Vec<TypeRef>),
    /// `T[n]`
    Stack(Box<TypeRef>, Box<Expr>),
    Tuple(Vec<TypeRef>),
    /// `list<T>`
    List(Box<TypeRef>),
}

#[derive(Clone, Debug)]
pub struct State {
    pub id: NodeId,
    pub span: Span,
    pub annotations: Vec<Annotation>,
    pub name: Ident,
    pub body: Vec<Stmt>,
    pub transition: Transition,
}

#[derive(Clone, Debug)]
pub enum Transition {
    /// No `transition` statement: same as `transition reject` (section 13.5).
    Missing(Span),
    Direct(Ident),
    Select {
        span: Span,
        keys: Vec<Expr>,
        cases: Vec<SelectCase>,
    },
}

#[derive(Clone, Debug)]
pub struct SelectCase {
    pub span: Span,
    /// One keyset per component; a single [`ExprKind::DontCare`] for `default` and `_`.
    pub keyset: Vec<Expr>,
    pub next: Ident,
}

#[derive(Clone, Debug)]
pub struct TableProperty {
    pub span: Span,
    pub annotations: Vec<Annotation>,
    pub is_const: bool,
    /// `key`, `actions`, `entries`, `default_action`, `size`, ...
    pub name: Ident,
    pub value: PropertyValue,
}

#[derive(Clone, Debug)]
pub enum PropertyValue {
    Key(Vec<KeyElement>),
    Actions(Vec<ActionRef>),
    Entries(Vec<Entry>),
    /// `default_action` and every other property with `= expr;`
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub struct KeyElement {
    pub expr: Expr,
    pub match_kind: Ident,
    pub annotations: Vec<Annotation>,
    pub span: Span,
}

/// An action in an `actions` list or an entry: a name, optionally called with arguments.
#[derive(Clone, Debug)]
pub struct ActionRef {
    pub id: NodeId,
    pub annotations: Vec<Annotation>,
    pub path: Path,
    /// `None`: written without parentheses.
    pub args: Option<Vec<Arg>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub span: Span,
    pub annotations: Vec<Annotation>,
    pub is_const: bool,
    pub priority: Option<Expr>,
    pub keyset: Vec<Expr>,
    pub action: ActionRef,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub span: Span,
    pub annotations: Vec<Annotation>,
    pub stmts: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub struct Stmt {
    pub span: Span,
    pub kind: StmtKind,
}

#[derive(Clone, Debug)]
pub enum StmtKind {
    Empty,
    /// A constant, variable or instance declared among statements.
    Decl(Box<Decl>),
    /// A call whose result is not used; the expression is an [`ExprKind::Call`].
    Call(Expr),
    Assign {
        lhs: Expr,
        rhs: Expr,
    },
    /// `lhs op= rhs`
    AssignOp {
        op: BinOp,
        lhs: Expr,
        rhs: Expr,
    },
    If {
        cond: Expr,
        then: Box<Stmt>,
        otherwise: Option<Box<Stmt>>,
    },
    Switch {
        value: Expr,
        cases: Vec<SwitchCase>,
    },
    For {
        init: Vec<Stmt>,
        cond: Expr,
        update: Vec<Stmt>,
        body: Box<Stmt>,
    },
    /// `for (T x in range) body`; `decl` is a variable declaration, or `var` names an existing one.
    ForIn {
        var: ForVar,
        range: Expr,
        body: Box<Stmt>,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    Exit,
    Block(Block),
}

#[derive(Clone, Debug)]
pub enum ForVar {
    Decl(Box<Decl>),
    Name(Expr),
}

#[derive(Clone, Debug)]
pub struct SwitchCase {
    pub span: Span,
    pub label: SwitchLabel,
    /// `None`: falls through to the next case.
    pub body: Option<Block>,
}

#[derive(Clone, Debug)]
pub enum SwitchLabel {
    Default(Span),
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub struct Arg {
    pub span: Span,
    /// `name = value`
    pub name: Option<Ident>,
    /// [`ExprKind::DontCare`] for `_`.
    pub value: Expr,
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub id: NodeId,
    pub span: Span,
    pub kind: ExprKind,
}

impl Expr {
    /// The expressions directly in this one, in the order they are written.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Member(base, _) | ExprKind::Unary(_, base) | ExprKind::Cast(_, base) => {
                vec![base]
            }
            ExprKind::Index(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Mask(a, b)
            | ExprKind::Range(a, b) => vec![a, b],
            ExprKind::Slice(a, b, c)
            | ExprKind::PlusSlice(a, b, c)
            | ExprKind::Conditional(a, b, c) => vec![a, b, c],
            ExprKind::Call { func, args, .. } => {
                let args = args.iter().map(|arg| &arg.value);
                std::iter::once(&**func).chain(args).collect()
            }
            ExprKind::Construct { args, .. } => args.iter().map(|arg| &arg.value).collect(),
            ExprKind::List { items, .. } | ExprKind::Tuple(items) => items.iter().collect(),
            ExprKind::Struct { fields, .. } => fields.iter().map(|(_, value)| value).collect(),
            ExprKind::Int { .. }
            | ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::Path(_)
            | ExprKind::This
            | ExprKind::DontCare
            | ExprKind::Dots
            | ExprKind::TypeMember(..)
            | ExprKind::Invalid
            | ExprKind::Error => Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `5`, `8w5` (`width` 8, unsigned), `8s5` (signed)
    Int {
        value: BigInt,
        width: Option<(u32, bool)>,
    },
    Bool(bool),
    String(Name),
    Path(Path),
    This,
    /// `_` in arguments and keysets, `default` in keysets
    DontCare,
    /// `...`: the rest of a list or struct, a default argument
    Dots,
    /// `e.member`, where `e` is an expression or a path that may turn out to name a type
    Member(Box<Expr>, Ident),
    /// `T.member` where `T` cannot be an expression: `error.NoError`, `H<bit<8>>.f`
    TypeMember(Box<TypeRef>, Ident),
    Index(Box<Expr>, Box<Expr>),
    /// `e[hi:lo]`
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `e[lo +: width]`
    PlusSlice(Box<Expr>, Box<Expr>, Box<Expr>),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Box<TypeRef>, Box<Expr>),
    Call {
        func: Box<Expr>,
        type_args: Vec<TypeRef>,
        args: Vec<Arg>,
    },
    /// `T(args)` where `T` is known to be a type: an instance without a name
    Construct {
        ty: Box<TypeRef>,
        args: Vec<Arg>,
    },
    /// `{a, b}`; `rest` when it ends in `...`
    List {
        items: Vec<Expr>,
        rest: bool,
    },
    /// `{a = 1, b = 2}`; `rest` when it ends in `...`
    Struct {
        fields: Vec<(Ident, Expr)>,
        rest: bool,
    },
    /// `{#}`: an invalid header
    Invalid,
    /// `value &&& mask`
    Mask(Box<Expr>, Box<Expr>),
    /// `lo .. hi`
    Range(Box<Expr>, Box<Expr>),
    /// `(a, b)` as one element of a keyset
    Tuple(Vec<Expr>),
    /// What stood here did not parse; already reported.
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    Neg,
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    Mul,
    Div,
    Mod,
    Add,
    Sub,
    /// `|+|`
    AddSat,
    /// `|-|`
    SubSat,
    Shl,
    Shr,
    Le,
    Ge,
    Lt,
    Gt,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    /// `++`
    Concat,
    And,
    Or,
}
