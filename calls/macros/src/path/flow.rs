//! The flow through a function: where the code is, where its jumps lead, what each statement does.
//!
//! ```text
//!  statement ─▶ value ─▶ block ─┬ fork: a block for each way, where its witness may stand
//!                               └ jump: an edge; what follows is not reached
//! ```
//!
//! The first visit builds the graph and records nothing; the second one, of the same code, inserts
//! the witnesses that were chosen. Both number the blocks alike. Design: `.paths.marked` in
//! `design/paths.md`.

use super::graph::Graph;
use crate::statements::{attributes_of, condition};
use lens_paths::graph::BlockId;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::BTreeSet;
use std::mem::take;
use syn::spanned::Spanned;
use syn::{Block, Error, Expr, Lifetime, Local, Stmt};

/// A place to which `break` and `continue` lead.
#[derive(Clone, Debug)]
pub(super) struct Jump {
    pub(super) label: Option<String>,
    /// Where `continue` leads; none from a labelled block.
    pub(super) next: Option<BlockId>,
    /// Where `break` leads.
    pub(super) after: BlockId,
}

/// The code of a function, and its graph so far.
#[derive(Debug)]
pub(super) struct Flow<'c> {
    pub(super) graph: Graph,
    /// The blocks whose witnesses are inserted.
    chosen: &'c BTreeSet<BlockId>,
    /// The block where the code is; none where it is not reached.
    pub(super) current: Option<BlockId>,
    pub(super) jumps: Vec<Jump>,
    /// Whether the function's own events are its letters.
    pub(super) is_check: bool,
    pub(super) errors: Vec<Error>,
}

/// The block where the function begins.
const BEGIN: BlockId = BlockId(0);
/// The block where the function returns.
pub(super) const END: BlockId = BlockId(1);

impl<'c> Flow<'c> {
    /// Visits the body of a function.
    pub(super) fn new(body: &mut Block, chosen: &'c BTreeSet<BlockId>, is_check: bool) -> Self {
        let (graph, current) = (Graph::default(), Some(BEGIN));
        let (jumps, errors) = (Vec::new(), Vec::new());
        let mut flow = Flow { graph, chosen, current, jumps, is_check, errors };
        flow.graph.block("begin", body.brace_token.span.open(), false);
        flow.graph.block("end", body.brace_token.span.close(), false);
        flow.block(body);
        flow.jump(END);
        flow
    }

    /// Adds a block with which a way of a fork begins.
    pub(super) fn way(&mut self, word: &'static str, span: Span) -> BlockId {
        self.graph.block(word, span, true)
    }

    /// Adds an edge from the current block.
    pub(super) fn to(&mut self, to: BlockId) {
        if let Some(from) = self.current {
            self.graph.edge(from, to);
        }
    }

    /// Leads to a block. What follows is not reached.
    pub(super) fn jump(&mut self, to: BlockId) {
        self.to(to);
        self.current = None;
    }

    /// Ends the program here.
    pub(super) fn stop(&mut self) {
        if let Some(block) = self.current.take() {
            self.graph.stop(block);
        }
    }

    /// Ends one of several ways that meet.
    pub(super) fn leave(&mut self, ways: &mut Vec<BlockId>) {
        ways.extend(self.current.take());
    }

    /// Goes on where ways meet.
    pub(super) fn meet(&mut self, ways: &[BlockId], span: Span) {
        self.current = match ways {
            [] => None,
            [way] => Some(*way),
            ways => {
                let block = self.graph.block("join", span, false);
                ways.iter().for_each(|way| self.graph.edge(*way, block));
                Some(block)
            }
        };
    }

    /// Returns the witness of a block as a statement, if it was chosen.
    pub(super) fn witness(&self, block: BlockId) -> Option<TokenStream> {
        self.chosen.contains(&block).then(|| {
            let number = self.number(block);
            quote_spanned! {Span::mixed_site()=>
                #[allow(unreachable_code)] ::calls::__private::Frame::at(&__frame, #number);
            }
        })
    }

    /// Returns the number of a block's element: those that a function begins and ends with have the
    /// first two.
    pub(super) fn number(&self, block: BlockId) -> u32 {
        block.0 + 2
    }

    /// Goes to the beginning of a way, whose code is a block of statements.
    pub(super) fn body(&mut self, way: BlockId, body: &mut Block) {
        self.current = Some(way);
        let witness = self.witness(way);
        self.block(body);
        if let Some(witness) = witness {
            body.stmts.insert(0, verbatim(witness));
        }
    }

    /// Goes to the beginning of a way, whose code is an expression.
    pub(super) fn arm(&mut self, way: BlockId, expr: &mut Expr) {
        if let Expr::Block(inner) = expr
            && inner.label.is_none()
            && inner.attrs.is_empty()
        {
            return self.body(way, &mut inner.block);
        }
        self.current = Some(way);
        let witness = self.witness(way);
        self.value(expr);
        if let Some(witness) = witness {
            *expr = Expr::Verbatim(quote!({ #witness #expr }));
        }
    }

    /// Adds the witness of the block after an expression without a value.
    pub(super) fn follow(&self, block: BlockId, expr: &mut Expr) {
        if let Some(witness) = self.witness(block) {
            *expr = Expr::Verbatim(quote!({ #expr #witness }));
        }
    }

    /// Visits a block of statements.
    pub(super) fn block(&mut self, block: &mut Block) {
        let count = block.stmts.len();
        for (at, mut stmt) in take(&mut block.stmts).into_iter().enumerate() {
            let (attributes, _) = attributes_of(stmt.to_token_stream());
            match condition(&attributes).filter(|_| self.has_flow(&stmt)) {
                Some(condition) => self.optional(condition, stmt, &mut block.stmts),
                None => {
                    let [before, after] = self.stmt(&mut stmt, at + 1 == count);
                    block.stmts.extend(before.map(verbatim));
                    block.stmts.push(stmt);
                    block.stmts.extend(after.map(verbatim));
                }
            }
        }
    }

    /// Returns whether a statement has a fork or a jump.
    fn has_flow(&self, stmt: &Stmt) -> bool {
        let (chosen, is_check) = (BTreeSet::new(), self.is_check);
        let (graph, jumps, errors) = (Graph::default(), self.jumps.clone(), Vec::new());
        let mut own = Flow { graph, chosen: &chosen, current: None, jumps, is_check, errors };
        own.current = Some(own.way("", Span::call_site()));
        own.stmt(&mut stmt.clone(), false);
        own.graph.places.len() > 1 || own.current.is_none()
    }

    /// Visits a statement that the build may leave out: a fork.
    fn optional(&mut self, condition: TokenStream, mut stmt: Stmt, stmts: &mut Vec<Stmt>) {
        let span = stmt.span();
        let (with, without) = (self.way("with", span), self.way("without", span));
        self.to(with);
        self.to(without);
        self.current = Some(with);
        let [before, after] = self.stmt(&mut stmt, false);
        let mut ways = vec![without];
        self.leave(&mut ways);
        let first = self.witness(with).map(|own| quote!(#[cfg(#condition)] #own));
        let other = self.witness(without).map(|own| quote!(#[cfg(not(#condition))] #own));
        let [before, after] =
            [before, after].map(|own| own.map(|own| quote!(#[cfg(#condition)] #own)));
        stmts.extend([first, other, before].into_iter().flatten().map(verbatim));
        stmts.push(stmt);
        stmts.extend(after.map(verbatim));
        self.meet(&ways, span);
    }

    /// Visits a statement. Returns the witnesses before it and after it.
    fn stmt(&mut self, stmt: &mut Stmt, is_last: bool) -> [Option<TokenStream>; 2] {
        match stmt {
            Stmt::Item(_) => [None, None],
            Stmt::Local(local) => [None, self.local(local)],
            Stmt::Macro(own) if is_last && own.semi_token.is_none() => {
                let mut expr = Expr::Verbatim(own.mac.to_token_stream());
                self.found(&own.mac, &mut expr);
                *stmt = Stmt::Expr(expr, None);
                [None, None]
            }
            Stmt::Macro(own) => self.statement_of(&own.mac),
            Stmt::Expr(expr, _) => {
                self.value(expr);
                [None, None]
            }
        }
    }

    fn local(&mut self, local: &mut Local) -> Option<TokenStream> {
        let init = local.init.as_mut()?;
        self.value(&mut init.expr);
        let (_, other) = init.diverge.as_mut()?;
        let (matched, diverges) =
            (self.way("matched", local.pat.span()), self.way("else", other.span()));
        self.to(matched);
        self.to(diverges);
        self.arm(diverges, other);
        // What diverges here is a call that never returns.
        self.stop();
        self.current = Some(matched);
        self.witness(matched)
    }

    /// Finds where a `break` or a `continue` leads.
    pub(super) fn target(&self, label: Option<&Lifetime>, is_next: bool) -> Option<BlockId> {
        let label = label.map(|label| label.ident.to_string());
        let is_it = |jump: &&Jump| match &label {
            Some(label) => jump.label.as_ref() == Some(label),
            None => jump.next.is_some(),
        };
        let jump = self.jumps.iter().rev().find(is_it)?;
        if is_next { jump.next } else { Some(jump.after) }
    }

    /// Notes what cannot be told.
    pub(super) fn refuse(&mut self, tokens: impl ToTokens, what: &str) {
        self.errors.push(Error::new_spanned(tokens, format!("#[path]: {what}")));
    }
}

/// Returns tokens as a statement.
pub(super) fn verbatim(tokens: TokenStream) -> Stmt {
    Stmt::Expr(Expr::Verbatim(tokens), None)
}
