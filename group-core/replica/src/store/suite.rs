//! openraft's own tests of a store, run on ours.

use std::sync::Arc;

use openraft::{
    StorageError,
    testing::log::{StoreBuilder, Suite},
};
use tempfile::TempDir;

use super::Store;
use crate::{Options, host::Host, sample::Counter, types::Types};

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
