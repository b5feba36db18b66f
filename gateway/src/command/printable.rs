//! Bytes and texts of others as they may be shown on a terminal: on one line, and without control characters, which
//! could move the cursor or worse.

/// `text` with control characters escaped.
pub(super) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// A body: text if it is UTF-8, otherwise its bytes with escapes.
pub(super) fn body(body: &[u8]) -> String {
    str::from_utf8(body).map_or_else(|_| body.escape_ascii().to_string(), line)
}

/// Rows under headings, in columns as wide as they must be.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let heading_row: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let all = || std::iter::once(&heading_row).chain(rows);
    let width = |column: usize| all().filter_map(|row| row.get(column)).map(|cell| line(cell).chars().count()).max();
    let widths: Vec<usize> = (0..headings.len()).map(|column| width(column).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in all() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{:width$}", line(cell)));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(line("a\nb\u{1b}[2Jü\t"), "a\\nb\\u{1b}[2Jü\\t");
        assert_eq!(body("grüße\r\n".as_bytes()), "grüße\\r\\n");
        assert_eq!(body(b"\xff\x00a\n"), "\\xff\\x00a\\n");
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["ü".to_owned(), "1".to_owned()], vec!["longer\n".to_owned(), "22".to_owned()]];
        assert_eq!(table(&["A", "BB"], &rows), "A         BB\nü         1\nlonger\\n  22\n");
    }
}
