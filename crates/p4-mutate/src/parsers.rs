//! Mistakes in the states of a parser.

use crate::edits::Operator;
use crate::walk::Walk;
use p4_syntax::ast::*;

impl<'a> Walk<'a> {
    pub(crate) fn state(&mut self, state: &'a State) {
        let depth = self.scope.len();
        self.statements(&state.body);
        match &state.transition {
            Transition::Missing(_) => {}
            Transition::Direct(next) => {
                if &*next.name != "accept" {
                    self.edits.becomes(Operator::Case, next.span, "accept");
                }
            }
            Transition::Select { keys, cases, .. } => {
                keys.iter().for_each(|key| self.value(key));
                self.select(cases);
            }
        }
        self.scope.truncate(depth);
    }

    fn select(&mut self, cases: &'a [SelectCase]) {
        for case in cases {
            let title = format!("The case `{}` is left out", self.edits.shown(case.span));
            self.edits.replace(Operator::Case, case.span, "", title);
            case.keyset.iter().for_each(|set| self.expression(set));
        }
        for pair in cases.windows(2) {
            let next: [&str; 2] = [&pair[0].next.name, &pair[1].next.name];
            self.edits
                .becomes(Operator::Case, pair[0].next.span, next[1]);
            self.edits
                .becomes(Operator::Case, pair[1].next.span, next[0]);
        }
    }
}
