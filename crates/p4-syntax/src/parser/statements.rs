//! Statements and blocks.

use super::items::Head;
use super::recovery::similar_keyword;
use super::{Failed, Parse, Parser};
use crate::ast::{
    BinOp, Block, Decl, DeclKind, Expr, ExprKind, ForVar, Stmt, StmtKind, SwitchCase, SwitchLabel,
};
use crate::diag::Diagnostic;
use crate::span::Span;
use crate::token::TokenKind;

impl Parser {
    pub(super) fn block(&mut self) -> Parse<Block> {
        self.block_with(Vec::new())
    }

    pub(super) fn block_with(&mut self, annotations: Vec<crate::ast::Annotation>) -> Parse<Block> {
        let start = annotations.first().map_or(self.span(), |first| first.span);
        let stmts = self.scoped(|parser| parser.braced("and statements", Self::statement))?;
        Ok(Block {
            span: self.span_from(start),
            annotations,
            stmts,
        })
    }

    pub(super) fn statement(&mut self) -> Parse<Stmt> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.statement_kind()?;
            Ok(Stmt {
                span: parser.span_from(start),
                kind,
            })
        })
    }

    fn statement_kind(&mut self) -> Parse<StmtKind> {
        use TokenKind::*;
        match self.kind() {
            Semi => {
                self.bump();
                Ok(StmtKind::Empty)
            }
            LBrace => self.block().map(StmtKind::Block),
            At => self.annotated(),
            If => self.if_statement(),
            Switch => self.switch_statement(),
            For => self.for_statement(),
            Break => self.keyword_statement(StmtKind::Break, "`break`"),
            Continue => self.keyword_statement(StmtKind::Continue, "`continue`"),
            Exit => self.keyword_statement(StmtKind::Exit, "`exit`"),
            Return => self.return_statement(),
            Const => {
                let head = self.head()?;
                let decl = self.constant(head)?;
                Ok(StmtKind::Decl(Box::new(decl)))
            }
            Transition => {
                let error = Diagnostic::error("E0120", self.span(), "`transition` cannot be here.");
                Err(self
                    .fail(error.hint(
                        "It is the last statement of a parser state, not of an inner block.",
                    )))
            }
            Else => {
                let error =
                    Diagnostic::error("E0118", self.span(), "This `else` belongs to no `if`.");
                Err(self.fail(error.hint(
                    "Look before it for a `;` that ends the `if`, a missing `{` or a missing `}`.",
                )))
            }
            Key | Actions | Entries if self.nth_kind(1) == Assign && self.nth_kind(2) == LBrace => {
                self.statement_expression(true)
            }
            _ if self.begins_declaration() => {
                let head = self.head()?;
                Err(self.misplaced_and_skipped(head))
            }
            Ident if self.is_else_if() => self.else_if(),
            _ if self.is_local_declaration() => {
                let head = self.head()?;
                let decl = self.typed_declaration(head, super::items::Place::Local)?;
                Ok(StmtKind::Decl(Box::new(decl)))
            }
            _ => self.statement_expression(true),
        }
    }

    /// `elif (`, as other languages have it.
    fn is_else_if(&self) -> bool {
        let word = &*self.token().text;
        matches!(word, "elif" | "elsif" | "elseif") && !self.scopes.is_declared(word)
    }

    /// Reported, and read as an `if` of its own.
    fn else_if(&mut self) -> Parse<StmtKind> {
        let message = format!("There is no `{}` in P4.", self.token().text);
        let error = Diagnostic::error("E0109", self.span(), message);
        self.report(error.hint("Write `else if (condition)`."));
        self.if_statement()
    }

    fn keyword_statement(&mut self, kind: StmtKind, what: &str) -> Parse<StmtKind> {
        self.bump();
        self.semicolon(what)?;
        Ok(kind)
    }

    fn return_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let value = match self.kind() {
            TokenKind::Semi | TokenKind::RBrace => None,
            _ => Some(self.expression()?),
        };
        self.semicolon("this `return`")?;
        Ok(StmtKind::Return(value))
    }

    /// A block, loop or declaration behind annotations. The tree keeps a loop's annotations on a
    /// block around it.
    fn annotated(&mut self) -> Parse<StmtKind> {
        let head = self.head()?;
        match self.kind() {
            TokenKind::LBrace => self.block_with(head.annotations).map(StmtKind::Block),
            TokenKind::For => {
                let inner = self.span();
                let kind = self.for_statement()?;
                let stmts = vec![Stmt {
                    span: self.span_from(inner),
                    kind,
                }];
                let span = self.span_from(head.start);
                Ok(StmtKind::Block(Block {
                    span,
                    annotations: head.annotations,
                    stmts,
                }))
            }
            TokenKind::Const => self
                .constant(head)
                .map(|decl| StmtKind::Decl(Box::new(decl))),
            _ if self.begins_declaration() => Err(self.misplaced_and_skipped(head)),
            _ if self.begins_type() || self.is_local_declaration() => {
                let decl = self.typed_declaration(head, super::items::Place::Local)?;
                Ok(StmtKind::Decl(Box::new(decl)))
            }
            _ => Err(self.unexpected("E0116", "a block or a declaration after this annotation")),
        }
    }

    /// What stands here declares a variable or an instance, rather than assigning or calling.
    fn is_local_declaration(&mut self) -> bool {
        use TokenKind::*;
        let known = self.begins_type();
        match self.kind() {
            Error => return self.nth_kind(1) != Dot,
            Void => return true,
            kind if known && kind.is_keyword() && !kind.is_name() => return true,
            Ident if !known && self.nth_kind(1).is_name() => return !self.nth(1).line_start,
            Ident if !known && self.nth_kind(1) != Lt => return false,
            kind if kind.is_name() || kind == Dot => {}
            _ => return false,
        }
        if !known && self.scopes.is_declared(&self.token().text) {
            return false;
        }
        let start = self.checkpoint();
        let ends = self.attempt(|parser| {
            parser.type_ref()?;
            let instance = known && parser.is_at(LParen);
            match parser.kind().is_name() || instance {
                true => Ok(()),
                false => Err(Failed),
            }
        });
        self.go_back(start);
        ends.is_some()
    }

    fn if_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let cond = self.condition("if")?;
        let then = Box::new(self.body("if")?);
        let otherwise = match self.eat(TokenKind::Else) {
            true => Some(Box::new(self.body("else")?)),
            false => None,
        };
        Ok(StmtKind::If {
            cond,
            then,
            otherwise,
        })
    }

    /// The statement that a keyword decides about. A declaration is none: nothing could use it.
    fn body(&mut self, keyword: &str) -> Parse<Stmt> {
        let body = self.statement()?;
        if matches!(body.kind, StmtKind::Decl(_)) {
            let message = format!("A declaration cannot be what `{keyword}` decides about.");
            let error = Diagnostic::error("E0110", body.span, message);
            self.report(error.hint("Nothing could use it: put it, and what uses it, in braces."));
        }
        Ok(body)
    }

    /// `(condition)`; missing parentheses are reported and forgiven.
    fn condition(&mut self, keyword: &str) -> Parse<Expr> {
        if self.is_at(TokenKind::LParen) {
            let open = self.bump();
            let cond = self.expression()?;
            let cond = self.reject_assignment(cond)?;
            if !self.eat(TokenKind::RParen) {
                let failed = self.unexpected("E0100", "`)` after the condition");
                self.label_last(open, "to close this");
                if !self.is_at(TokenKind::LBrace) {
                    return Err(failed);
                }
            }
            return self.rest_of_condition(cond, keyword);
        }
        let message = format!("The condition of `{keyword}` must be in parentheses.");
        let error = Diagnostic::error("E0100", self.span(), message);
        self.report(error.hint(format!("Write `{keyword} (condition)`.")));
        let cond = self.expression()?;
        self.eat(TokenKind::RParen);
        Ok(cond)
    }

    /// `=` in a condition: reported, and read as `==`.
    fn reject_assignment(&mut self, left: Expr) -> Parse<Expr> {
        if !self.is_at(TokenKind::Assign) {
            return Ok(left);
        }
        let error = Diagnostic::error("E0112", self.span(), "`=` assigns; it does not compare.");
        self.report(error.hint("Did you mean `==`?"));
        self.bump();
        let below = self.height;
        let right = self.expression()?;
        let below = below.max(self.height);
        let span = left.span.to(right.span);
        let kind = ExprKind::Binary(BinOp::Eq, Box::new(left), Box::new(right));
        self.tree(span, kind, below)
    }

    /// `(a) && (b)`: the outer parentheses are missing; reported, and read as if they were there.
    fn rest_of_condition(&mut self, cond: Expr, keyword: &str) -> Parse<Expr> {
        if self.operator().is_some() {
            let message = format!("The whole condition of `{keyword}` must be in parentheses.");
            let error = Diagnostic::error("E0100", self.span(), message);
            self.report(error.hint(format!("Write `{keyword} ((a) && (b))`.")));
            self.bump();
            self.expression()?;
            self.eat(TokenKind::RParen);
        }
        Ok(cond)
    }

    fn switch_statement(&mut self) -> Parse<StmtKind> {
        self.bump();
        let value = self.condition("switch")?;
        let cases = self.braced("and the cases of `switch`", Self::switch_case)?;
        Ok(StmtKind::Switch { value, cases })
    }

    /// `case` before a label, as in other languages: reported, and read over.
    pub(super) fn skip_case(&mut self, hint: &str) {
        let next = self.nth_kind(1);
        let before_label = next.is_name() || matches!(next, TokenKind::Int | TokenKind::LParen);
        if &*self.token().text == "case" && before_label {
            let error = Diagnostic::error("E0109", self.span(), "There is no `case` in P4.");
            self.report(error.hint(hint));
            self.bump();
        }
    }

    fn switch_case(&mut self) -> Parse<SwitchCase> {
        self.skip_case("Write the label alone: `name: { ... }`.");
        let start = self.span();
        let label = match self.eat(TokenKind::Default) {
            true => SwitchLabel::Default(start),
            false => SwitchLabel::Expr(self.expression()?),
        };
        if !self.is_at(TokenKind::Colon) {
            return Err(self.unexpected("E0111", "`:` after the label of this case"));
        }
        self.bump();
        let body = match self.kind() {
            TokenKind::LBrace => Some(self.block()?),
            TokenKind::At => {
                let annotations = self.annotations()?;
                Some(self.block_with(annotations)?)
            }
            _ => None,
        };
        Ok(SwitchCase {
            span: self.span_from(start),
            label,
            body,
        })
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        let start = self.at;
        self.bump();
        self.scoped(|parser| match parser.for_header() {
            Ok(header) => {
                let body = Box::new(parser.body("for")?);
                Ok(match header {
                    ForHeader::Steps(init, cond, update) => StmtKind::For {
                        init,
                        cond,
                        update,
                        body,
                    },
                    ForHeader::In(var, range) => StmtKind::ForIn { var, range, body },
                })
            }
            Err(Failed) => {
                // The `;` of the header end no statement; the body may have mistakes of its own.
                parser.skip_for_header(start);
                parser.statement().map(|body| body.kind)
            }
        })
    }

    fn skip_for_header(&mut self, start: usize) {
        let mut open = 0usize;
        self.at = start + 1;
        self.half = false;
        loop {
            match self.kind() {
                TokenKind::LParen => open += 1,
                TokenKind::RParen => open = open.saturating_sub(1),
                TokenKind::LBrace | TokenKind::RBrace | TokenKind::Eof => return,
                _ => {}
            }
            let closed = self.is_at(TokenKind::RParen) && open == 0;
            self.bump();
            if closed {
                return;
            }
        }
    }

    fn for_header(&mut self) -> Parse<ForHeader> {
        self.expect(TokenKind::LParen, "after `for`")?;
        if self.is_at(TokenKind::Semi) {
            return self.for_steps(Vec::new());
        }
        let first = self.for_init()?;
        match self.eat(TokenKind::In) {
            true => self.for_in(first),
            false => self.for_rest(first),
        }
    }

    /// One initialiser, or the variable of `for (T x in ...)`.
    fn for_init(&mut self) -> Parse<ForInit> {
        let start = self.span();
        let head = self.head()?;
        let declares = self.begins_type() || self.is_local_declaration();
        if !declares {
            let target = self.postfix(true)?;
            if self.is_at(TokenKind::In) {
                return Ok(ForInit::Target(target));
            }
            let kind = self.assignment_or_call(target)?;
            return Ok(ForInit::Stmt(Stmt {
                span: self.span_from(start),
                kind,
            }));
        }
        let decl = self.for_variable(head)?;
        Ok(ForInit::Decl(Box::new(decl)))
    }

    fn for_variable(&mut self, head: Head) -> Parse<Decl> {
        let ty = self.type_ref()?;
        let (ty, name) = self.declarator(ty, "the name of the loop variable")?;
        let init = match self.eat(TokenKind::Assign) {
            true => Some(self.expression()?),
            false => None,
        };
        self.scopes.declare_object(&name.name);
        Ok(self.decl(head, name, DeclKind::Variable { ty, init }))
    }

    fn for_in(&mut self, first: ForInit) -> Parse<ForHeader> {
        let var = match first {
            ForInit::Decl(decl) => ForVar::Decl(decl),
            ForInit::Target(target) => ForVar::Name(target),
            ForInit::Stmt(stmt) => {
                let error = Diagnostic::error(
                    "E0112",
                    stmt.span,
                    "A `for ... in` loop needs a variable here.",
                );
                return Err(self.fail(error.hint("Write `for (bit<8> i in 0 .. 7)`.")));
            }
        };
        let range = self.collection()?;
        self.expect(TokenKind::RParen, "after what the loop runs over")?;
        Ok(ForHeader::In(var, range))
    }

    fn for_rest(&mut self, first: ForInit) -> Parse<ForHeader> {
        let mut init = vec![self.init_statement(first)?];
        while self.eat(TokenKind::Comma) {
            let next = self.for_init()?;
            init.push(self.init_statement(next)?);
        }
        self.for_steps(init)
    }

    fn init_statement(&mut self, init: ForInit) -> Parse<Stmt> {
        match init {
            ForInit::Stmt(stmt) => Ok(stmt),
            ForInit::Decl(decl) => Ok(Stmt {
                span: decl.span,
                kind: StmtKind::Decl(decl),
            }),
            ForInit::Target(target) => Err(self.no_effect(target.span)),
        }
    }

    fn for_steps(&mut self, init: Vec<Stmt>) -> Parse<ForHeader> {
        self.expect(TokenKind::Semi, "after what the loop begins with")?;
        let cond = self.expression()?;
        self.expect(TokenKind::Semi, "after the condition of the loop")?;
        let mut update = Vec::new();
        while !self.is_at(TokenKind::RParen) {
            let start = self.span();
            let kind = self.statement_expression(false)?;
            update.push(Stmt {
                span: self.span_from(start),
                kind,
            });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RParen, "after the steps of the loop")?;
        Ok(ForHeader::Steps(init, cond, update))
    }

    /// An assignment or call, with its `;` when `ended`.
    fn statement_expression(&mut self, ended: bool) -> Parse<StmtKind> {
        let target = self.postfix(true)?;
        let kind = self.assignment_or_call(target)?;
        if ended {
            self.semicolon(match kind {
                StmtKind::Call(_) => "this call",
                _ => "this assignment",
            })?;
        }
        Ok(kind)
    }

    /// What follows the left side of an assignment, or the end of a call.
    fn assignment_or_call(&mut self, target: Expr) -> Parse<StmtKind> {
        let operator = self.assignment_operator();
        if let Some((op, length)) = operator {
            let assignable = is_assignable(&target);
            if !assignable {
                let error = Diagnostic::error("E0112", target.span, "This cannot be assigned to.");
                self.report(error.hint(instead_of(&target)));
            }
            for _ in 0..length {
                self.bump();
            }
            let rhs = self.expression()?;
            if !assignable {
                return Ok(StmtKind::Empty);
            }
            return Ok(match op {
                None => StmtKind::Assign { lhs: target, rhs },
                Some(op) => StmtKind::AssignOp {
                    op,
                    lhs: target,
                    rhs,
                },
            });
        }
        if matches!(target.kind, ExprKind::Call { .. }) {
            self.reject_unknown_statement(&target)?;
            return Ok(StmtKind::Call(target));
        }
        if self.is_at(TokenKind::EqEq) {
            let error =
                Diagnostic::error("E0112", self.span(), "`==` compares; it does not assign.");
            return Err(self.fail(error.hint("Did you mean `=`?")));
        }
        if self.is_at(TokenKind::Concat)
            || (self.is_at(TokenKind::Minus) && self.nth_kind(1) == TokenKind::Minus)
        {
            let error = Diagnostic::error(
                "E0112",
                self.span(),
                "P4 has no `++` or `--` that changes a variable.",
            );
            return Err(self.fail(error.hint("Write `x = x + 1;`.")));
        }
        if self.is_at(TokenKind::Minus) && self.nth_kind(1) == TokenKind::Gt && !self.nth(1).space {
            let error = Diagnostic::error("E0112", self.span(), "P4 has no `->`.");
            return Err(
                self.fail(error.hint("Fields are named after a `.`, as in `hdr.ipv4.ttl`."))
            );
        }
        if let (ExprKind::Path(path), true) = (&target.kind, self.is_width()) {
            return Err(self.no_width(&path.ident));
        }
        Err(self.no_effect(target.span))
    }

    /// `while (x) {`, `swich (x) {`: a call with a body is not a call.
    fn reject_unknown_statement(&mut self, call: &Expr) -> Parse<()> {
        let ExprKind::Call { func, .. } = &call.kind else {
            return Ok(());
        };
        let ExprKind::Path(path) = &func.kind else {
            return Ok(());
        };
        if !self.is_at(TokenKind::LBrace) {
            return Ok(());
        }
        let name = &path.ident.name;
        let hint = match similar_keyword(name) {
            _ if &**name == "while" => {
                "Loops are written `for (init; condition; step) { }`.".to_string()
            }
            Some(keyword) => format!("Did you mean `{keyword}`?"),
            None => format!("End the call with `;` if `{name}` is a function or action."),
        };
        let message = format!("There is no statement `{name} (...) {{ }}` in P4.");
        Err(self.fail(Diagnostic::error("E0109", path.ident.span, message).hint(hint)))
    }

    fn no_effect(&mut self, span: Span) -> Failed {
        let token = self.token();
        let computes = self.operator().is_some();
        if !computes
            && !matches!(token.kind, TokenKind::Semi | TokenKind::RBrace)
            && !token.line_start
        {
            return self.unexpected("E0100", "an assignment or a call");
        }
        let error = Diagnostic::error("E0112", span, "This statement does nothing.");
        self.fail(error.hint("A statement assigns (`x = 1;`) or calls (`t.apply();`)."))
    }

    /// The assignment operator here (`None` inside for plain `=`) and how many tokens it has.
    fn assignment_operator(&self) -> Option<(Option<BinOp>, usize)> {
        use TokenKind::*;
        let next = self.nth(1);
        let op = match self.kind() {
            Assign => return Some((None, 1)),
            Gt if next.kind == Ge && !next.space => return Some((Some(BinOp::Shr), 2)),
            PlusAssign => BinOp::Add,
            MinusAssign => BinOp::Sub,
            MulAssign => BinOp::Mul,
            DivAssign => BinOp::Div,
            ModAssign => BinOp::Mod,
            AndAssign => BinOp::BitAnd,
            OrAssign => BinOp::BitOr,
            XorAssign => BinOp::BitXor,
            ShlAssign => BinOp::Shl,
            PlusSatAssign => BinOp::AddSat,
            MinusSatAssign => BinOp::SubSat,
            _ => return None,
        };
        Some((Some(op), 1))
    }
}

/// What stands between the parentheses of `for`.
enum ForHeader {
    Steps(Vec<Stmt>, Expr, Vec<Stmt>),
    In(ForVar, Expr),
}

/// What may stand first in `for (...)`.
enum ForInit {
    Decl(Box<Decl>),
    Stmt(Stmt),
    Target(Expr),
}

/// What to do in place of an assignment to `target`.
fn instead_of(target: &Expr) -> &'static str {
    if let ExprKind::Call { func, .. } = &target.kind {
        if matches!(&func.kind, ExprKind::Member(_, method) if &*method.name == "isValid") {
            return "`isValid()` only asks: call `setValid()` or `setInvalid()` of the header.";
        }
    }
    "The left side of `=` is a variable, a field, an element or a slice."
}

fn is_assignable(expr: &Expr) -> bool {
    let inner = match &expr.kind {
        ExprKind::Path(_) | ExprKind::This | ExprKind::Error => return true,
        ExprKind::Member(base, _) | ExprKind::Index(base, _) => base,
        ExprKind::Slice(base, ..) | ExprKind::PlusSlice(base, ..) => base,
        _ => return false,
    };
    is_assignable(inner)
}
