//! Databases, queries and data sets have every event of a log, with the values that the dump
//! prints.

#[path = "data/hostile.rs"]
mod hostile;
#[path = "data/logs.rs"]
mod logs;
#[allow(dead_code, reason = "not every test file uses all of it")]
#[path = "pairs/made.rs"]
mod made;
#[path = "data/parquet.rs"]
mod parquet;
#[path = "data/query.rs"]
mod query;
#[path = "data/sql.rs"]
mod sql;
#[allow(dead_code, reason = "not every test file uses all of it")]
mod support;
mod synthetic;
