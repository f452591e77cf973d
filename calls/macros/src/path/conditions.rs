//! Conditions, and the arms of a `match`: which way the code goes on.
//!
//! Design: `.paths.marked` in `design/paths.md`.

use super::flow::Flow;
use lens_paths::graph::BlockId;
use quote::quote;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprLit, ExprMatch, Lit, Pat, PatOr, UnOp};

impl Flow<'_> {
    /// Visits a condition. If it holds, the code goes on at `holds`, else at one of `others`.
    pub(super) fn condition(&mut self, expr: &mut Expr, holds: BlockId, others: &[BlockId]) {
        match expr {
            Expr::Paren(own) => return self.condition(&mut own.expr, holds, others),
            Expr::Group(own) => return self.condition(&mut own.expr, holds, others),
            Expr::Binary(own) if matches!(own.op, BinOp::And(_) | BinOp::Or(_)) => {
                let is_and = matches!(own.op, BinOp::And(_));
                let right = self.way("right side", own.right.span());
                if is_and {
                    self.condition(&mut own.left, right, others);
                } else {
                    self.condition(&mut own.left, holds, &[right]);
                }
                self.before(right, &mut own.left, is_and);
                self.current = Some(right);
                return self.condition(&mut own.right, holds, others);
            }
            Expr::Unary(own) if matches!(own.op, UnOp::Not(_)) => {
                if let [other] = others {
                    return self.condition(&mut own.expr, *other, &[holds]);
                }
                self.value(&mut own.expr);
            }
            Expr::Lit(ExprLit { lit: Lit::Bool(own), .. }) => {
                if own.value {
                    self.to(holds);
                } else {
                    others.iter().for_each(|other| self.to(*other));
                }
                self.current = None;
                return;
            }
            _ => self.value(expr),
        }
        self.to(holds);
        others.iter().for_each(|other| self.to(*other));
        self.current = None;
    }

    pub(super) fn matching(&mut self, own: &mut ExprMatch) {
        self.value(&mut own.expr);
        let begin = self.current;
        let arms: Vec<(BlockId, Option<BlockId>)> = own
            .arms
            .iter()
            .map(|arm| {
                let body = self.way("arm", arm.body.span());
                let guard = arm.guard.as_ref().map(|(_, guard)| self.way("guard", guard.span()));
                (body, guard)
            })
            .collect();
        let first = |(body, guard): &(BlockId, Option<BlockId>)| guard.unwrap_or(*body);
        arms.iter().for_each(|arm| self.to(first(arm)));
        let mut ways = Vec::new();
        for (at, arm) in own.arms.iter_mut().enumerate() {
            let (body, guard) = arms[at];
            if let (Some(guard), Some((_, expr))) = (guard, &mut arm.guard) {
                self.current = begin.map(|_| guard);
                // Each alternative of a pattern tries the guard.
                let again = has_alternatives(&arm.pat).then_some(guard);
                let later = arms[at + 1..].iter().map(first);
                let others: Vec<BlockId> = again.into_iter().chain(later).collect();
                self.condition(expr, body, &others);
                if let Some(witness) = self.witness(guard) {
                    // No parentheses around a `let`.
                    let is_chain = match &**expr {
                        Expr::Binary(own) => matches!(own.op, BinOp::And(_)),
                        expr => matches!(expr, Expr::Let(_)),
                    };
                    **expr = Expr::Verbatim(match is_chain {
                        true => quote!({ #witness true } && #expr),
                        false => quote!({ #witness true } && (#expr)),
                    });
                }
            }
            self.arm(body, &mut arm.body);
            arm.comma.get_or_insert_default();
            self.leave(&mut ways);
        }
        self.meet(&ways, own.brace_token.span.close());
    }
}

/// Returns whether a pattern has several alternatives.
fn has_alternatives(pat: &Pat) -> bool {
    struct Found(bool);
    impl Visit<'_> for Found {
        fn visit_pat_or(&mut self, own: &PatOr) {
            self.0 |= own.cases.len() > 1;
            visit::visit_pat_or(self, own);
        }
        // It may make several.
        fn visit_macro(&mut self, _: &syn::Macro) {
            self.0 = true;
        }
    }
    let mut found = Found(false);
    found.visit_pat(pat);
    found.0
}
