//! Lowering: from a checked program to the flat IR.
//!
//! Elaboration happens here. Every instance of a parser or control is specialised for the place
//! where it is applied: its parameters are bound to the arguments' own slots where these do not
//! overlap, so a sub-control costs nothing; actions and functions have fixed parameter slots and
//! are called. Each routine is a [`Chunk`] of code with its own scratch slots; [`link`] puts the
//! chunks together and gives scratch and constants their final places.

mod bmv2;
mod branch;
mod call;
mod dense;
mod entries;
mod exact;
mod expr;
mod extern_call;
mod instance;
mod layout;
mod link;
mod lvalue;
mod operators;
mod package;
mod packet_call;
mod parser;
mod quiet;
mod stmt;
mod straighten;
mod table;

use crate::ir::*;
use crate::written::Noted;
use layout::Shape;
use lvalue::Loc;
use num_bigint::BigInt;
use p4_check::types::Type;
use p4_check::value::Value;
use p4_check::Checked;
use p4_syntax::ast::{self, Name, NodeId};
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::{HashMap, HashSet};
use std::rc::Rc;

/// Says which parameters of which blocks share storage; an architecture's only say in lowering.
pub trait Binding {
    /// The name of the storage for parameter `param` (counted from 0) of the block given to the
    /// package's parameter `block`, or `None` for a storage of its own.
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str>;

    /// Whether the program is to do what p4c makes of it for bmv2 where that is not what the
    /// language says. The lowering and [`crate::as_bmv2`] name each such place.
    fn as_bmv2(&self) -> bool {
        false
    }

    /// Externs in whose methods a sum of unsigned numbers is compared before it wraps.
    fn compares_exactly(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether headers of programs for this package end with a byte: those that do not get the bits
    /// that they lack behind their last field.
    fn fills_headers(&self, _package: &str) -> bool {
        false
    }

    /// Fields, as storage and leaf, for which the architecture wants to know whether anything wrote
    /// them: see [`crate::written`]. Copies are known by the name and width of the field.
    fn noted(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Lowers a program without errors to IR, or says what cannot be executed.
pub fn lower(checked: &Checked<'_>, binding: &dyn Binding) -> Result<Program, Vec<Diagnostic>> {
    let mut lowerer = Lowerer::new(checked, binding);
    lowerer.package();
    if lowerer.diagnostics.is_empty() {
        let noted = lowerer.noted_fields();
        let mut program = lowerer.link();
        crate::written::note_writes(&mut program, &noted);
        if binding.as_bmv2() {
            crate::as_bmv2::apply(&mut program);
        }
        debug_assert_eq!(crate::verify(&program), Ok(()));
        Ok(program)
    } else {
        Err(lowerer.diagnostics)
    }
}

/// Scratch slots of a chunk are numbered from here until they are linked.
const SCRATCH: Slot = 1 << 30;
/// Constants are numbered from here until they are linked.
const CONSTANT: Slot = 1 << 31;

/// Code of one routine; jump targets are relative to its start.
#[derive(Default)]
struct Chunk {
    code: Vec<Op>,
    spans: Vec<Span>,
    /// Scratch words that the routine needs
    scratch: u32,
    scratch_top: u32,
    /// Jumps to the routine's end, to be patched
    to_end: Vec<usize>,
    /// Breaks and continues of the loops around, to be patched
    loops: Vec<LoopJumps>,
    /// Jumps may lead here: results of instructions before it are not to be moved behind it.
    barrier: usize,
    may_exit: bool,
}

#[derive(Default)]
struct LoopJumps {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

/// Index of a chunk; `Op::Call` and `entry` fields hold it until linking.
type Routine = u32;

/// An instance that a name refers to.
#[derive(Clone)]
enum InstanceRef<'a> {
    Extern(InstanceId),
    Block(Rc<BlockInstance<'a>>),
}

/// A parser or control with its constructor arguments, not yet applied.
struct BlockInstance<'a> {
    decl: &'a ast::Decl,
    /// Dotted control-plane name
    name: String,
    type_args: Vec<Type>,
    values: HashMap<NodeId, Value>,
    instances: HashMap<NodeId, InstanceRef<'a>>,
}

/// What names mean inside one specialisation of a parser, control or function.
#[derive(Default, Clone)]
struct Env<'a> {
    /// Control-plane prefix with its dot: `MyIngress.`
    prefix: String,
    types: HashMap<(NodeId, u32), Type>,
    places: HashMap<NodeId, Loc>,
    values: HashMap<NodeId, Value>,
    instances: HashMap<NodeId, InstanceRef<'a>>,
    actions: HashMap<NodeId, Rc<ActionRoutine<'a>>>,
    tables: HashMap<NodeId, TableId>,
    value_sets: HashMap<NodeId, u32>,
    /// Where `return value` puts the value
    result: Option<(Slot, Type)>,
    /// The instance whose methods are being lowered
    this: Option<InstanceId>,
}

/// An action lowered for one control.
struct ActionRoutine<'a> {
    decl: &'a ast::Decl,
    routine: Routine,
    /// Parameter slots in the order of declaration
    params: Vec<(Slot, Type)>,
    id: ActionId,
    may_exit: bool,
}

/// A function lowered for one set of type arguments.
#[derive(Clone)]
struct FunctionRoutine {
    routine: Routine,
    params: Vec<(Slot, Type)>,
    result: Option<(Slot, Type)>,
}

struct Lowerer<'a, 'c> {
    checked: &'c Checked<'a>,
    binding: &'c dyn Binding,
    program: Program,
    diagnostics: Vec<Diagnostic>,
    chunks: Vec<Chunk>,
    /// Chunk that code is being added to
    current: usize,
    span: Span,
    env: Env<'a>,
    /// Instances and functions of the top level
    globals: HashMap<NodeId, InstanceRef<'a>>,
    /// By type arguments, and arguments for parameters of type int
    functions: HashMap<(NodeId, Vec<Type>, Vec<BigInt>), FunctionRoutine>,
    /// Abstract methods that instances implement
    methods: HashMap<(InstanceId, Name), FunctionRoutine>,
    shapes: HashMap<Type, Rc<Shape>>,
    layouts: HashMap<Type, LayoutId>,
    stacks: HashMap<Slot, u32>,
    constants: HashMap<Vec<u64>, Slot>,
    enums: HashMap<NodeId, u32>,
    /// Blocks that are applied in several places: their routine and parameter slots
    shared_blocks: HashMap<*const (), (Routine, Vec<Slot>)>,
    /// For each table the declarations of its actions, by position
    table_actions: HashMap<TableId, Vec<NodeId>>,
    /// Tables whose keys are read where they are
    keys_in_place: HashSet<TableId>,
    /// Tables with an action that may execute `exit`
    exiting_tables: HashSet<TableId>,
    /// The chunk that each switch table, wide operation and extern call belongs to
    switch_chunks: Vec<usize>,
    wide_chunks: Vec<usize>,
    call_chunks: Vec<usize>,
    /// What stands before the keys of the storages of each package inside the package; one empty
    /// string if there is none.
    parts: Vec<String>,
    /// Packages inside the package: where they are made, and the first parameter that got them
    inner_packages: Vec<(NodeId, Name)>,
    /// Set to 1 by `exit`, zeroed at the start of each block
    exit_flag: Slot,
    /// Instructions so far
    emitted: u32,
    /// The program is too large, which has been reported.
    overgrown: bool,
    /// Nesting of instances, functions and calls, to stop a program that nests without end
    depth: u32,
}

/// Instructions that a program may have: instances of instances of instances multiply.
const MAX_CODE: u32 = 1 << 18;
/// Words of memory that a packet may need, and that its constants may take.
const MAX_WORDS: u32 = 1 << 22;
/// How deep instances and functions may nest.
const MAX_DEPTH: u32 = 64;

impl<'a, 'c> Lowerer<'a, 'c> {
    fn new(checked: &'c Checked<'a>, binding: &'c dyn Binding) -> Lowerer<'a, 'c> {
        let program = Program {
            package: "".into(),
            code: Vec::new(),
            spans: Vec::new(),
            frame_words: 0,
            constant_base: 0,
            constants: Vec::new(),
            wide: Vec::new(),
            dynamic: Vec::new(),
            switches: Vec::new(),
            layouts: Vec::new(),
            stacks: Vec::new(),
            states: Vec::new(),
            vars: Vec::new(),
            storages: Vec::new(),
            blocks: Vec::new(),
            same: Vec::new(),
            inner: Vec::new(),
            tables: Vec::new(),
            actions: Vec::new(),
            instances: Vec::new(),
            calls: Vec::new(),
            value_sets: Vec::new(),
            enums: Vec::new(),
            errors: Vec::new(),
            keeps_invalid: false,
        };
        let mut lowerer = Lowerer {
            checked,
            binding,
            program,
            diagnostics: Vec::new(),
            chunks: Vec::new(),
            current: 0,
            span: Span::NONE,
            env: Env::default(),
            globals: HashMap::default(),
            functions: HashMap::default(),
            methods: HashMap::default(),
            shapes: HashMap::default(),
            layouts: HashMap::default(),
            stacks: HashMap::default(),
            constants: HashMap::default(),
            enums: HashMap::default(),
            shared_blocks: HashMap::default(),
            table_actions: HashMap::default(),
            keys_in_place: HashSet::default(),
            exiting_tables: HashSet::default(),
            switch_chunks: Vec::new(),
            wide_chunks: Vec::new(),
            call_chunks: Vec::new(),
            parts: vec![String::new()],
            inner_packages: Vec::new(),
            exit_flag: 0,
            emitted: 0,
            overgrown: false,
            depth: 0,
        };
        lowerer.number_errors();
        lowerer.exit_flag = lowerer.alloc(1);
        lowerer
    }

    /// Words for the fields that the architecture wants noted, and for copies of them.
    fn noted_fields(&mut self) -> Vec<Noted> {
        let wanted = self.binding.noted();
        let mut fields: Vec<Option<Slot>> = Vec::new();
        for part in &self.parts {
            for (storage, leaf) in wanted {
                let var = self.program.storage(&format!("{part}{storage}"));
                let var = var.and_then(|storage| storage.leaf(leaf));
                fields.push(var.map(|var| self.program.vars[var as usize].place.slot));
            }
        }
        if fields.iter().all(Option::is_none) {
            return Vec::new();
        }
        for var in &self.program.vars {
            let last = var.name.rsplit('.').next();
            let is_copy = wanted.iter().any(|(_, leaf)| Some(*leaf) == last);
            if is_copy && !fields.contains(&Some(var.place.slot)) {
                fields.push(Some(var.place.slot));
            }
        }
        let base = self.alloc(fields.len() as u32);
        self.program.storages.push(Storage {
            key: crate::written::WRITTEN.into(),
            base,
            words: fields.len() as u32,
            leaves: Vec::new(),
            headers: Vec::new(),
        });
        let notes = (base..).zip(fields);
        notes
            .filter_map(|(note, field)| field.map(|field| Noted { field, note }))
            .collect()
    }

    /// The standard errors first, in the order that [`Program::errors`] promises.
    fn number_errors(&mut self) {
        let standard = [
            "NoError",
            "PacketTooShort",
            "NoMatch",
            "StackOutOfBounds",
            "HeaderTooShort",
            "ParserTimeout",
            "ParserInvalidArgument",
        ];
        self.program.errors = standard.iter().map(|name| Name::from(*name)).collect();
        let known: HashSet<_> = self.program.errors.iter().cloned().collect();
        let own = self.checked.errors.iter();
        let own = own.filter(|name| !known.contains(*name)).cloned();
        self.program.errors.extend(own);
    }

    /// Reports something that cannot be executed (yet); lowering goes on to find more.
    fn refuse(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.refuse_with(code, span, message, remedy(code));
    }

    fn refuse_with(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        remedy: &str,
    ) {
        let message = p4_check::sentence(&message.into());
        let remedy = p4_check::sentence(remedy);
        self.diagnostics
            .push(Diagnostic::error(code, span, message).hint(remedy));
    }

    /// Frame words that keep their place for the whole packet.
    fn alloc(&mut self, words: u32) -> Slot {
        let slot = self.program.frame_words;
        if slot.saturating_add(words) > MAX_WORDS {
            self.outgrow();
            return 0;
        }
        self.program.frame_words += words;
        slot
    }

    /// Reports, once, a program that grows beyond all bounds. What is lowered after that is thrown
    /// away, so the lowering only has to come to its end.
    fn outgrow(&mut self) {
        if !std::mem::replace(&mut self.overgrown, true) {
            let message = format!(
                "the program grows to more than {MAX_CODE} instructions, or needs more than {MAX_WORDS} words of memory per packet"
            );
            self.refuse("E0605", self.span, message);
        }
    }

    /// Scratch words of the current routine, free again when the statement ends.
    fn scratch(&mut self, words: u32) -> Slot {
        let chunk = &mut self.chunks[self.current];
        let slot = SCRATCH + chunk.scratch_top;
        if chunk.scratch_top.saturating_add(words) > MAX_WORDS {
            self.outgrow();
            return SCRATCH;
        }
        chunk.scratch_top += words;
        chunk.scratch = chunk.scratch.max(chunk.scratch_top);
        slot
    }

    /// One more instruction, or one more routine or block, whatever is in it.
    fn grow(&mut self) {
        self.emitted += 1;
        if self.emitted > MAX_CODE {
            self.outgrow();
        }
    }

    fn emit(&mut self, op: Op) -> usize {
        let span = self.span;
        self.grow();
        let chunk = &mut self.chunks[self.current];
        chunk.code.push(op);
        chunk.spans.push(span);
        chunk.code.len() - 1
    }

    /// Lets the jump at `at` go to the next instruction.
    fn patch(&mut self, at: usize) {
        let target = self.label();
        self.patch_to(at, target);
    }

    fn patch_to(&mut self, at: usize, target: usize) {
        match &mut self.chunks[self.current].code[at] {
            Op::Jmp { t } | Op::JmpIf { t, .. } | Op::JmpIfNot { t, .. } => *t = target as Pc,
            _ => {}
        }
    }

    /// Lowers a routine in a chunk of its own.
    fn routine(&mut self, body: impl FnOnce(&mut Self)) -> Routine {
        let outer = self.current;
        let span = self.span;
        self.chunks.push(Chunk::default());
        self.current = self.chunks.len() - 1;
        let routine = self.current as Routine;
        body(self);
        for at in std::mem::take(&mut self.chunks[self.current].to_end) {
            self.patch(at);
        }
        self.emit(Op::Ret);
        self.current = outer;
        self.span = span;
        routine
    }

    fn jump_to_end(&mut self) {
        let at = self.emit(Op::Jmp { t: 0 });
        self.chunks[self.current].to_end.push(at);
    }

    /// After something that may have executed `exit`: leave this routine too.
    fn leave_on_exit(&mut self) {
        let at = self.emit(Op::JmpIf {
            c: self.exit_flag,
            t: 0,
        });
        let chunk = &mut self.chunks[self.current];
        chunk.may_exit = true;
        chunk.to_end.push(at);
    }

    /// A slot run with these words as constants.
    fn constant(&mut self, words: &[u64]) -> Slot {
        if let Some(slot) = self.constants.get(words) {
            return *slot;
        }
        if self.program.constants.len() + words.len() > MAX_WORDS as usize {
            self.outgrow();
            return CONSTANT;
        }
        let slot = CONSTANT + self.program.constants.len() as u32;
        self.program.constants.extend_from_slice(words);
        self.constants.insert(words.to_vec(), slot);
        slot
    }

    fn number(&mut self, value: u64) -> Slot {
        self.constant(&[value])
    }

    /// The type with the type parameters of this specialisation put in.
    fn concrete(&self, ty: &Type) -> Type {
        if self.env.types.is_empty() {
            return ty.clone();
        }
        ty.map_params(&|decl, index| self.env.types.get(&(decl, index)).cloned())
    }

    fn type_of(&self, expr: &ast::Expr) -> Type {
        self.concrete(self.checked.expr_type(expr.id))
    }

    fn type_ref(&self, ty: &ast::TypeRef) -> Type {
        self.concrete(self.checked.type_ref(ty.id))
    }

    /// The compile-time value of `expr` in this specialisation.
    fn eval(&self, expr: &ast::Expr) -> Option<Value> {
        self.checked
            .eval(expr, &|param| self.env.values.get(&param.id).cloned())
    }

    /// The text of an annotation such as `@name("text")`; it may be put together (`"a" ++ "b"`).
    fn annotated(&self, annotations: &[ast::Annotation], which: &str) -> Option<Name> {
        let annotation = annotations.iter().find(|a| &*a.name.name == which)?;
        let only = match &annotation.body {
            ast::AnnotationBody::Unstructured { tokens, .. } if tokens.len() == 1 => {
                return Some(tokens[0].text.clone());
            }
            ast::AnnotationBody::Unstructured { exprs, .. } | ast::AnnotationBody::Exprs(exprs) => {
                exprs.first()?
            }
            _ => return None,
        };
        match self.eval(only)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Control-plane name of something declared here: the prefix and its name, unless `@name`
    /// says otherwise.
    fn control_name(&self, decl: &ast::Decl) -> Name {
        match self.annotated(&decl.annotations, "name") {
            Some(name) => match name.strip_prefix('.') {
                Some(absolute) => absolute.into(),
                None => format!("{}{name}", self.env.prefix).into(),
            },
            None => format!("{}{}", self.env.prefix, decl.name.name).into(),
        }
    }
}

/// What to do about something that cannot be executed.
fn remedy(code: &str) -> &'static str {
    match code {
        "E0501" => "use literals and constants",
        "E0601" => "end the program with an instance of the architecture's package, such as `V1Switch(...) main;`",
        "E0602" => "declare the instances one by one",
        "E0605" => "instances that contain two of another, which contain two of the next, double with each level",
        "E0606" => "give the parameter the same type in all blocks of the package",
        _ => "the language allows it, but this engine does not execute it: use variables and constants",
    }
}

/// Annotations as names with the text of their bodies.
fn annotations(list: &[ast::Annotation]) -> Vec<Annotation> {
    list.iter()
        .map(|annotation| {
            let body: Name = match &annotation.body {
                ast::AnnotationBody::Unstructured { tokens, .. } => {
                    let texts: Vec<String> = tokens
                        .iter()
                        .map(|t| {
                            if t.is_string {
                                format!("\"{}\"", t.text)
                            } else {
                                t.text.to_string()
                            }
                        })
                        .collect();
                    texts.join(" ").into()
                }
                _ => "".into(),
            };
            Annotation {
                name: annotation.name.name.clone(),
                body,
            }
        })
        .collect()
}
