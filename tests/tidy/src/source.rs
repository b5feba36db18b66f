//! A Rust file taken apart into code, comments and literals, without parsing it.
//!
//! [`Source::code`] is the text with comments and the insides of literals blanked by spaces, so that a brace or a word
//! found in it is real code; line numbers and columns (in bytes) stay what they were.

/// A Rust file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As it stands in the tree.
    pub(crate) text: String,
    /// The same length and lines, with comments and literals blanked.
    pub(crate) code: String,
    /// Comments: (line from 1, text with its slashes). A block comment has one element per line.
    pub(crate) comments: Vec<(usize, String)>,
}

impl Source {
    /// Takes `text` apart.
    pub(crate) fn new(text: &str) -> Self {
        let mut scanner =
            Scanner { bytes: text.as_bytes(), at: 0, code: text.as_bytes().to_vec(), comments: Vec::new() };
        scanner.run();
        let line_of = |position: usize| 1 + text.bytes().take(position).filter(|byte| *byte == b'\n').count();
        let comments = scanner
            .comments
            .iter()
            .flat_map(|(start, end)| {
                let first = line_of(*start);
                let body = text.get(*start..*end).unwrap_or_default().to_owned();
                body.lines()
                    .map(str::to_owned)
                    .enumerate()
                    .map(move |(offset, line)| (first + offset, line))
                    .collect::<Vec<_>>()
            })
            .collect();
        // Blanking writes only spaces over whole characters, so the bytes stay valid.
        Self { text: text.to_owned(), code: String::from_utf8_lossy(&scanner.code).into_owned(), comments }
    }

    /// Line numbers (from 1) of the code that is compiled only for tests: each item under `#[cfg(test)]`.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.test_ranges().iter().any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// (first, last) line of each item under `#[cfg(test)]`.
    pub(crate) fn test_ranges(&self) -> Vec<(usize, usize)> {
        let lines: Vec<&str> = self.code.lines().collect();
        let mut ranges = Vec::new();
        let mut index = 0;
        while let Some(line) = lines.get(index) {
            if line.trim_start().starts_with("#[cfg(test)]") {
                let end = item_end(&lines, index);
                ranges.push((index + 1, end + 1));
                index = end;
            }
            index += 1;
        }
        ranges
    }
}

/// Index of the last line of the item that begins at `start`: where its braces close, or its semicolon stands.
pub(crate) fn item_end(lines: &[&str], start: usize) -> usize {
    let (mut depth, mut brackets) = (0_i64, 0_i64);
    for (index, line) in lines.iter().enumerate().skip(start) {
        for byte in line.bytes() {
            match byte {
                b'{' => depth += 1,
                b'}' => {
                    depth -= 1;
                    if depth <= 0 {
                        return index;
                    }
                }
                b'(' | b'[' => brackets += 1,
                b')' | b']' => brackets -= 1,
                b';' if depth == 0 && brackets == 0 => return index,
                _ => {}
            }
        }
    }
    lines.len().saturating_sub(1)
}

/// Walks over the bytes once; blanks what is not code.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    code: Vec<u8>,
    comments: Vec<(usize, usize)>,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.line_comment(),
                (b'/', b'*') => self.block_comment(),
                (b'"', _) => self.string(),
                (b'\'', _) => self.character_or_lifetime(),
                (first, _) if is_word(first) => self.word(),
                _ => self.at += 1,
            }
        }
    }

    fn line_comment(&mut self) {
        let start = self.at;
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
        self.comments.push((start, self.at));
        self.blank(start, self.at);
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        break;
                    }
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.bytes.len());
        self.comments.push((start, self.at));
        self.blank(start, self.at);
    }

    fn string(&mut self) {
        let start = self.at + 1;
        self.at += 1;
        while self.at < self.bytes.len() && self.peek(0) != b'"' {
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        self.at = self.at.min(self.bytes.len());
        self.blank(start, self.at);
        self.at += 1;
    }

    fn raw_string(&mut self, hashes: usize) {
        let start = self.at;
        while self.at < self.bytes.len() {
            if self.peek(0) == b'"' && (1..=hashes).all(|ahead| self.peek(ahead) == b'#') {
                break;
            }
            self.at += 1;
        }
        self.blank(start, self.at);
        self.at += 1 + hashes;
    }

    fn character_or_lifetime(&mut self) {
        let start = self.at + 1;
        if self.peek(1) == b'\\' {
            self.at += 3; // the quote, the backslash and what it escapes, which may be a quote
            while self.at < self.bytes.len() && self.peek(0) != b'\'' {
                self.at += 1;
            }
        } else {
            let width = match self.peek(1) {
                0..=0x7f => 1,
                0x80..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            if self.peek(1 + width) != b'\'' {
                self.at += 1; // a lifetime or a loop label
                return;
            }
            self.at += 1 + width;
        }
        self.blank(start, self.at.min(self.bytes.len()));
        self.at += 1;
    }

    /// A word, or the prefix of a raw, byte or C string.
    fn word(&mut self) {
        let start = self.at;
        while is_word(self.peek(0)) {
            self.at += 1;
        }
        let prefix = self.bytes.get(start..self.at).unwrap_or_default();
        if matches!(prefix, b"r" | b"br" | b"cr") {
            let hashes = (0..).take_while(|ahead| self.peek(*ahead) == b'#').count();
            if self.peek(hashes) == b'"' {
                self.at += hashes + 1;
                self.raw_string(hashes);
            }
        }
    }

    fn blank(&mut self, start: usize, end: usize) {
        for byte in self.code.get_mut(start..end).unwrap_or_default() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
}

/// Whether `byte` can be part of a word of code.
pub(crate) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Whether `word` stands in `line`, not as a part of a longer word.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|index| line.as_bytes().get(index));
        let after = line.as_bytes().get(at + word.len());
        !before.copied().is_some_and(is_word) && !after.copied().is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::new(text).code
    }

    #[test]
    fn braces_in_literals_and_comments_are_not_code() {
        for text in [
            "let a = \"{\";",
            "let a = \"\\\"{\";",
            "let a = '{';",
            "let a = '\\'' ; // {",
            "let a = b'{';",
            "let a = r#\"\"{\"#;",
            "let a = br##\"{\"#\"##;",
            "/* { /* { */ { */ let a = 1;",
            "let a = '\u{e9}'; // {",
            "let a = '\\u{7b}';",
        ] {
            assert!(!code(text).contains(['{', '}']), "{text} -> {}", code(text));
            assert!(code(text).contains("let a ="), "{text}");
            assert!(code(text).trim_end().ends_with(';'), "{text}");
        }
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        assert_eq!(
            code("fn a<'b>(x: &'b str) { 'c: loop { break 'c; } }"),
            "fn a<'b>(x: &'b str) { 'c: loop { break 'c; } }"
        );
        assert_eq!(code("let r#fn = 1;"), "let r#fn = 1;");
    }

    #[test]
    fn lines_stay_where_they_were() {
        let source = Source::new("a\n/* b\nc */\nd \"e\nf\" // g\n");
        assert_eq!(source.code.lines().count(), 5);
        assert_eq!(source.comments, [(2, "/* b".to_owned()), (3, "c */".to_owned()), (5, "// g".to_owned())]);
    }

    #[test]
    fn items_under_cfg_test_are_test_lines() {
        let source = Source::new(
            "fn a() {\n}\n#[cfg(test)]\nuse b::{C,\n D};\nfn c() {}\n#[cfg(test)]\nmod tests {\n fn d() {}\n}\n",
        );
        assert_eq!(source.test_ranges(), [(3, 5), (7, 10)]);
    }
}
