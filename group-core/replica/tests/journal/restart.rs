//! What a former run committed comes again, and what a snapshot holds does not.

use std::time::Duration;

use braid_log::disk::SimulatedDisk;
use braid_replica::{Error, Journal, JournalEvent};
use braid_types::{LogIndex, Term};

use crate::owner::{BOTH, Kind, Node, Owner, PARTITION};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_run_goes_on_where_the_last_one_ended() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let (mut expected, mut terms) = (Vec::new(), Vec::new());
        for run in 0..4 {
            let node = Node::start(&disk).unwrap();
            let mut owner = Owner::lead(&node, kind).await;
            assert_eq!(owner.payloads(), expected);
            owner.check_bodies();
            terms.push(owner.leads);
            for number in 0..40 {
                let text = format!("run {run} entry {number}");
                owner.propose(&text).unwrap();
                owner.settle().await;
                expected.push(text);
            }
            assert_eq!(owner.payloads(), expected);
            owner.journal.close().await;
        }
        assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_takes_the_place_of_the_log_before_it() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let mut expected = Vec::new();
        for run in 0..3 {
            let node = Node::start(&disk).unwrap();
            let mut owner = Owner::open(&node, kind).await.unwrap();
            assert_eq!(owner.payloads(), expected[..if run == 0 { 0 } else { expected.len() - 5 }]);
            owner.step_until(|owner| owner.leads.is_some()).await;
            assert_eq!(owner.payloads(), expected);
            for number in 0..30 {
                let text = format!("run {run} entry {number}");
                owner.propose(&text).unwrap();
                owner.settle().await;
                expected.push(text);
                if number == 10 || number == 24 {
                    owner.snapshot().await;
                    wait_until_purged(&node, owner.last().0).await;
                }
            }
            assert_eq!((owner.snapshots, owner.stopped.clone()), (2, None));
            owner.check_bodies();
            owner.journal.close().await;
        }
    }
}

/// A group purges when it has learned of the snapshot.
async fn wait_until_purged(node: &Node, upto: LogIndex) {
    let purged = || node.wal.status(PARTITION).unwrap().unwrap().purged;
    for _ in 0..1_000 {
        if purged().is_some_and(|mark| mark.index == upto) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("purged to {:?}, not to {upto:?}", purged());
}

/// The whole log is purged, and there is nothing but a snapshot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_purged_to_its_end_goes_on() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let mut expected = Vec::new();
        for run in 0..3 {
            let node = Node::start(&disk).unwrap();
            let mut owner = Owner::lead(&node, kind).await;
            assert_eq!(owner.payloads(), expected);
            if run == 1 {
                owner.snapshot().await;
            }
            expected.push(format!("run {run}"));
            owner.propose(&format!("run {run}")).unwrap();
            owner.settle().await;
            owner.snapshot().await;
            owner.journal.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_fails_stops_nothing() {
    let node = Node::start(&SimulatedDisk::new()).unwrap();
    let mut owner = Owner::lead(&node, Kind::Quorum).await;
    owner.propose("one").unwrap();
    owner.settle().await;
    for is_answered in [true, false] {
        assert!(!owner.journal.begin_snapshot());
        let Some(JournalEvent::Snapshot(request)) = owner.journal.try_next() else { panic!("it comes at once") };
        assert!(!owner.journal.begin_snapshot());
        owner.propose("more").unwrap();
        owner.settle().await;
        assert!(owner.journal.try_next().is_none(), "one at a time");
        if is_answered {
            request.done(Err(Error::DiskFull));
        }
        assert!(owner.journal.try_next().is_none());
    }
    owner.snapshot().await;
    assert_eq!((owner.snapshots, owner.stopped.clone()), (1, None));
    wait_until_purged(&node, owner.last().0).await;
    assert_eq!(owner.payloads(), ["one", "more", "more"]);
}

#[tokio::test]
async fn nothing_is_purged_that_no_snapshot_holds() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        owner.propose("one").unwrap();
        owner.settle().await;
        let (index, term) = owner.last();
        assert_eq!(owner.journal.purge(index, term), Err(Error::NotInSnapshot { index, snapshot: None }));
        owner.snapshot().await;
        let (next, snapshot) = (LogIndex(index.0 + 1), Some(index));
        assert_eq!(owner.journal.purge(next, Term(9)), Err(Error::NotInSnapshot { index: next, snapshot }));
        assert_eq!(owner.payloads(), ["one"]);
    }
}

#[tokio::test]
async fn a_log_of_one_kind_is_not_opened_as_the_other() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        owner.propose("one").unwrap();
        owner.settle().await;
        owner.journal.close().await;
        let opened = match kind {
            Kind::Disk => Journal::open_quorum(node.wal.clone(), PARTITION, 3).await,
            Kind::Quorum => Journal::open_disk(node.wal.clone(), PARTITION),
        };
        assert_eq!(opened.err(), Some(Error::OtherKind { partition: PARTITION }));
    }
}
