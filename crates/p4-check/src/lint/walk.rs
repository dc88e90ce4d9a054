//! Going through the statements and expressions of a program.

use super::program::{Blocks, Role};
use p4_syntax::ast::*;

/// Around a statement or expression.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub role: Role,
    /// The action or function, if it is in one
    pub routine: Option<&'a Decl>,
    pub in_action: bool,
    /// In a method that an instance of an extern implements, such as a RegisterAction's
    pub in_method: bool,
}

const NOWHERE: Place = Place {
    role: Role::Unknown,
    routine: None,
    in_action: false,
    in_method: false,
};

pub(super) enum Node<'a> {
    Decl(&'a Decl),
    Stmt(&'a Stmt),
    Expr(&'a Expr),
    State(&'a State),
}

type Visit<'v, 'a> = dyn FnMut(Node<'a>, Place<'a>) + 'v;

/// Shows every node of the program to `visit`, outer ones first.
pub(super) fn program<'a>(decls: &'a [Decl], blocks: &Blocks<'a>, visit: &mut Visit<'_, 'a>) {
    for decl in decls {
        declaration(decl, NOWHERE, &mut |decl| blocks.role(decl), visit);
    }
}

/// Shows every node of a declaration, outer ones first.
pub(super) fn nodes_of<'a>(decl: &'a Decl, see: &mut dyn FnMut(Node<'a>)) {
    declaration(decl, NOWHERE, &mut |_| Role::Unknown, &mut |node, _| {
        see(node)
    });
}

/// Shows every expression of a declaration.
pub(super) fn expressions_of<'a>(decl: &'a Decl, see: &mut dyn FnMut(&'a Expr)) {
    declaration(decl, NOWHERE, &mut |_| Role::Unknown, &mut only(see));
}

/// Shows every expression of a statement and of the statements in it.
pub(super) fn expressions_in<'a>(stmt: &'a Stmt, see: &mut dyn FnMut(&'a Expr)) {
    statement(stmt, NOWHERE, &mut |_| Role::Unknown, &mut only(see));
}

/// A visitor that looks at expressions alone.
fn only<'s, 'a: 's>(see: &'s mut dyn FnMut(&'a Expr)) -> impl FnMut(Node<'a>, Place<'a>) + 's {
    move |node, _| {
        if let Node::Expr(expr) = node {
            see(expr);
        }
    }
}

type RoleOf<'r, 'a> = dyn FnMut(&'a Decl) -> Role + 'r;

fn declaration<'a>(
    decl: &'a Decl,
    place: Place<'a>,
    roles: &mut RoleOf<'_, 'a>,
    visit: &mut Visit<'_, 'a>,
) {
    visit(Node::Decl(decl), place);
    match &decl.kind {
        DeclKind::Const { value, .. } => expression(value, place, visit),
        DeclKind::Variable {
            init: Some(init), ..
        } => expression(init, place, visit),
        DeclKind::Instance { args, body, .. } => {
            args.iter()
                .for_each(|arg| expression(&arg.value, place, visit));
            let inside = Place {
                in_method: true,
                ..place
            };
            for method in body.iter().flatten() {
                declaration(method, inside, roles, visit);
            }
        }
        DeclKind::Action { body, .. } | DeclKind::Function { body, .. } => {
            let inside = Place {
                routine: Some(decl),
                in_action: matches!(decl.kind, DeclKind::Action { .. }),
                ..place
            };
            block(body, inside, roles, visit);
        }
        DeclKind::Parser { locals, states, .. } => {
            let inside = Place {
                role: roles(decl),
                ..place
            };
            for local in locals {
                declaration(local, inside, roles, visit);
            }
            for state in states {
                visit(Node::State(state), inside);
                for stmt in &state.body {
                    statement(stmt, inside, roles, visit);
                }
                if let Transition::Select { keys, cases, .. } = &state.transition {
                    let values = cases.iter().flat_map(|case| &case.keyset);
                    keys.iter()
                        .chain(values)
                        .for_each(|e| expression(e, inside, visit));
                }
            }
        }
        DeclKind::Control { locals, apply, .. } => {
            let inside = Place {
                role: roles(decl),
                ..place
            };
            for local in locals {
                declaration(local, inside, roles, visit);
            }
            block(apply, inside, roles, visit);
        }
        DeclKind::Table(properties) => {
            for property in properties {
                match &property.value {
                    PropertyValue::Key(keys) => {
                        keys.iter()
                            .for_each(|key| expression(&key.expr, place, visit));
                    }
                    PropertyValue::Actions(actions) => {
                        let args = actions
                            .iter()
                            .flat_map(|action| action.args.iter().flatten());
                        args.for_each(|arg| expression(&arg.value, place, visit));
                    }
                    PropertyValue::Expr(value) => expression(value, place, visit),
                    PropertyValue::Entries(_) => {}
                }
            }
        }
        _ => {}
    }
}

fn block<'a>(
    block: &'a Block,
    place: Place<'a>,
    roles: &mut RoleOf<'_, 'a>,
    visit: &mut Visit<'_, 'a>,
) {
    for stmt in &block.stmts {
        statement(stmt, place, roles, visit);
    }
}

fn statement<'a>(
    stmt: &'a Stmt,
    place: Place<'a>,
    roles: &mut RoleOf<'_, 'a>,
    visit: &mut Visit<'_, 'a>,
) {
    visit(Node::Stmt(stmt), place);
    match &stmt.kind {
        StmtKind::Decl(decl) => declaration(decl, place, roles, visit),
        StmtKind::Call(call) => expression(call, place, visit),
        StmtKind::Assign { lhs, rhs } | StmtKind::AssignOp { lhs, rhs, .. } => {
            expression(lhs, place, visit);
            expression(rhs, place, visit);
        }
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            expression(cond, place, visit);
            statement(then, place, roles, visit);
            if let Some(otherwise) = otherwise {
                statement(otherwise, place, roles, visit);
            }
        }
        StmtKind::Switch { value, cases } => {
            expression(value, place, visit);
            for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                block(body, place, roles, visit);
            }
        }
        StmtKind::For {
            init,
            cond,
            update,
            body,
        } => {
            expression(cond, place, visit);
            for stmt in init.iter().chain(update) {
                statement(stmt, place, roles, visit);
            }
            statement(body, place, roles, visit);
        }
        StmtKind::ForIn { range, body, .. } => {
            expression(range, place, visit);
            statement(body, place, roles, visit);
        }
        StmtKind::Return(Some(value)) => expression(value, place, visit),
        StmtKind::Block(inner) => block(inner, place, roles, visit),
        StmtKind::Empty
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(None)
        | StmtKind::Exit => {}
    }
}

fn expression<'a>(expr: &'a Expr, place: Place<'a>, visit: &mut Visit<'_, 'a>) {
    visit(Node::Expr(expr), place);
    for child in expr.children() {
        expression(child, place, visit);
    }
}

/// The `reject` that a transition names, if it does.
pub(super) fn reject_in(transition: &Transition) -> Option<&Ident> {
    let rejects = |name: &&Ident| &*name.name == "reject";
    match transition {
        Transition::Missing(_) => None,
        Transition::Direct(next) => Some(next).filter(rejects),
        Transition::Select { cases, .. } => cases.iter().map(|c| &c.next).find(rejects),
    }
}
