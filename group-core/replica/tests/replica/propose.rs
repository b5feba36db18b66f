//! Proposing, reading, effects, snapshots, stopping.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use braid_replica::{Error, Replica, limits::COMMAND_BYTES_MAX};

use crate::kit::{Ledger, Newer, NewerNote, Note, UNREADABLE, note, open, options, recorder};

#[tokio::test]
async fn a_thousand_at_once_are_each_answered_and_told_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let (sink, record) = recorder();
    let replica = Arc::new(Replica::<Ledger>::open(options(directory.path()), sink).await.unwrap());
    let before = replica.generation();
    let mut proposers = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let (replica, record) = (Arc::clone(&replica), Arc::clone(&record));
        proposers.spawn(async move {
            let count = replica.propose(note(number)).await.unwrap();
            // The effect came before the reply, and the state shows it (P4).
            assert_eq!(record.lock().get(count - 1), Some(&number));
            assert!(replica.read().numbers.contains(&number));
            count
        });
    }
    let mut counts = proposers.join_all().await;
    counts.sort_unstable();
    assert_eq!(counts, (1..=1_000).collect::<Vec<_>>(), "each reply is of its own command");
    assert_eq!(replica.generation() - before, 1_000);
    replica.shutdown().await.unwrap();
    assert_eq!(replica.propose(note(1)).await, Err(Error::ShutDown));
}

#[tokio::test]
async fn what_was_applied_comes_back_without_its_effects() {
    let directory = tempfile::tempdir().unwrap();
    let mut expected = 0;
    for run in 0..4u64 {
        let (sink, record) = recorder();
        let replica = Replica::<Ledger>::open(options(directory.path()), sink).await.unwrap();
        assert_eq!(replica.read().numbers.len(), expected);
        assert_eq!(record.lock().len(), 0, "run {run}");
        // More than one snapshot in the second run; the others end between two.
        for number in 0..if run == 1 { 450 } else { 30 } {
            replica.propose(note(run * 1_000 + number)).await.unwrap();
            expected += 1;
            assert_eq!(record.lock().last(), Some(&(run * 1_000 + number)));
        }
        if run % 2 == 0 {
            replica.shutdown().await.unwrap();
        }
        drop(replica);
    }
}

#[tokio::test]
async fn a_command_that_no_log_can_hold_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let replica = open(directory.path()).await.unwrap();
    let size_bytes = COMMAND_BYTES_MAX + 1;
    let refused = replica.propose(Note { number: 1, filling: size_bytes - 8 }).await;
    assert_eq!(refused, Err(Error::TooLarge { size_bytes, max_bytes: COMMAND_BYTES_MAX }));
    let refused = replica.propose(note(UNREADABLE)).await;
    assert!(matches!(refused, Err(Error::Unreadable(_))), "{refused:?}");
    assert_eq!(replica.propose(Note { number: 1, filling: COMMAND_BYTES_MAX - 8 }).await, Ok(1));
}

#[tokio::test]
async fn a_log_of_another_version_is_not_guessed_at() {
    let directory = tempfile::tempdir().unwrap();
    let newer = Replica::<Newer>::open(options(directory.path()), Box::new(|()| {})).await.unwrap();
    newer.propose(NewerNote(UNREADABLE)).await.unwrap();
    newer.shutdown().await.unwrap();
    drop(newer);
    let error = open(directory.path()).await.unwrap_err();
    assert!(matches!(&error, Error::Failed(why) if why.contains("cannot be applied by this version")), "{error:?}");
    let newer = Replica::<Newer>::open(options(directory.path()), Box::new(|()| {})).await.unwrap();
    assert_eq!(newer.read().0, 1, "and nothing was lost by trying");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_sees_a_change_finds_its_effects_handed_on() {
    let directory = tempfile::tempdir().unwrap();
    let handed_on = Arc::new(AtomicU64::new(0));
    let sink = {
        let handed_on = Arc::clone(&handed_on);
        Box::new(move |_: &u64| {
            handed_on.fetch_add(1, Ordering::SeqCst);
        })
    };
    let replica = Arc::new(Replica::<Ledger>::open(options(directory.path()), sink).await.unwrap());
    let watcher = {
        let (replica, handed_on) = (Arc::clone(&replica), Arc::clone(&handed_on));
        tokio::task::spawn_blocking(move || {
            loop {
                let seen = replica.read().numbers.len() as u64;
                assert!(handed_on.load(Ordering::SeqCst) >= seen, "a change was seen before its effect");
                if seen == 100 {
                    return;
                }
            }
        })
    };
    for number in 0..100 {
        replica.propose(note(number)).await.unwrap();
    }
    watcher.await.unwrap();
    assert_eq!(handed_on.load(Ordering::SeqCst), 100);
    replica.shutdown().await.unwrap();
}
