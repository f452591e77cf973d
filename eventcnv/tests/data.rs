//! What becomes of a log in a database, in answers to queries, in data sets and in Python: every
//! event, with the values that the dump prints.

#[path = "data/logs.rs"]
mod logs;
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "another crate uses all of it"
)]
#[path = "../../tests/src/naive.rs"]
mod naive;
#[path = "data/parquet.rs"]
mod parquet;
#[path = "data/python.rs"]
mod python;
#[path = "data/query.rs"]
mod query;
#[allow(unreachable_pub, reason = "another crate uses it")]
#[path = "../../tests/src/recipe.rs"]
mod recipe;
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unfulfilled_lint_expectations,
    reason = "another crate uses all of it"
)]
#[path = "../../tests/src/ring.rs"]
mod ring;
#[path = "data/sql.rs"]
mod sql;
#[allow(dead_code, reason = "not every test file uses all of it")]
mod support;
