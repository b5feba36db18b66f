//! Finds the functions of a file and their lengths, by counting braces in blanked code.

use crate::source::{Source, is_word};

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// The line of its `fn`, from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to its closing brace, both counted.
    pub(crate) lines: usize,
}

/// All functions with a body, nested ones too, in the order of their `fn`.
pub(crate) fn functions(source: &Source) -> Vec<Function> {
    let bytes = source.code.as_bytes();
    let line_starts: Vec<usize> = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
        .collect();
    let line_of = |at: usize| line_starts.partition_point(|start| *start <= at);
    source
        .code
        .match_indices("fn ")
        .filter(|(at, _)| {
            !at.checked_sub(1)
                .and_then(|before| bytes.get(before))
                .copied()
                .is_some_and(|byte| is_word(byte) || byte == b'#')
        })
        .filter_map(|(at, _)| {
            let name: String = source
                .code
                .get(at + 3..)?
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect();
            if name.is_empty() {
                return None; // the type `fn (…)`
            }
            let end = body_end(bytes.get(at..)?)?;
            let line = line_of(at);
            Some(Function { name, line, lines: line_of(at + end) - line + 1 })
        })
        .collect()
}

/// Offset of the brace that closes the body of the function that `bytes` begins with; `None` for a mere declaration.
fn body_end(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut brackets) = (0_i64, 0_i64);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets -= 1,
            b';' if depth == 0 && brackets == 0 => return None,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                // A brace inside the signature's brackets (a const expression) is not the body.
                if depth == 0 && brackets == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<(String, usize, usize)> {
        functions(&Source::new(text))
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect()
    }

    #[test]
    fn counts_from_fn_to_the_closing_brace() {
        assert_eq!(lengths("\npub fn a(\n  b: u8,\n) -> u8 {\n  b\n}\n"), [("a".to_owned(), 2, 5)]);
    }

    #[test]
    fn is_not_fooled_by_literals_declarations_and_types() {
        let text = "trait T { fn a(&self); fn b(&self) -> [u8; 2] { \"}\"; [0; 2] } }\nfn c(d: fn(u8) -> u8) {\n // }\n let e = '}';\n}";
        assert_eq!(lengths(text), [("b".to_owned(), 1, 1), ("c".to_owned(), 2, 4)]);
    }

    #[test]
    fn finds_nested_functions() {
        assert_eq!(lengths("fn a() {\n fn b() {\n }\n}"), [("a".to_owned(), 1, 4), ("b".to_owned(), 2, 2)]);
    }
}
