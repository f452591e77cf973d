//! Values: the parts of an expression in the order of their evaluation, and where each leads.
//!
//! Design: `.paths.marked` in `design/paths.md`.

use super::flow::{END, Flow, Jump};
use lens_paths::graph::BlockId;
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    BinOp, Expr, ExprBinary, ExprBlock, ExprForLoop, ExprIf, ExprLoop, ExprMacro, ExprTry,
    ExprWhile, Label, Lifetime, Token, UnOp,
};

impl Flow<'_> {
    /// Visits an expression, whose value is used or dropped.
    pub(super) fn value(&mut self, expr: &mut Expr) {
        let span = expr.span();
        match expr {
            Expr::Binary(own) if matches!(own.op, BinOp::And(_) | BinOp::Or(_)) => self.lazy(expr),
            Expr::If(own) => self.choice(own),
            Expr::Match(own) => self.matching(own),
            Expr::While(_) | Expr::ForLoop(_) => self.turns(expr),
            Expr::Loop(own) => self.endless(own),
            Expr::Block(own) => self.labelled(own),
            Expr::Unsafe(own) => self.block(&mut own.block),
            Expr::Return(own) => {
                self.all(own.expr.as_deref_mut());
                self.jump(END);
            }
            Expr::Break(own) => {
                self.all(own.expr.as_deref_mut());
                self.leap(own.label.as_ref(), false);
            }
            Expr::Continue(own) => self.leap(own.label.as_ref(), true),
            Expr::Try(_) => self.tried(expr),
            Expr::Macro(ExprMacro { mac, .. }) => {
                let mac = mac.clone();
                self.found(&mac, expr);
            }
            // They are other functions, or the compiler runs them.
            Expr::Closure(_) | Expr::Async(_) | Expr::Const(_) => {}
            Expr::Await(_) | Expr::Yield(_) | Expr::TryBlock(_) => {
                self.refuse(&*expr, "this expression needs a function without `async` and `try`");
            }
            Expr::Verbatim(tokens) if !tokens.is_empty() => {
                self.refuse(&*expr, "this syntax is unknown to it");
            }
            _ => self.parts(expr, span),
        }
    }

    /// Visits an expression that has parts alone.
    fn parts(&mut self, expr: &mut Expr, span: Span) {
        match expr {
            Expr::Binary(own) if is_assigning(&own.op) => self.assign(own, span),
            Expr::Binary(own) => self.all([&mut *own.left, &mut *own.right]),
            Expr::Assign(own) => {
                self.value(&mut own.right);
                self.place(&mut own.left);
            }
            Expr::Array(own) => self.all(&mut own.elems),
            Expr::Tuple(own) => self.all(&mut own.elems),
            Expr::Call(own) => {
                self.value(&mut own.func);
                self.all(&mut own.args);
            }
            Expr::MethodCall(own) => {
                self.place(&mut own.receiver);
                self.all(&mut own.args);
            }
            Expr::Index(own) => {
                self.place(&mut own.expr);
                self.value(&mut own.index);
            }
            Expr::Range(own) => {
                self.all(own.start.as_deref_mut().into_iter().chain(own.end.as_deref_mut()));
            }
            Expr::Struct(own) => {
                let fields = own.fields.iter_mut().map(|field| &mut field.expr);
                self.all(fields.chain(own.rest.as_deref_mut()));
            }
            Expr::Reference(own) => self.place(&mut own.expr),
            Expr::RawAddr(own) => self.place(&mut own.expr),
            Expr::Field(own) => self.value(&mut own.base),
            Expr::Cast(own) => self.value(&mut own.expr),
            Expr::Group(own) => self.value(&mut own.expr),
            Expr::Let(own) => self.value(&mut own.expr),
            Expr::Paren(own) => self.value(&mut own.expr),
            Expr::Repeat(own) => self.value(&mut own.expr),
            Expr::Unary(own) if matches!(own.op, UnOp::Deref(_)) => self.place(&mut own.expr),
            Expr::Unary(own) => self.value(&mut own.expr),
            _ => {}
        }
    }

    fn all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e mut Expr>) {
        exprs.into_iter().for_each(|expr| self.value(expr));
    }

    /// Visits an expression that stands for a place: no witness may move its value.
    pub(super) fn place(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Paren(inner) => self.place(&mut inner.expr),
            Expr::Group(inner) => self.place(&mut inner.expr),
            Expr::Field(own) => self.place(&mut own.base),
            Expr::Macro(own) if !self.is_plain(&own.mac) => {
                let what = "the value of this macro may be a place, and the macro may hide a \
                            `return`; put it into a `let`";
                let mac = own.mac.clone();
                self.refuse(mac, what);
            }
            _ => self.value(expr),
        }
    }

    /// `a += b`: the order depends on the types.
    fn assign(&mut self, own: &mut ExprBinary, span: Span) {
        let before = self.graph.places.len();
        self.value(&mut own.right);
        let between = self.graph.places.len();
        self.place(&mut own.left);
        if before < between && between < self.graph.places.len() {
            let what = "both sides of this assignment have forks, whose order depends on types; \
                        compute one of them before";
            self.refuse(quote_spanned!(span=> x), what);
        }
    }

    fn leap(&mut self, label: Option<&Lifetime>, is_next: bool) {
        match self.target(label, is_next) {
            Some(target) => self.jump(target),
            // The compiler complains.
            None => self.current = None,
        }
    }

    /// `a?`: its value, or the end of the function.
    fn tried(&mut self, expr: &mut Expr) {
        let span = expr.span();
        let Expr::Try(ExprTry { expr: inner, question_token, .. }) = expr else { return };
        let mark = question_token.span;
        self.value(inner);
        let value = self.way("value of ?", mark);
        self.to(value);
        self.to(END);
        self.current = Some(value);
        self.pass(None, value, expr, span);
    }

    /// Adds the witness of a block after an expression, and that of another block before it.
    pub(super) fn pass(
        &self,
        before: Option<BlockId>,
        after: BlockId,
        expr: &mut Expr,
        span: Span,
    ) {
        if self.witness(after).is_none() {
            return;
        }
        let number = self.number(after);
        let before = match before {
            Some(block) => {
                let number = self.number(block);
                quote_spanned! {Span::mixed_site()=>
                    ::calls::__private::Frame::at(&__frame, #number)
                }
            }
            None => quote!(()),
        };
        let frame = quote_spanned!(Span::mixed_site()=> &__frame);
        let around = quote_spanned! {Span::mixed_site().located_at(span)=>
            ::calls::__private::Frame::around
        };
        *expr = Expr::Verbatim(quote!(#around(#before, #expr, #frame, #number)));
    }

    /// A block, with a label or without.
    fn labelled(&mut self, own: &mut ExprBlock) {
        let Some(label) = &own.label else { return self.block(&mut own.block) };
        let span = own.block.brace_token.span.close();
        let after = self.graph.block("join", span, false);
        self.jumps.push(Jump { label: name(Some(label)), next: None, after });
        self.block(&mut own.block);
        self.jumps.pop();
        self.jump(after);
        self.arrive(after);
    }

    /// Goes on at a block, if something leads there.
    fn arrive(&mut self, block: BlockId) {
        self.current = self.graph.is_reached(block).then_some(block);
    }

    fn endless(&mut self, own: &mut ExprLoop) {
        let begin = self.graph.block("loop", own.loop_token.span, false);
        let after = self.graph.block("join", own.body.brace_token.span.close(), false);
        self.jump(begin);
        self.jumps.push(Jump { label: name(own.label.as_ref()), next: Some(begin), after });
        self.current = Some(begin);
        self.block(&mut own.body);
        self.jump(begin);
        self.jumps.pop();
        self.arrive(after);
    }

    /// `while` and `for`: a turn, or on.
    fn turns(&mut self, expr: &mut Expr) {
        let (label, block) = match expr {
            Expr::While(ExprWhile { label, body, .. }) => (label, body),
            Expr::ForLoop(ExprForLoop { label, body, .. }) => (label, body),
            _ => return,
        };
        let (label, braces) = (name(label.as_ref()), block.brace_token.span);
        let next = self.graph.block("loop", braces.open(), false);
        let (turn, after) = (self.way("body", braces.open()), self.way("after", braces.close()));
        let jump = Jump { label, next: Some(next), after };
        let body = match expr {
            Expr::While(own) => {
                self.jump(next);
                self.current = Some(next);
                // A jump in the condition is one of this loop.
                self.jumps.push(jump);
                self.condition(&mut own.cond, turn, &[after]);
                &mut own.body
            }
            Expr::ForLoop(own) => {
                self.value(&mut own.expr);
                self.jump(next);
                self.current = Some(next);
                self.to(turn);
                self.to(after);
                self.jumps.push(jump);
                &mut own.body
            }
            _ => return,
        };
        self.body(turn, body);
        self.jump(next);
        self.jumps.pop();
        self.arrive(after);
        self.follow(after, expr);
    }

    fn choice(&mut self, own: &mut ExprIf) {
        let then = self.way("then", own.then_branch.brace_token.span.open());
        let other = match &own.else_branch {
            Some((_, other)) => other.span(),
            None => own.then_branch.brace_token.span.close(),
        };
        let other = self.way("else", other);
        self.condition(&mut own.cond, then, &[other]);
        let mut ways = Vec::new();
        self.body(then, &mut own.then_branch);
        self.leave(&mut ways);
        match &mut own.else_branch {
            Some((_, expr)) => {
                self.arm(other, expr);
                self.leave(&mut ways);
            }
            None => {
                ways.push(other);
                own.else_branch = self.witness(other).map(|witness| {
                    (
                        Token![else](Span::mixed_site()),
                        Box::new(Expr::Verbatim(quote!({ #witness }))),
                    )
                });
            }
        }
        self.meet(&ways, own.then_branch.brace_token.span.close());
    }

    /// `a && b` as a value: the right side, or past it.
    fn lazy(&mut self, expr: &mut Expr) {
        let span = expr.span();
        let Expr::Binary(own) = expr else { return };
        let is_and = matches!(own.op, BinOp::And(_));
        let (past, right) =
            (self.way("past", own.op.span()), self.way("right side", own.right.span()));
        if is_and {
            self.condition(&mut own.left, right, &[past]);
        } else {
            self.condition(&mut own.left, past, &[right]);
        }
        self.current = Some(right);
        self.value(&mut own.right);
        let mut ways = vec![past];
        self.leave(&mut ways);
        if let Some(witness) = self.witness(past) {
            let left = &own.left;
            *own.left = Expr::Verbatim(match is_and {
                true => quote!(((#left) || { #witness false })),
                false => quote!(((#left) && { #witness true })),
            });
        }
        self.before(right, &mut own.left, is_and);
        self.meet(&ways, span);
    }

    /// Adds the witness of the right side of a lazy operator to its left side.
    pub(super) fn before(&self, right: BlockId, left: &mut Expr, is_and: bool) {
        let Some(witness) = self.witness(right) else { return };
        *left = Expr::Verbatim(match is_and {
            true => quote!(#left && { #witness true }),
            false => quote!(#left || { #witness false }),
        });
    }
}

fn name(label: Option<&Label>) -> Option<String> {
    label.map(|label| label.name.ident.to_string())
}

fn is_assigning(op: &BinOp) -> bool {
    use BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}
