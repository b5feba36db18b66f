//! What a process has used, from `/proc`.

use std::{fs, io, process::Command};

/// CPU time of user and system of all `pids` together, in microseconds.
///
/// # Errors
/// When one of them is gone.
pub(crate) fn cpu_us(pids: &[u32], ticks_per_s: u64) -> io::Result<u64> {
    let mut ticks = 0;
    for pid in pids {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        ticks += ticks_of(&stat).ok_or_else(|| io::Error::other(format!("cannot read /proc/{pid}/stat")))?;
    }
    Ok(ticks * 1_000_000 / ticks_per_s)
}

/// The 14th and 15th field, counted behind the name, which may hold spaces and brackets.
fn ticks_of(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Peak resident memory of all `pids` together, in bytes.
///
/// # Errors
/// When one of them is gone.
pub(crate) fn peak_memory_bytes(pids: &[u32]) -> io::Result<u64> {
    pids.iter().map(|pid| status_bytes(*pid, "VmHWM:")).sum()
}

/// Resident memory of `pid` at the moment, in bytes.
///
/// # Errors
/// When it is gone.
pub(crate) fn memory_bytes(pid: u32) -> io::Result<u64> {
    status_bytes(pid, "VmRSS:")
}

fn status_bytes(pid: u32, key: &str) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kibibytes: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Ok(kibibytes.ok_or_else(|| io::Error::other(format!("cannot read /proc/{pid}/status")))? * 1024)
}

/// Units of CPU time per second.
///
/// # Errors
/// When `getconf` does not know.
pub(crate) fn ticks_per_s() -> io::Result<u64> {
    let output = Command::new("getconf").arg("CLK_TCK").output()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_brackets_do_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 120 30 0 0";
        assert_eq!(ticks_of(stat), Some(150));
        assert_eq!(ticks_of("7 (a) S 1"), None);
    }

    #[test]
    fn this_process_can_be_read() -> io::Result<()> {
        let own = [std::process::id()];
        cpu_us(&own, ticks_per_s()?)?;
        assert!(peak_memory_bytes(&own)? > 0 && memory_bytes(std::process::id())? > 0);
        Ok(())
    }
}
