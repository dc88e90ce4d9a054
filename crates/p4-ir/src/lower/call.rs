//! Calls: actions, functions, externs, the language's own methods, and blocks applied in blocks.

use super::lvalue::Loc;
use super::{
    ActionRoutine, BlockInstance, Env, FunctionRoutine, InstanceRef, Lowerer, Routine, MAX_DEPTH,
};
use crate::ir::*;
use num_bigint::BigInt;
use p4_check::types::Type;
use p4_check::value::Value;
use p4_check::{CallInfo, CallKind, Def};
use p4_syntax::ast::{self, Arg, Decl, DeclKind, Direction, Expr, ExprKind, NodeId, Param};
use p4_syntax::HashMap;
use std::rc::Rc;

/// Error codes that the machine itself knows (see `Program::errors`).
pub(super) const ERROR_STACK_OUT_OF_BOUNDS: u64 = 3;

impl<'a> Lowerer<'a, '_> {
    pub(super) fn call_statement(&mut self, call: &'a Expr) {
        self.call_any(call);
    }

    /// A call whose result is used.
    pub(super) fn call_value(&mut self, call: &'a Expr) -> Slot {
        self.call_any(call).unwrap_or_else(|| self.number(0))
    }

    fn call_any(&mut self, call: &'a Expr) -> Option<Slot> {
        let (func, args): (Option<&'a Expr>, &'a [Arg]) = match &call.kind {
            ExprKind::Call { func, args, .. } => (Some(func), args),
            _ => (None, &[]),
        };
        let info: CallInfo<'a> = self.checked.calls.get(&call.id)?.clone();
        let outer = std::mem::replace(&mut self.span, call.span);
        let base = func.and_then(|f| match &f.kind {
            ExprKind::Member(base, _) => Some(&**base),
            _ => None,
        });
        let result = match info.kind {
            CallKind::Action(decl) => {
                let action = self.action_routine(decl);
                let DeclKind::Action { params, .. } = &decl.kind else {
                    return None;
                };
                self.call_routine(
                    params,
                    &action.params.clone(),
                    &info.args,
                    args,
                    action.routine,
                );
                if action.may_exit {
                    self.leave_on_exit();
                }
                None
            }
            CallKind::Function(decl) => self.call_function(decl, &info, args),
            CallKind::ExternFunction(decl) => self.call_extern(decl, None, &info, args, call),
            CallKind::Method { object, method } => {
                self.call_method(object, method, base?, &info, args, call)
            }
            CallKind::TableApply(decl) => {
                self.apply_table(decl);
                None
            }
            CallKind::BlockApply(_) => {
                match self.instance_of(base?) {
                    Some(InstanceRef::Block(instance)) => {
                        let shared = self.is_shared(base?);
                        self.apply_block(&instance, shared, &info, args);
                    }
                    _ => self.refuse(
                        "E0603",
                        call.span,
                        "this instance is not known at compile time",
                    ),
                }
                None
            }
            CallKind::TypeApply(decl) => {
                let types = info.type_args.iter().map(|t| self.concrete(t)).collect();
                let name = format!("{}{}", self.env.prefix, decl.name.name);
                let instance = BlockInstance {
                    decl,
                    name,
                    type_args: types,
                    values: HashMap::default(),
                    instances: HashMap::default(),
                };
                self.apply_block(&Rc::new(instance), false, &info, args);
                None
            }
            CallKind::Construct(_) => None,
            CallKind::Builtin(builtin) => self.builtin(builtin, base?, args),
        };
        self.span = outer;
        result
    }

    /// Copies arguments to parameter slots, calls, copies results back, all from left to right.
    fn call_routine(
        &mut self,
        params: &'a [Param],
        slots: &[(Slot, Type)],
        order: &[Option<usize>],
        args: &'a [Arg],
        routine: Routine,
    ) {
        // If evaluating an argument may call something, it may be this very routine.
        let apart = args.iter().any(|arg| self.has_side_effects(&arg.value));
        let mut inputs = Vec::new();
        let mut undefined = Vec::new();
        let mut outputs = Vec::new();
        for i in as_written(params.len(), order) {
            let param = &params[i];
            let Some((slot, ty)) = slots.get(i).cloned() else {
                continue;
            };
            if ty == Type::Int {
                continue; // it is in the routine already
            }
            let n = self.words_of(&ty);
            let Some(expr) = argument(param, i, order, args) else {
                continue;
            };
            let by_value = matches!(param.direction, Direction::None | Direction::In);
            let place = if by_value { None } else { self.place(expr) };
            let value = match (&place, param.direction) {
                (Some(place), Direction::InOut) => Some(self.read(place)),
                _ if by_value => Some(self.value(expr)),
                _ => None,
            };
            match value {
                Some(s) if apart => {
                    let copy = self.scratch(n);
                    self.move_words(copy, s, n);
                    inputs.push((slot, copy, n));
                }
                Some(s) => self.move_words(slot, s, n),
                None if n > 0 => undefined.push((slot, n)),
                None => {}
            }
            outputs.extend(place.map(|place| (place, slot)));
        }
        for (slot, copy, n) in inputs {
            self.move_words(slot, copy, n);
        }
        for (d, n) in undefined {
            self.emit(Op::Undefine { d, n });
        }
        self.emit(Op::Call { t: routine });
        for (place, slot) in outputs {
            self.write(&place, slot);
        }
    }

    fn call_function(
        &mut self,
        decl: &'a Decl,
        info: &CallInfo<'a>,
        args: &'a [Arg],
    ) -> Option<Slot> {
        let types: Vec<Type> = info.type_args.iter().map(|t| self.concrete(t)).collect();
        let DeclKind::Function { params, .. } = &decl.kind else {
            return None;
        };
        let numbers = self.numbers(params, info, args)?;
        let function = self.function_routine(decl, types, &numbers)?;
        self.call_implemented(params, &function, info, args)
    }

    /// Calls a function or an abstract method with its body; gives its result.
    pub(super) fn call_implemented(
        &mut self,
        params: &'a [Param],
        function: &FunctionRoutine,
        info: &CallInfo<'a>,
        args: &'a [Arg],
    ) -> Option<Slot> {
        self.call_routine(params, &function.params, &info.args, args, function.routine);
        let (slot, ty) = function.result.clone()?;
        let n = self.words_of(&ty);
        let d = self.scratch(n);
        self.move_words(d, slot, n);
        Some(d)
    }

    /// The arguments for parameters of type int, for each of which what is called is lowered anew.
    pub(super) fn numbers(
        &mut self,
        params: &'a [Param],
        info: &CallInfo<'a>,
        args: &'a [Arg],
    ) -> Option<Vec<(NodeId, BigInt)>> {
        let mut numbers = Vec::new();
        for (i, param) in params.iter().enumerate() {
            if self.type_ref(&param.ty) != Type::Int {
                continue;
            }
            let given = argument(param, i, &info.args, args)?;
            let Some(value) = self.eval(given).and_then(|value| value.as_int().cloned()) else {
                self.refuse_number(given);
                return None;
            };
            numbers.push((param.id, value));
        }
        Some(numbers)
    }

    fn function_routine(
        &mut self,
        decl: &'a Decl,
        types: Vec<Type>,
        numbers: &[(NodeId, BigInt)],
    ) -> Option<FunctionRoutine> {
        let values = numbers.iter().map(|(_, value)| value.clone());
        let key = (decl.id, types.clone(), values.collect());
        if let Some(known) = self.functions.get(&key) {
            return Some(known.clone());
        }
        let DeclKind::Function {
            ret, params, body, ..
        } = &decl.kind
        else {
            return None;
        };
        if !self.deeper(decl) {
            return None;
        }
        let mut env = Env::default();
        for (i, ty) in types.into_iter().enumerate() {
            env.types.insert((decl.id, i as u32), ty);
        }
        for (param, value) in numbers {
            env.values.insert(*param, Value::Int(value.clone()));
        }
        let outer = std::mem::replace(&mut self.env, env);
        let slots = self.param_slots(params);
        let ret = self.type_ref(ret);
        let n = self.words_of(&ret);
        let result = (n > 0).then(|| (self.alloc(n), ret));
        self.env.result = result.clone();
        let routine = self.routine(|this| this.block(body));
        self.env = outer;
        self.depth -= 1;
        let function = FunctionRoutine {
            routine,
            params: slots,
            result,
        };
        self.functions.insert(key, function.clone());
        Some(function)
    }

    /// Fixed slots for parameters, those without direction first and in one run.
    pub(super) fn param_slots(&mut self, params: &'a [Param]) -> Vec<(Slot, Type)> {
        let mut slots: Vec<Option<(Slot, Type)>> = vec![None; params.len()];
        for data in [true, false] {
            for (i, param) in params.iter().enumerate() {
                if (param.direction == Direction::None) != data {
                    continue;
                }
                let ty = self.type_ref(&param.ty);
                let n = self.words_of(&ty);
                let slot = self.alloc(n);
                self.name_vars(&param.name.name, &ty, slot, param.name.span);
                self.env.places.insert(param.id, Loc::at(slot, ty.clone()));
                slots[i] = Some((slot, ty));
            }
        }
        slots.into_iter().flatten().collect()
    }

    /// The action lowered for the control at hand.
    pub(super) fn action_routine(&mut self, decl: &'a Decl) -> Rc<ActionRoutine<'a>> {
        if let Some(known) = self.env.actions.get(&decl.id) {
            return known.clone();
        }
        let (params, body) = match &decl.kind {
            DeclKind::Action { params, body } => (params.as_slice(), Some(body)),
            _ => (&[][..], None),
        };
        let slots = self.param_slots(params);
        let result = self.env.result.take();
        let routine = self.routine(|this| {
            if let Some(body) = body {
                this.block(body);
            }
        });
        self.env.result = result;
        let top_level = self.checked.program.decls.iter().any(|d| d.id == decl.id);
        let name = if top_level {
            let name = self.annotated(&decl.annotations, "name");
            let name = name.unwrap_or_else(|| decl.name.name.clone());
            name.trim_start_matches('.').into()
        } else {
            self.control_name(decl)
        };
        let data = self.action_data(params, &slots);
        let id = self.program.actions.len() as ActionId;
        let annotations = super::annotations(&decl.annotations);
        self.program.actions.push(Action {
            name,
            span: decl.name.span,
            params: data,
            entry: routine,
            annotations,
        });
        let may_exit = self.chunks[routine as usize].may_exit;
        let action = Rc::new(ActionRoutine {
            decl,
            routine,
            params: slots,
            id,
            may_exit,
        });
        self.env.actions.insert(decl.id, action.clone());
        action
    }

    /// What the control plane gives: the parameters without direction, leaf by leaf.
    fn action_data(&mut self, params: &'a [Param], slots: &[(Slot, Type)]) -> Vec<ActionParam> {
        let mut data = Vec::new();
        for (param, (slot, ty)) in params.iter().zip(slots) {
            if param.direction != Direction::None {
                continue;
            }
            let name = self.annotated(&param.annotations, "name");
            let name = name.unwrap_or_else(|| param.name.name.clone());
            for leaf in self.leaves(ty) {
                if leaf.kind == ValueKind::Varbit {
                    let message = format!("the control plane cannot give the varbit in `{name}`");
                    self.refuse("E0603", param.span, message);
                }
                let name = match leaf.name.as_str() {
                    "" => name.clone(),
                    part => format!("{name}.{part}").into(),
                };
                data.push(ActionParam {
                    name,
                    place: Place {
                        slot: slot + leaf.offset,
                        width: leaf.width,
                        kind: leaf.kind,
                    },
                    annotations: super::annotations(&param.annotations),
                });
            }
        }
        data
    }

    /// An action of a table whose parameters with a direction are bound in the `actions` list.
    pub(super) fn bound_action(
        &mut self,
        action: &ActionRoutine<'a>,
        order: &[Option<usize>],
        args: &'a [Arg],
    ) -> (ActionId, bool) {
        let DeclKind::Action { params, .. } = &action.decl.kind else {
            return (action.id, action.may_exit);
        };
        if args.is_empty() {
            return (action.id, action.may_exit);
        }
        let directed: Vec<&'a Param> = params
            .iter()
            .filter(|p| p.direction != Direction::None)
            .collect();
        let wrapper = self.routine(|this| {
            let mut outputs = Vec::new();
            for param in &directed {
                let position = params.iter().position(|p| p.id == param.id).unwrap_or(0);
                let Some((slot, ty)) = action.params.get(position).cloned() else {
                    continue;
                };
                let n = this.words_of(&ty);
                let Some(arg) = order
                    .get(position)
                    .copied()
                    .flatten()
                    .and_then(|i| args.get(i))
                else {
                    continue;
                };
                if param.direction == Direction::In {
                    let s = this.value(&arg.value);
                    this.move_words(slot, s, n);
                    continue;
                }
                let Some(place) = this.place(&arg.value) else {
                    continue;
                };
                if param.direction == Direction::InOut {
                    let s = this.read(&place);
                    this.move_words(slot, s, n);
                } else {
                    this.emit(Op::Undefine { d: slot, n });
                }
                outputs.push((place, slot));
            }
            this.emit(Op::Call { t: action.routine });
            for (place, slot) in outputs {
                this.write(&place, slot);
            }
        });
        let mut bound = self.program.actions[action.id as usize].clone();
        bound.entry = wrapper;
        self.program.actions.push(bound);
        (self.program.actions.len() as ActionId - 1, action.may_exit)
    }

    /// The instance that an expression names.
    pub(super) fn instance_of(&self, expr: &Expr) -> Option<InstanceRef<'a>> {
        if let ExprKind::This = expr.kind {
            return self.env.this.map(InstanceRef::Extern);
        }
        let id = self.instance_id(expr)?;
        self.env
            .instances
            .get(&id)
            .or_else(|| self.globals.get(&id))
            .cloned()
    }

    fn instance_id(&self, expr: &Expr) -> Option<NodeId> {
        match self.checked.defs.get(&expr.id)? {
            Def::Instance(decl) => Some(decl.id),
            Def::Param(param) => Some(param.id),
            _ => None,
        }
    }

    /// Whether the instance is mentioned more than once, so that its code must serve several
    /// applications.
    fn is_shared(&self, expr: &Expr) -> bool {
        let Some(id) = self.instance_id(expr) else {
            return true;
        };
        let mentions = self.checked.defs.values().filter(|def| match def {
            Def::Instance(decl) => decl.id == id,
            Def::Param(param) => param.id == id,
            _ => false,
        });
        mentions.count() > 1
    }

    /// One more level of nesting; false (and reported) if that is too deep.
    pub(super) fn deeper(&mut self, decl: &ast::Decl) -> bool {
        if self.overgrown {
            return false;
        }
        if self.depth >= MAX_DEPTH {
            self.refuse(
                "E0605",
                decl.name.span,
                format!(
                    "`{}` is nested more than {MAX_DEPTH} levels deep",
                    decl.name.name
                ),
            );
            return false;
        }
        self.depth += 1;
        // What is in it may be empty, and contain two of another that is.
        self.grow();
        true
    }
}

/// The argument for parameter number `index`, or its default value.
pub(super) fn argument<'a>(
    param: &'a Param,
    index: usize,
    order: &[Option<usize>],
    args: &'a [Arg],
) -> Option<&'a Expr> {
    let given = order.get(index).copied().flatten();
    match given.and_then(|at| args.get(at)) {
        Some(arg) => Some(&arg.value),
        None => param.default.as_ref(),
    }
}

/// The numbers of so many parameters in the order in which a call writes their arguments, which is
/// that of evaluation (P4-16, 6.8); defaults come last.
pub(super) fn as_written(params: usize, order: &[Option<usize>]) -> Vec<usize> {
    let mut turns: Vec<usize> = (0..params).collect();
    turns.sort_by_key(|i| order.get(*i).copied().flatten().unwrap_or(usize::MAX));
    turns
}
