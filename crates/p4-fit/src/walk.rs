//! The apply block of a control and of the controls in it, statement by statement.

use crate::actions::hull;
use crate::copies::Copies;
use crate::model::{Access, Action, Field, Guard, Resource, ResourceKind, Unit, UnitKind};
use crate::places::Place;
use crate::reads::Effect;
use p4_check::types::Type;
use p4_check::value::Value;
use p4_check::{CallInfo, CallKind, Checked, Def};
use p4_syntax::ast::{Arg, Block, Decl, DeclKind, Expr, ExprKind, NodeId, Param, Stmt, StmtKind};
use p4_syntax::Span;
use std::collections::{HashMap, HashSet};

/// More tables, conditions and runs of statements than this are not followed: twelve stages have
/// places for 192 tables with a condition each.
pub(crate) const MAX_UNITS: usize = 600;
/// Nodes of the tree that are visited, repeated ones counted.
const MAX_STEPS: u64 = 2_000_000;
/// Blocks in blocks; the lowering accepts no more.
const MAX_DEPTH: u32 = 64;

/// What a parameter or variable stands for.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Place(Place),
    /// A computed value, or data of an entry: what was read to get it
    Value {
        reads: Vec<Access>,
        crossbar: Vec<Access>,
    },
}

#[derive(Clone)]
pub(crate) struct ExternRef<'a> {
    pub decl: &'a Decl,
    /// Of the instance it is declared in
    pub prefix: String,
}

/// What holds inside one instance of a control.
#[derive(Clone, Default)]
pub(crate) struct Env<'a> {
    /// `bfr.` inside the instance `bfr`
    pub prefix: String,
    pub bound: HashMap<NodeId, Bound>,
    pub values: HashMap<NodeId, Value>,
    pub types: HashMap<(NodeId, u32), Type>,
    pub given: HashMap<NodeId, ExternRef<'a>>,
}

/// What happens behind a statement.
pub(crate) enum Flow {
    GoesOn,
    Ends,
    /// Only on these arms of this unit
    GoesOnIf(u32, Vec<u32>),
}

pub(crate) struct Walk<'c, 'a> {
    pub checked: &'c Checked<'a>,
    /// Ids of the declarations at the top level
    pub global: HashSet<NodeId>,
    pub env: Env<'a>,
    pub guards: Vec<Guard>,
    pub units: Vec<Unit>,
    pub fields: Vec<Field>,
    pub by_name: HashMap<String, u32>,
    /// How often each name of a variable was given
    pub names: HashMap<String, u32>,
    pub resources: Vec<Resource>,
    pub resource_of: HashMap<(String, NodeId), Option<u32>>,
    pub notes: Vec<String>,
    /// Fields of variables that controls declare
    pub locals: HashSet<u32>,
    pub copies: Copies,
    /// In the body of an action, where variables are read as they are
    pub in_action: bool,
    pub too_large: bool,
    /// Statements that wait for others to run in the same action
    run: Option<(Effect, Span)>,
    steps: u64,
    depth: u32,
}

impl<'c, 'a> Walk<'c, 'a> {
    pub fn new(checked: &'c Checked<'a>) -> Walk<'c, 'a> {
        Walk {
            checked,
            global: checked.program.decls.iter().map(|d| d.id).collect(),
            env: Env::default(),
            guards: Vec::new(),
            units: Vec::new(),
            fields: Vec::new(),
            by_name: HashMap::new(),
            names: HashMap::new(),
            resources: Vec::new(),
            resource_of: HashMap::new(),
            notes: Vec::new(),
            locals: HashSet::new(),
            copies: Copies::new(),
            in_action: false,
            too_large: false,
            run: None,
            steps: 0,
            depth: 0,
        }
    }

    /// Counts work; false when there has been too much of it.
    pub fn spend(&mut self, steps: u64) -> bool {
        self.steps += steps;
        self.too_large |= self.steps > MAX_STEPS;
        !self.too_large
    }

    /// A control whose parameters are bound already.
    pub fn control(&mut self, locals: &'a [Decl], apply: &'a Block) {
        for decl in locals {
            if matches!(decl.kind, DeclKind::Variable { .. }) {
                self.declaration(decl);
            }
        }
        self.block(&apply.stmts);
    }

    pub fn block(&mut self, stmts: &'a [Stmt]) -> Flow {
        let mut narrowed = 0;
        let mut flow = Flow::GoesOn;
        for stmt in stmts {
            match self.statement(stmt) {
                Flow::GoesOn => {}
                Flow::Ends => {
                    flow = Flow::Ends;
                    break;
                }
                Flow::GoesOnIf(unit, arms) => {
                    self.flush();
                    self.guards.push(Guard { unit, arms });
                    narrowed += 1;
                }
            }
        }
        if narrowed > 0 {
            self.flush();
            let left = self.guards.len() - narrowed;
            self.guards.truncate(left);
        }
        flow
    }

    pub fn statement(&mut self, stmt: &'a Stmt) -> Flow {
        if !self.spend(1) {
            return Flow::GoesOn;
        }
        match &stmt.kind {
            StmtKind::Decl(decl) => self.declaration(decl),
            StmtKind::Call(expr) => self.call_statement(expr),
            StmtKind::If {
                cond,
                then,
                otherwise,
            } => return self.if_statement(cond, then, otherwise.as_deref()),
            StmtKind::Switch { value, cases } => self.switch_statement(value, cases),
            StmtKind::For { init, body, .. } => {
                self.loop_note();
                self.block(init);
                self.copies.clear();
                self.statement(body);
                self.copies.clear();
            }
            StmtKind::ForIn { body, .. } => {
                self.loop_note();
                self.copies.clear();
                self.statement(body);
                self.copies.clear();
            }
            StmtKind::Return(_) | StmtKind::Exit => {
                self.flush();
                return Flow::Ends;
            }
            StmtKind::Block(block) => return self.block(&block.stmts),
            StmtKind::Assign { rhs, .. } | StmtKind::AssignOp { rhs, .. } => {
                self.tables_in(rhs);
                self.simple(stmt);
            }
            StmtKind::Empty | StmtKind::Break | StmtKind::Continue => {}
        }
        Flow::GoesOn
    }

    /// A statement that can run in an action with others.
    fn simple(&mut self, stmt: &'a Stmt) {
        let mut effect = Effect::default();
        self.action_statement(stmt, &mut effect);
        self.done(effect, stmt.span);
    }

    fn declaration(&mut self, decl: &'a Decl) {
        if let DeclKind::Variable { init, .. } = &decl.kind {
            let place = self.variable(decl);
            if let Some(init) = init {
                self.tables_in(init);
                let mut effect = Effect::default();
                let value = self.value(init, &mut effect, false);
                let accesses = self.accesses(&place);
                effect.write(&accesses, value);
                self.done(effect, decl.span);
            }
        }
    }

    fn call_statement(&mut self, expr: &'a Expr) {
        let Some(info) = self.checked.calls.get(&expr.id).cloned() else {
            return;
        };
        let (base, args): (Option<&'a Expr>, &'a [Arg]) = match &expr.kind {
            ExprKind::Call { func, args, .. } => match &func.kind {
                ExprKind::Member(base, _) => (Some(base), args),
                _ => (None, args),
            },
            _ => (None, &[]),
        };
        match info.kind {
            CallKind::Action(decl) => {
                self.flush();
                let mut effect = Effect::default();
                self.inline_action(decl, &info.args, args, &mut effect);
                self.forget_written(&effect);
                let name = format!("{}{}", self.env.prefix, decl.name.name);
                let unit = self.push_unit(UnitKind::Call, name, expr.span, Vec::new());
                self.units[unit as usize].actions.push(Action {
                    name: decl.name.name.to_string(),
                    span: decl.name.span,
                    ..effect.into_action()
                });
            }
            CallKind::TableApply(decl) => {
                self.table(decl, expr.span);
            }
            CallKind::BlockApply(decl) => self.sub_control(decl, base, &info, args),
            CallKind::TypeApply(decl) => self.sub_control(decl, None, &info, args),
            _ => {
                let mut effect = Effect::default();
                self.value(expr, &mut effect, false);
                self.done(effect, expr.span);
            }
        }
    }

    /// A control applied in this one, with its parameters as names for the arguments.
    fn sub_control(
        &mut self,
        decl: &'a Decl,
        base: Option<&'a Expr>,
        info: &CallInfo<'a>,
        args: &'a [Arg],
    ) {
        let instance = base.and_then(|base| match self.checked.defs.get(&base.id) {
            Some(Def::Instance(decl)) => Some(*decl),
            _ => None,
        });
        let own = instance.map_or(&decl.name.name, |instance| &instance.name.name);
        let prefix = format!("{}{own}.", self.env.prefix);
        let made = instance.and_then(|instance| {
            let DeclKind::Instance { args, .. } = &instance.kind else {
                return None;
            };
            Some((
                self.checked.calls.get(&instance.id)?.clone(),
                args.as_slice(),
            ))
        });
        let decl = match made.as_ref().map(|(info, _)| info.kind) {
            Some(CallKind::Construct(decl)) => decl,
            _ => decl,
        };
        let DeclKind::Control {
            proto,
            locals,
            apply,
            ctor_params,
        } = &decl.kind
        else {
            return;
        };
        if self.depth >= MAX_DEPTH {
            self.too_large = true;
            return;
        }
        let mut before = Effect::default();
        self.bind(&proto.params, &info.args, args, &mut before);
        let (made, made_args) = made.unwrap_or((info.clone(), &[]));
        let outer = self.env.clone();
        self.construct(decl, ctor_params, &made, made_args, prefix);
        self.depth += 1;
        self.control(locals, apply);
        self.depth -= 1;
        self.env = outer;
    }

    /// Puts the constructor's arguments into the environment; what is bound already stays.
    pub fn construct(
        &mut self,
        decl: &'a Decl,
        params: &'a [Param],
        info: &CallInfo<'a>,
        args: &'a [Arg],
        prefix: String,
    ) {
        self.spend(self.env.bound.len() as u64);
        let types: Vec<Type> = info.type_args.iter().map(|ty| self.concrete(ty)).collect();
        for (i, ty) in types.into_iter().enumerate() {
            self.env.types.insert((decl.id, i as u32), ty);
        }
        for (i, param) in params.iter().enumerate() {
            let arg = info.args.get(i).copied().flatten();
            let arg = arg.and_then(|i| args.get(i)).map(|arg| &arg.value);
            let Some(expr) = arg.or(param.default.as_ref()) else {
                continue;
            };
            if let Some(value) = self.constant(expr) {
                self.env.values.insert(param.id, value);
            } else if let Some(given) = self.extern_of(expr) {
                self.env.given.insert(param.id, given);
            }
        }
        // A second instance of the same control has variables of its own.
        self.env.prefix = prefix;
        if let DeclKind::Control { locals, .. } = &decl.kind {
            for local in locals {
                self.env.bound.remove(&local.id);
            }
        }
    }

    /// A statement of an apply block is over.
    fn done(&mut self, effect: Effect, span: Span) {
        self.forget_written(&effect);
        self.remember(&effect);
        self.add_to_run(effect, span);
    }

    /// Adds a statement to those before it if the chip's compiler would run them in one action: it
    /// touches nothing that they write, and at most one of them works on a memory.
    pub fn add_to_run(&mut self, effect: Effect, span: Span) {
        if let Some((run, _)) = &self.run {
            let pairs = run.writes.len() * (1 + effect.reads.len() + effect.writes.len());
            self.spend(pairs as u64);
        }
        if let Some((run, _)) = &self.run {
            if run.conflicts(&effect) || (self.works(run) && self.works(&effect)) {
                self.flush();
            }
        }
        match &mut self.run {
            Some((run, whole)) => {
                run.then(effect);
                *whole = hull(*whole, span);
            }
            None => self.run = Some((effect, span)),
        }
    }

    fn works(&self, effect: &Effect) -> bool {
        effect.uses.iter().any(|used| {
            let kind = self.resources.get(used.resource as usize).map(|r| r.kind);
            kind != Some(ResourceKind::Hash)
        })
    }

    /// Ends the run of statements: what comes next stands on another branch, or is a table.
    pub fn flush(&mut self) {
        if let Some((effect, span)) = self.run.take() {
            if effect.writes.is_empty() && effect.uses.is_empty() {
                return;
            }
            let unit = self.push_unit(UnitKind::Statements, String::new(), span, Vec::new());
            self.units[unit as usize].actions.push(Action {
                span,
                ..effect.into_action()
            });
        }
    }
}
