//! Every file opens by saying what it is.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "header", check, broken };

fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources
        .iter()
        .filter(|(_, source)| {
            let first = source.text.lines().next().unwrap_or_default();
            first.strip_prefix("//!").is_none_or(|text| text.trim().is_empty())
        })
        .map(|(path, _)| {
            Finding::at(path, 1, "the file does not open with `//!`: say what it is and what it never does")
        })
        .collect()
}

fn broken() -> Vec<Tree> {
    vec![
        Tree::of(&[("a/src/b.rs", "fn c() {}\n")]),
        Tree::of(&[("a/src/b.rs", "//!\nfn c() {}\n")]),
        Tree::of(&[("a/tests/b.rs", "")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_enough() {
        assert_eq!(check(&Tree::of(&[("a/src/b.rs", "//! B.\n")])), []);
    }
}
