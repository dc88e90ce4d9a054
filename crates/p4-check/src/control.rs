//! Controls (specification 14).

use crate::types::{Kind, Type};
use crate::wellformed::Owner;
use crate::{Checker, Context, Def};
use p4_syntax::ast::*;

impl<'a> Checker<'a> {
    pub(crate) fn control(
        &mut self,
        decl: &'a Decl,
        proto: &'a ParserProto,
        ctor_params: &'a [Param],
        locals: &'a [Decl],
        apply: &'a Block,
    ) {
        self.with_type_params(decl, &proto.type_params, |c| {
            c.params(&proto.params, Owner::Block);
            c.ctor_params(ctor_params, Kind::ParserType);
            c.scopes.push();
            let context = Context {
                return_type: Some(Type::Void),
                in_control: true,
                ..Context::default()
            };
            let outer = std::mem::replace(&mut c.context, context);
            for local in locals {
                c.local(local);
            }
            c.block(apply);
            c.context = outer;
            c.scopes.pop();
        });
        self.declare(&decl.name, Def::Type(decl));
    }
}
