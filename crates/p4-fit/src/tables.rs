//! A table where it is applied.

use crate::model::{Key, Table, Unit, UnitKind, Written};
use crate::reads::Effect;
use crate::walk::Walk;
use num_traits::ToPrimitive;
use p4_check::value::Value;
use p4_syntax::ast::*;
use p4_syntax::Span;

impl<'a> Walk<'_, 'a> {
    /// Adds the table as a unit; gives its index.
    pub fn table(&mut self, decl: &'a Decl, span: Span) -> u32 {
        let DeclKind::Table(properties) = &decl.kind else {
            return self.push_unit(UnitKind::Table, String::new(), span, Vec::new());
        };
        let mut table = Table::default();
        let mut match_reads = Effect::default();
        for key in properties.iter().flat_map(keys) {
            self.plainly(|walk| walk.key(decl, key, &mut table, &mut match_reads));
        }
        self.flush();
        let name = format!("{}{}", self.env.prefix, decl.name.name);
        let unit = self.push_unit(UnitKind::Table, name, decl.name.span, match_reads.crossbar);
        let mut actions = Vec::new();
        let mut declared: Vec<NodeId> = Vec::new();
        for property in properties {
            if let PropertyValue::Actions(list) = &property.value {
                for reference in list {
                    let Some(action) = self.checked.action_refs.get(&reference.id).copied() else {
                        continue;
                    };
                    let order = self.checked.action_args.get(&reference.id).cloned();
                    let args = reference.args.as_deref().unwrap_or_default();
                    let mut made = self.table_action(action, &order.unwrap_or_default(), args);
                    made.default_only = reference
                        .annotations
                        .iter()
                        .any(|note| &*note.name.name == "defaultonly");
                    actions.push(made);
                    declared.push(action.id);
                }
            }
        }
        for property in properties {
            self.property(property, &mut table, &declared);
        }
        if let Some(unit) = self.units.get_mut(unit as usize) {
            unit.actions = actions;
            unit.table = Some(table);
        }
        unit
    }

    fn key(&mut self, decl: &'a Decl, key: &'a KeyElement, table: &mut Table, reads: &mut Effect) {
        let ty = self.concrete(self.checked.expr_type(key.expr.id));
        let width = self.width(&ty);
        let place = self.place(&key.expr);
        let mut name = place.as_ref().map(|place| match place.part {
            Some((lo, hi)) => format!("{}[{hi}:{lo}]", place.names.join("|")),
            None => place.names.join("|"),
        });
        if place.is_some() || self.simple_key(&key.expr) {
            self.value(&key.expr, reads, true);
        } else {
            // What has to be computed is computed by statements in front of the table.
            let mut before = Effect::default();
            self.value(&key.expr, &mut before, false);
            let own = self.fresh(&format!("{}.key", decl.name.name));
            let field = self.field(own.clone(), width.max(1), false, false);
            let access = crate::model::Access {
                field,
                lo: 0,
                hi: width.max(1) - 1,
            };
            before.write(&[access], Written::Computed);
            self.add_to_run(before, key.span);
            reads.read(&[access], true);
            name = Some(own);
        }
        table.keys.push(Key {
            name: name.unwrap_or_else(|| "(a computed key)".to_string()),
            match_kind: key.match_kind.name.to_string(),
            width,
        });
    }

    /// What the crossbar hands over as it is: validity bits, masked fields, casts of them.
    fn simple_key(&mut self, expr: &'a Expr) -> bool {
        if self.constant(expr).is_some() || self.place(expr).is_some() {
            return true;
        }
        match &expr.kind {
            ExprKind::Call { .. } => matches!(
                self.checked.calls.get(&expr.id).map(|call| call.kind),
                Some(p4_check::CallKind::Builtin(p4_check::Builtin::IsValid))
            ),
            ExprKind::Binary(BinOp::BitAnd, a, b) => {
                (self.constant(a).is_some() || self.constant(b).is_some())
                    && self.simple_key(a)
                    && self.simple_key(b)
            }
            ExprKind::Cast(_, inner) | ExprKind::Slice(inner, ..) => self.simple_key(inner),
            _ => false,
        }
    }

    fn property(&mut self, property: &'a TableProperty, table: &mut Table, actions: &[NodeId]) {
        match (&*property.name.name, &property.value) {
            ("entries", PropertyValue::Entries(entries)) if property.is_const => {
                table.const_entries = Some(entries.len() as u64);
            }
            ("size", PropertyValue::Expr(expr)) => {
                table.size = self
                    .constant(expr)
                    .and_then(|value| value.as_int()?.to_u64());
            }
            ("default_action", PropertyValue::Expr(expr)) => {
                let decl = self.checked.action_refs.get(&expr.id);
                let index = decl.and_then(|d| actions.iter().position(|id| *id == d.id));
                table.default = index.and_then(|i| u32::try_from(i).ok());
                table.const_default = property.is_const;
            }
            ("idle_timeout" | "support_timeout", PropertyValue::Expr(expr)) => {
                table.idle_timeout = matches!(self.constant(expr), Some(Value::Bool(true)));
            }
            (_, PropertyValue::Expr(expr)) => {
                table.resources.extend(self.property_resource(expr));
            }
            _ => {}
        }
    }

    pub fn push_unit(
        &mut self,
        kind: UnitKind,
        name: String,
        span: Span,
        reads: Vec<crate::model::Access>,
    ) -> u32 {
        self.spend(1 + self.guards.len() as u64);
        if self.units.len() >= crate::walk::MAX_UNITS {
            self.too_large = true;
        }
        self.units.push(Unit {
            kind,
            name,
            span,
            guards: self.guards.clone(),
            reads,
            actions: Vec::new(),
            table: None,
        });
        self.units.len() as u32 - 1
    }
}

fn keys(property: &TableProperty) -> &[KeyElement] {
    match &property.value {
        PropertyValue::Key(keys) => keys,
        _ => &[],
    }
}
