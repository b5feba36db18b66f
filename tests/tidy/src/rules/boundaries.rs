//! Names that may not be spoken in some places, whatever the manifests say.

use super::Rule;
use crate::{Finding, Tree, source::has_word};

pub(super) const RULE: Rule = Rule { name: "boundaries", check, broken };

/// Words that only the named folders may use in code or dependencies.
struct Boundary {
    /// Words of code; `-` in a dependency's name counts as `_`.
    words: &'static [&'static str],
    /// Folders in which they are forbidden; empty: everywhere.
    forbidden_in: &'static [&'static str],
    /// Folders in which they are allowed all the same.
    allowed_in: &'static [&'static str],
    reason: &'static str,
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        words: &["openraft"],
        forbidden_in: &[],
        allowed_in: &["group-core/replica/"],
        reason: "Raft sits behind `Replica`: only that crate names it",
    },
    Boundary {
        words: &["braid_machine", "braid_replica", "braid_proto", "braid_broker", "braid_routing"],
        forbidden_in: &["protocols/"],
        allowed_in: &[],
        reason: "a protocol knows requests and events, not what is behind them",
    },
    Boundary {
        words: &["braid_catalog", "braid_cluster"],
        forbidden_in: &["group-core/"],
        allowed_in: &[],
        reason: "the group core never names the catalog: the gateway wires it in",
    },
    Boundary {
        words: &["braid_gateway"],
        forbidden_in: &["protocols/", "group-core/", "meta/", "proto/"],
        allowed_in: &[],
        reason: "nothing names the gateway",
    },
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for boundary in BOUNDARIES {
        let applies = |path: &str| {
            let inside = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
            (boundary.forbidden_in.is_empty() || inside(boundary.forbidden_in)) && !inside(boundary.allowed_in)
        };
        for (path, source) in tree.sources.iter().filter(|(path, _)| applies(path)) {
            for (index, line) in source.code.lines().enumerate() {
                if let Some(word) = boundary.words.iter().find(|word| has_word(line, word)) {
                    findings.push(Finding::at(path, index + 1, format!("`{word}`: {}", boundary.reason)));
                }
            }
        }
        for (path, manifest) in tree.manifests.iter().filter(|(path, _)| applies(path)) {
            for (line, dependency) in &manifest.dependencies {
                if boundary.words.contains(&dependency.replace('-', "_").as_str()) {
                    findings.push(Finding::at(path, *line, format!("`{dependency}`: {}", boundary.reason)));
                }
            }
        }
    }
    findings
}

fn broken() -> Vec<Tree> {
    vec![
        Tree::of(&[("meta/cluster/src/a.rs", "use openraft::Raft;")]),
        Tree::of(&[(
            "meta/cluster/Cargo.toml",
            "[package]\nname = \"braid-cluster\"\n[dependencies]\nopenraft = \"1\"\n",
        )]),
        Tree::of(&[("protocols/amqp/src/a.rs", "use braid_machine::Group;")]),
        Tree::of(&[("group-core/broker/src/a.rs", "fn a(_: braid_catalog::Catalog) {}")]),
        Tree::of(&[("group-core/machine/src/a.rs", "use braid_gateway::Server;")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_and_in_their_own_place_pass() {
        let tree = Tree::of(&[
            ("group-core/replica/src/a.rs", "use openraft::Raft;"),
            ("meta/cluster/src/a.rs", "// openraft sits behind Replica\nuse braid_catalog::Catalog;"),
            ("protocols/amqp/src/a.rs", "fn my_openrafting() {}"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
