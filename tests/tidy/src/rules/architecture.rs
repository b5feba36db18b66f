//! ARCHITECTURE.md exists, stays a page that one reads, and each numbered invariant in it names a test that exists.

use std::collections::BTreeSet;

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "architecture", check, broken };

const PAGE: &str = "ARCHITECTURE.md";

/// Lines that the page may have.
const LINES_MAX: usize = 300;

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.pages.get(PAGE) else { return vec![Finding::of(PAGE, "it is missing")] };
    let mut findings = Vec::new();
    let count = page.lines().count();
    if count > LINES_MAX {
        findings.push(Finding::of(PAGE, format!("{count} lines, at most {LINES_MAX}")));
    }
    let tests = test_functions(tree);
    let invariants = invariants(page);
    if invariants.is_empty() {
        findings.push(Finding::of(PAGE, "it has no line that begins with `INV-1`"));
    }
    for (position, invariant) in invariants.iter().enumerate() {
        if invariant.number != position + 1 {
            findings.push(Finding::at(
                PAGE,
                invariant.line,
                format!("INV-{} is out of order: INV-{} is next", invariant.number, position + 1),
            ));
        }
        if !quoted_names(&invariant.text).any(|name| tests.contains(name)) {
            findings.push(Finding::at(
                PAGE,
                invariant.line,
                format!("INV-{} names no test function that exists", invariant.number),
            ));
        }
    }
    findings
}

/// A line that begins with `INV-n`, and the lines that continue it.
struct Invariant {
    number: usize,
    line: usize,
    text: String,
}

fn invariants(page: &str) -> Vec<Invariant> {
    let mut found: Vec<Invariant> = Vec::new();
    let mut open = false;
    for (index, line) in page.lines().enumerate() {
        let bare = line.trim_start_matches(['|', '-', '*', '#', ' ', '`']);
        let number =
            bare.strip_prefix("INV-").map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        if let Some(number) = number.and_then(|digits| digits.parse().ok()) {
            found.push(Invariant { number, line: index + 1, text: line.to_owned() });
            open = true;
        } else if line.trim().is_empty() || line.starts_with(['#', '|', '-', '*']) {
            open = false;
        } else if let Some(last) = found.last_mut().filter(|_| open) {
            last.text.push(' ');
            last.text.push_str(line);
        }
    }
    found
}

/// The last path segment of each word in backticks.
fn quoted_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).map(|quoted| quoted.rsplit("::").next().unwrap_or(quoted).trim_end_matches("()"))
}

/// Names of all functions under an attribute that makes them tests.
fn test_functions(tree: &Tree) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for source in tree.sources.values() {
        let mut is_test = false;
        for line in source.code.lines() {
            let line = line.trim();
            if line.starts_with("#[") {
                is_test |= line.starts_with("#[test]") || line.contains("::test]") || line.contains("::test(");
            }
            if let Some((_, rest)) = line.split_once("fn ") {
                let name =
                    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default();
                if is_test {
                    names.insert(name);
                }
                is_test = false;
            }
        }
    }
    names
}

fn broken() -> Vec<Tree> {
    let test = ("a/tests/b.rs", "#[test]\nfn holds() {}\nfn helper() {}\n");
    let page = |text: &str| Tree::of(&[(PAGE, text), test]);
    vec![
        Tree::of(&[test]),
        page("No invariant.\n"),
        page("- INV-1: guarded by `gone`\n"),
        page("- INV-1: guarded by `helper`\n"),
        page("- INV-1: guarded by holds\n"),
        page("- INV-2: guarded by `holds`\n"),
        page(&format!("- INV-1: guarded by `holds`\n{}", "\n".repeat(LINES_MAX))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_write_an_invariant_is_read() {
        let page = "Text on INV-7.\n\n- **INV-1** first: `holds`\n| INV-2 | second | `a::b::holds` |\nINV-3: third,\n  guarded by `later()`\n";
        let tree = Tree::of(&[
            (PAGE, page),
            ("a/tests/b.rs", "#[test]\nfn holds() {}\nproptest! {\n #[test]\n #[ignore]\n fn later(a in 0..3) {}\n}\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_test_of_a_runtime_counts() {
        let tree = Tree::of(&[("a/tests/b.rs", "#[tokio::test(flavor = \"current_thread\")]\nasync fn holds() {}\n")]);
        assert!(test_functions(&tree).contains("holds"));
    }
}
