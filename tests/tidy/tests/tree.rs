//! Runs every rule over the real tree, and every rule over the trees that must break it.

use braid_tidy::{RULES, Tree};

#[test]
fn the_tree_is_tidy() -> std::io::Result<()> {
    let tree = Tree::of_workspace()?;
    assert!(tree.source_count() > 20, "only {} Rust files were found", tree.source_count());
    let findings: Vec<String> = RULES
        .iter()
        .flat_map(|rule| (rule.check)(&tree).into_iter().map(move |finding| format!("[{}] {finding}", rule.name)))
        .collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    Ok(())
}

#[test]
fn every_rule_can_fail() {
    for rule in RULES {
        let broken = (rule.broken)();
        assert!(!broken.is_empty(), "{} has nothing that breaks it", rule.name);
        for (index, tree) in broken.iter().enumerate() {
            assert!(!(rule.check)(tree).is_empty(), "{} lets its broken tree {index} pass", rule.name);
        }
    }
}
