//! What the rules look at: the workspace's files, in memory.
//!
//! Read from `git ls-files` (tracked files, and new ones that are not ignored), so build output and downloads are
//! never judged.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{manifest::Manifest, source::Source};

/// The files of a workspace by their path from its root.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(crate) sources: BTreeMap<String, Source>,
    pub(crate) manifests: BTreeMap<String, Manifest>,
    pub(crate) pages: BTreeMap<String, String>,
    /// Files that may be executed.
    pub(crate) executables: Vec<String>,
}

impl Tree {
    /// Reads the workspace that this crate is part of.
    ///
    /// # Errors
    /// When git does not answer or a listed file cannot be read.
    pub fn of_workspace() -> io::Result<Self> {
        let root = workspace_root();
        let listing =
            Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(&root).output()?;
        if !listing.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&listing.stderr).into_owned()));
        }
        let mut tree = Self::default();
        for path in String::from_utf8_lossy(&listing.stdout).lines() {
            let file = root.join(path);
            // A file that was deleted but not yet committed is still listed.
            if file.is_file() {
                tree.read(path, &file)?;
            }
        }
        Ok(tree)
    }

    fn read(&mut self, path: &str, file: &Path) -> io::Result<()> {
        if is_executable(file)? {
            self.executables.push(path.to_owned());
        }
        let interesting = [".rs", ".md", "Cargo.toml"].iter().any(|ending| path.ends_with(ending));
        if interesting {
            let text = std::fs::read_to_string(file)?;
            self.add(path, &text);
        }
        Ok(())
    }

    /// Adds a file to the tree, as the rules' own tests do.
    pub(crate) fn add(&mut self, path: &str, text: &str) {
        if path.ends_with(".rs") {
            self.sources.insert(path.to_owned(), Source::new(text));
        } else if path.ends_with("Cargo.toml") {
            self.manifests.insert(path.to_owned(), Manifest::new(text));
        } else {
            self.pages.insert(path.to_owned(), text.to_owned());
        }
    }

    /// A tree of the given files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.add(path, text);
        }
        tree
    }

    /// The sources that are not tests.
    pub(crate) fn product(&self) -> impl Iterator<Item = (&String, &Source)> {
        self.sources.iter().filter(|(path, _)| !is_test_file(path))
    }

    /// How many Rust files were read.
    #[must_use]
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }
}

/// Whether the file is nothing but tests: below a crate's `tests` folder, or a module file that only tests compile.
pub(crate) fn is_test_file(path: &str) -> bool {
    // The top-level `tests/` holds crates; what is in their `src` is held to the same rules as the product.
    let inside = path.strip_prefix("tests/").unwrap_or(path);
    inside.split('/').any(|part| part == "tests" || part == "benches")
        || inside.ends_with("/tests.rs")
        || inside.ends_with("_tests.rs")
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(unix)]
fn is_executable(file: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(file.metadata()?.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_file: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_known_by_their_place() {
        for path in ["group-core/machine/tests/log.rs", "tests/conformance/tests/amqp.rs", "gateway/src/http/tests.rs"]
        {
            assert!(is_test_file(path), "{path}");
        }
        for path in ["gateway/src/main.rs", "tests/conformance/src/lib.rs", "protocols/nats/src/latests.rs"] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
