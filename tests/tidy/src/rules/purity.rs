//! Pure crates stay pure: `no_std` makes clocks, sockets, files and threads impossible to name, and no dependency
//! brings them back.

use super::Rule;
use crate::{Finding, Tree, source::has_word};

pub(super) const RULE: Rule = Rule { name: "purity", check, broken };

/// The pure crates, by folder.
const PURE: &[&str] = &[
    "group-core/types/",
    "group-core/routing/",
    "group-core/machine/",
    "meta/catalog/",
    "protocols/amqp/",
    "protocols/mqtt/",
    "protocols/nats/",
];

/// Third-party crates that a pure one may use: each is `no_std` (without its default features) and does no IO.
const ALLOWED_DEPENDENCIES: &[&str] =
    &["bytes", "hashbrown", "itoa", "memchr", "serde", "serde_json", "smallvec", "thiserror"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for folder in PURE {
        let manifest_path = format!("{folder}Cargo.toml");
        let Some(manifest) = tree.manifests.get(&manifest_path) else { continue };
        for (line, dependency) in &manifest.dependencies {
            if !dependency.starts_with("braid-") && !ALLOWED_DEPENDENCIES.contains(&dependency.as_str()) {
                findings.push(Finding::at(&manifest_path, *line, format!("a pure crate may not use `{dependency}`")));
            }
        }
        let root = format!("{folder}src/lib.rs");
        if !tree.sources.get(&root).is_some_and(|source| source.code.lines().any(|line| line.trim() == "#![no_std]")) {
            findings.push(Finding::of(&root, "`#![no_std]` is missing in a pure crate"));
        }
        let sources = folder.to_string() + "src/";
        for (path, source) in tree.product().filter(|(path, _)| path.starts_with(&sources)) {
            for (index, line) in source.code.lines().enumerate() {
                let names_std = has_word(line, "extern crate std") || line.contains("std::") && has_word(line, "std");
                if names_std && !source.is_test_line(index + 1) {
                    findings.push(Finding::at(path, index + 1, "a pure crate names `std` outside tests"));
                }
            }
        }
    }
    findings
}

fn broken() -> Vec<Tree> {
    let manifest = ("protocols/nats/Cargo.toml", "[package]\nname = \"braid-nats\"\n");
    let root = ("protocols/nats/src/lib.rs", "#![no_std]\n");
    let tokio = ("protocols/nats/Cargo.toml", "[package]\nname = \"braid-nats\"\n[dependencies]\ntokio = \"1\"\n");
    vec![
        Tree::of(&[manifest, ("protocols/nats/src/lib.rs", "//! #![no_std]\n")]),
        Tree::of(&[manifest, root, ("protocols/nats/src/a.rs", "extern crate std;")]),
        Tree::of(&[manifest, root, ("protocols/nats/src/a.rs", "use std::time::Instant;")]),
        Tree::of(&[tokio, root]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn std_in_tests_passes() {
        let tree = Tree::of(&[
            ("protocols/nats/Cargo.toml", "[package]\nname = \"braid-nats\"\n[dependencies]\nbytes = \"1\"\n"),
            (
                "protocols/nats/src/lib.rs",
                "#![no_std]\n#[cfg(test)]\nextern crate std;\n#[cfg(test)]\nmod tests {\n    use std::vec;\n}\n",
            ),
            ("protocols/nats/tests/a.rs", "use std::vec;"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn every_pure_crate_is_in_the_tree() -> std::io::Result<()> {
        let tree = Tree::of_workspace()?;
        for folder in PURE {
            assert!(
                tree.manifests.contains_key(&format!("{folder}Cargo.toml")),
                "{folder} is gone: the rule checks nothing there"
            );
        }
        Ok(())
    }
}
