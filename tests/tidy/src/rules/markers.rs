//! No marks of work left undone: an issue is the place for them.

use super::Rule;
use crate::{Finding, Tree, source::has_word};

pub(super) const RULE: Rule = Rule { name: "markers", check, broken };

/// Words in comments.
const COMMENT_MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// Macros in code.
const MACRO_MARKS: &[&str] = &["todo!", "unimplemented!"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in &tree.sources {
        for (line, text) in &source.comments {
            if let Some(mark) = COMMENT_MARKS.iter().find(|mark| has_word(text, mark)) {
                findings.push(Finding::at(path, *line, format!("`{mark}`: do it, or file an issue")));
            }
        }
        for (index, text) in source.code.lines().enumerate() {
            if let Some(mark) = MACRO_MARKS.iter().find(|mark| text.contains(*mark)) {
                findings.push(Finding::at(path, index + 1, format!("`{mark}`: a stub")));
            }
        }
    }
    findings
}

fn broken() -> Vec<Tree> {
    ["// TODO: later", "/* FIXME */", "/// XXX", "fn a() { todo!() }", "fn a() { unimplemented!(\"b\") }"]
        .iter()
        .map(|text| Tree::of(&[("a/src/b.rs", text)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_longer_words_pass() {
        assert_eq!(check(&Tree::of(&[("a/src/b.rs", "let a = \"TODO\"; // XXXL, mastodon\n")])), []);
    }
}
