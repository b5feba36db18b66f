//! What becomes of a journal when its log fails, is damaged, is closed or is full; and of one that nobody uses.

use std::time::Duration;

use braid_log::disk::{Fault, SimulatedDisk};
use braid_replica::Error;
use tokio::time::timeout;

use crate::owner::{BOTH, Kind, Node, Owner, PARTITION};

/// Long enough to see that nothing comes.
const WHILE: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_stops_the_journal() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        owner.propose("kept").unwrap();
        owner.settle().await;
        // So many that the log's own thread, which works beside it, cannot have passed them all by.
        let next = disk.operations();
        (next..next + 10_000).for_each(|operation| disk.fail_at(operation, Fault::Error));
        // Whichever it hits, the entry's or one of the log's own.
        let proposed = owner.propose("lost").map_or(0, |_| 1);
        owner.step_until(|owner| owner.stopped.is_some()).await;
        assert!(matches!(&owner.stopped, Some(Error::Failed(_))), "{kind:?}: {:?}", owner.stopped);
        assert_eq!(owner.payloads(), ["kept"]);
        assert_eq!(owner.journal.pending(), proposed, "its fate is not known");
        assert!(matches!(owner.propose("more"), Err(Error::Failed(_))));
        assert!(!owner.journal.begin_snapshot() || kind == Kind::Disk);
        assert!(timeout(WHILE, owner.journal.next()).await.is_err(), "it says so once");
        owner.journal.close().await;
        drop(node);
        let node = Node::start(&disk.kill()).unwrap();
        let owner = Owner::lead(&node, kind).await;
        assert!(owner.payloads() == ["kept"] || owner.payloads() == ["kept", "lost"], "{:?}", owner.payloads());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_closed_stops_the_journal() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        owner.propose("kept").unwrap();
        node.wal.close();
        drop(owner.propose("late"));
        owner.step_until(|owner| owner.stopped.is_some()).await;
        assert_eq!(owner.stopped, Some(Error::ShutDown), "{kind:?}");
        assert!(!owner.payloads().contains(&"late".to_owned()));
        assert!(Owner::open(&node, kind).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_log_is_not_opened() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        for text in ["first", "the one that rots", "last"] {
            owner.propose(text).unwrap();
            owner.settle().await;
        }
        owner.journal.close().await;
        drop(node);
        for name in disk.names() {
            let needle = b"the one that rots";
            let content = disk.content(&name).unwrap();
            if let Some(found) = content.windows(needle.len()).position(|bytes| bytes == needle) {
                disk.alter(&name, |bytes| bytes[found] ^= 1);
            }
        }
        let node = Node::start(&disk).unwrap();
        let error = Owner::open(&node, kind).await.err();
        assert!(matches!(&error, Some(Error::LogDamaged { partition: PARTITION, .. })), "{kind:?}: {error:?}");
    }
}

/// The log lets a few entries wait at a time. Raft's are not refused: they wait, and come back in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_the_log_lets_wait_stops_nothing() {
    let node = Node::start(&SimulatedDisk::new()).unwrap();
    let mut owner = Owner::lead(&node, Kind::Quorum).await;
    let expected: Vec<_> = (0..500).map(|number| format!("{number:04000}")).collect();
    for text in &expected {
        owner.propose(text).unwrap();
    }
    owner.settle().await;
    assert_eq!(owner.stopped, None);
    assert!(owner.payloads() == expected);
}

/// The owner is not there for a while: what is committed waits, bounded, and nothing is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_owner_holds_back_only_itself() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        for number in 0..30 {
            owner.propose(&number.to_string()).unwrap();
        }
        tokio::time::sleep(WHILE).await;
        for number in 30..60 {
            owner.propose(&number.to_string()).unwrap();
        }
        owner.settle().await;
        assert_eq!(owner.payloads(), (0..60).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_dropped_journal_lets_go_of_its_log() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).unwrap();
        drop(Owner::open(&node, kind).await.unwrap());
        let mut owner = Owner::lead(&Node::start(&disk.kill()).unwrap(), kind).await;
        drop(owner.propose("on its way"));
        drop(owner);
        let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        for _ in 0..200 {
            if tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let after = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert_eq!(after, 0, "{kind:?}: {before} tasks before");
    }
}

/// A partition that nobody uses costs nothing: its tasks sleep, and no timer wakes them.
#[tokio::test]
async fn nothing_wakes_an_idle_journal() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        owner.propose("one").unwrap();
        owner.settle().await;
        assert!(timeout(WHILE, owner.journal.next()).await.is_err());
        let metrics = tokio::runtime::Handle::current().metrics();
        let before = metrics.worker_park_count(0);
        assert!(timeout(Duration::from_secs(3), owner.journal.next()).await.is_err());
        let wakes = metrics.worker_park_count(0) - before;
        // The timer of this wait takes three or four; a tick would take sixty.
        assert!(wakes <= 10, "{kind:?}: woken {wakes} times in three seconds");
    }
}
