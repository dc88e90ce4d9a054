//! Extern objects: the memories and units that hang on tables, and what calls of them read.

use crate::model::{Resource, ResourceKind, Use, Written};
use crate::reads::Effect;
use crate::walk::{ExternRef, Walk};
use num_traits::ToPrimitive;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::{CallInfo, CallKind, Def};
use p4_syntax::ast::*;

impl<'a> Walk<'_, 'a> {
    /// The extern instance that an expression names.
    pub fn extern_of(&self, expr: &'a Expr) -> Option<ExternRef<'a>> {
        match *self.checked.defs.get(&expr.id)? {
            Def::Instance(decl) => Some(ExternRef {
                decl,
                prefix: match self.global.contains(&decl.id) {
                    true => String::new(),
                    false => self.env.prefix.clone(),
                },
            }),
            Def::Param(param) => self.env.given.get(&param.id).cloned(),
            _ => None,
        }
    }

    /// The resource that an extern instance is, or that a register or selector action works on.
    pub fn resource(&mut self, instance: &ExternRef<'a>) -> Option<u32> {
        let key = (instance.prefix.clone(), instance.decl.id);
        if let Some(known) = self.resource_of.get(&key) {
            return *known;
        }
        // A register action whose register is itself ends here.
        self.resource_of.insert(key.clone(), None);
        let found = self.new_resource(instance);
        self.resource_of.insert(key, found);
        found
    }

    fn new_resource(&mut self, instance: &ExternRef<'a>) -> Option<u32> {
        let DeclKind::Instance { args, .. } = &instance.decl.kind else {
            return None;
        };
        let Type::Named(Kind::Extern, _, ty, types) = self.checked.expr_type(instance.decl.id)
        else {
            return None;
        };
        let types: Vec<Type> = types.iter().map(|ty| self.concrete(ty)).collect();
        let width = |walk: &Self, i: usize| types.get(i).map_or(0, |ty| walk.width(ty));
        let size = |walk: &Self, i: usize| {
            let value = walk.constant(&args.get(i)?.value)?;
            value.as_int()?.to_u64()
        };
        let both = args.iter().any(|arg| {
            matches!(self.constant(&arg.value), Some(Value::Enum { member, .. })
                if matches!(&*member, "PACKETS_AND_BYTES" | "packets_and_bytes"))
        });
        let (kind, size, width) = match &**ty {
            "RegisterAction" | "DirectRegisterAction" | "SelectorAction" => {
                let register = self.extern_of(&args.first()?.value)?;
                return self.resource(&register);
            }
            "Register" | "register" => (ResourceKind::Register, size(self, 0), width(self, 0)),
            "DirectRegister" => (ResourceKind::Register, None, width(self, 0)),
            "Counter" => (ResourceKind::Counter, size(self, 0), width(self, 0)),
            "DirectCounter" => (ResourceKind::Counter, None, width(self, 0)),
            "counter" => (ResourceKind::Counter, size(self, 0), 64),
            "direct_counter" => (ResourceKind::Counter, None, 64),
            "Meter" | "meter" => (ResourceKind::Meter, size(self, 0), 128),
            "DirectMeter" | "direct_meter" => (ResourceKind::Meter, None, 128),
            "Lpf" | "Wred" => (ResourceKind::Filter, size(self, 0), 128),
            "DirectLpf" | "DirectWred" => (ResourceKind::Filter, None, 128),
            "Hash" => (ResourceKind::Hash, None, width(self, 0)),
            "Random" => (ResourceKind::Random, None, width(self, 0)),
            "ActionProfile" | "action_profile" => (ResourceKind::ActionProfile, size(self, 0), 0),
            "ActionSelector" => {
                // (profile, hash, mode, register?, places, groups), or (size, hash, mode, register?)
                let groups = size(self, 5)
                    .or_else(|| size(self, 4))
                    .or_else(|| size(self, 0));
                (ResourceKind::Selector, groups, 0)
            }
            "action_selector" => (ResourceKind::Selector, size(self, 1), 0),
            _ => return None,
        };
        self.resources.push(Resource {
            kind,
            name: format!("{}{}", instance.prefix, instance.decl.name.name),
            span: instance.decl.name.span,
            size,
            width,
            both,
        });
        Some(self.resources.len() as u32 - 1)
    }

    /// A method of an extern instance.
    pub fn method(
        &mut self,
        object: &'a Decl,
        method: &'a Decl,
        base: Option<&'a Expr>,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        effect: &mut Effect,
    ) {
        let DeclKind::Method { proto, .. } = &method.kind else {
            return;
        };
        let instance = base.and_then(|base| self.extern_of(base));
        let resource = instance.as_ref().and_then(|found| self.resource(found));
        let Some(resource) = resource else {
            // A checksum, a packet, a mirror: their arguments are what matters.
            return self.arguments(&proto.params, info, args, effect, false);
        };
        self.arguments(&proto.params, info, args, effect, true);
        // The index of a memory: from fields, or from the entry or a constant
        let indexed = proto
            .params
            .iter()
            .zip(&info.args)
            .find(|(param, _)| &*param.name.name == "index")
            .and_then(|(_, index)| index.and_then(|i| args.get(i)));
        let by_hash = match indexed {
            Some(arg) => {
                let mut own = Effect::default();
                self.value(&arg.value, &mut own, true);
                !own.crossbar.is_empty() || !own.reads.is_empty() || !own.uses.is_empty()
            }
            None => matches!(&*object.name.name, "Hash" | "Random"),
        };
        effect.uses(Use { resource, by_hash });
        if let Some(instance) = instance {
            self.register_body(&instance, effect);
        }
    }

    /// The fields that the body of a register action reads and writes, beside its parameters.
    fn register_body(&mut self, instance: &ExternRef<'a>, effect: &mut Effect) {
        let DeclKind::Instance {
            body: Some(methods),
            ..
        } = &instance.decl.kind
        else {
            return;
        };
        if instance.prefix != self.env.prefix {
            return;
        }
        for method in methods {
            let DeclKind::Function { params, body, .. } = &method.kind else {
                continue;
            };
            let mut own = Effect::default();
            let nobody: Vec<Option<usize>> = Vec::new();
            self.bind(params, &nobody, &[], &mut own);
            self.plainly(|walk| walk.body(&body.stmts, &mut own));
            effect.read(&own.reads, true);
            effect.read(&own.crossbar, true);
            for write in own.writes {
                effect.write(&[write.access], Written::Computed);
            }
        }
    }

    pub fn extern_function(
        &mut self,
        decl: &'a Decl,
        info: &CallInfo<'a>,
        args: &'a [Arg],
        effect: &mut Effect,
        crossbar: bool,
    ) {
        let DeclKind::ExternFunction(proto) = &decl.kind else {
            return;
        };
        match &*decl.name.name {
            "mark_to_drop" => {
                // Of the whole metadata it writes two fields.
                let Some(place) = args.first().and_then(|arg| self.place(&arg.value)) else {
                    return;
                };
                for access in self.accesses(&place) {
                    let name = &self.fields[access.field as usize].name;
                    if name.ends_with(".egress_spec") || name.ends_with(".mcast_grp") {
                        effect.write(&[access], Written::Constant);
                    }
                }
            }
            "log_msg" | "assert" | "assume" | "static_assert" => {}
            "hash" => {
                self.arguments(&proto.params, info, args, effect, true);
                if let Some(resource) = self.anonymous(ResourceKind::Hash, decl) {
                    let by_hash = true;
                    effect.uses(Use { resource, by_hash });
                }
            }
            "random" => {
                self.arguments(&proto.params, info, args, effect, false);
                if let Some(resource) = self.anonymous(ResourceKind::Random, decl) {
                    let by_hash = true;
                    effect.uses(Use { resource, by_hash });
                }
            }
            _ => self.arguments(&proto.params, info, args, effect, crossbar),
        }
    }

    /// The unit behind a function that needs no instance.
    fn anonymous(&mut self, kind: ResourceKind, decl: &'a Decl) -> Option<u32> {
        let key = (String::new(), decl.id);
        if let Some(known) = self.resource_of.get(&key) {
            return *known;
        }
        self.resources.push(Resource {
            kind,
            name: decl.name.name.to_string(),
            span: decl.name.span,
            size: None,
            width: 0,
            both: false,
        });
        let found = Some(self.resources.len() as u32 - 1);
        self.resource_of.insert(key, found);
        found
    }

    /// The resource that a property of a table names or makes.
    pub fn property_resource(&mut self, expr: &'a Expr) -> Option<u32> {
        if let Some(named) = self.extern_of(expr) {
            return self.resource(&named);
        }
        let (ExprKind::Construct { args, .. } | ExprKind::Call { args, .. }) = &expr.kind else {
            return None;
        };
        let info = self.checked.calls.get(&expr.id)?;
        let CallKind::Construct(ty) = info.kind else {
            return None;
        };
        let number = |walk: &Self, i: usize| {
            let value = walk.constant(&args.get(i)?.value)?;
            value.as_int()?.to_u64()
        };
        let (kind, size, width) = match &*ty.name.name {
            "action_profile" | "ActionProfile" => (ResourceKind::ActionProfile, number(self, 0), 0),
            "action_selector" => (ResourceKind::Selector, number(self, 1), 0),
            "direct_counter" => (ResourceKind::Counter, None, 64),
            "direct_meter" => (ResourceKind::Meter, None, 128),
            _ => return None,
        };
        self.resources.push(Resource {
            kind,
            name: ty.name.name.to_string(),
            span: expr.span,
            size,
            width,
            both: false,
        });
        Some(self.resources.len() as u32 - 1)
    }
}
