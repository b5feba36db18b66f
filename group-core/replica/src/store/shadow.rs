//! A file under redb that is read from the disk and written to memory: the rehearsal of an opening. What redb would
//! repair is seen, and the file stays as it is. Holds the file's lock like a real opening, so nobody writes meanwhile.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::OpenOptions,
    io,
    ops::Bound,
    path::Path,
};

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend, backends::FileBackend};

const PAGE_BYTES: u64 = 4096;

type Page = Box<[u8]>;

/// The file with the changes made to it here.
#[derive(Debug)]
pub(super) struct Shadow {
    file: FileBackend,
    file_bytes: u64,
    changed: Mutex<Changed>,
}

#[derive(Debug)]
struct Changed {
    size_bytes: u64,
    pages: BTreeMap<u64, Page>,
}

impl Shadow {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let file_bytes = file.metadata()?.len();
        let file = FileBackend::new(file).map_err(io::Error::other)?;
        let changed = Mutex::new(Changed { size_bytes: file_bytes, pages: BTreeMap::new() });
        Ok(Self { file, file_bytes, changed })
    }

    /// The page as the file has it; zeroes beyond its end.
    fn page(&self, number: u64) -> io::Result<Page> {
        let mut page = vec![0; usize::try_from(PAGE_BYTES).unwrap_or(0)].into_boxed_slice();
        let start = number * PAGE_BYTES;
        let there = usize::try_from(self.file_bytes.saturating_sub(start).min(PAGE_BYTES)).unwrap_or(0);
        if let Some(part) = page.get_mut(..there).filter(|part| !part.is_empty()) {
            self.file.read(start, part)?;
        }
        Ok(page)
    }
}

impl StorageBackend for Shadow {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changed.lock().size_bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changed = self.changed.lock();
        if offset.saturating_add(out.len() as u64) > changed.size_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = offset;
        let mut rest = out;
        while !rest.is_empty() {
            let (number, within) = (at / PAGE_BYTES, usize::try_from(at % PAGE_BYTES).unwrap_or(0));
            let original;
            let page = match changed.pages.get(&number) {
                Some(page) => page,
                None => {
                    original = self.page(number)?;
                    &original
                }
            };
            let source = page.get(within..).unwrap_or_default();
            let count = source.len().min(rest.len());
            let (now, later) = rest.split_at_mut(count);
            now.copy_from_slice(source.get(..count).unwrap_or_default());
            rest = later;
            at += count as u64;
        }
        Ok(())
    }

    fn set_len(&self, size_bytes: u64) -> io::Result<()> {
        let mut changed = self.changed.lock();
        // What is cut off and comes back is zero: remembered as such, since the file would show through.
        for number in size_bytes / PAGE_BYTES..changed.size_bytes.div_ceil(PAGE_BYTES) {
            let mut page = match changed.pages.remove(&number) {
                Some(page) => page,
                None => self.page(number)?,
            };
            let kept = usize::try_from(size_bytes.saturating_sub(number * PAGE_BYTES).min(PAGE_BYTES)).unwrap_or(0);
            page.get_mut(kept..).unwrap_or_default().fill(0);
            changed.pages.insert(number, page);
        }
        changed.size_bytes = size_bytes;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changed = self.changed.lock();
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let (number, within) = (at / PAGE_BYTES, usize::try_from(at % PAGE_BYTES).unwrap_or(0));
            let page = match changed.pages.entry(number) {
                Entry::Occupied(page) => page.into_mut(),
                Entry::Vacant(place) => place.insert(self.page(number)?),
            };
            let target = page.get_mut(within..).unwrap_or_default();
            let (now, later) = rest.split_at(target.len().min(rest.len()));
            target.get_mut(..now.len()).unwrap_or_default().copy_from_slice(now);
            rest = later;
            at += now.len() as u64;
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.file.query_lock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_seen_and_leave_the_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let original: Vec<u8> = (0..10_000u32).map(|number| (number % 251) as u8).collect();
        std::fs::write(&path, &original).unwrap();
        let shadow = Shadow::open(&path).unwrap();
        let mut expected = original.clone();
        expected[4_000..9_000].fill(7);
        shadow.write(4_000, &[7; 5_000]).unwrap();
        let mut seen = vec![0; 10_000];
        shadow.read(0, &mut seen).unwrap();
        assert_eq!(seen, expected);
        assert!(shadow.read(9_999, &mut [0; 2]).is_err());
        shadow.set_len(2_000).unwrap();
        shadow.set_len(12_000).unwrap();
        let mut tail = [1; 10];
        shadow.read(8_995, &mut tail).unwrap();
        assert_eq!(tail, [0; 10]);
        assert_eq!(std::fs::read(&path).unwrap(), original);
    }
}
