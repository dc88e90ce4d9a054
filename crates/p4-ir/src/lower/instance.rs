//! Instances: of externs, with the methods that the program implements, and of parsers and controls.

use super::layout::Leaf;
use super::table::const_arg;
use super::{BlockInstance, FunctionRoutine, InstanceRef, Lowerer};
use crate::ir::*;
use p4_check::types::Type;
use p4_check::{CallInfo, CallKind};
use p4_syntax::ast::{
    Arg, Block as Body, Decl, DeclKind, Direction, Expr, ExprKind, Param, TypeRef,
};
use p4_syntax::span::Span;
use p4_syntax::HashMap;
use std::rc::Rc;

impl<'a> Lowerer<'a, '_> {
    pub(super) fn global_instance(
        &mut self,
        decl: &'a Decl,
        args: &'a [Arg],
        body: Option<&'a [Decl]>,
    ) {
        if let Some(instance) = self.make_instance(decl, args) {
            self.globals.insert(decl.id, instance.clone());
            self.methods(&instance, body);
        }
    }

    pub(super) fn local_instance(
        &mut self,
        decl: &'a Decl,
        args: &'a [Arg],
        body: Option<&'a [Decl]>,
    ) {
        if let Some(instance) = self.make_instance(decl, args) {
            self.env.instances.insert(decl.id, instance.clone());
            self.methods(&instance, body);
        }
    }

    /// The abstract methods that the program implements, lowered where the instance stands, so
    /// that they see what is declared above it.
    fn methods(&mut self, instance: &InstanceRef<'a>, body: Option<&'a [Decl]>) {
        let (InstanceRef::Extern(id), Some(body)) = (instance, body) else {
            return;
        };
        let outer = self.env.this.replace(*id);
        for decl in body {
            match &decl.kind {
                DeclKind::Function {
                    ret, params, body, ..
                } => {
                    let routine = self.method_routine(params, ret, body);
                    let method = self.method(decl, params, &routine);
                    self.program.instances[*id as usize].methods.push(method);
                    self.methods.insert((*id, decl.name.name.clone()), routine);
                }
                _ => self.local(decl),
            }
        }
        self.env.this = outer;
    }

    fn method_routine(
        &mut self,
        params: &'a [Param],
        ret: &'a TypeRef,
        body: &'a Body,
    ) -> FunctionRoutine {
        let slots = self.param_slots(params);
        let ret = self.type_ref(ret);
        let n = self.words_of(&ret);
        let result = (n > 0).then(|| (self.alloc(n), ret));
        let outer = std::mem::replace(&mut self.env.result, result.clone());
        let routine = self.routine(|this| this.block(body));
        self.env.result = outer;
        FunctionRoutine {
            routine,
            params: slots,
            result,
        }
    }

    fn method(&mut self, decl: &'a Decl, params: &'a [Param], routine: &FunctionRoutine) -> Method {
        let params = params
            .iter()
            .zip(&routine.params)
            .map(|(param, (slot, ty))| MethodParam {
                name: param.name.name.clone(),
                is_in: param.direction != Direction::Out,
                is_out: matches!(param.direction, Direction::Out | Direction::InOut),
                places: self.places_at(*slot, ty),
            })
            .collect();
        let result = match &routine.result {
            Some((slot, ty)) => self.places_at(*slot, ty),
            None => Vec::new(),
        };
        Method {
            name: decl.name.name.clone(),
            entry: routine.routine,
            params,
            result,
            span: decl.name.span,
        }
    }

    /// The places of the leaves of a value of type `ty` at `slot`.
    pub(super) fn places_at(&mut self, slot: Slot, ty: &Type) -> Vec<Place> {
        let leaves = self.leaves(ty);
        let place = |leaf: &Leaf| Place {
            slot: slot + leaf.offset,
            width: leaf.width,
            kind: leaf.kind,
        };
        leaves.iter().map(place).collect()
    }

    fn make_instance(&mut self, decl: &'a Decl, args: &'a [Arg]) -> Option<InstanceRef<'a>> {
        if let Type::Stack(..) = self.checked.expr_type(decl.id) {
            self.refuse(
                "E0602",
                decl.span,
                "arrays of extern instances cannot be executed",
            );
            return None;
        }
        let name = self.control_name(decl);
        let info = self.checked.calls.get(&decl.id)?.clone();
        let annotations = super::annotations(&decl.annotations);
        self.instance(&name, &info, args, annotations, decl.name.span)
    }

    /// An unnamed instance: `T(args)`. Its name is that of its type unless `name` says otherwise.
    pub(super) fn construct(
        &mut self,
        expr: &'a Expr,
        prefix: &str,
        name: Option<&str>,
    ) -> Option<InstanceRef<'a>> {
        let args: &'a [Arg] = match &expr.kind {
            ExprKind::Construct { args, .. } | ExprKind::Call { args, .. } => args,
            _ => return None,
        };
        let info = self.checked.calls.get(&expr.id)?.clone();
        let CallKind::Construct(decl) = info.kind else {
            return None;
        };
        let name = format!("{prefix}{}", name.unwrap_or(&decl.name.name));
        self.instance(&name, &info, args, Vec::new(), expr.span)
    }

    fn instance(
        &mut self,
        name: &str,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        annotations: Vec<Annotation>,
        span: Span,
    ) -> Option<InstanceRef<'a>> {
        let CallKind::Construct(decl) = info.kind else {
            return None;
        };
        let types: Vec<Type> = info.type_args.iter().map(|t| self.concrete(t)).collect();
        match &decl.kind {
            DeclKind::ExternObject { methods, .. } => {
                let params = constructor_params(methods, info.args.len());
                let mut const_args = Vec::new();
                for (i, index) in info.args.iter().enumerate() {
                    let expr = match index.and_then(|a| args.get(a)) {
                        Some(arg) => Some(&arg.value),
                        None => params.get(i).and_then(|p| p.default.as_ref()),
                    };
                    const_args.push(expr.map_or(ConstArg::Missing, |e| self.const_argument(e)));
                }
                let types = types.iter().map(|t| self.type_shape(t)).collect();
                let id = self.program.instances.len() as InstanceId;
                self.program.instances.push(Instance {
                    name: name.into(),
                    extern_type: decl.name.name.clone(),
                    types,
                    args: const_args,
                    methods: Vec::new(),
                    annotations,
                    span,
                });
                Some(InstanceRef::Extern(id))
            }
            DeclKind::Parser { ctor_params, .. } | DeclKind::Control { ctor_params, .. } => {
                let mut values = HashMap::default();
                let mut instances = HashMap::default();
                for (param, index) in ctor_params.iter().zip(&info.args) {
                    let expr = match index.and_then(|a| args.get(a)) {
                        Some(arg) => &arg.value,
                        None => match &param.default {
                            Some(default) => default,
                            None => continue,
                        },
                    };
                    if let Some(value) = self.eval(expr) {
                        let ty = self.type_ref(&param.ty);
                        values.insert(
                            param.id,
                            self.checked.convert(value.clone(), &ty).unwrap_or(value),
                        );
                    } else if let Some(instance) = self.instance_of(expr) {
                        instances.insert(param.id, instance);
                    } else if let Some(instance) =
                        self.construct(expr, &format!("{name}."), Some(&param.name.name))
                    {
                        instances.insert(param.id, instance);
                    }
                }
                Some(InstanceRef::Block(Rc::new(BlockInstance {
                    decl,
                    name: name.to_string(),
                    type_args: types,
                    values,
                    instances,
                })))
            }
            _ => None,
        }
    }

    fn const_argument(&mut self, expr: &'a Expr) -> ConstArg {
        if let Some(arg) = self.eval(expr).and_then(|v| const_arg(&v)) {
            return arg;
        }
        match self.instance_of(expr) {
            Some(InstanceRef::Extern(id)) => ConstArg::Instance(id),
            _ => ConstArg::Missing,
        }
    }
}

fn constructor_params(methods: &[Decl], count: usize) -> &[Param] {
    let mut constructors = methods.iter().filter_map(|m| match &m.kind {
        DeclKind::Method {
            proto,
            is_constructor: true,
            ..
        } => Some(proto.params.as_slice()),
        _ => None,
    });
    constructors.find(|p| p.len() == count).unwrap_or(&[])
}
