//! README.md's two commands exist. A fenced block whose info string has the word `tested` is copy-paste text: its lines
//! are run by `tests/conformance`; here is checked that there are some and that they call what the tree has.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "readme", check, broken };

const PAGE: &str = "README.md";

/// What a tested line may call.
const PROGRAMS: &[&str] = &["cargo", "./test", "braidmq", "./target/release/braidmq", "target/release/braidmq"];

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.pages.get(PAGE) else { return vec![Finding::of(PAGE, "it is missing")] };
    let mut findings = Vec::new();
    let lines = tested_lines(page);
    for command in ["cargo run --release", "./test"] {
        if !lines.iter().any(|(_, line)| line.starts_with(command)) {
            findings.push(Finding::of(PAGE, format!("no fenced block marked `tested` has the command `{command}`")));
        }
    }
    for (number, line) in &lines {
        let program = line.split_whitespace().next().unwrap_or_default();
        if !PROGRAMS.contains(&program) {
            findings.push(Finding::at(PAGE, *number, format!("`{program}` is nothing that the tests can run")));
        }
    }
    for script in ["test", ".ci/run"] {
        if !tree.executables.iter().any(|path| path == script) {
            findings.push(Finding::of(script, "it is missing or cannot be executed"));
        }
    }
    findings
}

/// The lines of all fenced blocks marked `tested`, without blank ones and comments: (line from 1, text).
fn tested_lines(page: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let (mut fenced, mut tested) = (false, false);
    for (index, line) in page.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            fenced = !fenced;
            tested = fenced && info.split_whitespace().any(|word| word == "tested");
        } else if tested && !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            lines.push((index + 1, line.trim()));
        }
    }
    lines
}

const GOOD: &str = "```sh tested\ncargo run --release\n```\n```sh tested\n./test # all\n```\n";

fn broken() -> Vec<Tree> {
    let with_scripts = |page: &str| {
        let mut tree = Tree::of(&[(PAGE, page)]);
        tree.executables = vec!["test".to_owned(), ".ci/run".to_owned()];
        tree
    };
    vec![
        Tree::of(&[]),
        Tree::of(&[(PAGE, GOOD)]),
        with_scripts("```sh\ncargo run --release\n./test\n```\n"),
        with_scripts("```sh tested\ncargo run --release\n```\n"),
        with_scripts(&format!("{GOOD}```sh tested\nmake install\n```\n")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_commands_are_enough() {
        let mut tree = Tree::of(&[(PAGE, GOOD)]);
        tree.executables = vec!["test".to_owned(), ".ci/run".to_owned()];
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn only_blocks_marked_tested_are_read() {
        assert_eq!(tested_lines("```sh\na\n```\n```sh tested\n# b\n\nc\n```\nd\n"), [(7, "c")]);
    }
}
