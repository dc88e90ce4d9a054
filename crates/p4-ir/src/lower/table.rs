//! Tables and value sets.

use super::{InstanceRef, Lowerer};
use crate::ir::*;
use num_bigint::BigInt;
use p4_check::value::Value;
use p4_syntax::ast::Name;
use p4_syntax::ast::{
    ActionRef, Decl, DeclKind, Entry, Expr, ExprKind, KeyElement, NodeId, PropertyValue,
    TableProperty, TypeRef,
};

impl<'a> Lowerer<'a, '_> {
    /// Declares a table; its key is evaluated where it is applied.
    pub(super) fn table(&mut self, decl: &'a Decl, properties: &'a [TableProperty]) {
        if self.env.tables.contains_key(&decl.id) {
            return;
        }
        let keys = self.keys(properties);
        let key_words: u32 = keys.iter().map(|k| words(k.place.width)).sum();
        let in_place = self.key_in_place(properties);
        let key = match in_place {
            Some(slot) => slot,
            None => self.alloc(key_words.max(1)),
        };
        let keys = place_keys(keys, key);
        let (hit, chosen) = (self.alloc(1), self.alloc(1));
        let mut table = Table {
            name: self.control_name(decl),
            span: decl.name.span,
            keys,
            key,
            key_words,
            actions: Vec::new(),
            default: ActionCall::default(),
            const_default: false,
            entries: Vec::new(),
            const_entries: false,
            largest_priority_wins: true,
            size: None,
            hit,
            chosen,
            instances: Vec::new(),
            properties: Vec::new(),
            annotations: super::annotations(&decl.annotations),
        };
        // By declaration, for entries and switch labels: the position in the table's list
        let mut positions: Vec<NodeId> = Vec::new();
        let mut may_exit = false;
        for property in properties {
            if let PropertyValue::Actions(actions) = &property.value {
                for action in actions {
                    if let Some((id, entry, exits)) = self.listed_action(action) {
                        positions.push(id);
                        table.actions.push(entry);
                        may_exit |= exits;
                    }
                }
            }
        }
        self.default_action(&mut table, &mut positions, properties);
        for property in properties {
            self.property(&mut table, &positions, property);
        }
        self.annotated_priorities(&mut table, properties);
        let id = self.program.tables.len() as TableId;
        self.program.tables.push(table);
        self.table_actions.insert(id, positions);
        if in_place.is_some() {
            self.keys_in_place.insert(id);
        }
        if may_exit {
            self.exiting_tables.insert(id);
        }
        self.env.tables.insert(decl.id, id);
    }

    fn keys(&mut self, properties: &'a [TableProperty]) -> Vec<Key> {
        let mut keys = Vec::new();
        for element in key_elements(properties) {
            let ty = self.target_type(&element.expr);
            let (width, kind) = self.scalar(&ty).unwrap_or((0, ValueKind::Bit));
            let name = self
                .annotated(&element.annotations, "name")
                .unwrap_or_else(|| self.key_text(&element.expr).into());
            let match_kind = element.match_kind.name.clone();
            keys.push(Key {
                name,
                compared: self.compared(&element.expr, &match_kind, width),
                match_kind,
                place: Place {
                    slot: 0,
                    width,
                    kind,
                },
                span: element.span,
                annotations: super::annotations(&element.annotations),
            });
        }
        keys
    }

    /// The first word of the key, if its parts lie one after the other at fixed places, so that it
    /// need not be put together.
    fn key_in_place(&mut self, properties: &'a [TableProperty]) -> Option<Slot> {
        if self.binding.as_bmv2() {
            return None;
        }
        let mut all: Option<(Slot, Slot)> = None;
        for element in key_elements(properties) {
            if self.checked.coercions.contains_key(&element.expr.id) {
                return None;
            }
            let ty = self.type_of(&element.expr);
            let (width, kind) = self.scalar(&ty)?;
            let (from, to) = self.fixed_words(&element.expr)?;
            if kind == ValueKind::Varbit || to - from != words(width) {
                return None;
            }
            all = match all {
                None => Some((from, to)),
                Some((first, next)) if next == from => Some((first, to)),
                Some(_) => return None,
            };
        }
        all.map(|(first, _)| first)
    }

    fn listed_action(&mut self, action: &'a ActionRef) -> Option<(NodeId, TableAction, bool)> {
        let decl = self.checked.action_refs.get(&action.id).copied()?;
        let routine = self.action_routine(decl);
        let args = action.args.as_deref().unwrap_or(&[]);
        let order = self
            .checked
            .action_args
            .get(&action.id)
            .cloned()
            .unwrap_or_default();
        let (id, may_exit) = self.bound_action(&routine, &order, args);
        let has = |name: &str| action.annotations.iter().any(|a| &*a.name.name == name);
        let entry = TableAction {
            action: id,
            default_only: has("defaultonly"),
            table_only: has("tableonly"),
        };
        Some((decl.id, entry, may_exit))
    }

    /// The default action: as given, else `NoAction`.
    fn default_action(
        &mut self,
        table: &mut Table,
        positions: &mut Vec<NodeId>,
        properties: &'a [TableProperty],
    ) {
        let given = properties
            .iter()
            .find(|p| &*p.name.name == "default_action");
        if let Some(TableProperty {
            value: PropertyValue::Expr(expr),
            is_const,
            ..
        }) = given
        {
            table.const_default = *is_const;
            let args = match &expr.kind {
                ExprKind::Call { args, .. } => args.as_slice(),
                _ => &[],
            };
            if let Some(call) = self.action_call(positions, (expr.id, expr.span), args) {
                table.default = call;
            }
            return;
        }
        let declared = self
            .checked
            .program
            .decls
            .iter()
            .find(|d| &*d.name.name == "NoAction" && matches!(d.kind, DeclKind::Action { .. }));
        let id = declared.map_or(NodeId(u32::MAX), |d| d.id);
        let position = positions.iter().position(|p| *p == id).unwrap_or_else(|| {
            let action = match declared {
                Some(decl) => self.action_routine(decl).id,
                None => {
                    let entry = self.routine(|_| {});
                    let name = "NoAction".into();
                    self.program.actions.push(Action {
                        name,
                        span: table.span,
                        params: Vec::new(),
                        entry,
                        annotations: Vec::new(),
                    });
                    self.program.actions.len() as ActionId - 1
                }
            };
            table.actions.push(TableAction {
                action,
                default_only: true,
                table_only: false,
            });
            positions.push(id);
            positions.len() - 1
        });
        table.default = ActionCall {
            action: position as u32,
            data: Vec::new(),
        };
    }

    fn property(&mut self, table: &mut Table, positions: &[NodeId], property: &'a TableProperty) {
        match &property.value {
            PropertyValue::Entries(entries) => {
                table.const_entries = property.is_const;
                for entry in entries {
                    self.entry(table, positions, entry);
                }
            }
            PropertyValue::Expr(value) => match &*property.name.name {
                "default_action" => {}
                "size" => {
                    table.size = self
                        .eval(value)
                        .and_then(|v| v.as_int().and_then(|v| u64::try_from(v).ok()))
                }
                "largest_priority_wins" => {
                    table.largest_priority_wins = self.eval(value) != Some(Value::Bool(false));
                }
                name => {
                    if let Some(id) = self.property_instance(value) {
                        table.instances.push((name.into(), id));
                    } else if let Some(arg) = self.eval(value).and_then(|v| const_arg(&v)) {
                        table.properties.push((name.into(), arg));
                    }
                }
            },
            _ => {}
        }
    }

    /// An extern instance given to a property, by name or made on the spot.
    fn property_instance(&mut self, value: &'a Expr) -> Option<InstanceId> {
        match self.instance_of(value) {
            Some(InstanceRef::Extern(id)) => Some(id),
            Some(InstanceRef::Block(_)) => None,
            None => match self.construct(value, &self.env.prefix.clone(), None)? {
                InstanceRef::Extern(id) => Some(id),
                InstanceRef::Block(_) => None,
            },
        }
    }

    /// `t.apply()`
    pub(super) fn apply_table(&mut self, decl: &'a Decl) {
        let Some(id) = self.env.tables.get(&decl.id).copied() else {
            return self.refuse(
                "E0603",
                decl.name.span,
                "this table is not part of the control that applies it",
            );
        };
        let DeclKind::Table(properties) = &decl.kind else {
            return;
        };
        let put_together = !self.keys_in_place.contains(&id);
        let parts = key_elements(properties).enumerate();
        for (i, element) in parts.filter(|_| put_together) {
            let place = self.program.tables[id as usize].keys[i].place;
            let (s, n) = (self.value(&element.expr), words(place.width));
            match self.zero_unless(&element.expr) {
                Some(c) => {
                    let (d, n) = (place.slot, n as u16);
                    self.emit(Op::Zero { d, n: n.into() });
                    self.emit(Op::MovNIf { d, s, c, n });
                }
                None => self.move_words(place.slot, s, n),
            }
        }
        self.emit(Op::Apply { table: id });
        if self.exiting_tables.contains(&id) {
            self.leave_on_exit();
        }
    }

    /// Which of the table's actions a switch label names.
    pub(super) fn action_position(&self, table: TableId, label: &'a Expr) -> Option<u64> {
        let id = match self.checked.defs.get(&label.id)? {
            p4_check::Def::Action(decl) => decl.id,
            _ => return None,
        };
        let positions = self.table_actions.get(&table)?;
        let found = positions.iter().position(|p| *p == id)?;
        Some(found as u64)
    }

    pub(super) fn value_set(&mut self, decl: &'a Decl, element: &'a TypeRef, size: &'a Expr) {
        let ty = self.type_ref(element);
        let leaves = self.leaves(&ty);
        let annotations = |name: &str| -> Vec<Annotation> {
            let fields = self.checked.fields_of(&ty).unwrap_or_default();
            fields
                .iter()
                .find(|(n, ..)| &**n == name)
                .map(|(.., list)| super::annotations(list))
                .unwrap_or_default()
        };
        let fields = leaves
            .iter()
            .filter(|l| l.kind != ValueKind::Valid)
            .map(|l| {
                let annotations = annotations(&l.name);
                let match_kind = annotations
                    .iter()
                    .find(|a| &*a.name == "match")
                    .map_or("exact".into(), |a| a.body.clone());
                Key {
                    name: l.name.as_str().into(),
                    match_kind,
                    place: Place {
                        slot: l.offset,
                        width: l.width,
                        kind: l.kind,
                    },
                    compared: Compared::default(),
                    span: decl.name.span,
                    annotations,
                }
            })
            .collect();
        let size = self
            .eval(size)
            .and_then(|v| v.as_int().and_then(|v| u64::try_from(v).ok()))
            .unwrap_or(0);
        let id = self.program.value_sets.len() as u32;
        let name = self.control_name(decl);
        self.program.value_sets.push(ValueSet {
            name,
            size,
            fields,
            span: decl.name.span,
        });
        self.env.value_sets.insert(decl.id, id);
    }
}

fn key_elements(properties: &[TableProperty]) -> impl Iterator<Item = &KeyElement> {
    properties.iter().flat_map(|p| match &p.value {
        PropertyValue::Key(elements) => elements.as_slice(),
        _ => &[],
    })
}

fn place_keys(mut keys: Vec<Key>, first: Slot) -> Vec<Key> {
    let mut slot = first;
    for key in &mut keys {
        key.place.slot = slot;
        slot += words(key.place.width);
    }
    keys
}

/// A compile-time value as an argument for architectures.
pub(super) fn const_arg(value: &Value) -> Option<ConstArg> {
    Some(match value {
        Value::Int(v) | Value::Bits { value: v, .. } => ConstArg::Int(v.clone()),
        Value::Bool(b) => ConstArg::Bool(*b),
        Value::String(text) => ConstArg::String(text.clone()),
        Value::Error(name) | Value::MatchKind(name) | Value::Enum { member: name, .. } => {
            ConstArg::Member(name.clone())
        }
        Value::List(items) => ConstArg::List(items.iter().map(const_arg).collect::<Option<_>>()?),
        Value::InvalidHeader => return None,
    })
}

impl Lowerer<'_, '_> {
    /// `@priority(n)` on const entries, from before entries could have priorities of their own: the
    /// smallest number wins, and an entry without has the number of its place, from 1.
    fn annotated_priorities(&self, table: &mut Table, properties: &[TableProperty]) {
        let entries = properties.iter().flat_map(|p| match &p.value {
            PropertyValue::Entries(entries) => entries.as_slice(),
            _ => &[],
        });
        let number = |entry: &Entry| -> Option<u64> {
            self.annotated(&entry.annotations, "priority")?.parse().ok()
        };
        let numbers: Vec<Option<u64>> = entries.map(number).collect();
        let own = table.entries.iter().any(|entry| entry.priority.is_some());
        if own || !table.const_entries || numbers.iter().all(Option::is_none) {
            return;
        }
        table.largest_priority_wins = false;
        for ((entry, number), place) in table.entries.iter_mut().zip(numbers).zip(1..) {
            entry.priority = Some(number.unwrap_or(place));
        }
    }

    /// A key without `@name`, as text: what the program says, but for fields that have an `@name`.
    fn key_text(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Path(path) => path.ident.name.to_string(),
            ExprKind::Member(base, member) => {
                let field = self.field_name(base, &member.name);
                match field.strip_prefix('.') {
                    Some(absolute) => absolute.to_string(),
                    None => format!("{}.{field}", self.key_text(base)),
                }
            }
            ExprKind::Index(base, index) => {
                format!("{}[{}]", self.key_text(base), self.key_text(index))
            }
            ExprKind::Slice(base, hi, lo) => {
                let (hi, lo) = (self.key_text(hi), self.key_text(lo));
                format!("{}[{hi}:{lo}]", self.key_text(base))
            }
            ExprKind::Int { value, .. } => BigInt::to_string(value),
            ExprKind::Call { func, .. } => match &func.kind {
                ExprKind::Member(base, member) if &*member.name == "isValid" => {
                    format!("{}.$valid$", self.key_text(base))
                }
                _ => format!("{}()", self.key_text(func)),
            },
            ExprKind::Binary(op, a, b) => format!(
                "{} {} {}",
                self.key_text(a),
                p4_check::operator_symbol(*op),
                self.key_text(b)
            ),
            ExprKind::Cast(_, operand) => self.key_text(operand),
            _ => "key".into(),
        }
    }

    /// The `@name` of a field, or its own.
    fn field_name(&self, base: &Expr, member: &Name) -> Name {
        let fields = self.checked.fields_of(&self.type_of(base));
        let field = fields.iter().flatten().find(|(name, ..)| name == member);
        field
            .and_then(|(.., annotations)| self.annotated(annotations, "name"))
            .unwrap_or_else(|| member.clone())
    }
}
