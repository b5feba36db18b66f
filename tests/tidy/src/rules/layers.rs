//! Who may depend on whom: an edge may only point down. The picture is in ARCHITECTURE.md; this is the same, checked.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "layers", check, broken };

/// Our crates, each with those that it may name under `[dependencies]`.
const ALLOWED: &[(&str, &[&str])] = &[
    ("braid-types", &[]),
    ("braid-proto", &[]),
    ("braid-routing", &["braid-types"]),
    ("braid-machine", &["braid-types"]),
    ("braid-amqp", &["braid-types"]),
    ("braid-mqtt", &["braid-types"]),
    ("braid-nats", &["braid-types"]),
    ("braid-log", &["braid-types"]),
    ("braid-replica", &["braid-types", "braid-log", "braid-proto"]),
    ("braid-catalog", &["braid-types", "braid-routing"]),
    ("braid-broker", &["braid-types", "braid-routing", "braid-machine", "braid-log", "braid-replica", "braid-proto"]),
    ("braid-cluster", &["braid-types", "braid-catalog", "braid-replica", "braid-proto"]),
    (
        "braid-gateway",
        &[
            "braid-types",
            "braid-routing",
            "braid-machine",
            "braid-amqp",
            "braid-mqtt",
            "braid-nats",
            "braid-log",
            "braid-replica",
            "braid-catalog",
            "braid-broker",
            "braid-cluster",
            "braid-proto",
        ],
    ),
    ("braid-tidy", &[]),
    ("braid-conformance", &[]),
    ("braid-bench", &[]),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, manifest) in tree.manifests.iter().filter(|(_, manifest)| !manifest.name.is_empty()) {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == manifest.name) else {
            findings.push(Finding::of(path, format!("`{}` has no place in the layers yet", manifest.name)));
            continue;
        };
        for (line, dependency) in &manifest.dependencies {
            if dependency.starts_with("braid-") && !allowed.contains(&dependency.as_str()) {
                findings.push(Finding::at(
                    path,
                    *line,
                    format!("`{}` may not depend on `{dependency}`", manifest.name),
                ));
            }
        }
    }
    findings
}

fn broken() -> Vec<Tree> {
    [
        ("braid-machine", "braid-routing"),
        ("braid-amqp", "braid-broker"),
        ("braid-broker", "braid-catalog"),
        ("braid-new", "braid-types"),
    ]
    .iter()
    .map(|(from, to)| {
        Tree::of(&[("a/Cargo.toml", &format!("[package]\nname = \"{from}\"\n[dependencies]\n{to}.workspace = true\n"))])
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_point_down_and_dev_dependencies_pass() {
        let text = "[package]\nname = \"braid-catalog\"\n[dependencies]\nbraid-routing.workspace = true\n[dev-dependencies]\nbraid-machine = { workspace = true }\n";
        assert_eq!(check(&Tree::of(&[("a/Cargo.toml", text)])), []);
    }

    #[test]
    fn no_edge_points_up() {
        for (position, (name, allowed)) in ALLOWED.iter().enumerate() {
            for dependency in *allowed {
                let below = ALLOWED.iter().position(|(other, _)| other == dependency);
                assert!(below.is_none_or(|below| below < position), "{name} -> {dependency}");
            }
        }
    }
}
