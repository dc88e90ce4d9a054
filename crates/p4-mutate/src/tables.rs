//! Mistakes in tables: what the control plane does not say.

use crate::edits::Operator;
use crate::walk::Walk;
use p4_syntax::ast::*;

impl<'a> Walk<'a> {
    pub(crate) fn table(&mut self, properties: &'a [TableProperty]) {
        let actions = properties
            .iter()
            .find_map(|property| match &property.value {
                PropertyValue::Actions(actions) => Some(actions.as_slice()),
                _ => None,
            });
        for property in properties {
            match &property.value {
                PropertyValue::Key(keys) => {
                    for key in keys {
                        self.sources(&key.expr);
                        self.expression(&key.expr);
                    }
                }
                PropertyValue::Entries(entries) => entries.iter().for_each(|e| self.entry(e)),
                PropertyValue::Expr(expr) if &*property.name.name == "default_action" => {
                    self.default_action(expr, actions.unwrap_or_default());
                }
                _ => {}
            }
        }
    }

    fn entry(&mut self, entry: &'a Entry) {
        let title = format!("The entry `{}` is left out", self.edits.shown(entry.span));
        self.edits.replace(Operator::Table, entry.span, "", title);
        entry.keyset.iter().for_each(|set| self.expression(set));
        for arg in entry.action.args.iter().flatten() {
            self.expression(&arg.value);
        }
    }

    /// Other actions that need no data.
    fn default_action(&mut self, default: &'a Expr, actions: &'a [ActionRef]) {
        let own = self.edits.text(default.span);
        let own = own.split('(').next().unwrap_or_default().trim();
        for action in actions {
            let name = &action.path.ident.name;
            let params = match self.checked.action_refs.get(&action.id) {
                Some(Decl {
                    kind: DeclKind::Action { params, .. },
                    ..
                }) => params.len(),
                _ => 0,
            };
            if params == 0 && &**name != own {
                let other = format!("{name}()");
                self.edits.becomes(Operator::Table, default.span, &other);
            }
        }
        if let ExprKind::Call { args, .. } = &default.kind {
            args.iter().for_each(|arg| self.expression(&arg.value));
        }
    }
}
