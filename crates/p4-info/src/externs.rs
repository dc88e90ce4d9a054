//! Counters, meters, registers, action profiles and digests.

use crate::build::Builder;
use crate::model::*;
use crate::notes;
use crate::program::{ExternItem, FunctionCall};
use crate::symbols::Sort;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_syntax::ast::{DeclKind, Expr, Param};
use p4_syntax::{Diagnostic, Span};

/// Annotations of action profiles that have fields of their own.
const PROFILE_FIELDS: &[&str] = &[
    "max_group_size",
    "selector_size_semantics",
    "max_member_weight",
];

impl<'a> Builder<'a, '_> {
    /// What sort of object the control plane takes an extern instance for.
    pub fn sort_of(&self, item: &ExternItem<'a>) -> Option<Sort> {
        let arch = self.program.arch;
        let name = &*item.extern_type.name.name;
        Some(match name {
            _ if name == arch.counter => Sort::Counter,
            _ if name == arch.direct_counter => Sort::DirectCounter,
            _ if name == arch.meter => Sort::Meter,
            _ if name == arch.direct_meter => Sort::DirectMeter,
            _ if name == arch.action_profile || name == arch.action_selector => Sort::ActionProfile,
            _ if name == arch.register => Sort::Register,
            _ if Some(name) == arch.digest => Sort::Digest,
            _ => return None,
        })
    }

    /// The place of an extern instance, for diagnostics.
    pub fn span_of(item: &ExternItem<'a>) -> Span {
        match item.decl {
            Some(decl) => decl.name.span,
            None => item.args.first().map_or(Span::NONE, |arg| arg.span),
        }
    }

    /// The parameters of the constructor that makes an instance.
    fn constructor(&self, item: &ExternItem<'a>) -> Option<&'a [Param]> {
        let DeclKind::ExternObject { methods, .. } = &item.extern_type.kind else {
            return None;
        };
        let constructors = methods.iter().filter_map(|m| match &m.kind {
            DeclKind::Method {
                proto,
                is_constructor: true,
                ..
            } => Some(proto.params.as_slice()),
            _ => None,
        });
        let mut constructors = constructors.into_iter();
        constructors.find(|params: &&'a [Param]| params.len() == item.info.args.len())
    }

    /// The argument for the constructor parameter `name`.
    fn argument(&self, item: &ExternItem<'a>, name: &str) -> Option<&'a Expr> {
        let params = self.constructor(item)?;
        let at = params.iter().position(|p| &*p.name.name == name)?;
        match item.info.args.get(at)? {
            Some(index) => item.args.get(*index).map(|arg| &arg.value),
            None => params.get(at)?.default.as_ref(),
        }
    }

    fn number(&mut self, item: &ExternItem<'a>, param: &str) -> i64 {
        let expr = self.argument(item, param);
        let value = expr.and_then(|e| self.program.eval(&item.env, e));
        let number: Option<BigInt> = value.as_ref().and_then(|v| v.as_int().cloned());
        // p4c keeps the lower 32 bits.
        number.and_then(|n| n.to_i64()).unwrap_or(0)
    }

    fn unit(&self, item: &ExternItem<'a>) -> Unit {
        let expr = self.argument(item, "type");
        match expr.and_then(|e| self.program.eval(&item.env, e)) {
            Some(Value::Enum { member, .. }) => {
                let units = self.program.arch.units;
                let found = units.iter().position(|unit| *unit == &*member);
                match found {
                    Some(0) => Unit::Packets,
                    Some(1) => Unit::Bytes,
                    Some(_) => Unit::Both,
                    None => Unit::Unspecified,
                }
            }
            _ => Unit::Unspecified,
        }
    }

    fn type_argument(&self, item: &ExternItem<'a>, index: usize) -> Option<Type> {
        let ty = item.info.type_args.get(index)?;
        Some(self.program.concrete(&item.env, ty))
    }

    /// The name of the type of indices, where that is a new type.
    fn index_type(&mut self, item: &ExternItem<'a>, index: Option<usize>) -> Option<String> {
        let ty = self.type_argument(item, index?)?;
        self.types.describe(&ty, Self::span_of(item));
        self.types.new_type_name(&ty)
    }

    /// Adds an extern instance that the program declares.
    pub fn declared_extern(&mut self, item: &ExternItem<'a>) {
        self.types.touch();
        let arch = self.program.arch;
        match self.sort_of(item) {
            Some(Sort::Counter) => {
                let counter = Counter {
                    preamble: self.preamble(Sort::Counter, &item.name, item.annotations, &[]),
                    unit: self.unit(item),
                    size: self.number(item, arch.counter_size),
                    index_type_name: self.index_type(item, arch.counter_index),
                };
                self.info.counters.push(counter);
            }
            Some(Sort::Meter) => {
                let meter = Meter {
                    preamble: self.preamble(Sort::Meter, &item.name, item.annotations, &[]),
                    unit: self.unit(item),
                    size: self.number(item, arch.meter_size),
                    index_type_name: self.index_type(item, arch.meter_index),
                };
                self.info.meters.push(meter);
            }
            Some(Sort::Register) => self.register(item),
            Some(Sort::ActionProfile) => {
                self.action_profile(item);
                if arch.lists_externs && &*item.extern_type.name.name == arch.action_selector {
                    self.other_extern(item);
                }
            }
            Some(Sort::Digest) => {
                let ty = self.type_argument(item, 0).unwrap_or(Type::Unknown);
                let type_spec = self.types.describe(&ty, Self::span_of(item));
                let preamble = self.preamble(Sort::Digest, &item.name, item.annotations, &[]);
                self.info.digests.push(Digest {
                    preamble,
                    type_spec,
                });
            }
            None if arch.lists_externs => self.other_extern(item),
            _ => {}
        }
    }

    fn other_extern(&mut self, item: &ExternItem<'a>) {
        let extern_type = item.extern_type.name.name.to_string();
        let has_cells = matches!(&*extern_type, "DirectRegister" | "RegisterParam" | "Hash");
        let ty = self.type_argument(item, 0).filter(|_| has_cells);
        let data = ty.map(|ty| self.types.describe(&ty, Self::span_of(item)));
        let (mut numbers, mut instances) = (Vec::new(), Vec::new());
        for param in self.constructor(item).unwrap_or_default() {
            let name = &*param.name.name;
            let Some(expr) = self.argument(item, name) else {
                continue;
            };
            let value = self.program.eval(&item.env, expr);
            if let Some(number) = value.and_then(|value| value.as_int()?.to_i64()) {
                numbers.push((name.to_string(), number));
            } else if let Some(other) = self.program.extern_named(&item.env, expr) {
                instances.push((name.to_string(), other.name.clone()));
            }
        }
        let instance = Extern {
            name: item.name.clone(),
            extern_type,
            notes: self.notes(item.annotations, &[]),
            data,
            numbers,
            instances,
            table_id: None,
            hashed: None,
        };
        self.info.externs.push(instance);
    }

    fn register(&mut self, item: &ExternItem<'a>) {
        let ty = self.type_argument(item, 0).unwrap_or(Type::Unknown);
        let register = Register {
            preamble: self.preamble(Sort::Register, &item.name, item.annotations, &[]),
            type_spec: self.types.describe(&ty, Self::span_of(item)),
            size: i32::try_from(self.number(item, "size")).unwrap_or(i32::MAX),
            index_type_name: self.index_type(item, self.program.arch.register_index),
        };
        self.info.registers.push(register);
    }

    pub fn action_profile(&mut self, item: &ExternItem<'a>) {
        let with_selector = &*item.extern_type.name.name == self.program.arch.action_selector;
        let size = self.number(item, "size");
        let list = item.annotations;
        let number = |name: &str| {
            let number = notes::number_of(list, name);
            number.and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
        };
        let semantics = notes::text_of(self.checked(), list, "selector_size_semantics");
        let size_semantics = match semantics.map(|text| text.to_ascii_lowercase()).as_deref() {
            _ if !with_selector => None,
            None => None,
            Some("sum_of_weights") => Some(SizeSemantics::SumOfWeights),
            Some("sum_of_members") => Some(SizeSemantics::SumOfMembers {
                max_member_weight: number("max_member_weight"),
            }),
            Some(other) => {
                let span = notes::find(list, "selector_size_semantics").map(|a| a.span);
                self.types.diagnostics.push(
                    Diagnostic::error(
                        "E0708",
                        span.unwrap_or_default(),
                        format!("`{other}` does not say what the size of a selector counts."),
                    )
                    .hint("Write \"sum_of_weights\" or \"sum_of_members\"."),
                );
                None
            }
        };
        let preamble = self.preamble(Sort::ActionProfile, &item.name, list, PROFILE_FIELDS);
        let mut tables = self
            .profile_users
            .get(&item.name)
            .cloned()
            .unwrap_or_default();
        tables.sort();
        tables.dedup();
        self.info.action_profiles.push(ActionProfile {
            preamble,
            table_ids: tables
                .iter()
                .map(|name| self.symbols.id(Sort::Table, name))
                .collect(),
            with_selector,
            size,
            max_group_size: match with_selector {
                true => number("max_group_size"),
                false => 0,
            },
            size_semantics,
        });
    }

    /// Adds the counter that counts for the entries of a table.
    pub fn direct_counter(&mut self, item: &ExternItem<'a>, table: u32) -> u32 {
        let counter = DirectCounter {
            preamble: self.preamble(Sort::DirectCounter, &item.name, item.annotations, &[]),
            unit: self.unit(item),
            direct_table_id: table,
        };
        let id = counter.preamble.id;
        self.info.direct_counters.push(counter);
        id
    }

    /// Adds the meter that meters for the entries of a table.
    pub fn direct_meter(&mut self, item: &ExternItem<'a>, table: u32) -> u32 {
        let meter = DirectMeter {
            preamble: self.preamble(Sort::DirectMeter, &item.name, item.annotations, &[]),
            unit: self.unit(item),
            direct_table_id: table,
        };
        let id = meter.preamble.id;
        self.info.direct_meters.push(meter);
        id
    }

    /// The name and type of what a call of `digest` sends; `None` for other functions.
    pub fn digest_of(&mut self, call: &FunctionCall<'a>) -> Option<(String, Type)> {
        if Some(&*call.decl.name.name) != self.program.arch.digest_function {
            return None;
        }
        let info = self.checked().calls.get(&call.expr.id)?;
        let ty = self.program.concrete(&call.env, info.type_args.first()?);
        let name = match &ty {
            Type::Named(Kind::Struct | Kind::Header | Kind::Union | Kind::NewType, ..) => {
                self.types.name(&ty)
            }
            // A digest of a list has no name of its own.
            _ => {
                let count = self.unnamed_digests.len();
                let number = *self.unnamed_digests.entry(call.expr.id).or_insert(count);
                format!("digest_{number}")
            }
        };
        Some((name, ty))
    }

    pub fn digest(&mut self, call: &FunctionCall<'a>) {
        if self.program.arch.functions_touch_types {
            self.types.touch();
        }
        let Some((name, ty)) = self.digest_of(call) else {
            return;
        };
        let type_spec = self.types.describe(&ty, call.expr.span);
        if self.info.digests.iter().any(|d| d.preamble.name == name) {
            return;
        }
        let preamble = self.preamble(Sort::Digest, &name, &[], &[]);
        self.info.digests.push(Digest {
            preamble,
            type_spec,
        });
    }
}
