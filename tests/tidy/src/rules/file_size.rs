//! No file above 500 lines, and half of the files no longer than 150. Tests are not counted, lines of an inline
//! `mod tests` are: where they make a file long, they belong in a file of their own.

use super::Rule;
use crate::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "file size", check, broken };
pub(super) const MEDIAN_RULE: Rule = Rule { name: "median file size", check: check_median, broken: broken_median };

/// Lines that a file may have.
const LINES_MAX: usize = 500;

/// Lines that the median file may have.
const MEDIAN_LINES_MAX: usize = 150;

/// A file that may be longer, for a reason. The number is what it has today: it may only shrink.
struct Exception {
    path: &'static str,
    lines: usize,
    reason: &'static str,
}

/// None so far, and that is how it should stay.
const EXCEPTIONS: &[Exception] = &[];

fn check(tree: &Tree) -> Vec<Finding> {
    check_against(tree, EXCEPTIONS)
}

fn check_against(tree: &Tree, exceptions: &[Exception]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.product() {
        let lines = source.text.lines().count();
        match exceptions.iter().find(|exception| exception.path == path) {
            None if lines > LINES_MAX => {
                findings.push(Finding::of(path, format!("{lines} lines, at most {LINES_MAX}: split it")));
            }
            Some(exception) if lines > exception.lines => {
                findings.push(Finding::of(
                    path,
                    format!("{lines} lines: its exception allows {} and only shrinks", exception.lines),
                ));
            }
            Some(exception) if lines < exception.lines => {
                findings.push(Finding::of(path, format!("{lines} lines: lower its exception, or remove it")));
            }
            _ => {}
        }
    }
    for exception in exceptions {
        let gone = !tree.sources.contains_key(exception.path);
        if gone || exception.lines <= LINES_MAX || exception.reason.is_empty() {
            findings.push(Finding::of(exception.path, "an exception that is not needed or gives no reason"));
        }
    }
    findings
}

fn check_median(tree: &Tree) -> Vec<Finding> {
    let mut lines: Vec<usize> = tree.product().map(|(_, source)| source.text.lines().count()).collect();
    lines.sort_unstable();
    match lines.get(lines.len() / 2) {
        Some(median) if *median > MEDIAN_LINES_MAX => {
            vec![Finding::of(".", format!("the median file has {median} lines, at most {MEDIAN_LINES_MAX}"))]
        }
        _ => Vec::new(),
    }
}

fn broken() -> Vec<Tree> {
    vec![Tree::of(&[("a/src/b.rs", &"//! B.\n".repeat(LINES_MAX + 1))])]
}

fn broken_median() -> Vec<Tree> {
    let long = "//! B.\n".repeat(MEDIAN_LINES_MAX + 1);
    vec![Tree::of(&[("a/src/b.rs", &long), ("a/src/c.rs", &long), ("a/src/d.rs", "//! D.\n")])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_itself_and_tests_pass() {
        let tree = Tree::of(&[("a/src/b.rs", &"\n".repeat(LINES_MAX)), ("a/tests/c.rs", &"\n".repeat(LINES_MAX * 2))]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn an_exception_only_shrinks() {
        let tree = |lines: usize| Tree::of(&[("a/src/b.rs", &"\n".repeat(lines))]);
        let exceptions = [Exception { path: "a/src/b.rs", lines: 600, reason: "generated" }];
        assert_eq!(check_against(&tree(600), &exceptions), []);
        assert_eq!(check_against(&tree(601), &exceptions).len(), 1);
        assert_eq!(check_against(&tree(599), &exceptions).len(), 1);
        assert_eq!(check_against(&Tree::of(&[]), &exceptions).len(), 1);
        assert_eq!(check_against(&tree(600), &[Exception { path: "a/src/b.rs", lines: 600, reason: "" }]).len(), 1);
    }

    #[test]
    fn short_files_have_a_good_median() {
        assert_eq!(check_median(&Tree::of(&[("a/src/b.rs", "//! B.\n")])), []);
    }
}
