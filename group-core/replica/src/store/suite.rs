//! openraft's own tests of a store, run on ours.

use std::sync::Arc;

use braid_types::{CorruptBytes, Machine, Stamp, Wire};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use openraft::{
    StorageError,
    testing::log::{StoreBuilder, Suite},
};
use tempfile::TempDir;

use super::Store;
use crate::{Options, host::Host, types::Types};

/// Counts.
#[derive(Debug, Default)]
struct Counter(u64);

struct Add(u64);

impl Wire for Add {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.0);
    }

    fn decode(input: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(input.try_get_u64_le().map_err(|_| CorruptBytes { what: "add" })?))
    }
}

impl Machine for Counter {
    type Command = Add;
    type Reply = u64;
    type Effect = u64;

    fn apply(&mut self, _stamp: Stamp, command: Add, effects: &mut Vec<u64>) -> u64 {
        self.0 += command.0;
        effects.push(self.0);
        self.0
    }

    fn snapshot(&self, out: &mut BytesMut) {
        Add(self.0).encode(out);
    }

    fn restore(snapshot: &mut Bytes) -> Result<Self, CorruptBytes> {
        Ok(Self(Add::decode(snapshot)?.0))
    }
}

struct Fresh;

impl StoreBuilder<Types, Store, Host<Counter>, Arc<TempDir>> for Fresh {
    async fn build(&self) -> Result<(Arc<TempDir>, Store, Host<Counter>), StorageError<Types>> {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&Options::new(directory.path().join("replica.redb"), 0)).unwrap();
        let host = Host::load(store.clone(), Box::new(|_| {})).unwrap();
        Ok((Arc::new(directory), store, host))
    }
}

#[test]
fn openrafts_own_suite_passes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(Suite::test_all(Fresh)).unwrap();
}
