//! Each crate forbids unsafe code at its root, where no module can lift it.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "unsafe code", check, broken };

const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (manifest, _) in tree.manifests.iter().filter(|(_, manifest)| !manifest.name.is_empty()) {
        let folder = manifest.trim_end_matches("Cargo.toml");
        let roots: Vec<_> = tree
            .sources
            .iter()
            .filter(|(path, _)| {
                path.strip_prefix(folder).is_some_and(|inside| {
                    matches!(inside, "src/lib.rs" | "src/main.rs")
                        || inside.starts_with("src/bin/") && inside.matches('/').count() == 2
                })
            })
            .collect();
        if roots.is_empty() {
            findings.push(Finding::of(manifest, "no crate root found"));
        }
        for (path, source) in roots {
            if !source.code.lines().any(|line| line.trim() == ATTRIBUTE) {
                findings.push(Finding::of(path, format!("`{ATTRIBUTE}` is missing")));
            }
        }
    }
    findings
}

fn broken() -> Vec<Tree> {
    let manifest = ("a/Cargo.toml", "[package]\nname = \"a\"\n");
    vec![
        Tree::of(&[manifest]),
        Tree::of(&[manifest, ("a/src/lib.rs", "//! A.\n// #![forbid(unsafe_code)]\n")]),
        Tree::of(&[manifest, ("a/src/lib.rs", "#![forbid(unsafe_code)]\n"), ("a/src/main.rs", "//! A.\n")]),
        Tree::of(&[manifest, ("a/src/lib.rs", "#![forbid(unsafe_code)]\n"), ("a/src/bin/b.rs", "//! B.\n")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attribute_at_the_root_is_enough() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/src/lib.rs", "#![forbid(unsafe_code)]\n"),
            ("a/src/b.rs", ""),
        ]);
        assert_eq!(check(&tree), []);
    }
}
