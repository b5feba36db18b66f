//! A file's name says what is in it: no `mod.rs`, and none of the names that say nothing.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "file names", check, broken };

/// Names under which anything could stand.
const BANNED: &[&str] = &["util", "utils", "utilities", "common", "misc", "helper", "helpers", "shared", "stuff"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in tree.sources.keys() {
        if path.ends_with("/mod.rs") {
            findings.push(Finding::of(path, "`mod.rs`: write `name.rs` beside `name/`"));
        }
        for part in path.trim_end_matches(".rs").split('/') {
            if BANNED.contains(&part)
                || BANNED.iter().any(|banned| part.strip_suffix(banned).is_some_and(|rest| rest.ends_with('_')))
            {
                findings.push(Finding::of(path, format!("`{part}` says nothing: name the noun that is in it")));
            }
        }
    }
    findings
}

fn broken() -> Vec<Tree> {
    ["a/src/b/mod.rs", "a/src/util.rs", "a/src/common/b.rs", "a/src/string_helpers.rs", "a/tests/common/mod.rs"]
        .iter()
        .map(|path| Tree::of(&[(path, "//! B.\n")]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_pass() {
        assert_eq!(
            check(&Tree::of(&[("a/src/model.rs", ""), ("a/src/shared_group.rs", ""), ("a/src/commons_law.rs", "")])),
            []
        );
    }
}
