//! The program as the control plane meets it: every parser and control of the package with what
//! its sub-blocks contain put in their places, under full names.

use crate::arch::{of_package, Arch};
use crate::notes;
use crate::usage::{Event, Walker};
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::{CallInfo, CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::SourceMap;
use p4_syntax::{HashMap, HashSet};
use std::rc::Rc;

/// Instances inside instances; deeper ones than this are left out, which no program reaches that
/// the lowering accepts.
const MAX_DEPTH: u32 = 64;

/// What holds inside one instance of a parser or control.
#[derive(Default)]
pub(crate) struct Env<'a> {
    /// Full name of the instance, empty at the top level
    prefix: String,
    values: HashMap<NodeId, Value>,
    types: HashMap<(NodeId, u32), Type>,
    /// Extern instances that were given to the constructor
    given: HashMap<NodeId, Rc<ExternItem<'a>>>,
}

pub(crate) struct ActionItem<'a> {
    pub decl: &'a Decl,
    pub name: String,
    pub env: Rc<Env<'a>>,
    /// A table lists it; otherwise it is only called, and has no parameters of its own.
    pub listed: bool,
}

pub(crate) struct TableItem<'a> {
    pub decl: &'a Decl,
    pub name: String,
    pub env: Rc<Env<'a>>,
}

pub(crate) struct ExternItem<'a> {
    /// Its own declaration, `None` for one made in a property of a table
    pub decl: Option<&'a Decl>,
    pub name: String,
    pub annotations: &'a [Annotation],
    pub extern_type: &'a Decl,
    pub info: CallInfo<'a>,
    pub args: &'a [Arg],
    pub env: Rc<Env<'a>>,
}

pub(crate) enum BlockItem<'a> {
    Table(TableItem<'a>),
    Extern(Rc<ExternItem<'a>>),
}

pub(crate) struct ValueSetItem<'a> {
    pub decl: &'a Decl,
    pub name: String,
    pub env: Rc<Env<'a>>,
}

/// A call of an extern function or method, in an action or in the body of a control.
pub(crate) struct FunctionCall<'a> {
    pub expr: &'a Expr,
    pub decl: &'a Decl,
    /// The upper end of a slice right behind the call of a method
    pub upper: Option<&'a Expr>,
    pub env: Rc<Env<'a>>,
}

/// Everything the control plane may see, in the order of the package.
#[derive(Default)]
pub(crate) struct Items<'a> {
    pub actions: Vec<ActionItem<'a>>,
    /// Tables and extern instances in their common order
    pub blocks: Vec<BlockItem<'a>>,
    pub value_sets: Vec<ValueSetItem<'a>>,
    pub functions: Vec<FunctionCall<'a>>,
    /// A call in an action that others call is there for each of them.
    pub methods: Vec<FunctionCall<'a>>,
}

pub(crate) struct Program<'a, 'c> {
    pub checked: &'c Checked<'a>,
    pub sources: &'c SourceMap,
    pub arch: &'static Arch,
    /// Ids of the declarations at the top level
    global: HashSet<NodeId>,
    top: Rc<Env<'a>>,
}

/// A block while its parts are being put together.
#[derive(Default)]
struct Parts<'a> {
    items: Items<'a>,
    /// Actions that were called, in order
    called: Vec<&'a Decl>,
    /// Calls of extern functions in the body, sub-blocks included
    body_functions: Vec<FunctionCall<'a>>,
}

impl<'a, 'c> Program<'a, 'c> {
    pub fn new(checked: &'c Checked<'a>, sources: &'c SourceMap) -> Program<'a, 'c> {
        let package = checked.main.map(|main| checked.expr_type(main.id));
        let arch = match package {
            Some(Type::Named(_, _, name, _)) => of_package(name),
            _ => of_package(""),
        };
        Program {
            checked,
            sources,
            arch,
            global: checked.program.decls.iter().map(|d| d.id).collect(),
            top: Rc::new(Env::default()),
        }
    }

    pub fn eval(&self, env: &Env<'a>, expr: &Expr) -> Option<Value> {
        self.checked
            .eval(expr, &|param| env.values.get(&param.id).cloned())
    }

    /// `ty` with the type parameters of the blocks around put in.
    pub fn concrete(&self, env: &Env<'a>, ty: &Type) -> Type {
        ty.map_params(&|decl, index| env.types.get(&(decl, index)).cloned())
    }

    /// The full name of something declared in `env`, by its `@name` or its own.
    fn full_name(&self, env: &Env<'a>, annotations: &[Annotation], own: &str) -> String {
        let annotated = notes::text_of(self.checked, annotations, "name");
        let name = annotated.as_deref().unwrap_or(own);
        match name.strip_prefix('.') {
            Some(absolute) => absolute.to_string(),
            None if env.prefix.is_empty() => name.to_string(),
            None => format!("{}.{name}", env.prefix),
        }
    }

    /// The full name of a declaration that is seen from `env`.
    pub fn name(&self, env: &Env<'a>, decl: &Decl) -> String {
        match self.global.contains(&decl.id) {
            true => self.full_name(&self.top, &decl.annotations, &decl.name.name),
            false => self.full_name(env, &decl.annotations, &decl.name.name),
        }
    }

    /// Collects what is in all packages of the program.
    pub fn items(&self) -> Items<'a> {
        let mut items = Items::default();
        let mut packages: Vec<(NodeId, &'a [Arg])> = Vec::new();
        for decl in &self.checked.program.decls {
            let DeclKind::Instance { args, .. } = &decl.kind else {
                continue;
            };
            match self.checked.expr_type(decl.id) {
                Type::Named(Kind::Package, ..) => packages.push((decl.id, args)),
                _ => {
                    let item = self.extern_decl(&self.top, decl);
                    items.blocks.extend(item.map(BlockItem::Extern));
                }
            }
        }
        let mut next = 0;
        while let Some((id, args)) = packages.get(next).copied() {
            next += 1;
            for arg in self.package_args(id, args) {
                let inner = match &arg.kind {
                    ExprKind::Construct { args, .. } | ExprKind::Call { args, .. } => args,
                    _ => continue,
                };
                match self.checked.expr_type(arg.id) {
                    Type::Named(Kind::Package, ..) => packages.push((arg.id, inner)),
                    _ => self.package_block(arg, inner, &mut items),
                }
            }
        }
        items
    }

    /// The arguments of a package in the order of its parameters, defaults included.
    fn package_args(&self, id: NodeId, args: &'a [Arg]) -> Vec<&'a Expr> {
        let Some(info) = self.checked.calls.get(&id) else {
            return Vec::new();
        };
        let CallKind::Construct(decl) = info.kind else {
            return Vec::new();
        };
        let DeclKind::Package { params, .. } = &decl.kind else {
            return Vec::new();
        };
        let value = |(param, index): (&'a Param, &Option<usize>)| match index {
            Some(index) => args.get(*index).map(|arg| &arg.value),
            None => param.default.as_ref(),
        };
        params.iter().zip(&info.args).filter_map(value).collect()
    }

    /// The instances of the package `kind`, with what makes their parsers and controls, and the
    /// declarations of these, in the order of its parameters.
    pub fn instances_of(&self, kind: &str) -> Vec<(&'a Decl, Vec<(&'a Expr, &'a Decl)>)> {
        let decls = self.checked.program.decls.iter();
        let instances = decls.filter_map(|decl| {
            let DeclKind::Instance { args, .. } = &decl.kind else {
                return None;
            };
            let is = matches!(self.checked.expr_type(decl.id), Type::Named(_, _, name, _) if &**name == kind);
            let blocks = self.package_args(decl.id, args).into_iter();
            let blocks = blocks.filter_map(|arg| match self.checked.calls.get(&arg.id)?.kind {
                CallKind::Construct(block) => Some((arg, block)),
                _ => None,
            });
            is.then(|| (decl, blocks.collect()))
        });
        instances.collect()
    }

    /// What calls of the extern function `name` in a block of a package are for: their first type
    /// arguments. Blocks that it applies count.
    pub fn types_for(&self, arg: &'a Expr, name: &str) -> Vec<Type> {
        let args = match &arg.kind {
            ExprKind::Construct { args, .. } | ExprKind::Call { args, .. } => args,
            _ => return Vec::new(),
        };
        let Some((_, parts)) = self.package_parts(arg, args) else {
            return Vec::new();
        };
        let calls = parts.body_functions.iter();
        let calls = calls.filter(|call| &*call.decl.name.name == name);
        let types = calls.filter_map(|call| {
            let info = self.checked.calls.get(&call.expr.id)?;
            Some(self.concrete(&call.env, info.type_args.first()?))
        });
        types.collect()
    }

    /// A block of a package.
    fn package_parts(&self, arg: &'a Expr, args: &'a [Arg]) -> Option<(&'a Decl, Parts<'a>)> {
        let info = self.checked.calls.get(&arg.id)?;
        let CallKind::Construct(decl) = info.kind else {
            return None;
        };
        // A `@name` of the control itself does not count.
        let name = decl.name.name.to_string();
        let env = self.block_env(decl, info, args, name, &self.top)?;
        Some((decl, self.block(decl, &Rc::new(env), 0)))
    }

    fn package_block(&self, arg: &'a Expr, args: &'a [Arg], items: &mut Items<'a>) {
        if let Some((decl, parts)) = self.package_parts(arg, args) {
            let is_control = matches!(decl.kind, DeclKind::Control { .. });
            self.finish(parts, is_control, items);
        }
    }

    /// Adds a whole block to the items, with copies of the global actions that it uses.
    fn finish(&self, mut parts: Parts<'a>, is_control: bool, items: &mut Items<'a>) {
        let listed = parts.items.blocks.iter().flat_map(|block| {
            let actions = match block {
                BlockItem::Table(table) => self.table_actions(table.decl),
                BlockItem::Extern(_) => Vec::new(),
            };
            actions.into_iter().map(|decl| (decl, true))
        });
        let called = parts.called.iter().map(|decl| (*decl, false));
        let mut seen = HashSet::default();
        let mut globals = Vec::new();
        for (decl, listed) in listed.chain(called) {
            if self.global.contains(&decl.id) && seen.insert(decl.id) {
                globals.push(ActionItem {
                    decl,
                    name: self.name(&self.top, decl),
                    env: Rc::clone(&self.top),
                    listed,
                });
            }
        }
        globals.append(&mut parts.items.actions);
        for action in &globals {
            let (functions, methods) = self.action_calls(action);
            items.functions.extend(functions);
            items.methods.extend(methods);
        }
        items.methods.append(&mut parts.items.methods);
        if is_control {
            items.functions.append(&mut parts.body_functions);
        }
        items.actions.append(&mut globals);
        items.blocks.append(&mut parts.items.blocks);
        items.value_sets.append(&mut parts.items.value_sets);
    }

    /// The functions and the methods of externs that an action calls.
    fn action_calls(
        &self,
        action: &ActionItem<'a>,
    ) -> (Vec<FunctionCall<'a>>, Vec<FunctionCall<'a>>) {
        let DeclKind::Action { body, .. } = &action.decl.kind else {
            return Default::default();
        };
        let params = |param: &Param| action.env.values.get(&param.id).cloned();
        let events = Walker::new(self.checked, &params, true).block_events(body);
        let (mut functions, mut methods) = (Vec::new(), Vec::new());
        for event in events {
            let call = |expr, decl, upper| FunctionCall {
                expr,
                decl,
                upper,
                env: Rc::clone(&action.env),
            };
            match event {
                Event::ExternFunction(expr, decl) => functions.push(call(expr, decl, None)),
                Event::Method(expr, decl, upper) => methods.push(call(expr, decl, upper)),
                _ => {}
            }
        }
        (functions, methods)
    }

    /// The actions that a table lists, and `NoAction` where it has no other default action.
    pub fn table_actions(&self, table: &'a Decl) -> Vec<&'a Decl> {
        let DeclKind::Table(properties) = &table.kind else {
            return Vec::new();
        };
        let mut actions = Vec::new();
        for property in properties {
            if let PropertyValue::Actions(list) = &property.value {
                let decls = list
                    .iter()
                    .filter_map(|a| self.checked.action_refs.get(&a.id));
                actions.extend(decls.copied());
            }
        }
        if !properties.iter().any(|p| &*p.name.name == "default_action") {
            actions.extend(self.no_action());
        }
        actions
    }

    /// The action that tables do if they name none.
    pub fn no_action(&self) -> Option<&'a Decl> {
        let decls = self.checked.program.decls.iter();
        let is_it =
            |d: &&'a Decl| matches!(d.kind, DeclKind::Action { .. }) && &*d.name.name == "NoAction";
        decls.rev().find(is_it)
    }

    /// The environment inside an instance; `None` unless `decl` is a parser or control.
    fn block_env(
        &self,
        decl: &'a Decl,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        name: String,
        outer: &Rc<Env<'a>>,
    ) -> Option<Env<'a>> {
        let (DeclKind::Parser { ctor_params, .. } | DeclKind::Control { ctor_params, .. }) =
            &decl.kind
        else {
            return None;
        };
        let mut env = Env {
            prefix: name,
            ..Env::default()
        };
        for (i, ty) in info.type_args.iter().enumerate() {
            let ty = self.concrete(outer, ty);
            env.types.insert((decl.id, i as u32), ty);
        }
        for (param, index) in ctor_params.iter().zip(&info.args) {
            let expr = match index.and_then(|i| args.get(i)) {
                Some(arg) => &arg.value,
                None => match &param.default {
                    Some(default) => default,
                    None => continue,
                },
            };
            if let Some(value) = self.eval(outer, expr) {
                let ty = self.checked.type_ref(param.ty.id);
                let value = self.checked.convert(value.clone(), ty).unwrap_or(value);
                env.values.insert(param.id, value);
            } else if let Some(given) = self.extern_named(outer, expr) {
                env.given.insert(param.id, given);
            }
        }
        Some(env)
    }

    /// The extern instance that an expression names.
    pub fn extern_named(&self, env: &Rc<Env<'a>>, expr: &'a Expr) -> Option<Rc<ExternItem<'a>>> {
        match self.checked.defs.get(&expr.id)? {
            Def::Param(param) => env.given.get(&param.id).cloned(),
            Def::Instance(decl) => self.extern_decl(env, decl),
            _ => None,
        }
    }

    /// The declared parser or control, and its environment.
    fn instance_env(
        &self,
        env: &Rc<Env<'a>>,
        instance: &'a Decl,
    ) -> Option<(&'a Decl, Rc<Env<'a>>)> {
        let DeclKind::Instance { args, .. } = &instance.kind else {
            return None;
        };
        let info = self.checked.calls.get(&instance.id)?;
        let CallKind::Construct(decl) = info.kind else {
            return None;
        };
        let name = self.name(env, instance);
        let inner = self.block_env(decl, info, args, name, env)?;
        Some((decl, Rc::new(inner)))
    }

    /// The extern instance that `decl` declares.
    fn extern_decl(&self, env: &Rc<Env<'a>>, decl: &'a Decl) -> Option<Rc<ExternItem<'a>>> {
        let DeclKind::Instance { args, .. } = &decl.kind else {
            return None;
        };
        let home = match self.global.contains(&decl.id) {
            true => &self.top,
            false => env,
        };
        let info = self.checked.calls.get(&decl.id)?;
        let name = self.name(home, decl);
        let item = self.extern_item(home, info, args, name, &decl.annotations)?;
        Some(Rc::new(ExternItem {
            decl: Some(decl),
            ..item
        }))
    }

    fn extern_item(
        &self,
        env: &Rc<Env<'a>>,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        name: String,
        annotations: &'a [Annotation],
    ) -> Option<ExternItem<'a>> {
        let CallKind::Construct(extern_type) = info.kind else {
            return None;
        };
        if !matches!(extern_type.kind, DeclKind::ExternObject { .. }) {
            return None;
        }
        Some(ExternItem {
            decl: None,
            name,
            annotations,
            extern_type,
            info: info.clone(),
            args,
            env: Rc::clone(env),
        })
    }

    /// The extern instance that a table's property names or makes.
    pub fn property_extern(
        &self,
        env: &Rc<Env<'a>>,
        property: &'a TableProperty,
        expr: &'a Expr,
    ) -> Option<Rc<ExternItem<'a>>> {
        match &expr.kind {
            ExprKind::Construct { args, .. } | ExprKind::Call { args, .. } => {
                let info = self.checked.calls.get(&expr.id)?;
                // p4c takes the names of properties for full names, whatever the table is in.
                let name = self.full_name(&self.top, &property.annotations, &property.name.name);
                let item = self.extern_item(env, info, args, name, &property.annotations)?;
                Some(Rc::new(item))
            }
            _ => self.extern_named(env, expr),
        }
    }

    /// What is in a parser or control, with its sub-blocks.
    fn block(&self, decl: &'a Decl, env: &Rc<Env<'a>>, depth: u32) -> Parts<'a> {
        let mut parts = Parts::default();
        if depth > MAX_DEPTH {
            return parts;
        }
        let params = |param: &Param| env.values.get(&param.id).cloned();
        let walker = Walker::new(self.checked, &params, false);
        let (locals, events) = match &decl.kind {
            DeclKind::Parser { locals, states, .. } => (locals, walker.state_events(states)),
            DeclKind::Control { locals, apply, .. } => (locals, walker.block_events(apply)),
            _ => return parts,
        };
        let used = self.used(locals, &events);
        parts.called = used.called.clone();
        let mut bodies: HashMap<NodeId, Vec<FunctionCall<'a>>> = HashMap::default();
        let declared = events.iter().filter_map(|event| match event {
            Event::Instance(decl) => Some(*decl),
            _ => None,
        });
        for local in locals.iter().chain(declared) {
            if let Some(inner) = self.local(local, env, &used, depth, &mut parts.items) {
                parts.called.extend(inner.called);
                bodies.insert(local.id, inner.body_functions);
            }
        }
        let call = |expr, decl, upper| FunctionCall {
            expr,
            decl,
            upper,
            env: Rc::clone(env),
        };
        for event in events {
            match event {
                Event::ExternFunction(expr, decl) => {
                    parts.body_functions.push(call(expr, decl, None));
                }
                Event::Method(expr, decl, upper) => {
                    parts.items.methods.push(call(expr, decl, upper));
                }
                Event::Block(base) => {
                    let Some(Def::Instance(decl)) = self.checked.defs.get(&base.id) else {
                        continue;
                    };
                    let calls = bodies.remove(&decl.id).unwrap_or_default();
                    parts.body_functions.extend(calls);
                }
                Event::Direct(expr, block) => {
                    let inner = self.direct(expr, block, env, depth);
                    parts.append(inner);
                }
                _ => {}
            }
        }
        parts
    }

    /// `C.apply(...)`: the instance has the name of its type.
    fn direct(&self, expr: &'a Expr, decl: &'a Decl, env: &Rc<Env<'a>>, depth: u32) -> Parts<'a> {
        let own = match self.checked.calls.get(&expr.id) {
            Some(info) => CallInfo {
                kind: CallKind::Construct(decl),
                type_args: info.type_args.clone(),
                args: Vec::new(),
            },
            None => return Parts::default(),
        };
        let name = self.full_name(env, &[], &decl.name.name);
        match self.block_env(decl, &own, &[], name, env) {
            Some(inner) => self.block(decl, &Rc::new(inner), depth + 1),
            None => Parts::default(),
        }
    }

    fn used(&self, locals: &'a [Decl], events: &[Event<'a>]) -> Used<'a> {
        let mut used = Used::default();
        for event in events {
            match event {
                Event::Table(decl) => {
                    used.tables.insert(decl.id);
                }
                Event::Action(decl) => used.called.push(decl),
                Event::Block(base) => {
                    if let Some(Def::Instance(decl)) = self.checked.defs.get(&base.id) {
                        used.blocks.insert(decl.id);
                    }
                }
                _ => {}
            }
        }
        // A block that is given to a used one is used there.
        for local in locals.iter().rev() {
            let DeclKind::Instance { args, .. } = &local.kind else {
                continue;
            };
            if !used.blocks.contains(&local.id) {
                continue;
            }
            for arg in args {
                if let Some(Def::Instance(decl)) = self.checked.defs.get(&arg.value.id) {
                    used.blocks.insert(decl.id);
                }
            }
        }
        for table in locals.iter().filter(|l| used.tables.contains(&l.id)) {
            used.listed
                .extend(self.table_actions(table).iter().map(|d| d.id));
        }
        used
    }

    /// Adds one local declaration; what is in a sub-block goes where its instance stands.
    fn local(
        &self,
        decl: &'a Decl,
        env: &Rc<Env<'a>>,
        used: &Used<'a>,
        depth: u32,
        items: &mut Items<'a>,
    ) -> Option<Parts<'a>> {
        match &decl.kind {
            DeclKind::Action { .. } => {
                let listed = used.listed.contains(&decl.id);
                if listed || used.called.iter().any(|d| d.id == decl.id) {
                    items.actions.push(ActionItem {
                        decl,
                        name: self.name(env, decl),
                        env: Rc::clone(env),
                        listed,
                    });
                }
            }
            DeclKind::Table(_) if used.tables.contains(&decl.id) => {
                items.blocks.push(BlockItem::Table(TableItem {
                    decl,
                    name: self.name(env, decl),
                    env: Rc::clone(env),
                }));
            }
            DeclKind::ValueSet { .. } => items.value_sets.push(ValueSetItem {
                decl,
                name: self.name(env, decl),
                env: Rc::clone(env),
            }),
            DeclKind::Instance { .. } => {
                if let Some(item) = self.extern_decl(env, decl) {
                    items.blocks.push(BlockItem::Extern(item));
                } else if used.blocks.contains(&decl.id) {
                    let (block, inner) = self.instance_env(env, decl)?;
                    let mut parts = self.block(block, &inner, depth + 1);
                    items.append(&mut parts.items);
                    return Some(parts);
                }
            }
            _ => {}
        }
        None
    }
}

/// What the body of a block uses of its locals.
#[derive(Default)]
struct Used<'a> {
    tables: HashSet<NodeId>,
    blocks: HashSet<NodeId>,
    called: Vec<&'a Decl>,
    /// Actions that used tables list
    listed: HashSet<NodeId>,
}

impl<'a> Items<'a> {
    fn append(&mut self, other: &mut Items<'a>) {
        self.actions.append(&mut other.actions);
        self.blocks.append(&mut other.blocks);
        self.value_sets.append(&mut other.value_sets);
        self.functions.append(&mut other.functions);
        self.methods.append(&mut other.methods);
    }
}

impl<'a> Parts<'a> {
    fn append(&mut self, mut other: Parts<'a>) {
        self.items.append(&mut other.items);
        self.called.append(&mut other.called);
        self.body_functions.append(&mut other.body_functions);
    }
}
