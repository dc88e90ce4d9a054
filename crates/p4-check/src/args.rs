//! Arguments: which parameter each belongs to, what type arguments follow from them.

use crate::decl::has_annotation;
use crate::hints::counted;
use crate::types::{Kind, Type};
use crate::wellformed::{directed_allowed, direction_word, is_value};
use crate::{CallInfo, CallKind, Checker};
use p4_syntax::ast::*;
use p4_syntax::diag::Diagnostic;
use p4_syntax::span::Span;

/// What is being called, as far as arguments are concerned.
pub(crate) struct Signature<'a> {
    pub name: Name,
    pub params: &'a [Param],
    /// The declaration whose type parameters are to be inferred, and how many it has
    pub generic: Option<(NodeId, usize)>,
    /// Type arguments that are known already: of the object a method belongs to
    pub bound: Vec<(NodeId, Vec<Type>)>,
    /// Whether an instance is being made, so that parsers and controls can be arguments
    pub constructor: bool,
    /// Whether parameters without direction are bound at compile time
    pub compile_time: bool,
    pub span: Span,
}

impl<'a> Checker<'a> {
    /// Matches arguments to parameters, infers type arguments, checks each argument; gives the
    /// type of the result.
    pub(crate) fn finish_call(
        &mut self,
        call: &'a Expr,
        kind: CallKind<'a>,
        mut signature: Signature<'a>,
        ret: &Type,
        type_args: &'a [TypeRef],
        args: &'a [Arg],
    ) -> Type {
        let mut fresh = Vec::new();
        if let Some((owner, count)) = signature.generic {
            if !type_args.is_empty() && type_args.len() != count {
                self.error(
                    "E0304",
                    signature.span,
                    format!(
                        "`{}` takes {}, but got {}",
                        signature.name,
                        counted(count, "type argument"),
                        type_args.len()
                    ),
                );
            }
            for i in 0..count {
                let ty = match type_args.get(i) {
                    Some(ty) => match self.type_ref(ty) {
                        Type::DontCare => self.fresh(),
                        ty => ty,
                    },
                    None => self.fresh(),
                };
                fresh.push(ty);
            }
            signature.bound.push((owner, fresh.clone()));
        }
        let order = self.match_args(&signature, args);
        self.check_args(&signature, &order, args);
        let type_args: Vec<Type> = fresh.iter().map(|t| self.resolved(t)).collect();
        let mut ret = ret.clone();
        if let Some((owner, _)) = signature.generic {
            ret = ret.substitute(owner, &type_args);
        }
        if ret == Type::Int && !type_args.is_empty() {
            self.report(
                Diagnostic::error(
                    "E0340",
                    signature.span,
                    format!("the width of the result of `{}` cannot be found out from a number without a width", signature.name),
                )
                .hint("give the number a width, as in `32w10`"),
            );
            ret = Type::Unknown;
        }
        let skipped = |c: &Self| {
            let open = |t: &Type| {
                args.iter().any(|a| {
                    matches!(a.value.kind, ExprKind::DontCare)
                        && matches!(t, Type::Infer(_))
                        && c.out.expr_type(a.value.id) == &Type::DontCare
                })
            };
            type_args.iter().position(open)
        };
        if let Some(argument) = type_args
            .iter()
            .position(|t| contains(&ret, t))
            .or_else(|| skipped(self))
        {
            self.report(
                Diagnostic::error(
                    "E0337",
                    signature.span,
                    format!(
                        "type argument {} of `{}` cannot be found out from the arguments",
                        argument + 1,
                        signature.name
                    ),
                )
                .hint(format!(
                    "write it out, as in `{}<bit<8>>(...)`",
                    signature.name
                )),
            );
            ret = Type::Unknown;
        }
        self.note_call(call, kind, type_args, order);
        ret
    }

    pub(crate) fn note_call(
        &mut self,
        call: &'a Expr,
        kind: CallKind<'a>,
        type_args: Vec<Type>,
        args: Vec<Option<usize>>,
    ) {
        self.out.calls.insert(
            call.id,
            CallInfo {
                kind,
                type_args,
                args,
            },
        );
    }

    /// For each parameter the index of its argument; reports what is missing or too much.
    pub(crate) fn match_args(
        &mut self,
        signature: &Signature<'a>,
        args: &'a [Arg],
    ) -> Vec<Option<usize>> {
        let params = signature.params;
        let mut order = vec![None; params.len()];
        let named = args.iter().any(|a| a.name.is_some());
        if named && args.iter().any(|a| a.name.is_none()) {
            self.error(
                "E0338",
                signature.span,
                "either all arguments are named or none",
            );
        }
        for (i, arg) in args.iter().enumerate() {
            let position = match &arg.name {
                Some(name) => params.iter().position(|p| p.name.name == name.name),
                None => Some(i).filter(|i| *i < params.len()),
            };
            match (position, &arg.name) {
                (Some(p), _) if order[p].is_none() => order[p] = Some(i),
                (Some(_), Some(name)) => self.error(
                    "E0338",
                    arg.span,
                    format!("the argument `{}` is given twice", name.name),
                ),
                (None, Some(name)) => self.error(
                    "E0338",
                    name.span,
                    format!("`{}` has no parameter `{}`", signature.name, name.name),
                ),
                _ => {}
            }
        }
        if !named && args.len() > params.len() {
            self.error(
                "E0332",
                signature.span,
                format!(
                    "`{}` takes {}, but got {}",
                    signature.name,
                    counted(params.len(), "argument"),
                    args.len()
                ),
            );
        }
        let missing: Vec<String> = params
            .iter()
            .zip(&order)
            .filter(|(p, found)| {
                found.is_none()
                    && p.default.is_none()
                    && !has_annotation(&p.annotations, "optional")
            })
            .map(|(p, _)| format!("`{}`", p.name.name))
            .collect();
        // The control plane gives the parameters without direction when an action is used in a
        // table; a direct call must give them all.
        if !missing.is_empty() {
            self.error(
                "E0332",
                signature.span,
                format!(
                    "`{}` needs a value for {}",
                    signature.name,
                    missing.join(", ")
                ),
            );
        }
        order
    }

    pub(crate) fn check_args(
        &mut self,
        signature: &Signature<'a>,
        order: &[Option<usize>],
        args: &'a [Arg],
    ) {
        for arg in args {
            self.expr(&arg.value);
        }
        for (param, index) in signature.params.iter().zip(order) {
            let Some(arg) = index.and_then(|i| args.get(i)) else {
                continue;
            };
            let mut wanted = self.out.type_ref(param.ty.id).clone();
            for (owner, types) in &signature.bound {
                wanted = wanted.substitute(*owner, types);
            }
            let given = self.out.expr_type(arg.value.id).clone();
            if let Type::TypeName(named) = &given {
                self.error(
                    "E0105",
                    arg.value.span,
                    format!("{named} is a type, but a value is needed here"),
                );
                continue;
            }
            if matches!(arg.value.kind, ExprKind::DontCare) {
                if param.direction != Direction::Out {
                    self.error(
                        "E0339",
                        arg.span,
                        format!(
                            "`_` can only stand for an `out` argument, and `{}` is not one",
                            param.name.name
                        ),
                    );
                }
                continue;
            }
            let by_reference = matches!(param.direction, Direction::Out | Direction::InOut);
            if by_reference {
                if self.lvalue(&arg.value) && !self.unify(&wanted, &given) {
                    let wanted = self.resolved(&wanted);
                    self.error("E0302", arg.value.span, format!("`{}` gives back {wanted}, so its argument must be exactly that, but this is {given}", param.name.name));
                }
            } else if signature.compile_time && wanted == Type::Int && given.fixed_width().is_some()
            {
                // A parameter of type int takes a number of any width.
                self.directionless_argument(param, &arg.value, &given, signature);
            } else if self.coerce(&arg.value, &wanted) {
                let found = self.resolved(&wanted);
                self.argument_type(param, &arg.value, &found, signature);
            }
        }
    }
}

impl<'a> Checker<'a> {
    /// What can be passed for a parameter whose type has been found out to be `found`.
    fn argument_type(
        &mut self,
        param: &'a Param,
        value: &'a Expr,
        found: &Type,
        signature: &Signature<'a>,
    ) {
        let name = &param.name.name;
        self.directionless_argument(param, value, found, signature);
        let inferred = matches!(self.out.type_ref(param.ty.id), Type::Param(..));
        let directed = param.direction != Direction::None;
        if matches!(found, Type::StructLit(_)) && inferred {
            self.report(
                Diagnostic::error(
                    "E0340",
                    value.span,
                    format!("the type of `{name}` cannot be found out from a list of named fields"),
                )
                .hint("write the type in front, as in `(my_struct) { a = 1 }`"),
            );
        } else if *found == Type::Int && inferred && directed {
            self.report(
                Diagnostic::error(
                    "E0340",
                    value.span,
                    format!(
                        "the width of `{name}` cannot be found out from a number without a width"
                    ),
                )
                .hint("give the number a width, as in `32w10`"),
            );
        } else if directed && inferred && !directed_allowed(found) && *found != Type::Unknown {
            self.report(
                Diagnostic::error(
                    "E0340",
                    value.span,
                    format!(
                        "`{name}` is `{}`, so it cannot be {found}",
                        direction_word(param.direction)
                    ),
                )
                .label(param.name.span, "declared here"),
            );
        } else if !signature.constructor && !is_value(found) && !found.is_kind(Kind::Extern) {
            self.error(
                "E0340",
                value.span,
                format!("{found} cannot be an argument"),
            );
        } else if !signature.constructor
            && !is_value(self.out.expr_type(value.id))
            && !found.is_kind(Kind::Extern)
        {
            let given = self.out.expr_type(value.id).clone();
            self.error(
                "E0340",
                value.span,
                format!("{given} cannot be an argument"),
            );
        }
    }

    /// A parameter without direction of a function or method is bound at compile time.
    fn directionless_argument(
        &mut self,
        param: &'a Param,
        value: &'a Expr,
        found: &Type,
        signature: &Signature<'a>,
    ) {
        let bound_now = param.direction == Direction::None && signature.compile_time;
        if bound_now && is_value(found) && self.const_value(value).is_none() {
            self.require_constant(
                value,
                &format!(
                    "the argument for `{}`, which has no direction,",
                    param.name.name
                ),
            );
        }
    }
}

/// Whether a call with these arguments can mean a declaration with these parameters.
pub(crate) fn accepts(params: &[Param], args: &[Arg]) -> bool {
    let optional = |p: &Param| p.default.is_some() || has_annotation(&p.annotations, "optional");
    if args.len() > params.len() {
        return false;
    }
    if args.iter().any(|a| a.name.is_some()) {
        let given = |p: &Param| {
            args.iter()
                .any(|a| a.name.as_ref().is_some_and(|n| n.name == p.name.name))
        };
        let known = args.iter().all(|a| {
            a.name
                .as_ref()
                .is_some_and(|n| params.iter().any(|p| p.name.name == n.name))
        });
        return known && params.iter().all(|p| given(p) || optional(p));
    }
    params.iter().skip(args.len()).all(optional)
}

/// Whether `open` is still to be inferred and `ty` depends on it.
pub(crate) fn contains(ty: &Type, open: &Type) -> bool {
    let any = |types: &[Type]| types.iter().any(|t| contains(t, open));
    match ty {
        Type::Infer(_) => ty == open,
        Type::Named(.., args) | Type::Tuple(args) => any(args),
        Type::Stack(element, _) | Type::List(element) | Type::Set(element) => {
            contains(element, open)
        }
        _ => false,
    }
}
