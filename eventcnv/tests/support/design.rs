//! The columns that `design/output.md` states, and the headings of a page.

use std::fs;

/// Returns the rows of the design whose first cell begins with a code: the codes of both cells.
pub(crate) fn rows() -> Vec<[Vec<String>; 2]> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/output.md");
    let page = fs::read_to_string(page).unwrap();
    let codes = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix('|'));
    let rows = rows.filter_map(|line| line.split_once('|'));
    rows.map(|(first, second)| [codes(&format!("`{first}")), codes(second)]).collect()
}

/// Returns the columns that the design states for a table.
pub(crate) fn stated(table: &[&str]) -> Vec<String> {
    let mut found = rows().into_iter().filter(|[name, _]| name == table);
    let [_, columns] = found.next().unwrap_or_else(|| panic!("no row for {table:?}"));
    assert!(found.next().is_none(), "two rows for {table:?}");
    columns.iter().flat_map(|names| names.split(' ')).map(str::to_owned).collect()
}

/// Returns the columns of each table that a page was written with.
pub(crate) fn headings(page: &str) -> Vec<Vec<&str>> {
    let tables = page.split("<table class=\"sorted\">").skip(1);
    let heads = tables.filter_map(|table| table.split("</thead>").next());
    let columns = heads.map(|head| head.split("data-field=\"").skip(1));
    columns.map(|fields| fields.filter_map(|field| field.split('"').next()).collect()).collect()
}

/// Returns whether columns are some of those that the design states for a table, in their order.
pub(crate) fn are_of(columns: &[&str], table: &[&str]) -> bool {
    let stated = stated(table);
    let mut rest = stated.iter();
    !columns.is_empty() && columns.iter().all(|column| rest.any(|own| own == column))
}
