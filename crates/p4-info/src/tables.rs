//! Tables: keys, actions, the default action and the resources of the entries.

use crate::build::{match_type, Builder};
use crate::model::{ActionRef, MatchField, Notes, Scope, Table, TableActionCall};
use crate::notes;
use crate::program::TableItem;
use crate::symbols::Sort;
use crate::types::bytes;
use num_traits::ToPrimitive;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_syntax::ast::{
    self, Arg, Decl, DeclKind, Direction, Expr, ExprKind, KeyElement, PropertyValue, TableProperty,
};
use p4_syntax::Diagnostic;

impl<'a> Builder<'a, '_> {
    /// Adds a table, with the counters and meters of its entries.
    pub fn table(&mut self, table: &TableItem<'a>) {
        let preamble = self.preamble(Sort::Table, &table.name, &table.decl.annotations, &[]);
        let entries = entries(table.decl);
        let (is_const, default) = self.default_action(table);
        let mut described = Table {
            match_fields: self.match_fields(table),
            action_refs: self.action_refs(table),
            const_default_action_id: is_const.then_some(default.action_id),
            initial_default_action: default,
            size: self.size(table),
            notifies_timeouts: self.notifies_timeouts(table),
            is_const_table: entries.is_some_and(|(is_const, _)| is_const),
            has_initial_entries: entries.is_some_and(|(_, count)| count > 0),
            preamble,
            ..Table::default()
        };
        self.types.touch();
        self.resources(table, &mut described);
        self.info.tables.push(described);
    }

    /// The action profile, counter and meter of a table.
    fn resources(&mut self, table: &TableItem<'a>, described: &mut Table) {
        let arch = self.program.arch;
        let resource = |name: &str| {
            let (property, expr) = property(table.decl, name)?;
            self.program.property_extern(&table.env, property, expr)
        };
        let profile = resource(arch.implementation_property);
        let counter = resource(arch.counters_property);
        let meter = resource(arch.meters_property);
        if let Some(item) = profile.filter(|i| self.sort_of(i) == Some(Sort::ActionProfile)) {
            described.implementation_id = Some(self.symbols.id(Sort::ActionProfile, &item.name));
            if item.decl.is_none() {
                self.action_profile(&item);
            }
        }
        let id = described.preamble.id;
        if let Some(item) = counter.filter(|i| self.sort_of(i) == Some(Sort::DirectCounter)) {
            let resource = self.direct_counter(&item, id);
            described.direct_resource_ids.push(resource);
        }
        if let Some(item) = meter.filter(|i| self.sort_of(i) == Some(Sort::DirectMeter)) {
            let resource = self.direct_meter(&item, id);
            described.direct_resource_ids.push(resource);
        }
        for name in arch.direct_properties {
            let item = property(table.decl, name).and_then(|(property, expr)| {
                self.program.property_extern(&table.env, property, expr)
            });
            let own = item.and_then(|item| {
                let mut externs = self.info.externs.iter_mut();
                externs.find(|own| own.name == item.name)
            });
            if let Some(own) = own {
                own.table_id = Some(id);
            }
        }
    }

    fn size(&self, table: &TableItem<'a>) -> i64 {
        let size = property(table.decl, "size")
            .and_then(|(_, expr)| self.program.eval(&table.env, expr))
            .and_then(|value| value.as_int()?.to_i64());
        match size {
            None | Some(0) => self.program.arch.default_size,
            Some(size) => size,
        }
    }

    fn notifies_timeouts(&self, table: &TableItem<'a>) -> bool {
        let expr = property(table.decl, self.program.arch.timeout_property);
        match expr.and_then(|(_, expr)| self.program.eval(&table.env, expr)) {
            Some(Value::Bool(wanted)) => wanted,
            Some(Value::Enum { member, .. }) => &*member == "NOTIFY_CONTROL",
            _ => false,
        }
    }

    fn match_fields(&mut self, table: &TableItem<'a>) -> Vec<MatchField> {
        let keys = keys(table.decl);
        let ids = self.part_ids(keys.iter().map(|k| (k.annotations.as_slice(), k.span)));
        let mut fields = Vec::new();
        for (key, id) in keys.iter().zip(ids) {
            // What a selector hashes is no business of the control plane.
            if &*key.match_kind.name == "selector" {
                continue;
            }
            let given = notes::text_of(self.checked(), &key.annotations, "name");
            let name = given.or_else(|| self.program.key_name(&table.env, &key.expr));
            let ty = self
                .program
                .concrete(&table.env, self.checked().expr_type(key.expr.id));
            if ty.is_kind(Kind::Enum) {
                self.report(
                    Diagnostic::error(
                        "E0703",
                        key.expr.span,
                        format!(
                            "The control plane cannot match on {ty}: its values have no width."
                        ),
                    )
                    .hint("Give the enum a type, as in `enum bit<8> E { A = 1 }`."),
                );
                continue;
            }
            self.types.describe(&ty, key.expr.span);
            fields.push(MatchField {
                id,
                name: name.unwrap_or_default(),
                notes: self.notes(&key.annotations, &[]),
                bitwidth: self.types.width(&ty) as i32,
                match_type: match_type(&key.match_kind.name),
                type_name: self.types.new_type_name(&ty),
            });
        }
        fields
    }

    fn action_refs(&mut self, table: &TableItem<'a>) -> Vec<ActionRef> {
        let DeclKind::Table(properties) = &table.decl.kind else {
            return Vec::new();
        };
        let mut refs: Vec<ActionRef> = Vec::new();
        let has_default = properties.iter().any(|p| &*p.name.name == "default_action");
        let mut lists_no_action = false;
        for property in properties {
            let PropertyValue::Actions(list) = &property.value else {
                continue;
            };
            for action in list {
                let Some(decl) = self.checked().action_refs.get(&action.id).copied() else {
                    continue;
                };
                lists_no_action |= &*decl.name.name == "NoAction";
                let name = self.program.name(&table.env, decl);
                refs.push(ActionRef {
                    id: self.symbols.id(Sort::Action, &name),
                    scope: self.scope(action),
                    notes: self.notes(&action.annotations, &[]),
                });
            }
        }
        if !has_default && !lists_no_action {
            if let Some(decl) = self.program.no_action() {
                let name = self.program.name(&table.env, decl);
                refs.push(ActionRef {
                    id: self.symbols.id(Sort::Action, &name),
                    scope: Scope::DefaultOnly,
                    notes: Notes {
                        annotations: vec!["@defaultonly".into()],
                        ..Notes::default()
                    },
                });
            }
        }
        refs
    }

    fn scope(&mut self, action: &ast::ActionRef) -> Scope {
        let table_only = notes::find(&action.annotations, "tableonly").is_some();
        let default_only = notes::find(&action.annotations, "defaultonly").is_some();
        if table_only && default_only {
            self.report(
                Diagnostic::error(
                    "E0710",
                    action.span,
                    "An action cannot be both `@tableonly` and `@defaultonly`.",
                )
                .hint("Leave one of them out."),
            );
        }
        match (table_only, default_only) {
            (true, _) => Scope::TableOnly,
            (_, true) => Scope::DefaultOnly,
            _ => Scope::TableAndDefault,
        }
    }

    /// Whether the default action is constant, and the call.
    fn default_action(&mut self, table: &TableItem<'a>) -> (bool, TableActionCall) {
        let mut call = TableActionCall::default();
        let Some((property, expr)) = property(table.decl, "default_action") else {
            if let Some(decl) = self.program.no_action() {
                let name = self.program.name(&table.env, decl);
                call.action_id = self.symbols.id(Sort::Action, &name);
            }
            return (false, call);
        };
        let Some(decl) = self.checked().action_refs.get(&expr.id).copied() else {
            return (property.is_const, call);
        };
        let name = self.program.name(&table.env, decl);
        call.action_id = self.symbols.id(Sort::Action, &name);
        let args: &'a [Arg] = match &expr.kind {
            ExprKind::Call { args, .. } => args,
            _ => &[],
        };
        let DeclKind::Action { params, .. } = &decl.kind else {
            return (property.is_const, call);
        };
        let order = self.checked().action_args.get(&expr.id).cloned();
        let data = params
            .iter()
            .enumerate()
            .filter(|(_, p)| p.direction == Direction::None);
        for ((i, param), number) in data.zip(1..) {
            let index = order.as_ref().and_then(|o| o.get(i).copied().flatten());
            let Some(arg) = index.and_then(|i| args.get(i)) else {
                continue;
            };
            let id = notes::number_of(&param.annotations, "id");
            let id = id.and_then(|id| u32::try_from(id).ok()).unwrap_or(number);
            let ty = self.checked().type_ref(param.ty.id);
            let ty = self.program.concrete(&table.env, ty);
            if let Some(value) = self.argument_bytes(table, &arg.value, &ty) {
                call.arguments.push((id, value));
            }
        }
        (property.is_const, call)
    }

    fn argument_bytes(&mut self, table: &TableItem<'a>, expr: &Expr, ty: &Type) -> Option<Vec<u8>> {
        let width = match self.types.width(ty) {
            0 => self.checked().underlying(ty).fixed_width().unwrap_or(1),
            width => width,
        };
        let value = match self.program.eval(&table.env, expr) {
            Some(Value::Bool(flag)) => Some(vec![u8::from(flag)]),
            Some(value) => value.as_int().and_then(|v| bytes(v, width)),
            None => None,
        };
        if value.is_none() {
            self.report(
                Diagnostic::error(
                    "E0711",
                    expr.span,
                    "P4Info cannot carry this argument of the default action.",
                )
                .hint("Use a number that is not negative, a bool, or a member of an enum with a type."),
            );
        }
        value
    }
}

/// The property `name` of a table and its expression.
pub(crate) fn property<'a>(table: &'a Decl, name: &str) -> Option<(&'a TableProperty, &'a Expr)> {
    let DeclKind::Table(properties) = &table.kind else {
        return None;
    };
    properties
        .iter()
        .find_map(|property| match &property.value {
            PropertyValue::Expr(expr) if &*property.name.name == name => Some((property, expr)),
            _ => None,
        })
}

fn keys(table: &Decl) -> &[KeyElement] {
    let DeclKind::Table(properties) = &table.kind else {
        return &[];
    };
    let mut lists = properties.iter().filter_map(|p| match &p.value {
        PropertyValue::Key(elements) => Some(elements.as_slice()),
        _ => None,
    });
    lists.next().unwrap_or_default()
}

/// Whether the entries in the program are constant, and how many there are.
fn entries(table: &Decl) -> Option<(bool, usize)> {
    let DeclKind::Table(properties) = &table.kind else {
        return None;
    };
    properties.iter().find_map(|p| match &p.value {
        PropertyValue::Entries(entries) => Some((p.is_const, entries.len())),
        _ => None,
    })
}
