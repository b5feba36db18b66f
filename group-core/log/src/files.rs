//! Making segment files ready.

use std::{
    io::{self, IoSlice},
    sync::Arc,
};

use crate::{
    Options,
    disk::{Disk, DiskFile, write_all},
    engine::Ready,
    format::SegmentHeader,
    names,
};

/// Makes a file of full size, whatever it holds, the ready segment of that number and salt. Durable when it returns.
pub(crate) fn make_ready(
    disk: &dyn Disk,
    name: &str,
    file: Arc<dyn DiskFile>,
    (segment, salt): (u32, u32),
    options: &Options,
) -> io::Result<Ready> {
    let size_bytes = options.segment_bytes;
    let head = SegmentHeader { segment, salt, size_bytes, identity: options.identity }.encode();
    write_all(&*file, 0, &mut [IoSlice::new(&head)])?;
    file.sync_data()?;
    disk.rename(name, &names::segment(segment))?;
    disk.sync_directory()?;
    Ok(Ready { segment, salt, size_bytes, file })
}
