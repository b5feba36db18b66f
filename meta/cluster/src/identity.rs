//! Which node a data directory belongs to, and which directory it is: a number of the node, and a random one that no
//! other directory has. It stands in the file `identity` and in the catalog's file, and both must agree.
//!
//! ```text
//! braidmq identity 1
//! node 1
//! id 0123456789abcdef0123456789abcdef
//! ```
//!
//! A first start writes `identity.new`, makes the catalog's file, then gives `identity` its name. Where it was
//! interrupted between the last two, the next start finishes it; in every other case a part that is not there was lost.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::Error;

const HEAD: &str = "braidmq identity 1";

/// The longest file that is read. A real one has about 70 bytes.
const FILE_BYTES_MAX: u64 = 1_024;

/// The identity of a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The node.
    pub node_id: u64,
    /// The directory.
    pub id: u128,
}

/// How a directory was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing was there: the catalog's file is to be made, then [`confirm`] is to be called.
    First(Identity),
    /// It was in use before.
    Known(Identity),
}

/// Reads the identity of a directory, or begins one.
///
/// # Errors
/// The directory belongs to another node, or one of its parts was lost.
pub(crate) fn establish(directory: &Path, catalog: &Path, node_id: u64) -> Result<Found, Error> {
    let (path, pending) = (file(directory), pending_file(directory));
    let has_catalog = exists(catalog)?;
    if exists(&path)? {
        if !has_catalog {
            return Err(wrong(catalog, "it is not there, but the identity file beside it is: the catalog was lost"));
        }
        return check_node(&path, read(&path)?, node_id).map(Found::Known);
    }
    if has_catalog {
        if !exists(&pending)? {
            return Err(wrong(&path, "it is not there, but the catalog beside it is: the identity was lost"));
        }
        // An interrupted first start: all it had left to do is `confirm`. That the two agree is checked like always,
        // when the catalog is opened.
        return check_node(&pending, read(&pending)?, node_id).map(Found::First);
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| io_error(&pending, &io::Error::other(error)))?;
    let identity = Identity { node_id, id: u128::from_le_bytes(id) };
    let begin = || -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let mut written = File::create(&pending)?;
        written.write_all(identity.to_text().as_bytes())?;
        written.sync_all()?;
        sync_directory(directory)
    };
    begin().map_err(|error| io_error(&pending, &error))?;
    Ok(Found::First(identity))
}

/// Ends a first start: from now on the identity and the catalog's file are both required.
///
/// # Errors
/// The operating system refused.
pub(crate) fn confirm(directory: &Path) -> Result<(), Error> {
    let path = file(directory);
    fs::rename(pending_file(directory), &path)
        .and_then(|()| sync_directory(directory))
        .map_err(|error| io_error(&path, &error))
}

impl Identity {
    fn to_text(self) -> String {
        format!("{HEAD}\nnode {}\nid {:032x}\n", self.node_id, self.id)
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let has_head = lines.next()? == HEAD;
        let node_id = lines.next()?.strip_prefix("node ")?.parse().ok()?;
        let id = u128::from_str_radix(lines.next()?.strip_prefix("id ")?, 16).ok()?;
        let identity = Self { node_id, id };
        // Exactly what we would write: a file that was edited by hand, or cut, is none.
        (has_head && identity.to_text() == text).then_some(identity)
    }
}

fn file(directory: &Path) -> PathBuf {
    directory.join("identity")
}

fn pending_file(directory: &Path) -> PathBuf {
    directory.join("identity.new")
}

fn read(path: &Path) -> Result<Identity, Error> {
    let size_bytes = fs::metadata(path).map_err(|error| io_error(path, &error))?.len();
    if size_bytes > FILE_BYTES_MAX {
        return Err(wrong(path, "it is no identity file"));
    }
    let bytes = fs::read(path).map_err(|error| io_error(path, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    Identity::from_text(&text).ok_or_else(|| wrong(path, "it is no identity file, or it is damaged"))
}

fn check_node(path: &Path, identity: Identity, node_id: u64) -> Result<Identity, Error> {
    if identity.node_id != node_id {
        let why = format!("the directory belongs to node {}, and this is node {node_id}", identity.node_id);
        return Err(wrong(path, &why));
    }
    Ok(identity)
}

fn exists(path: &Path) -> Result<bool, Error> {
    path.try_exists().map_err(|error| io_error(path, &error))
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

fn wrong(path: &Path, why: &str) -> Error {
    Error::Identity { path: path.to_path_buf(), why: why.to_string() }
}

fn io_error(path: &Path, error: &io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_read() {
        let identity = Identity { node_id: 7, id: 0xabc };
        let text = identity.to_text();
        assert_eq!(Identity::from_text(&text), Some(identity));
        for cut in 0..text.len() {
            assert_eq!(Identity::from_text(text.get(..cut).unwrap()), None, "cut at {cut}");
        }
        for other in ["", "node 7", &text.replace('1', "2"), &format!("{text}more\n"), &text.to_uppercase()] {
            assert_eq!(Identity::from_text(other), None, "{other:?}");
        }
    }

    #[test]
    fn an_interrupted_first_start_is_finished_with_the_same_identity() {
        let directory = tempfile::tempdir().unwrap();
        let catalog = directory.path().join("meta.redb");
        let Found::First(first) = establish(directory.path(), &catalog, 1).unwrap() else { panic!("it is new") };
        // Before the catalog's file: it begins again.
        let Found::First(second) = establish(directory.path(), &catalog, 1).unwrap() else { panic!("it is new") };
        assert_ne!(first.id, second.id);
        // After it: it must be the one that the catalog's file was made with.
        fs::write(&catalog, "catalog").unwrap();
        assert_eq!(establish(directory.path(), &catalog, 1).unwrap(), Found::First(second));
        confirm(directory.path()).unwrap();
        assert_eq!(establish(directory.path(), &catalog, 1).unwrap(), Found::Known(second));
    }

    #[test]
    fn a_lost_part_is_not_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let catalog = directory.path().join("meta.redb");
        establish(directory.path(), &catalog, 1).unwrap();
        fs::write(&catalog, "catalog").unwrap();
        confirm(directory.path()).unwrap();
        assert!(matches!(establish(directory.path(), &catalog, 2), Err(Error::Identity { .. })), "another node's");
        fs::rename(&catalog, directory.path().join("elsewhere")).unwrap();
        assert!(matches!(establish(directory.path(), &catalog, 1), Err(Error::Identity { .. })), "no catalog");
        assert!(!catalog.exists());
        fs::rename(directory.path().join("elsewhere"), &catalog).unwrap();
        fs::remove_file(file(directory.path())).unwrap();
        assert!(matches!(establish(directory.path(), &catalog, 1), Err(Error::Identity { .. })), "no identity");
        assert!(!file(directory.path()).exists() && !pending_file(directory.path()).exists());
    }
}
