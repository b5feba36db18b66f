//! No code in comments: git remembers it. A heuristic on plain `//` lines; documentation may hold examples.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "commented-out code", check, broken };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in &tree.sources {
        for (line, comment) in &source.comments {
            if looks_like_code(comment) {
                findings.push(Finding::at(path, *line, "this comment looks like code: remove it"));
            }
        }
    }
    findings
}

fn looks_like_code(comment: &str) -> bool {
    let Some(text) = comment.strip_prefix("//").filter(|rest| !rest.starts_with(['/', '!'])) else { return false };
    let text = text.trim();
    let opens = ["let ", "use ", "fn ", "pub ", "impl ", "mod ", "match ", "if ", "for ", "while ", "return ", "#["]
        .iter()
        .any(|word| text.starts_with(word));
    let statement = text.ends_with(';')
        && (opens || text.contains("(") && text.contains(")") || text.contains(" = ") || text.contains("::"));
    let block = text.ends_with('{') && (opens || text.contains(" => ") || text.contains("else"));
    let attribute = text.starts_with("#[") && text.ends_with(']');
    statement || block || attribute || matches!(text, "}" | "};" | "})" | "});" | "},")
}

fn broken() -> Vec<Tree> {
    ["// let a = 1;", "// if a {", "// }", "// call(a);", "// #[test]", "fn a() {} // return b;"]
        .iter()
        .map(|text| Tree::of(&[("a/src/b.rs", text)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_examples_pass() {
        let text =
            "// if a peer says so, close.\n//! let a = 1;\n/// call();\n// first this; then that\n// a set {a, b}\n";
        assert_eq!(check(&Tree::of(&[("a/src/b.rs", text)])), []);
    }
}
