//! No function longer than 70 lines, from `fn` to its closing brace, comments and blank lines counted. Stricter than
//! clippy's `too_many_lines`, which counts code only.

use super::Rule;
use crate::{Finding, Tree, functions::functions};

pub(super) const RULE: Rule = Rule { name: "function size", check, broken };

/// Lines that a function may have.
const LINES_MAX: usize = 70;

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.product() {
        for function in functions(source) {
            if function.lines > LINES_MAX && !source.is_test_line(function.line) {
                let message = format!("`{}` has {} lines, at most {LINES_MAX}", function.name, function.lines);
                findings.push(Finding::at(path, function.line, message));
            }
        }
    }
    findings
}

fn function_of(lines: usize) -> String {
    format!("fn a() {{\n{}}}\n", "    // }\n".repeat(lines - 2))
}

fn broken() -> Vec<Tree> {
    let nested = format!("impl A {{\n{}}}\n", function_of(LINES_MAX + 1));
    vec![Tree::of(&[("a/src/b.rs", &function_of(LINES_MAX + 1))]), Tree::of(&[("a/src/b.rs", &nested)])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_itself_and_tests_pass() {
        let in_tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function_of(LINES_MAX + 1));
        let tree = Tree::of(&[
            ("a/src/b.rs", &function_of(LINES_MAX)),
            ("a/src/c.rs", &in_tests),
            ("a/tests/d.rs", &function_of(LINES_MAX + 1)),
        ]);
        assert_eq!(check(&tree), []);
    }
}
