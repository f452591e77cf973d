//! A table whose columns are as wide as their cells.
//!
//! ```text
//!  kind     events    bytes
//!  Arena       120     4800      the first column to the left, numbers to the right
//! ```

/// Rows of cells; the first row is the heading.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Number of columns, from the first, that are aligned to the left.
    left_count: usize,
    /// Whether the last column is aligned to the left too.
    is_end_left: bool,
}

impl Table {
    /// Returns a table with a heading, whose first `left_count` columns are aligned to the left.
    pub fn new(left_count: usize, heading: &[impl AsRef<str>]) -> Table {
        let heading = heading.iter().map(|cell| cell.as_ref().to_owned()).collect();
        Table { rows: vec![heading], left_count, is_end_left: false }
    }

    /// Aligns the last column to the left.
    pub fn end_left(&mut self) {
        self.is_end_left = true;
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns whether the table has no row below its heading.
    pub fn is_empty(&self) -> bool {
        self.rows.len() <= 1
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let cell = if column < self.left_count || self.is_end_left && column + 1 == columns
                {
                    format!("{cell:<width$}  ")
                } else {
                    format!("{cell:>width$}  ")
                };
                line.push_str(&cell);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
