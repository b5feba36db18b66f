//! Where the broker's binary is.

use std::path::{Path, PathBuf};

use crate::Failure;

/// The path from `BRAIDMQ`, else the `braidmq` beside this test's own build, else that of the release or debug build.
///
/// # Errors
/// When none of them exists.
pub fn binary() -> Result<PathBuf, Failure> {
    if let Some(path) = std::env::var_os("BRAIDMQ") {
        return Ok(PathBuf::from(path));
    }
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let beside = std::env::current_exe()?.parent().and_then(Path::parent).map(|folder| folder.join("braidmq"));
    beside
        .into_iter()
        .chain([target.join("release/braidmq"), target.join("debug/braidmq")])
        .find(|path| path.is_file())
        .ok_or_else(|| Failure::new("no braidmq binary: run `cargo build -p braid-gateway`, or set BRAIDMQ"))
}
