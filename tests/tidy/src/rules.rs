//! The list of rules. Each has a file of its own below, with the tree that breaks it.

mod architecture;
mod boundaries;
mod commented_code;
mod file_names;
mod file_size;
mod function_size;
mod header;
mod layers;
mod markers;
mod purity;
mod readme;
mod unsafe_code;

use crate::{Finding, Tree};

/// A rule and the proof that it can fail.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name, as the test prints it.
    pub name: &'static str,
    /// Looks at a tree.
    pub check: fn(&Tree) -> Vec<Finding>,
    /// Small trees, each of which breaks the rule in another way.
    pub broken: fn() -> Vec<Tree>,
}

/// All rules.
pub const RULES: &[Rule] = &[
    header::RULE,
    file_names::RULE,
    file_size::RULE,
    file_size::MEDIAN_RULE,
    function_size::RULE,
    markers::RULE,
    commented_code::RULE,
    purity::RULE,
    unsafe_code::RULE,
    boundaries::RULE,
    layers::RULE,
    architecture::RULE,
    readme::RULE,
];
