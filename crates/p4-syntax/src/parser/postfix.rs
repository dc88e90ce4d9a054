//! Paths, members, indices, slices, calls and arguments.

use super::{Parse, Parser};
use crate::ast::{Arg, Expr, ExprKind, Path, TypeKind, TypeRef};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind;

impl Parser {
    /// A primary with what follows it. In a statement `<` never compares, so there any name may be
    /// a type argument.
    pub(super) fn postfix(&mut self, statement: bool) -> Parse<Expr> {
        let mut expr = self.primary()?;
        loop {
            let below = self.height;
            let start = expr.span;
            expr = match self.kind() {
                TokenKind::Dot => {
                    self.bump();
                    let member = self.name("the name of a member after `.`")?;
                    let span = self.span_from(start);
                    self.tree(span, ExprKind::Member(Box::new(expr), member), below)?
                }
                TokenKind::LBracket => self.index(expr)?,
                TokenKind::LParen => self.call(expr, Vec::new())?,
                TokenKind::Lt => match self.call_type_args(statement) {
                    Some(type_args) => {
                        self.height = below.max(self.height);
                        self.call(expr, type_args)?
                    }
                    None => return Ok(expr),
                },
                _ => return Ok(expr),
            };
        }
    }

    fn index(&mut self, base: Expr) -> Parse<Expr> {
        let mut below = self.height;
        let start = base.span;
        self.bump();
        let first = self.with_greater(Self::expression)?;
        below = below.max(self.height);
        let make = match self.kind() {
            TokenKind::Colon => Some(ExprKind::Slice as fn(_, _, _) -> _),
            TokenKind::PlusColon => Some(ExprKind::PlusSlice as fn(_, _, _) -> _),
            _ => None,
        };
        let kind = match make {
            None => ExprKind::Index(Box::new(base), Box::new(first)),
            Some(make) => {
                self.bump();
                let second = self.with_greater(Self::expression)?;
                below = below.max(self.height);
                make(Box::new(base), Box::new(first), Box::new(second))
            }
        };
        self.expect(TokenKind::RBracket, "after the index")?;
        let span = self.span_from(start);
        self.tree(span, kind, below)
    }

    fn call(&mut self, func: Expr, type_args: Vec<TypeRef>) -> Parse<Expr> {
        let below = self.height;
        let start = func.span;
        let args = self.arguments()?;
        let below = below.max(self.height);
        let span = self.span_from(start);
        self.tree(
            span,
            ExprKind::Call {
                func: Box::new(func),
                type_args,
                args,
            },
            below,
        )
    }

    /// `<T>` before `(`, unless this `<` compares.
    fn call_type_args(&mut self, statement: bool) -> Option<Vec<TypeRef>> {
        let place = self.at;
        if self.not_type_args.contains(&place) {
            return None;
        }
        let args = self.attempt(|parser| {
            parser.bump();
            let can_begin = parser.begins_type()
                || matches!(parser.kind(), TokenKind::Void | TokenKind::Underscore)
                || statement;
            parser.at = place;
            if !can_begin {
                return Err(super::Failed);
            }
            let args = parser.type_args()?;
            match parser.is_at(TokenKind::LParen) {
                true => Ok(args),
                false => Err(super::Failed),
            }
        });
        if args.is_none() {
            self.not_type_args.insert(place);
        }
        args
    }

    /// `(a, name = b, _)`; leaves the height of the highest argument.
    pub(super) fn arguments(&mut self) -> Parse<Vec<Arg>> {
        let open = self.expect(TokenKind::LParen, "and arguments")?;
        let mut args = Vec::new();
        let mut below = 0;
        while !self.is_at(TokenKind::RParen) {
            args.push(self.with_greater(Self::argument)?);
            below = below.max(self.height);
            if !self.is_at(TokenKind::Comma) {
                break;
            }
            self.bump();
            if self.is_at(TokenKind::RParen) {
                return Err(self.unexpected("E0105", "one more argument after `,`"));
            }
        }
        if !self.is_at(TokenKind::RParen) {
            let failed = self.unexpected("E0100", "`)` or `,` after an argument");
            self.label_last(open, "the arguments begin here");
            return Err(failed);
        }
        self.bump();
        self.height = below;
        Ok(args)
    }

    fn argument(&mut self) -> Parse<Arg> {
        let start = self.span();
        let named = self.kind().is_name() && self.nth_kind(1) == TokenKind::Assign;
        let name = match named {
            true => {
                let name = self.take_ident();
                self.bump();
                Some(name)
            }
            false => None,
        };
        let value = if self.is_at(TokenKind::Underscore) {
            let span = self.bump();
            self.leaf(span, ExprKind::DontCare)
        } else {
            self.expression()?
        };
        Ok(Arg {
            span: self.span_from(start),
            name,
            value,
        })
    }

    /// `error.member`.
    pub(super) fn error_member(&mut self) -> Parse<Expr> {
        let start = self.bump();
        let ty = TypeRef {
            id: self.id(),
            span: start,
            kind: TypeKind::Error,
        };
        self.expect(TokenKind::Dot, "and the name of an error after `error`")?;
        let member = self.name("the name of an error after `error.`")?;
        let span = self.span_from(start);
        Ok(self.leaf(span, ExprKind::TypeMember(Box::new(ty), member)))
    }

    /// A name, or what begins with the name of a type: `T(args)`, `T<U>(args)`, `T<U>.member`.
    pub(super) fn path(&mut self) -> Parse<Expr> {
        let start = self.span();
        let is_type = self.begins_type();
        let absolute = self.eat(TokenKind::Dot);
        let ident = self.name("a name after `.`")?;
        let path = Path { absolute, ident };
        if is_type && self.is_at(TokenKind::Lt) {
            return self.specialized(start, path);
        }
        if is_type && self.is_at(TokenKind::LParen) {
            let ty = self.named(start, TypeKind::Name(path));
            self.height = 0;
            return self.construct(ty);
        }
        if is_type && !self.is_at(TokenKind::Dot) {
            let message = format!("I expected a value, but `{}` is a type.", path.ident.name);
            let error = Diagnostic::error("E0105", self.span_from(start), message);
            return Err(
                self.fail(error.hint("Write a member of it (`T.member`) or a cast (`(T) x`)."))
            );
        }
        let span = self.span_from(start);
        Ok(self.leaf(span, ExprKind::Path(path)))
    }

    fn named(&mut self, start: Span, kind: TypeKind) -> TypeRef {
        TypeRef {
            id: self.id(),
            span: self.span_from(start),
            kind,
        }
    }

    fn specialized(&mut self, start: Span, path: Path) -> Parse<Expr> {
        let args = self.type_args()?;
        let ty = self.named(start, TypeKind::Specialized(path, args));
        if self.is_at(TokenKind::LParen) {
            return self.construct(ty);
        }
        let below = self.height;
        self.expect(TokenKind::Dot, "or `(` after a type")?;
        let member = self.name("the name of a member after `.`")?;
        let span = self.span_from(start);
        self.tree(span, ExprKind::TypeMember(Box::new(ty), member), below)
    }

    fn construct(&mut self, ty: TypeRef) -> Parse<Expr> {
        let below = self.height;
        let args = self.arguments()?;
        let (span, below) = (self.span_from(ty.span), below.max(self.height));
        self.tree(
            span,
            ExprKind::Construct {
                ty: Box::new(ty),
                args,
            },
            below,
        )
    }
}
