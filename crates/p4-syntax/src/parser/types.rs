//! Types, type parameters and type arguments.

use super::recovery::similar_keyword;
use super::{Failed, Parse, Parser};
use crate::ast::{Expr, Ident, Path, TypeKind, TypeRef};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind;

impl Parser {
    fn type_node(&mut self, start: Span, kind: TypeKind) -> TypeRef {
        TypeRef {
            id: self.id(),
            span: self.span_from(start),
            kind,
        }
    }

    /// The current token begins a type for sure: a keyword, or a name declared as a type.
    pub(super) fn begins_type(&self) -> bool {
        use TokenKind::*;
        match self.kind() {
            Bool | Error | MatchKind | String | Bit | IntType | Varbit | Tuple => true,
            List if self.nth_kind(1) == Lt => true,
            Dot => self.nth_kind(1).is_name() && self.scopes.is_global_type(&self.nth(1).text),
            kind if kind.is_name() => self.scopes.is_type(&self.token().text),
            _ => false,
        }
    }

    /// A type; any name passes for one.
    pub(super) fn type_ref(&mut self) -> Parse<TypeRef> {
        self.nested(|parser| {
            let start = parser.span();
            let ty = parser.simple_type()?;
            parser.dimensions(start, ty)
        })
    }

    /// `[n]` behind a type or a declared name, any number of times.
    fn dimensions(&mut self, start: Span, ty: TypeRef) -> Parse<TypeRef> {
        let mut ty = ty;
        let mut below = self.height;
        while self.is_at(TokenKind::LBracket) {
            self.bump();
            let size = self.with_greater(Self::expression)?;
            self.expect(TokenKind::RBracket, "after the size of the stack")?;
            below = below.max(self.height) + 1;
            self.check_height(below)?;
            ty = self.type_node(start, TypeKind::Stack(Box::new(ty), Box::new(size)));
        }
        self.height = below;
        Ok(ty)
    }

    pub(super) fn type_or_void(&mut self) -> Parse<TypeRef> {
        if self.is_at(TokenKind::Void) {
            let start = self.bump();
            return Ok(self.type_node(start, TypeKind::Void));
        }
        self.type_ref()
    }

    fn simple_type(&mut self) -> Parse<TypeRef> {
        use TokenKind::*;
        let start = self.span();
        self.height = 0;
        let kind = match self.kind() {
            Bool => self.word(TypeKind::Bool),
            Error => self.word(TypeKind::Error),
            MatchKind => self.word(TypeKind::MatchKind),
            String => self.word(TypeKind::String),
            Bit => {
                self.bump();
                TypeKind::Bit(self.width()?)
            }
            IntType => {
                self.bump();
                self.width()?.map_or(TypeKind::Int, TypeKind::Signed)
            }
            Varbit => {
                self.bump();
                match self.width()? {
                    Some(width) => TypeKind::Varbit(width),
                    None => {
                        return Err(self.unexpected(
                            "E0106",
                            "the greatest width in bits, as in `varbit<320>`",
                        ))
                    }
                }
            }
            Tuple => {
                self.bump();
                TypeKind::Tuple(self.type_args()?)
            }
            List if self.nth_kind(1) == Lt => {
                self.bump();
                let mut args = self.type_args()?;
                match (args.pop(), args.pop()) {
                    (Some(element), None) => TypeKind::List(Box::new(element)),
                    _ => {
                        let span = self.span_from(start);
                        let error =
                            Diagnostic::error("E0106", span, "A `list` has one type of element.");
                        return Err(self.fail(error.hint("Write `list<bit<8>>`, for example.")));
                    }
                }
            }
            Dot => {
                self.bump();
                self.named_type(true)?
            }
            kind if kind.is_name() => self.named_type(false)?,
            _ => return Err(self.no_type()),
        };
        Ok(self.type_node(start, kind))
    }

    fn no_type(&mut self) -> super::Failed {
        if self.is_at(TokenKind::Void) {
            let error = Diagnostic::error("E0106", self.span(), "Nothing can be of type `void`.");
            return self.fail(error.hint("`void` is only for what functions and methods return."));
        }
        self.unexpected("E0106", "a type")
    }

    fn word(&mut self, kind: TypeKind) -> TypeKind {
        self.bump();
        kind
    }

    fn named_type(&mut self, absolute: bool) -> Parse<TypeKind> {
        let ident = self.name("the name of a type")?;
        if self.is_width() {
            return Err(self.no_width(&ident));
        }
        let path = Path { absolute, ident };
        if self.is_at(TokenKind::Lt) {
            return Ok(TypeKind::Specialized(path, self.type_args()?));
        }
        Ok(TypeKind::Name(path))
    }

    /// Whether a number in angle brackets comes, which only the keywords `bit`, `int` and `varbit` take.
    pub(super) fn is_width(&self) -> bool {
        let kinds = [self.kind(), self.nth_kind(1), self.nth_kind(2)];
        kinds == [TokenKind::Lt, TokenKind::Int, TokenKind::Gt]
    }

    pub(super) fn no_width(&mut self, name: &Ident) -> Failed {
        let width = self.nth(1).text.clone();
        let message = format!("`{}` is not a type that has a width.", name.name);
        let keyword = similar_keyword(&name.name);
        let hint = match keyword.filter(|own| matches!(*own, "bit" | "int" | "varbit")) {
            Some(keyword) => format!("Did you mean `{keyword}<{width}>`?"),
            None => "`bit<8>`, `int<8>` and `varbit<8>` have one.".to_string(),
        };
        let error = Diagnostic::error("E0106", name.span, message);
        self.fail(error.hint(hint))
    }

    /// `<N>` or `<(expression)>` of `bit`, `int` and `varbit`, if there is one.
    fn width(&mut self) -> Parse<Option<Box<Expr>>> {
        if !self.eat(TokenKind::Lt) {
            return Ok(None);
        }
        let outer = std::mem::replace(&mut self.no_greater, true);
        let width = self.expression();
        self.no_greater = outer;
        let width = width?;
        self.close_angle("after the width")?;
        Ok(Some(Box::new(width)))
    }

    /// `<T, U>`.
    pub(super) fn type_args(&mut self) -> Parse<Vec<TypeRef>> {
        self.expect(TokenKind::Lt, "and type arguments")?;
        let mut args = Vec::new();
        let mut below = 0;
        while !self.is_at(TokenKind::Gt) {
            args.push(self.type_arg()?);
            below = below.max(self.height);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close_angle("or `,` after a type argument")?;
        self.height = below + 1;
        Ok(args)
    }

    fn type_arg(&mut self) -> Parse<TypeRef> {
        self.height = 0;
        match self.kind() {
            TokenKind::Underscore => {
                let start = self.bump();
                Ok(self.type_node(start, TypeKind::DontCare))
            }
            _ => self.type_or_void(),
        }
    }

    /// A closing `>`, be it the first half of `>=`.
    fn close_angle(&mut self, context: &str) -> Parse<()> {
        if self.is_at(TokenKind::Ge) {
            self.half = true;
            return Ok(());
        }
        self.expect(TokenKind::Gt, context).map(drop)
    }

    /// `<T, U>` after a name that is being declared; declares them as types.
    pub(super) fn type_params(&mut self) -> Parse<Vec<Ident>> {
        let mut params = Vec::new();
        if !self.eat(TokenKind::Lt) {
            return Ok(params);
        }
        while !self.is_at(TokenKind::Gt) {
            let param = self.name("the name of a type parameter")?;
            self.scopes.declare_type(&param.name);
            params.push(param);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.close_angle("or `,` after a type parameter")?;
        Ok(params)
    }

    /// A declared name with what may follow it: `x[4]` makes a stack of the type before it.
    pub(super) fn declarator(&mut self, ty: TypeRef, what: &str) -> Parse<(TypeRef, Ident)> {
        let name = self.name(what)?;
        let ty = self.dimensions(ty.span, ty)?;
        Ok((ty, name))
    }
}
