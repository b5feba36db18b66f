//! How much memory something may take: bytes, or a share of what the node has.
//!
//! What the node has is the least of the machine's memory and the limits of the control groups that the process is in,
//! so that 40 % in a container means 40 % of the container.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::setting::{Bounds, Given, Mismatch, Setting};

/// Below it a node cannot work.
const BYTES_MIN: u64 = 1024 * 1024;

/// Above it the rest of the node (buffers, connections, the kernel) has no room.
const PERCENT_MAX: u8 = 90;

/// A limit of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryLimit {
    /// That many bytes.
    Bytes(u64),
    /// That share of the memory that the node has, in percent.
    Percent(u8),
}

impl MemoryLimit {
    /// In bytes, with the memory that this process has.
    #[must_use]
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(_) => self.bytes_of(memory_bytes(Path::new("/"))),
        }
    }

    /// In bytes, with `total_bytes` of memory.
    #[must_use]
    pub(crate) fn bytes_of(self, total_bytes: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => (total_bytes / 100).saturating_mul(u64::from(percent)).max(BYTES_MIN),
        }
    }
}

impl Setting for MemoryLimit {
    fn set(&mut self, given: &Given, _: Bounds) -> Result<(), Mismatch> {
        let bytes = match given {
            Given::Number(number) => u64::try_from(*number).ok(),
            Given::Untyped(text) => text.trim().replace('_', "").parse().ok(),
            Given::Text(_) | Given::Boolean(_) | Given::List(_) | Given::Other(_) => None,
        };
        let percent = given.as_text().and_then(|text| text.trim().strip_suffix('%')?.trim().parse::<u8>().ok());
        *self = match (bytes, percent) {
            (Some(bytes), _) if bytes >= BYTES_MIN => Self::Bytes(bytes),
            (_, Some(percent)) if (1..=PERCENT_MAX).contains(&percent) => Self::Percent(percent),
            _ => {
                let expected =
                    format!("bytes ({BYTES_MIN} or more) or a share of the memory (\"1%\" to \"{PERCENT_MAX}%\")");
                return Err(given.mismatch(expected));
            }
        };
        Ok(())
    }
}

/// Memory of the machine or of the control group, whichever is less. Where nothing tells, 1 GiB: small enough to be
/// safe anywhere.
fn memory_bytes(root: &Path) -> u64 {
    const UNKNOWN_BYTES: u64 = 1024 * 1024 * 1024;
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let control_group = fs::read_to_string(root.join("proc/self/cgroup")).ok().and_then(|text| {
        let group = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let mount = root.join("sys/fs/cgroup");
        let folder: PathBuf = mount.join(group);
        // A limit of a parent holds for its children.
        let limits = folder
            .ancestors()
            .take_while(|folder| folder.starts_with(&mount))
            .filter_map(|folder| fs::read_to_string(folder.join("memory.max")).ok()?.trim().parse::<u64>().ok());
        limits.min()
    });
    [machine, control_group].into_iter().flatten().min().unwrap_or(UNKNOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_of_the_least_limit_around() {
        let root = std::env::temp_dir().join(format!("braidmq-memory-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::create_dir_all(root.join("sys/fs/cgroup/pod/container")).unwrap();
        fs::write(root.join("proc/meminfo"), "MemTotal:        8388608 kB\nMemFree: 1 kB\n").unwrap();
        assert_eq!(memory_bytes(&root), 8 * 1024 * 1024 * 1024);

        fs::write(root.join("proc/self/cgroup"), "0::/pod/container\n").unwrap();
        fs::write(root.join("sys/fs/cgroup/pod/container/memory.max"), "max\n").unwrap();
        fs::write(root.join("sys/fs/cgroup/pod/memory.max"), "1073741824\n").unwrap();
        assert_eq!(memory_bytes(&root), 1024 * 1024 * 1024);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(memory_bytes(&root), 1024 * 1024 * 1024);

        assert_eq!(MemoryLimit::Percent(40).bytes_of(1000 * BYTES_MIN), 400 * BYTES_MIN);
        assert_eq!(MemoryLimit::Bytes(7 * BYTES_MIN).bytes_of(1), 7 * BYTES_MIN);
    }
}
