//! The meta cluster of one node, from outside.
#![allow(clippy::tests_outside_test_module, clippy::unwrap_used, clippy::panic, reason = "this whole file is tests")]

use std::{fs, path::Path, sync::Arc};

use braid_catalog::{Command, Effect, GroupRow, Reply};
use braid_cluster::{Error, Meta, Options};
use braid_types::ConnectionId;
use bytes::Bytes;
use parking_lot::Mutex;

fn options(directory: &Path) -> Options {
    Options { data_dir: directory.to_path_buf(), node_id: 1, partitions: 4 }
}

async fn open(directory: &Path) -> Result<Meta, Error> {
    Meta::open(options(directory), Box::new(|_| {})).await
}

fn declare(name: &str, durable: bool, exclusive: Option<ConnectionId>) -> Command {
    Command::DeclareGroup {
        vhost: Bytes::from_static(b"/"),
        name: Bytes::copy_from_slice(name.as_bytes()),
        durable,
        exclusive,
        auto_delete: false,
        arguments: Vec::new(),
        suffix: 1,
    }
}

async fn declared(meta: &Meta, command: Command) -> (Arc<GroupRow>, bool) {
    match meta.propose(command).await.unwrap() {
        Reply::Declared { row, created } => (row, created),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_comes_back_with_what_lasts() {
    let directory = tempfile::tempdir().unwrap();
    let meta = open(directory.path()).await.unwrap();
    assert!(meta.catalog().has_vhost(b"/"));
    assert_eq!(meta.node_started().await.unwrap(), Reply::Done);
    let (lasting, _) = declared(&meta, declare("lasting", true, None)).await;
    let (passing, _) = declared(&meta, declare("passing", false, None)).await;
    let (own, _) = declared(&meta, declare("own", false, Some(ConnectionId(1)))).await;
    let identity = meta.identity();
    meta.shutdown().await.unwrap();
    drop(meta);

    let effects = Arc::new(Mutex::new(Vec::new()));
    let sink = {
        let effects = Arc::clone(&effects);
        Box::new(move |effect: &Effect| effects.lock().push(effect.clone()))
    };
    let meta = Meta::open(options(directory.path()), sink).await.unwrap();
    assert_eq!(meta.identity(), identity);
    assert_eq!(meta.catalog().all_groups().count(), 3);
    assert_eq!(*effects.lock(), [], "the past is not told again");
    meta.node_started().await.unwrap();
    let expected = [Effect::GroupDeleted(passing), Effect::GroupDeleted(own), Effect::RoutesChanged];
    assert_eq!(*effects.lock(), expected);
    assert!(meta.catalog().all_groups().eq([&lasting]));
    meta.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_creators_get_the_same_row() {
    let directory = tempfile::tempdir().unwrap();
    let meta = open(directory.path()).await.unwrap();
    meta.node_started().await.unwrap();
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let meta = meta.clone();
        racers.spawn(async move {
            let (row, created) = declared(&meta, declare("q", true, None)).await;
            assert_eq!(meta.catalog().group(b"/", b"q"), Some(&row), "the reply is what anybody reads");
            (row, created)
        });
    }
    let answers = racers.join_all().await;
    assert_eq!(answers.iter().filter(|(_, created)| *created).count(), 1);
    assert!(answers.iter().all(|(row, _)| *row == answers[0].0));
    meta.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_vhost_that_was_deleted_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let meta = open(directory.path()).await.unwrap();
    meta.node_started().await.unwrap();
    meta.propose(Command::DeleteVhost { name: Bytes::from_static(b"/") }).await.unwrap();
    meta.shutdown().await.unwrap();
    drop(meta);
    assert!(!open(directory.path()).await.unwrap().catalog().has_vhost(b"/"));
}

#[tokio::test]
async fn parts_that_do_not_belong_together_are_refused() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for directory in [&one, &two] {
        let meta = open(directory.path()).await.unwrap();
        meta.node_started().await.unwrap();
        meta.shutdown().await.unwrap();
    }
    let identity = |directory: &Path| directory.join("identity");
    let kept = fs::read(identity(one.path())).unwrap();
    fs::copy(identity(two.path()), identity(one.path())).unwrap();
    let error = open(one.path()).await.unwrap_err();
    assert!(matches!(&error, Error::Replica(braid_replica::Error::NotOurs { .. })), "{error:?}");
    fs::write(identity(one.path()), kept).unwrap();
    let other_node = Options { node_id: 2, ..options(one.path()) };
    let error = Meta::open(other_node, Box::new(|_| {})).await.unwrap_err();
    assert!(matches!(&error, Error::Identity { .. }), "{error:?}");
    fs::rename(one.path().join("meta.redb"), one.path().join("lost")).unwrap();
    assert!(matches!(open(one.path()).await.unwrap_err(), Error::Identity { .. }));
    fs::rename(one.path().join("lost"), one.path().join("meta.redb")).unwrap();
    open(one.path()).await.unwrap();
}
