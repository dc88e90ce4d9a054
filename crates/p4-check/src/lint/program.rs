//! Which of an architecture's blocks each parser and control of a program is.

use super::walk;
use crate::types::{Kind, Type};
use crate::{CallKind, Checked, Def};
use p4_syntax::ast::*;
use p4_syntax::HashMap;

/// What a block does in v1model and in TNA; sub-blocks do what the block does that applies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Parser,
    /// Verifies or computes checksums
    Checksum,
    Ingress,
    Egress,
    Deparser,
    /// Applied by blocks of several roles, or by none
    Unknown,
}

pub(super) struct Blocks<'a> {
    roles: HashMap<NodeId, Role>,
    /// The blocks given to the package, in its order
    pub top: Vec<(Role, &'a Decl)>,
    /// The program is one for v1model.
    pub v1model: bool,
    /// The program is one for TNA.
    pub tna: bool,
    /// TNA's second parsers: one, unless pipes or ports have their own
    pub egress_parsers: Vec<&'a Decl>,
}

impl<'a> Blocks<'a> {
    pub fn of(checked: &Checked<'a>) -> Blocks<'a> {
        let mut blocks = Blocks {
            roles: HashMap::default(),
            top: Vec::new(),
            v1model: false,
            tna: false,
            egress_parsers: Vec::new(),
        };
        let Some(main) = checked.main else {
            return blocks;
        };
        let DeclKind::Instance { args, .. } = &main.kind else {
            return blocks;
        };
        blocks.v1model = is_package(checked, main, "V1Switch");
        let kinds = ["Switch", "MultiParserSwitch"];
        blocks.tna = kinds.iter().any(|kind| is_package(checked, main, kind));
        let given = match blocks.tna {
            true => tna_blocks(checked, args),
            false => args.iter().enumerate().collect(),
        };
        for (index, arg) in given {
            if let Some(decl) = block_of(checked, &arg.value) {
                let role = match (blocks.v1model, index) {
                    (true, 1 | 4) => Role::Checksum,
                    (true, 2) => Role::Ingress,
                    (true, 3) => Role::Egress,
                    (true, 5) => Role::Deparser,
                    _ if blocks.tna => match index {
                        1 => Role::Ingress,
                        4 => Role::Egress,
                        2 | 5 => Role::Deparser,
                        _ => Role::Parser,
                    },
                    _ if matches!(decl.kind, DeclKind::Parser { .. }) => Role::Parser,
                    _ => Role::Unknown,
                };
                if blocks.top.iter().any(|(_, known)| known.id == decl.id) {
                    continue; // of several pipelines
                }
                if blocks.tna && index == 3 {
                    blocks.egress_parsers.push(decl);
                }
                blocks.top.push((role, decl));
                blocks.spread(checked, decl, role, 0);
            }
        }
        blocks
    }

    pub fn role(&self, block: &Decl) -> Role {
        match block.kind {
            DeclKind::Parser { .. } => Role::Parser,
            _ => self.roles.get(&block.id).copied().unwrap_or(Role::Unknown),
        }
    }

    fn spread(&mut self, checked: &Checked<'a>, block: &'a Decl, role: Role, depth: u32) {
        const DEEPEST: u32 = 64;
        let role = match self.roles.get(&block.id) {
            Some(known) if *known == role => return,
            Some(_) => Role::Unknown,
            None => role,
        };
        if self.roles.insert(block.id, role) == Some(role) || depth > DEEPEST {
            return;
        }
        for inner in applied_blocks(checked, block) {
            self.spread(checked, inner, role, depth + 1);
        }
    }
}

fn is_package(checked: &Checked<'_>, instance: &Decl, package: &str) -> bool {
    let ty = checked.expr_type(instance.id);
    matches!(ty, Type::Named(Kind::Package, _, name, _) if &**name == package)
}

/// The blocks of all pipelines of TNA's Switch, each with its place in its pipeline; of several
/// parsers for one place, all.
fn tna_blocks<'a>(checked: &Checked<'a>, pipelines: &'a [Arg]) -> Vec<(usize, &'a Arg)> {
    let mut blocks = Vec::new();
    for pipeline in pipelines {
        let args = package_args(checked, &pipeline.value).unwrap_or_default();
        for (index, arg) in args.iter().enumerate() {
            match package_args(checked, &arg.value) {
                Some(parsers) => blocks.extend(parsers.iter().map(|parser| (index, parser))),
                None => blocks.push((index, arg)),
            }
        }
    }
    blocks
}

/// The arguments of a package that an expression makes or names.
fn package_args<'a>(checked: &Checked<'a>, expr: &'a Expr) -> Option<&'a [Arg]> {
    if !matches!(checked.expr_type(expr.id), Type::Named(Kind::Package, ..)) {
        return None;
    }
    if let Some(Def::Instance(decl)) = checked.defs.get(&expr.id) {
        return match &decl.kind {
            DeclKind::Instance { args, .. } => Some(args),
            _ => None,
        };
    }
    match &expr.kind {
        ExprKind::Construct { args, .. } | ExprKind::Call { args, .. } => Some(args),
        _ => None,
    }
}

/// The parser or control that an expression makes or names.
fn block_of<'a>(checked: &Checked<'a>, expr: &Expr) -> Option<&'a Decl> {
    if let Some(Def::Instance(decl)) = checked.defs.get(&expr.id) {
        return match checked.expr_type(decl.id) {
            Type::Named(_, id, ..) => checked.decls.get(id).copied(),
            _ => None,
        };
    }
    match checked.calls.get(&expr.id)?.kind {
        CallKind::Construct(decl) => Some(decl),
        _ => None,
    }
}

fn applied_blocks<'a>(checked: &Checked<'a>, block: &'a Decl) -> Vec<&'a Decl> {
    let mut found = Vec::new();
    walk::expressions_of(block, &mut |expr| {
        if let Some(CallKind::BlockApply(inner) | CallKind::TypeApply(inner)) =
            checked.calls.get(&expr.id).map(|call| call.kind)
        {
            found.push(inner);
        }
    });
    found
}
