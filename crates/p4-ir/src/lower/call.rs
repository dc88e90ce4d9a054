//! Calls: actions, functions, externs, the language's own methods, and blocks applied in blocks.

use super::layout::ShapeKind;
use super::lvalue::Loc;
use super::{
    ActionRoutine, BlockInstance, Env, FunctionRoutine, InstanceRef, Lowerer, Routine, MAX_DEPTH,
};
use crate::ir::*;
use p4_check::types::{Kind, Type};
use p4_check::{Builtin, CallInfo, CallKind, Def};
use p4_syntax::ast::{self, Arg, Decl, DeclKind, Direction, Expr, ExprKind, NodeId, Param};
use std::collections::HashMap;
use std::rc::Rc;

/// Error codes that the machine itself knows (see `Program::errors`).
pub(super) const ERROR_NO_MATCH: u64 = 2;
const ERROR_STACK_OUT_OF_BOUNDS: u64 = 3;

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
                    values: HashMap::new(),
                    instances: HashMap::new(),
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
        let mut outputs = Vec::new();
        for (i, param) in params.iter().enumerate() {
            let Some((slot, ty)) = slots.get(i).cloned() else {
                continue;
            };
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
                None if n > 0 => {
                    self.emit(Op::Zero { d: slot, n });
                }
                None => {}
            }
            outputs.extend(place.map(|place| (place, slot)));
        }
        for (slot, copy, n) in inputs {
            self.move_words(slot, copy, n);
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
        let function = self.function_routine(decl, types)?;
        self.call_implemented(params, &function, info, args)
    }

    /// Calls a function or an abstract method with its body; gives its result.
    fn call_implemented(
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

    fn function_routine(&mut self, decl: &'a Decl, types: Vec<Type>) -> Option<FunctionRoutine> {
        let key = (decl.id, types.clone());
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
            decl.name.name.clone()
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
            let name = &param.name.name;
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
                    this.emit(Op::Zero { d: slot, n });
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

    fn builtin(&mut self, builtin: Builtin, base: &'a Expr, args: &'a [Arg]) -> Option<Slot> {
        let place = self.place(base)?;
        match builtin {
            Builtin::IsValid => return Some(self.is_valid(&place)),
            Builtin::SetValid => self.edit(&place, |this, slot, ty, union| {
                if let Some((base, union)) = union {
                    this.keep_one_member(&union, base, slot, None);
                }
                let layout = this.header_layout(&ty);
                this.emit(Op::SetValid { layout, base: slot });
            }),
            Builtin::SetInvalid => self.edit(&place, |this, slot, ty, _| {
                let layout = this.header_layout(&ty);
                this.emit(Op::SetInvalid { layout, base: slot });
            }),
            Builtin::PushFront | Builtin::PopFront => {
                let count: i32 = self
                    .eval(&args.first()?.value)?
                    .as_int()?
                    .try_into()
                    .unwrap_or(i32::MAX);
                if let Loc::Static { slot, ty, .. } = &place {
                    let stack = self.stack_at(*slot, ty, "")?;
                    let by = if builtin == Builtin::PushFront {
                        count
                    } else {
                        -count
                    };
                    self.emit(Op::StackShift { stack, by });
                }
            }
            Builtin::Size => {}
        }
        None
    }

    /// Works on a header where it lies; an element picked at run time is taken out and put back.
    fn edit(
        &mut self,
        place: &Loc,
        work: impl FnOnce(&mut Self, Slot, Type, Option<(Slot, Type)>),
    ) {
        match place {
            Loc::Static {
                slot, ty, union, ..
            } => work(self, *slot, ty.clone(), union.as_deref().cloned()),
            Loc::Dynamic {
                base,
                stack,
                idx,
                offset,
                ty,
                ..
            } => {
                let Type::Stack(element, _) = stack.clone() else {
                    return;
                };
                let whole = Loc::Dynamic {
                    base: *base,
                    stack: stack.clone(),
                    idx: *idx,
                    offset: 0,
                    ty: (*element).clone(),
                    valid: None,
                };
                let slot = self.read(&whole);
                let union = element
                    .is_kind(Kind::Union)
                    .then(|| (slot, (*element).clone()));
                work(self, slot + offset, ty.clone(), union);
                self.write(&whole, slot);
            }
            Loc::Slice { .. } => {}
        }
    }

    fn call_method(
        &mut self,
        object: &'a Decl,
        method: &'a Decl,
        base: &'a Expr,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        call: &'a Expr,
    ) -> Option<Slot> {
        match (&*object.name.name, &*method.name.name) {
            ("packet_in", "extract") => {
                let header = &args.first()?.value;
                let bits = args.get(1).map(|arg| self.value(&arg.value));
                self.extract(header, bits, info);
                None
            }
            ("packet_in", "lookahead") => {
                let ty = self.concrete(info.type_args.first()?);
                Some(self.lookahead(&ty))
            }
            ("packet_in", "advance") => {
                let bits = self.value(&args.first()?.value);
                self.emit(Op::Advance { bits });
                None
            }
            ("packet_in", "length") => {
                let d = self.scratch(1);
                self.emit(Op::PacketLength { d });
                Some(d)
            }
            ("packet_out", "emit") => {
                let header = &args.first()?.value;
                let ty = self.target_type(header);
                let slot = match self.place(header) {
                    Some(place) => self.read(&place),
                    None => self.value(header),
                };
                self.emit_headers(slot, &ty);
                None
            }
            _ => match self.instance_of(base) {
                Some(InstanceRef::Extern(id)) => {
                    let key = (id, method.name.name.clone());
                    if let (Some(routine), DeclKind::Method { proto, .. }) =
                        (self.methods.get(&key).cloned(), &method.kind)
                    {
                        return self.call_implemented(&proto.params, &routine, info, args);
                    }
                    self.call_extern(method, Some((object, id)), info, args, call)
                }
                _ => {
                    self.refuse(
                        "E0603",
                        call.span,
                        "this extern instance is not known at compile time",
                    );
                    None
                }
            },
        }
    }

    fn extract(&mut self, header: &'a Expr, bits: Option<Slot>, info: &CallInfo<'a>) {
        if let ExprKind::DontCare = header.kind {
            let Some(ty) = info.type_args.first().map(|t| self.concrete(t)) else {
                return;
            };
            let n = self.words_of(&ty);
            let base = self.scratch(n);
            return self.extract_at(&ty, base, bits);
        }
        if let ExprKind::Member(stack, member) = &header.kind {
            if let (Type::Stack(..), "next") = (self.type_of(stack), &*member.name) {
                let Some(Loc::Static { slot, ty, .. }) = self.place(stack) else {
                    return;
                };
                let Some(stack) = self.stack_at(slot, &ty, "") else {
                    return;
                };
                match bits {
                    Some(bits) => self.emit(Op::ExtractNextVar { stack, bits }),
                    None => self.emit(Op::ExtractNext { stack }),
                };
                return;
            }
        }
        let Some(place) = self.place(header) else {
            return self.refuse("E0603", header.span, "nothing can be extracted into this");
        };
        let next = self.union_next(header);
        if let (
            Some(next),
            Loc::Dynamic {
                idx,
                stack: Type::Stack(_, count),
                ..
            },
        ) = (next, &place)
        {
            let limit = self.number(u64::from(*count));
            let c = self.scratch(1);
            self.emit(Op::Alu {
                op: Alu::Lt,
                w: 64,
                d: c,
                a: *idx,
                b: limit,
            });
            let room = self.emit(Op::JmpIf { c, t: 0 });
            let err = self.number(ERROR_STACK_OUT_OF_BOUNDS);
            self.emit(Op::Reject { err });
            self.patch(room);
            self.edit(&place, |this, slot, ty, union| {
                this.extract_in_union(&ty, slot, bits, union)
            });
            let one = self.number(1);
            self.emit(Op::Alu {
                op: Alu::Add,
                w: 32,
                d: next,
                a: next,
                b: one,
            });
            return;
        }
        self.edit(&place, |this, slot, ty, union| {
            this.extract_in_union(&ty, slot, bits, union)
        });
    }

    /// The next-index word, for `stack.next.member` of a stack of unions.
    fn union_next(&mut self, header: &'a Expr) -> Option<Slot> {
        let ExprKind::Member(element, _) = &header.kind else {
            return None;
        };
        let ExprKind::Member(stack, next) = &element.kind else {
            return None;
        };
        if &*next.name != "next" || !matches!(self.type_of(stack), Type::Stack(..)) {
            return None;
        }
        match self.place(stack)? {
            Loc::Static { slot, .. } => Some(slot),
            _ => None,
        }
    }

    fn extract_in_union(
        &mut self,
        ty: &Type,
        slot: Slot,
        bits: Option<Slot>,
        union: Option<(Slot, Type)>,
    ) {
        self.extract_at(ty, slot, bits);
        if let Some((base, union)) = union {
            self.keep_one_member(&union, base, slot, Some(slot));
        }
    }

    fn extract_at(&mut self, ty: &Type, base: Slot, bits: Option<Slot>) {
        let layout = self.header_layout(ty);
        match bits {
            Some(bits) => self.emit(Op::ExtractVar { layout, base, bits }),
            None => self.emit(Op::Extract { layout, base }),
        };
    }

    fn lookahead(&mut self, ty: &Type) -> Slot {
        if let Some((w, _)) = self.scalar(ty) {
            let d = self.scratch(words(w));
            self.emit(Op::Lookahead { w, d });
            return d;
        }
        let leaves = self.leaves(ty);
        let total: u32 = leaves
            .iter()
            .filter(|l| l.kind != ValueKind::Valid)
            .map(|l| l.width)
            .sum();
        let raw = self.scratch(words(total));
        self.emit(Op::Lookahead { w: total, d: raw });
        let n = self.words_of(ty);
        let d = self.scratch(n);
        self.emit(Op::Zero { d, n });
        let mut left = total;
        for leaf in leaves {
            if leaf.kind == ValueKind::Valid {
                let one = self.number(1);
                self.emit(Op::Mov {
                    d: d + leaf.offset,
                    s: one,
                });
                continue;
            }
            left -= leaf.width;
            self.slice_op(d + leaf.offset, raw, total, left, leaf.width);
        }
        d
    }

    /// `emit` of a header, or of the headers in a struct, union or stack.
    fn emit_headers(&mut self, slot: Slot, ty: &Type) {
        let shape = self.shape(ty);
        match &shape.kind {
            ShapeKind::Header(_) => {
                let layout = self.header_layout(ty);
                self.emit(Op::Emit { layout, base: slot });
            }
            ShapeKind::Struct(fields) | ShapeKind::Union(fields) => {
                for (_, at, ty) in fields {
                    self.emit_headers(slot + at, ty);
                }
            }
            ShapeKind::Stack {
                element,
                count,
                stride,
            } => {
                for i in 0..*count {
                    self.emit_headers(slot + 1 + i * stride, element);
                }
            }
            _ => {}
        }
    }

    /// A call of the host: arguments are described once, in `Program::calls`.
    fn call_extern(
        &mut self,
        decl: &'a Decl,
        object: Option<(&'a Decl, InstanceId)>,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        call: &'a Expr,
    ) -> Option<Slot> {
        let (proto, name) = match (&decl.kind, object) {
            (DeclKind::Method { proto, .. }, Some((object, _))) => {
                (proto, format!("{}.{}", object.name.name, decl.name.name))
            }
            (DeclKind::ExternFunction(proto), _) => (proto, decl.name.name.to_string()),
            _ => return None,
        };
        if object.is_none() && name == "verify" {
            let c = self.value(&args.first()?.value);
            let skip = self.emit(Op::JmpIf { c, t: 0 });
            let err = self.value(&args.get(1)?.value);
            self.emit(Op::Reject { err });
            self.patch(skip);
            return None;
        }
        if name == "static_assert" {
            return Some(self.number(1));
        }
        let mut extern_args = Vec::new();
        let mut outputs = Vec::new();
        for (i, param) in proto.params.iter().enumerate() {
            let value = match argument(param, i, &info.args, args) {
                Some(expr) => self.extern_arg(param, expr, args, &mut outputs),
                None => ArgValue::Missing,
            };
            extern_args.push(ExternArg {
                name: param.name.name.clone(),
                is_in: param.direction != Direction::Out,
                is_out: matches!(param.direction, Direction::Out | Direction::InOut),
                value,
            });
        }
        let result_type = self.type_of(call);
        let n = self.words_of(&result_type);
        let d = (n > 0).then(|| self.scratch(n));
        let result = match d {
            Some(d) => self
                .leaves(&result_type)
                .into_iter()
                .map(|l| Place {
                    slot: d + l.offset,
                    width: l.width,
                    kind: l.kind,
                })
                .collect(),
            None => Vec::new(),
        };
        let types = info
            .type_args
            .iter()
            .map(|t| self.concrete(t))
            .collect::<Vec<_>>();
        let types = types.iter().map(|t| self.type_shape(t)).collect();
        let id = self.program.calls.len() as CallId;
        let instance = object.map(|(_, id)| id);
        self.program.calls.push(ExternCall {
            name: name.as_str().into(),
            instance,
            types,
            args: extern_args,
            result,
            span: call.span,
        });
        self.call_chunks.push(self.current);
        self.emit(Op::Extern { call: id });
        for (place, slot) in outputs {
            self.write(&place, slot);
        }
        d
    }

    fn extern_arg(
        &mut self,
        param: &'a Param,
        expr: &'a Expr,
        args: &'a [Arg],
        outputs: &mut Vec<(Loc, Slot)>,
    ) -> ArgValue {
        let ty = self.target_type(expr);
        if let Some(p4_check::value::Value::String(text)) = self.eval(expr) {
            return ArgValue::String(text);
        }
        if let Type::Named(Kind::Extern, ..) = ty {
            return match self.instance_of(expr) {
                Some(InstanceRef::Extern(id)) => ArgValue::Instance(id),
                _ => ArgValue::Missing,
            };
        }
        if matches!(param.direction, Direction::Out | Direction::InOut) {
            return match self.extern_output(param, expr, args, outputs) {
                Some(slot) => self.places_as_argument(slot, &ty),
                None => ArgValue::Missing,
            };
        }
        if let ExprKind::List { items, rest: false } = &expr.kind {
            let pure = !items.iter().any(|item| self.has_side_effects(item));
            if pure && self.eval(expr).is_none() {
                return self.list_argument(items);
            }
        }
        let slot = self.value(expr);
        self.places_as_argument(slot, &ty)
    }

    /// Where an extern puts a value: the argument itself, or, if that is a field of a header or
    /// another argument speaks of it, words that are copied there afterwards.
    fn extern_output(
        &mut self,
        param: &'a Param,
        expr: &'a Expr,
        args: &'a [Arg],
        outputs: &mut Vec<(Loc, Slot)>,
    ) -> Option<Slot> {
        if let Some(Loc::Static {
            slot,
            ty,
            valid: None,
            union: None,
        }) = self.fixed_place(expr)
        {
            let words = (slot, slot + self.words_of(&ty));
            let others = args.iter().filter(|arg| arg.value.id != expr.id);
            if !others
                .into_iter()
                .any(|arg| self.touches(&arg.value, words))
            {
                return Some(slot);
            }
        }
        let place = self.place(expr)?;
        let n = self.words_of(&place.ty());
        let slot = self.scratch(n);
        if param.direction == Direction::InOut {
            let s = self.read(&place);
            self.move_words(slot, s, n);
        } else if n > 0 {
            self.emit(Op::Zero { d: slot, n });
        }
        outputs.push((place, slot));
        Some(slot)
    }

    /// A list as an argument: the extern reads its items where they are.
    fn list_argument(&mut self, items: &'a [Expr]) -> ArgValue {
        let mut leaves = Vec::new();
        for item in items {
            let slot = self.value(item);
            let ty = self.target_type(item);
            match self.places_as_argument(slot, &ty) {
                ArgValue::Scalar(place) => leaves.push((place, None)),
                ArgValue::List(inner) => leaves.extend(inner),
                _ => {}
            }
        }
        ArgValue::List(leaves)
    }

    /// The value of type `ty` at `slot`, as externs see it.
    fn places_as_argument(&mut self, slot: Slot, ty: &Type) -> ArgValue {
        if let Some((width, kind)) = self.scalar(ty) {
            return ArgValue::Scalar(Place { slot, width, kind });
        }
        if *ty == Type::Int {
            return ArgValue::Scalar(Place {
                slot,
                width: 64,
                kind: ValueKind::Bit,
            });
        }
        let leaves = self.leaves(ty);
        let value = leaves
            .iter()
            .filter(|l| !matches!(l.kind, ValueKind::Valid | ValueKind::NextIndex))
            .map(|l| {
                (
                    Place {
                        slot: slot + l.offset,
                        width: l.width,
                        kind: l.kind,
                    },
                    l.header.map(|h| slot + h),
                )
            })
            .collect();
        ArgValue::List(value)
    }

    pub(super) fn type_shape(&mut self, ty: &Type) -> TypeShape {
        let leaves = self
            .leaves(ty)
            .into_iter()
            .map(|l| (l.name.as_str().into(), l.width, l.kind))
            .collect();
        TypeShape {
            name: ty.written().into(),
            leaves,
        }
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
        true
    }
}

/// The argument for parameter number `index`, or its default value.
fn argument<'a>(
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
