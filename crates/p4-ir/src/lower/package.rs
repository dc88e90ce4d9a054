//! Instances, blocks and the package.

use super::call::{argument, as_written};
use super::lvalue::Loc;
use super::{BlockInstance, Env, InstanceRef, Lowerer, Routine};
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::{CallInfo, CallKind};
use p4_syntax::ast::{Arg, DeclKind, Direction, Expr, ExprKind, Name, NodeId, Param};
use p4_syntax::span::Span;
use p4_syntax::{HashMap, HashSet};
use std::rc::Rc;

/// What of the package a block is given to, where there are packages inside it.
#[derive(Clone, Default)]
struct Part {
    /// Before the parameter's name
    role: String,
    /// Before the keys of storages
    key: String,
    /// Before the names that the control plane knows
    names: String,
}

/// Where the parameters of an applied block are.
enum Bound {
    /// The argument's own place
    Alias(Loc),
    /// Slots of its own; copied in and out
    Copy { slot: Slot, ty: Type },
}

impl<'a> Lowerer<'a, '_> {
    /// Lowers the package instance `main` and all it contains.
    pub(super) fn package(&mut self) {
        for decl in &self.checked.program.decls {
            if let DeclKind::Instance { args, body, .. } = &decl.kind {
                if !matches!(
                    self.checked.expr_type(decl.id),
                    Type::Named(Kind::Package, ..)
                ) {
                    self.global_instance(decl, args, body.as_deref());
                }
            }
        }
        let Some(main) = self.checked.main else {
            let span = self
                .checked
                .program
                .decls
                .last()
                .map_or(self.span, |d| d.span);
            return self.refuse(
                "E0601",
                span,
                "the program has no package instance named `main`, so there is nothing to run",
            );
        };
        let DeclKind::Instance { args, .. } = &main.kind else {
            return;
        };
        let Type::Named(_, _, package, _) = self.checked.expr_type(main.id).clone() else {
            return self.refuse(
                "E0601",
                main.span,
                "`main` must be an instance of a package, such as V1Switch",
            );
        };
        self.program.package = package.clone();
        self.package_blocks(&package, main.id, args, &Part::default());
        self.table_names();
    }

    /// The control plane must be able to tell the tables apart. Of two with one name, one that is
    /// never applied gives way: a control may choose between tables when it is made.
    fn table_names(&mut self) {
        let code = self.chunks.iter().flat_map(|chunk| &chunk.code);
        let applied: HashSet<TableId> = code
            .filter_map(|op| match op {
                Op::Apply { table } => Some(*table),
                _ => None,
            })
            .collect();
        let mut seen: HashMap<Name, (TableId, Span)> = HashMap::default();
        let (mut twice, mut idle) = (Vec::new(), Vec::new());
        for (id, table) in (0..).zip(&self.program.tables) {
            let Some((first, span)) = seen.get(&table.name).copied() else {
                seen.insert(table.name.clone(), (id, table.span));
                continue;
            };
            if !applied.contains(&id) {
                idle.push(id);
            } else if !applied.contains(&first) {
                idle.push(first);
                seen.insert(table.name.clone(), (id, table.span));
            } else {
                twice.push((table.name.clone(), table.span, span));
            }
        }
        for id in idle {
            let table = &mut self.program.tables[id as usize];
            table.name = format!("{} (never applied, {id})", table.name).into();
        }
        for (name, span, first) in twice {
            self.refuse(
                "E0425",
                span,
                format!("two tables have the name `{name}` for the control plane"),
            );
            if let Some(diagnostic) = self.diagnostics.last_mut() {
                let remedy = "an absolute `@name(\".t\")` names every instance of the table alike: leave out the dot or the annotation";
                diagnostic.hint = Some(p4_check::sentence(remedy));
                if first != span {
                    diagnostic.labels.push((first, "the other".into()));
                }
            }
        }
    }

    /// `part` is what of the whole package these blocks are of.
    fn package_blocks(&mut self, package: &str, id: NodeId, args: &'a [Arg], part: &Part) {
        let Some(info) = self.checked.calls.get(&id).cloned() else {
            return;
        };
        let CallKind::Construct(decl) = info.kind else {
            return;
        };
        let DeclKind::Package { params, .. } = &decl.kind else {
            return;
        };
        let given = params.iter().zip(&info.args);
        let given = given.filter_map(|(param, at)| Some((param, args.get((*at)?)?)));
        let given: Vec<(&Param, &'a Arg)> = given.collect();
        let inner = |expr: &Expr| self.package_in(expr).map(|(_, id, _)| id);
        let different: HashSet<NodeId> = given
            .iter()
            .filter_map(|(_, arg)| inner(&arg.value))
            .collect();
        for (param, arg) in given {
            let several = part.role.is_empty() && different.len() > 1;
            self.package_argument(package, &param.name.name, &arg.value, part, several);
        }
    }

    /// The package that an expression is: its type's name, the place of its construction, arguments.
    fn package_in(&self, expr: &'a Expr) -> Option<(Name, NodeId, &'a [Arg])> {
        let Type::Named(Kind::Package, _, name, _) = self.checked.expr_type(expr.id) else {
            return None;
        };
        match (&expr.kind, self.checked.defs.get(&expr.id)) {
            (_, Some(p4_check::Def::Instance(decl))) => match &decl.kind {
                DeclKind::Instance { args, .. } => Some((name.clone(), decl.id, args)),
                _ => None,
            },
            (ExprKind::Construct { args, .. } | ExprKind::Call { args, .. }, _) => {
                Some((name.clone(), expr.id, args))
            }
            _ => None,
        }
    }

    fn package_argument(
        &mut self,
        package: &str,
        param: &str,
        arg: &'a Expr,
        part: &Part,
        several: bool,
    ) {
        let role = format!("{}{param}", part.role);
        if let Some((inner, id, args)) = self.package_in(arg) {
            // A package inside the package
            let mut part = Part {
                role: format!("{role}."),
                ..part.clone()
            };
            let name = match self.checked.defs.get(&arg.id) {
                Some(p4_check::Def::Instance(decl)) => &*decl.name.name,
                _ => param,
            };
            if several {
                let known = self.inner_packages.iter().find(|(known, _)| *known == id);
                if let Some((_, first)) = known {
                    let first = first.clone();
                    self.program.same.push((role.into(), first));
                    return;
                }
                part.names = format!("{name}.");
                if !self.inner_packages.is_empty() {
                    part.key = format!("{role}.");
                    self.parts.push(part.key.clone());
                }
                self.inner_packages.push((id, role.as_str().into()));
            }
            self.program.inner.push((role.into(), name.into()));
            return self.package_blocks(&inner, id, args, &part);
        }
        let instance = match self.instance_of(arg) {
            Some(instance) => Some(instance),
            None => self.construct(arg, &part.names, None),
        };
        match instance {
            Some(InstanceRef::Block(instance)) => {
                self.top_block(package, param, &instance, part);
            }
            Some(InstanceRef::Extern(_)) | None => {}
        }
    }

    /// A parser or control given to the package: its parameters get storage.
    fn top_block(
        &mut self,
        package: &str,
        param_name: &str,
        instance: &Rc<BlockInstance<'a>>,
        part: &Part,
    ) {
        let decl = instance.decl;
        let (proto, is_parser) = match &decl.kind {
            DeclKind::Parser { proto, .. } => (proto, true),
            DeclKind::Control { proto, .. } => (proto, false),
            _ => return,
        };
        let env = self.block_env(instance);
        let outer = std::mem::replace(&mut self.env, env);
        let mut block = Block {
            name: decl.name.name.clone(),
            role: format!("{}{param_name}", part.role).into(),
            is_parser,
            entry: 0,
            params: Vec::new(),
            span: decl.name.span,
        };
        for (i, param) in proto.params.iter().enumerate() {
            let ty = self.type_ref(&param.ty);
            let key: Name = match self.binding.storage(package, param_name, i) {
                Some(key) => format!("{}{key}", part.key).into(),
                None => format!("{}{}.{}", part.names, decl.name.name, param.name.name).into(),
            };
            let storage = self.storage(&key, &ty, param);
            if let Some(index) = storage {
                let base = self.program.storages[index as usize].base;
                self.env.places.insert(param.id, Loc::at(base, ty));
            }
            block.params.push(BlockParam {
                name: param.name.name.clone(),
                storage,
            });
        }
        block.entry = self.routine(|this| {
            let zero = this.number(0);
            this.emit(Op::Mov {
                d: this.exit_flag,
                s: zero,
            });
            this.body(instance);
        });
        self.program.blocks.push(block);
        self.env = outer;
    }

    /// The storage `key` for a value of type `ty`; `None` for externs.
    fn storage(&mut self, key: &Name, ty: &Type, param: &Param) -> Option<u32> {
        if let Type::Named(Kind::Extern, ..) = ty {
            return None;
        }
        let size = self.words_of(ty);
        if let Some(index) = self.program.storages.iter().position(|s| s.key == *key) {
            if self.program.storages[index].words != size {
                self.refuse(
                    "E0606",
                    param.span,
                    format!(
                        "`{}` has another type here than in the other blocks of the package",
                        param.name.name
                    ),
                );
            }
            return Some(index as u32);
        }
        let base = self.alloc(size);
        let leaves = self.name_vars(&param.name.name, ty, base, param.name.span);
        let mut headers = Vec::new();
        self.headers_in(ty, base, "", &mut headers);
        self.program.storages.push(Storage {
            key: key.clone(),
            base,
            words: size,
            leaves,
            headers,
        });
        Some(self.program.storages.len() as u32 - 1)
    }

    fn block_env(&self, instance: &BlockInstance<'a>) -> Env<'a> {
        let mut env = Env {
            prefix: format!("{}.", instance.name),
            ..Env::default()
        };
        for (i, ty) in instance.type_args.iter().enumerate() {
            env.types.insert((instance.decl.id, i as u32), ty.clone());
        }
        env.values = instance.values.clone();
        env.instances = instance.instances.clone();
        env
    }

    /// Locals and body of a parser or control, in its environment.
    fn body(&mut self, instance: &BlockInstance<'a>) {
        match &instance.decl.kind {
            DeclKind::Parser { locals, states, .. } => {
                for local in locals {
                    self.span = local.span;
                    self.local(local);
                }
                self.states(instance.decl, states);
            }
            DeclKind::Control { locals, apply, .. } => {
                for local in locals {
                    self.span = local.span;
                    self.local(local);
                }
                self.block(apply);
            }
            _ => {}
        }
    }

    /// `instance.apply(args)`. An instance that is applied once works directly on its arguments
    /// where these have fixed places that do not overlap; one that is applied in several places is
    /// lowered once, with slots of its own.
    pub(super) fn apply_block(
        &mut self,
        instance: &Rc<BlockInstance<'a>>,
        shared: bool,
        info: &CallInfo<'a>,
        args: &'a [Arg],
    ) {
        let (DeclKind::Parser { proto, .. } | DeclKind::Control { proto, .. }) =
            &instance.decl.kind
        else {
            return;
        };
        let Some(numbers) = self.numbers(&proto.params, info, args) else {
            return;
        };
        if !self.deeper(instance.decl) {
            return;
        }
        let params = proto.params.iter().enumerate();
        let exprs: Vec<Option<&'a Expr>> = params
            .map(|(i, param)| argument(param, i, &info.args, args))
            .collect();
        // An argument that changes something may change one that stands before it, whose value then
        // is the old one (P4-16, 6.8): all are copied as they are evaluated.
        let apart = args.iter().any(|arg| self.has_side_effects(&arg.value));
        let mut places: Vec<Option<Loc>> = vec![None; exprs.len()];
        let mut early: Vec<Option<Slot>> = vec![None; exprs.len()];
        for i in as_written(exprs.len(), &info.args) {
            let Some(expr) = exprs[i] else { continue };
            places[i] = self.place(expr);
            if apart && proto.params[i].direction != Direction::Out {
                early[i] = self.argument_now(expr, places[i].clone().as_ref());
            }
        }
        let mut env = self.block_env(instance);
        let numbers = numbers.into_iter();
        env.values
            .extend(numbers.map(|(param, value)| (param, Value::Int(value))));
        for (i, ty) in info.type_args.iter().enumerate() {
            env.types
                .insert((instance.decl.id, i as u32), self.concrete(ty));
        }
        let known = shared
            .then(|| {
                self.shared_blocks
                    .get(&Rc::as_ptr(instance).cast())
                    .cloned()
            })
            .flatten();
        let mut bound = Vec::new();
        for (i, param) in proto.params.iter().enumerate() {
            let outer = std::mem::replace(&mut self.env, env);
            let ty = self.type_ref(&param.ty);
            env = std::mem::replace(&mut self.env, outer);
            if let (Type::Named(Kind::Extern, ..), Some(expr)) = (&ty, exprs[i]) {
                if let Some(instance) = self.instance_of(expr) {
                    env.instances.insert(param.id, instance);
                }
                bound.push(None);
                continue;
            }
            if let (Type::Int, Some(expr), true) = (&ty, exprs[i], shared) {
                self.refuse(
                    "E0603",
                    expr.span,
                    "an instance that is applied in several places takes no number without a width",
                );
            }
            if ty == Type::Int {
                bound.push(None); // its value is known
                continue;
            }
            let alias = match &places[i] {
                Some(place @ Loc::Static { .. })
                    if !shared && !apart && !self.overlaps(i, &places) =>
                {
                    Some(place.clone())
                }
                _ => None,
            };
            bound.push(Some(match alias {
                Some(place) => Bound::Alias(place),
                None => {
                    let slot = match &known {
                        Some((_, slots)) => slots[i],
                        None => {
                            let n = self.words_of(&ty);
                            let slot = self.alloc(n);
                            self.name_vars(&param.name.name, &ty, slot, param.name.span);
                            slot
                        }
                    };
                    Bound::Copy { slot, ty }
                }
            }));
        }
        self.copy_in(&proto.params, &bound, &exprs, &places, &early);
        for (param, bound) in proto.params.iter().zip(&bound) {
            let place = match bound {
                Some(Bound::Alias(place)) => place.clone(),
                Some(Bound::Copy { slot, ty }) => Loc::at(*slot, ty.clone()),
                None => continue,
            };
            env.places.insert(param.id, place);
        }
        let may_exit = if shared {
            let routine: Routine = match known {
                Some((routine, _)) => routine,
                None => {
                    let outer = std::mem::replace(&mut self.env, env);
                    let routine = self.routine(|this| this.body(instance));
                    self.env = outer;
                    let slots = bound.iter().map(|b| match b {
                        Some(Bound::Copy { slot, .. }) => *slot,
                        _ => 0,
                    });
                    self.shared_blocks
                        .insert(Rc::as_ptr(instance).cast(), (routine, slots.collect()));
                    routine
                }
            };
            self.emit(Op::Call { t: routine });
            self.chunks[routine as usize].may_exit
        } else {
            self.inline(instance, env)
        };
        for ((param, bound), place) in proto.params.iter().zip(&bound).zip(&places) {
            let gives_back = matches!(param.direction, Direction::Out | Direction::InOut);
            if let (true, Some(Bound::Copy { slot, .. }), Some(place)) = (gives_back, bound, place)
            {
                self.write(place, *slot);
            }
        }
        if may_exit {
            self.leave_on_exit();
        }
        self.depth -= 1;
    }

    /// Sets a place to zero, an invalid header or the like.
    fn clear(&mut self, place: &Loc) {
        let ty = place.ty();
        let n = self.words_of(&ty);
        match place {
            Loc::Static {
                slot,
                valid: None,
                union: None,
                ..
            } => {
                if n > 0 {
                    self.emit(Op::Undefine { d: *slot, n });
                }
            }
            _ => {
                let zero = self.constant(&vec![0; n.max(1) as usize]);
                self.write(place, zero);
            }
        }
    }

    /// Lowers the body of a block where it is applied.
    fn inline(&mut self, instance: &Rc<BlockInstance<'a>>, env: Env<'a>) -> bool {
        let outer = std::mem::replace(&mut self.env, env);
        let chunk = &mut self.chunks[self.current];
        let to_end = std::mem::take(&mut chunk.to_end);
        let loops = std::mem::take(&mut chunk.loops);
        let exits = std::mem::take(&mut chunk.may_exit);
        let span = self.span;
        self.body(instance);
        self.span = span;
        let ends = std::mem::replace(&mut self.chunks[self.current].to_end, to_end);
        for at in ends {
            self.patch(at);
        }
        let chunk = &mut self.chunks[self.current];
        chunk.loops = loops;
        let may_exit = std::mem::replace(&mut chunk.may_exit, exits);
        chunk.may_exit |= may_exit;
        self.env = outer;
        may_exit
    }

    fn copy_in(
        &mut self,
        params: &'a [Param],
        bound: &[Option<Bound>],
        exprs: &[Option<&'a Expr>],
        places: &[Option<Loc>],
        early: &[Option<Slot>],
    ) {
        for (i, param) in params.iter().enumerate() {
            match &bound[i] {
                None => {}
                Some(Bound::Alias(place)) if param.direction == Direction::Out => {
                    self.clear(place);
                }
                Some(Bound::Alias(_)) => {}
                Some(Bound::Copy { slot, ty }) => {
                    let n = self.words_of(ty);
                    let s = match (param.direction, &places[i], exprs[i]) {
                        (Direction::Out, ..) | (_, None, None) => None,
                        _ if early[i].is_some() => early[i],
                        (_, Some(place), _) => Some(self.read(place)),
                        (_, None, Some(expr)) => Some(self.value(expr)),
                    };
                    match s {
                        Some(s) => self.move_words(*slot, s, n),
                        None if n > 0 => {
                            self.emit(Op::Undefine { d: *slot, n });
                        }
                        None => {}
                    }
                }
            }
        }
    }

    /// A copy of what an argument is now; `None` if it has no words, as an extern's instance.
    fn argument_now(&mut self, expr: &'a Expr, place: Option<&Loc>) -> Option<Slot> {
        let ty = self.type_of(expr);
        if self.words_of(&ty) == 0 {
            return None;
        }
        let s = match place {
            Some(place) => self.read(place),
            None => self.value(expr),
        };
        Some(self.copied(s, &ty))
    }

    /// Whether the place of argument `i` shares words with another argument's.
    fn overlaps(&mut self, i: usize, places: &[Option<Loc>]) -> bool {
        let mut range = |place: &Loc| match outermost(place) {
            Loc::Static { slot, ty, .. } => Some((*slot, *slot + self.words_of(ty))),
            Loc::Dynamic { base, stack, .. } => Some((*base, *base + self.words_of(stack))),
            Loc::Inside { .. } | Loc::Slice { .. } => None,
        };
        let Some((from, to)) = places[i].as_ref().and_then(&mut range) else {
            return true;
        };
        places.iter().enumerate().any(|(j, other)| match other {
            Some(other) if i != j => range(other).is_none_or(|(a, b)| a < to && from < b),
            _ => false,
        })
    }
}

/// The place in the frame that another lies in.
fn outermost(place: &Loc) -> &Loc {
    match place {
        Loc::Inside { of, .. } => outermost(of),
        other => other,
    }
}
