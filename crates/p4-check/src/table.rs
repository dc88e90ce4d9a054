//! Tables (specification 14.2).

use crate::entries::EntryList;
use crate::table_actions::{Listed, Named};
use crate::types::{Kind, Type};
use crate::{Checker, Def};
use num_traits::Signed;
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;
use p4_syntax::HashMap;

/// Externs with cells of their own, and those whose cells are a table's, as v1model and TNA have them
const CELLS: [&str; 6] = [
    "counter", "meter", "register", "Counter", "Meter", "Register",
];
const DIRECT: [&str; 5] = [
    "direct_counter",
    "direct_meter",
    "DirectCounter",
    "DirectMeter",
    "DirectRegister",
];

/// Properties of the language and of v1model
const PROPERTIES: [&str; 11] = [
    "key",
    "actions",
    "entries",
    "default_action",
    "size",
    "largest_priority_wins",
    "priority_delta",
    "implementation",
    "counters",
    "meters",
    "support_timeout",
];

/// Those that only TNA has, and how those of PSA and PNA begin
const OF_TNA: [&str; 7] = [
    "registers",
    "filters",
    "idle_timeout",
    "proxy_hash",
    "alpm",
    "atcam",
    "requires_versioning",
];
const OF_OTHERS: [&str; 5] = [
    "psa_",
    "pna_",
    "add_on_miss",
    "default_idle",
    "idle_timeout_",
];

impl<'a> Checker<'a> {
    pub(crate) fn table(&mut self, decl: &'a Decl, properties: &'a [TableProperty]) {
        self.out.decls.insert(decl.id, decl);
        let mut seen: HashMap<&Name, Span> = HashMap::default();
        for property in properties {
            self.known_property(&property.name);
            if let Some(first) = seen.insert(&property.name.name, property.name.span) {
                self.report(
                    Diagnostic::error(
                        "E0406",
                        property.name.span,
                        format!("the property `{}` is given twice", property.name.name),
                    )
                    .label(first, "first given here"),
                );
            }
        }
        self.annotations(&decl.annotations);
        // Declared before its properties, so that its own name means itself in its key.
        self.declare(&decl.name, Def::Table(decl));
        let outer = self.context.clone();
        self.context.in_table = Some(decl.id);
        self.table_properties(decl, properties);
        self.context = outer;
    }

    fn table_properties(&mut self, decl: &'a Decl, properties: &'a [TableProperty]) {
        self.property_order(properties);
        let keys: &'a [KeyElement] = properties
            .iter()
            .find_map(|p| match &p.value {
                PropertyValue::Key(elements) => Some(elements.as_slice()),
                _ => None,
            })
            .unwrap_or_default();
        let key_types: Vec<Type> = keys.iter().map(|key| self.key_element(key)).collect();
        let has_default = properties.iter().any(|p| &*p.name.name == "default_action");
        let mut has_actions = false;
        for property in properties {
            if let PropertyValue::Actions(actions) = &property.value {
                has_actions = true;
                self.action_list(actions);
            }
        }
        if !has_actions {
            self.report(
                Diagnostic::error(
                    "E0407",
                    decl.name.span,
                    format!("the table `{}` has no `actions`", decl.name.name),
                )
                .hint("list what the table can do, as in `actions = { forward; drop; }`"),
            );
        }
        if !has_default {
            self.implied_default(decl);
        }
        let listed = self.actions_in(properties);
        for property in properties {
            match &property.value {
                PropertyValue::Entries(entries) => {
                    if keys.is_empty() && !entries.is_empty() {
                        self.entries_without_key(decl, property);
                        continue;
                    }
                    for entry in entries {
                        self.entry(entry, &key_types, &listed);
                    }
                    self.entry_list(&EntryList {
                        table: decl,
                        entries,
                        keys,
                        properties,
                        is_const: property.is_const,
                        span: property.name.span,
                    });
                }
                PropertyValue::Expr(value) if &*property.name.name == "default_action" => {
                    self.default_action(value, &listed);
                }
                PropertyValue::Expr(value) => self.property_value(property, value),
                _ => {}
            }
        }
    }

    fn entries_without_key(&mut self, decl: &'a Decl, entries: &'a TableProperty) {
        self.report(
            Diagnostic::error(
                "E0408",
                decl.name.span,
                format!(
                    "the table `{}` has no key, so it has no entries",
                    decl.name.name
                ),
            )
            .label(entries.name.span, "these entries"),
        );
    }

    /// A table without `default_action` does `NoAction`, which must be there.
    fn implied_default(&mut self, decl: &'a Decl) {
        let name = Path {
            absolute: true,
            ident: Ident {
                name: "NoAction".into(),
                span: decl.name.span,
            },
        };
        let found = self.resolve_quietly(&name);
        let problem = match found {
            Some(Def::Action(action)) => match &action.kind {
                DeclKind::Action { params, .. } if params.is_empty() => return,
                _ => "has parameters here",
            },
            Some(_) => "is not an action here",
            None => "is not declared",
        };
        let mut diagnostic = Diagnostic::error(
            "E0414",
            decl.name.span,
            format!(
                "the table `{}` has no `default_action`, so it does `NoAction`, which {problem}",
                decl.name.name
            ),
        )
        .hint("add `#include <core.p4>`, which declares it, or give a `default_action`");
        if let Some(found) = found {
            diagnostic = diagnostic.label(found.span(), "declared here");
        }
        self.report(diagnostic);
    }

    /// `key` before `entries`, `actions` before `default_action`: what is referred to comes first.
    fn property_order(&mut self, properties: &'a [TableProperty]) {
        let place = |name: &str| properties.iter().position(|p| &*p.name.name == name);
        for (first, second) in [("key", "entries"), ("actions", "default_action")] {
            if let (Some(a), Some(b)) = (place(first), place(second)) {
                if b < a {
                    self.report(
                        Diagnostic::error(
                            "E0416",
                            properties[b].name.span,
                            format!("`{second}` must come after `{first}`"),
                        )
                        .label(properties[a].name.span, format!("`{first}` is here")),
                    );
                }
            }
        }
    }

    /// What no architecture knows does nothing, and is most often a slip.
    fn known_property(&mut self, property: &Ident) {
        let name = &*property.name;
        let known = || PROPERTIES.iter().chain(&OF_TNA);
        if known().any(|one| *one == name) || OF_OTHERS.iter().any(|own| name.starts_with(own)) {
            return;
        }
        let distance = |known: &&&str| p4_syntax::edit_distance(known, name);
        let near = known().min_by_key(distance);
        let hint = match near.filter(|known| distance(known) <= name.len() / 3) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", PROPERTIES.join(", ")),
        };
        self.report(
            Diagnostic::warning(
                "W0427",
                property.span,
                format!("a table has no property `{name}`: it does nothing"),
            )
            .hint(hint),
        );
    }

    fn property_value(&mut self, property: &'a TableProperty, value: &'a Expr) {
        let ty = self.value_expr(value);
        if ty == Type::Unknown {
            return;
        }
        let name = &*property.name.name;
        let attached = match &ty {
            Type::Named(Kind::Extern, _, name, _) => Some(&**name),
            _ => None,
        };
        let is_cells = attached.is_some_and(|name| CELLS.contains(&name));
        let wanted = match name {
            "counters" if attached.is_none() => Some("a direct counter"),
            "meters" if attached.is_none() || is_cells => Some("a direct meter"),
            "implementation" if attached.is_none_or(|name| is_cells || DIRECT.contains(&name)) => {
                Some("an action profile or an action selector")
            }
            "support_timeout" | "idle_timeout" if ty != Type::Bool => Some("a bool"),
            "size" if !ty.is_numeric() => Some("a number"),
            "largest_priority_wins" if ty != Type::Bool => Some("a bool"),
            "priority_delta" if !ty.is_numeric() => Some("a number"),
            _ => None,
        };
        if let Some(wanted) = wanted {
            let message = format!("the property `{name}` takes {wanted}, not {ty}");
            let hint = match wanted {
                "a number" => "write a constant number",
                "a bool" => "write `true` or `false`",
                _ => "declare one above the table, and name it here",
            };
            return self.report(Diagnostic::error("E0424", value.span, message).hint(hint));
        }
        let constant = self.const_value(value);
        let number = constant.as_ref().and_then(|v| v.as_int());
        if name == "priority_delta" && number.is_some_and(|v| !v.is_positive()) {
            self.error(
                "E0424",
                value.span,
                "`priority_delta` must be more than zero",
            );
        }
        if name == "size" && number.is_some_and(|v| v.is_negative()) {
            self.error(
                "E0424",
                value.span,
                "the size of a table cannot be negative",
            );
        }
        if constant.is_none() && (ty.is_numeric() || ty == Type::Bool) {
            self.require_constant(value, "the value of a table property");
        }
    }

    fn key_element(&mut self, element: &'a KeyElement) -> Type {
        let ty = self.value_expr(&element.expr);
        let base = self.out.underlying(&ty);
        let plain = matches!(
            base,
            Type::Bit(_)
                | Type::Signed(_)
                | Type::Bool
                | Type::Error
                | Type::Unknown
                | Type::Param(..)
                | Type::Named(Kind::Enum, ..)
        );
        if !plain {
            let mut diagnostic = Diagnostic::error(
                "E0409",
                element.expr.span,
                format!("a table cannot match on {}", crate::coerce::article(&ty)),
            );
            if base == Type::Int {
                diagnostic = diagnostic.hint("give the number a width, as in `8w1`");
            } else if matches!(base, Type::Named(Kind::Header | Kind::Struct, ..)) {
                diagnostic = diagnostic.hint("match on its fields, one by one");
            }
            self.report(diagnostic);
        } else if matches!(&*element.match_kind.name, "lpm" | "range")
            && !base.is_numeric()
            && !matches!(base, Type::Unknown | Type::Param(..))
        {
            self.report(
                Diagnostic::error(
                    "E0409",
                    element.expr.span,
                    format!(
                        "`{}` needs a number, but this is {}",
                        element.match_kind.name,
                        crate::coerce::article(&ty)
                    ),
                )
                .hint("match it as `exact`"),
            );
        }
        self.key_name(element);
        if !self.match_kinds.contains(&element.match_kind.name) {
            let name = &element.match_kind.name;
            let mut diagnostic = Diagnostic::error(
                "E0410",
                element.match_kind.span,
                format!("there is no match kind `{name}`"),
            );
            let near = self
                .match_kinds
                .iter()
                .min_by_key(|k| p4_syntax::edit_distance(k, name))
                .cloned();
            let kinds: Vec<String> = self.match_kinds.iter().map(|k| k.to_string()).collect();
            diagnostic = match near {
                Some(near) if p4_syntax::edit_distance(&near, name) <= 2 => {
                    diagnostic.hint(format!("did you mean `{near}`?"))
                }
                _ if kinds.is_empty() => {
                    diagnostic.hint("match kinds are declared in core.p4: add `#include <core.p4>`")
                }
                _ => diagnostic.hint(format!("there are {}", kinds.join(", "))),
            };
            self.report(diagnostic);
        }
        ty
    }

    /// The control plane needs a name for every part of the key.
    fn key_name(&mut self, element: &'a KeyElement) {
        self.annotations(&element.annotations);
        let named = element.annotations.iter().any(|a| &*a.name.name == "name");
        if !named && !self.names_itself(&element.expr) {
            self.report(
                Diagnostic::error(
                    "E0418",
                    element.expr.span,
                    "the control plane has no name for this part of the key",
                )
                .hint("give it one: `expression : exact @name(\"sum\");`"),
            );
        }
    }

    /// Whether what is written can serve as a name: `hdr.ipv4.ttl`, `h[1].x[7:0]`, `h.isValid()`,
    /// `hdr.ipv4.dst & 0xff`.
    fn names_itself(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Path(_) | ExprKind::This | ExprKind::Int { .. } | ExprKind::Bool(_) => true,
            ExprKind::Error => true,
            ExprKind::Member(base, _) | ExprKind::Slice(base, ..) => self.names_itself(base),
            ExprKind::TypeMember(..) => true,
            ExprKind::Index(base, index) => self.names_itself(base) && self.names_itself(index),
            ExprKind::Call { func, args, .. } => {
                args.is_empty()
                    && matches!(&func.kind, ExprKind::Member(base, method)
                        if &*method.name == "isValid" && self.names_itself(base))
            }
            // 18.3.1 has masks behind fields; p4c takes them in front, too, and fields as masks.
            ExprKind::Binary(BinOp::BitAnd, a, b) => {
                let part = |e: &Expr| self.names_itself(e) || self.out.eval(e, &|_| None).is_some();
                part(a) && part(b)
            }
            _ => false,
        }
    }

    fn entry(&mut self, entry: &'a Entry, key_types: &[Type], listed: &[Listed<'a>]) {
        if let Some(priority) = &entry.priority {
            self.value_expr(priority);
            if self.const_value(priority).is_none() {
                self.require_constant(priority, "the priority of an entry");
            }
        }
        self.keyset(&entry.keyset, key_types, entry.span);
        if let Some(decl) = self.action_named(&entry.action) {
            let args = entry.action.args.as_deref().unwrap_or(&[]);
            self.action_place(
                entry.span,
                decl,
                listed,
                "defaultonly",
                "action of an entry",
            );
            self.action_with_data(Named::of(&entry.action), decl, args, listed);
        }
    }
}
