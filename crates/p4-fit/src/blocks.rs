//! The package: which controls are ingress and egress, and what is around them.

use crate::model::{Graph, Gress, Pipe};
use crate::places::Place;
use crate::reads::Effect;
use crate::walk::{Bound, Walk, MAX_UNITS};
use p4_check::types::{Kind, Type};
use p4_check::{CallInfo, CallKind, Checked, Def};
use p4_syntax::ast::*;
use std::collections::BTreeSet;

/// An instance that a package is given.
#[derive(Clone)]
struct Made<'a> {
    name: String,
    decl: &'a Decl,
    info: CallInfo<'a>,
    args: &'a [Arg],
}

/// Parser, control and deparser of one direction.
struct Way<'a> {
    ingress: bool,
    parser: Option<Made<'a>>,
    control: Made<'a>,
    deparser: Option<Made<'a>>,
    /// The control's parameter that each of the deparser's is
    deparser_params: [usize; 4],
}

pub(crate) fn graph(checked: &Checked<'_>) -> Result<Graph, String> {
    let main = checked
        .main
        .ok_or("The program has no `main`, so there is nothing to place.")?;
    let Type::Named(Kind::Package, _, package, _) = checked.expr_type(main.id) else {
        return Err("`main` is not a package.".to_string());
    };
    let whole = made_by(checked, main).ok_or("`main` is not made with arguments.")?;
    let parts = parts(checked, &whole);
    match &**package {
        "Switch" => {
            let pipes: Result<Vec<Pipe>, String> = parts
                .iter()
                .flatten()
                .map(|pipe| tna_pipe(checked, pipe))
                .collect();
            Ok(Graph {
                architecture: "tna",
                pipes: pipes?,
            })
        }
        "V1Switch" => Ok(Graph {
            architecture: "v1model",
            pipes: vec![v1model_pipe(checked, &parts)?],
        }),
        other => Err(format!(
            "The package `{other}` is none of a switching chip; `Switch` of TNA and `V1Switch` of v1model are."
        )),
    }
}

fn tna_pipe<'a>(checked: &Checked<'a>, pipe: &Made<'a>) -> Result<Pipe, String> {
    let inner = parts(checked, pipe);
    let part = |i: usize| inner.get(i).cloned().flatten();
    let mut gresses = Vec::new();
    for (ingress, first) in [(true, 0), (false, 3)] {
        let control = part(first + 1).ok_or("A pipeline lacks one of its two controls.")?;
        let way = Way {
            ingress,
            parser: part(first),
            control,
            deparser: part(first + 2),
            deparser_params: [0, 1, 4, 2],
        };
        gresses.push(gress(checked, way)?);
    }
    Ok(Pipe {
        name: pipe.name.clone(),
        gresses,
    })
}

fn v1model_pipe<'a>(checked: &Checked<'a>, parts: &[Option<Made<'a>>]) -> Result<Pipe, String> {
    let part = |i: usize| parts.get(i).cloned().flatten();
    let mut gresses = Vec::new();
    for (ingress, at) in [(true, 2), (false, 3)] {
        let control = part(at).ok_or("The switch lacks one of its two controls.")?;
        let way = Way {
            ingress,
            parser: part(0).filter(|_| ingress),
            control,
            deparser: part(5),
            deparser_params: [0, 1, 2, 2],
        };
        gresses.push(gress(checked, way)?);
    }
    Ok(Pipe {
        name: "main".to_string(),
        gresses,
    })
}

fn gress<'a>(checked: &Checked<'a>, way: Way<'a>) -> Result<Gress, String> {
    let mut walk = Walk::new(checked);
    let made = &way.control;
    let DeclKind::Control {
        proto,
        locals,
        apply,
        ctor_params,
    } = &made.decl.kind
    else {
        return Err(format!("`{}` is not a control.", made.decl.name.name));
    };
    walk.construct(made.decl, ctor_params, &made.info, made.args, String::new());
    let mut roots = Vec::new();
    for (i, param) in proto.params.iter().enumerate() {
        let ty = walk.concrete(checked.type_ref(param.ty.id));
        let name = walk.fresh(&param.name.name);
        let place = Place::root(name, ty, i >= 2);
        walk.env.bound.insert(param.id, Bound::Place(place.clone()));
        roots.push(place);
    }
    walk.control(locals, apply);
    walk.flush();
    let parsed = around(&mut walk, way.parser.as_ref(), &[0, 1, 2, 3], &roots, true);
    let deparsed = around(
        &mut walk,
        way.deparser.as_ref(),
        &way.deparser_params,
        &roots,
        false,
    );
    if walk.too_large {
        return Err(format!(
            "`{}` is too large for this estimate, which follows at most {MAX_UNITS} tables, conditions and statements.",
            made.decl.name.name
        ));
    }
    Ok(Gress {
        ingress: way.ingress,
        control: made.decl.name.name.to_string(),
        span: made.decl.name.span,
        fields: walk.fields,
        units: walk.units,
        resources: walk.resources,
        parsed,
        deparsed,
        notes: walk.notes,
    })
}

/// The fields that a parser writes, or that a deparser reads. Parameters behind the packet are those
/// of the control, by position.
fn around<'a>(
    walk: &mut Walk<'_, 'a>,
    made: Option<&Made<'a>>,
    positions: &[usize],
    roots: &[Place],
    writes: bool,
) -> Vec<u32> {
    let Some(made) = made else {
        return Vec::new();
    };
    let (DeclKind::Parser {
        proto, ctor_params, ..
    }
    | DeclKind::Control {
        proto, ctor_params, ..
    }) = &made.decl.kind
    else {
        return Vec::new();
    };
    walk.construct(made.decl, ctor_params, &made.info, made.args, String::new());
    for (param, position) in proto.params.iter().skip(1).zip(positions) {
        if let Some(place) = roots.get(*position) {
            walk.env.bound.insert(param.id, Bound::Place(place.clone()));
        }
    }
    let mut effect = Effect::default();
    match &made.decl.kind {
        DeclKind::Parser { states, .. } => {
            for state in states {
                walk.body(&state.body, &mut effect);
            }
        }
        DeclKind::Control { apply, .. } => walk.body(&apply.stmts, &mut effect),
        _ => {}
    }
    let fields: BTreeSet<u32> = match writes {
        true => effect.writes.iter().map(|w| w.access.field).collect(),
        false => {
            let reads = effect.reads.iter().chain(&effect.crossbar);
            reads.map(|a| a.field).collect()
        }
    };
    fields.into_iter().collect()
}

/// The arguments of a package as instances, in the order of its parameters.
fn parts<'a>(checked: &Checked<'a>, package: &Made<'a>) -> Vec<Option<Made<'a>>> {
    package
        .info
        .args
        .iter()
        .map(|index| instance(checked, &package.args.get((*index)?)?.value))
        .collect()
}

/// The instance that an expression makes or names.
fn instance<'a>(checked: &Checked<'a>, expr: &'a Expr) -> Option<Made<'a>> {
    if let Some(Def::Instance(decl)) = checked.defs.get(&expr.id) {
        return made_by(checked, decl);
    }
    let (ExprKind::Construct { args, .. } | ExprKind::Call { args, .. }) = &expr.kind else {
        return None;
    };
    let info = checked.calls.get(&expr.id)?.clone();
    let CallKind::Construct(decl) = info.kind else {
        return None;
    };
    Some(Made {
        name: decl.name.name.to_string(),
        decl,
        info,
        args,
    })
}

fn made_by<'a>(checked: &Checked<'a>, instance: &'a Decl) -> Option<Made<'a>> {
    let DeclKind::Instance { args, .. } = &instance.kind else {
        return None;
    };
    let info = checked.calls.get(&instance.id)?.clone();
    let CallKind::Construct(decl) = info.kind else {
        return None;
    };
    Some(Made {
        name: instance.name.name.to_string(),
        decl,
        info,
        args,
    })
}
