//! Snapshots: what is there afterwards is what was there before, and what nobody needs is given up.

use braid_broker::PartitionHandle;
use braid_log::disk::{CrashPlan, SimulatedDisk};
use braid_types::{GroupId, Outcome, PartitionId, PartitionKind};

use crate::client::RELEASED;
use crate::ledger::Ledger;
use crate::node::{BOTH, Node, until};
use crate::player::Player;
use crate::recovery::recover;

const GROUP: GroupId = GroupId(1);

const OTHER: GroupId = GroupId(2);

/// The names of a partition's snapshots.
fn snapshots(disk: &SimulatedDisk, partition: PartitionId) -> Vec<String> {
    let prefix = format!("snapshot-{:08x}", partition.0);
    disk.names().into_iter().filter(|name| name.starts_with(&prefix)).collect()
}

/// Makes a snapshot of a state that has none yet. Asked for again, because one that is being made is not made anew.
async fn snapshot(disk: &SimulatedDisk, partition: &PartitionHandle) {
    let before = snapshots(disk, partition.id());
    until(|| {
        partition.snapshot();
        !snapshots(disk, partition.id()).iter().all(|name| before.contains(name))
    })
    .await;
}

/// A group with some of everything, and another one.
async fn fill(player: &mut Player) {
    player.create(GROUP).await;
    player.create(OTHER).await;
    player.publish(1, &[GROUP, OTHER], &[100, 30_000, 200, 300]);
    player.publish(1, &[GROUP], &[1_000; 5]);
    player.attach(2, GROUP, 5, RELEASED);
    player.attach(3, OTHER, 1, RELEASED);
    player.collect().await;
    player.settle(GROUP, 0, 1, Outcome::Accepted);
    player.settle(GROUP, 1, 1, Outcome::Modified);
    player.settle(GROUP, 1, 1, Outcome::Rejected);
    player.settle(OTHER, 0, 1, Outcome::Released);
    player.collect().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_changes_nothing() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        let mut player = Player::new(node.partition(kind), Ledger::default());
        fill(&mut player).await;
        snapshot(&disk, &player.partition).await;
        let mut exact = player.ledger.clone();
        recover(&disk.crash(CrashPlan::KeepAll), kind, &mut exact, &format!("{kind:?}, right after it")).await;
        for round in 0..4 {
            player.publish(1, &[OTHER], &[500]);
            player.settle(GROUP, 0, 1, Outcome::Accepted);
            player.collect().await;
            snapshot(&disk, &player.partition).await;
            assert_eq!(snapshots(&disk, player.partition.id()).len(), 1, "{kind:?}, round {round}: the old one goes");
        }
        player.publish(1, &[GROUP, OTHER], &[10_000]);
        player.collect().await;
        let mut ledger = player.ledger;
        drop(node);
        let disk = disk.kill();
        let node = recover(&disk, kind, &mut ledger, &format!("{kind:?}, after some")).await;
        // And on from there.
        let mut player = Player::new(node.partition(kind), ledger);
        player.publish(1, &[GROUP, OTHER], &[100, 20_000]);
        player.attach(2, GROUP, 2, RELEASED);
        player.collect().await;
        player.settle(GROUP, 0, 2, Outcome::Accepted);
        player.collect().await;
        snapshot(&disk, &player.partition).await;
        player.delete(OTHER).await;
        snapshot(&disk, &player.partition).await;
        let mut ledger = player.ledger;
        drop(node);
        recover(&disk.kill(), kind, &mut ledger, &format!("{kind:?}, in the second run")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_of_what_has_not_changed_does_not_end_them() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        let mut player = Player::new(node.partition(kind), Ledger::default());
        fill(&mut player).await;
        snapshot(&disk, &player.partition).await;
        for _ in 0..3 {
            player.partition.snapshot();
            player.collect().await;
        }
        player.publish(1, &[GROUP], &[100]);
        player.collect().await;
        snapshot(&disk, &player.partition).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_nobody_needs_are_given_up_by_a_snapshot() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        let mut player = Player::new(node.partition(kind), Ledger::default());
        player.create(GROUP).await;
        player.create(OTHER).await;
        player.attach(2, GROUP, 0, RELEASED);
        player.publish(1, &[GROUP], &[1_000; 40]);
        player.publish(1, &[GROUP], &[50_000]);
        player.publish(1, &[OTHER], &[1_000; 10]);
        player.collect().await;
        let before = node.statistics().live_bytes;
        assert!(before > 100_000, "{before}");
        player.settle(GROUP, 0, 100, Outcome::Accepted);
        player.collect().await;
        assert_eq!(node.statistics().live_bytes, before, "until a snapshot is there, a restart needs them");
        snapshot(&disk, &player.partition).await;
        until(|| node.statistics().live_bytes < 12_000).await;
        assert_eq!(node.statistics().live_bodies, 10);
        player.purge(OTHER).await;
        snapshot(&disk, &player.partition).await;
        until(|| node.statistics().live_bodies == 0).await;
        let mut ledger = player.ledger;
        drop(node);
        let node = recover(&disk.kill(), kind, &mut ledger, "empty").await;
        assert_eq!(node.statistics().live_bodies, 0);
    }
}

async fn crash_in_a_snapshot(after: u64, kind: PartitionKind) -> bool {
    let what = format!("{kind:?}, {after} changes after the beginning");
    let disk = SimulatedDisk::new();
    let node = Node::start(&disk).await.unwrap();
    let mut player = Player::new(node.partition(kind), Ledger::default());
    fill(&mut player).await;
    snapshot(&disk, &player.partition).await;
    player.settle(GROUP, 0, 1, Outcome::Accepted);
    player.publish(1, &[OTHER], &[700]);
    player.purge(GROUP).await;
    let before = snapshots(&disk, player.partition.id());
    let down_at = disk.operations() + after;
    disk.go_down_at(down_at);
    until(|| {
        player.partition.snapshot();
        disk.operations() > down_at || snapshots(&disk, player.partition.id()) != before
    })
    .await;
    player.publish(1, &[GROUP, OTHER], &[800]);
    player.collect().await;
    let ledger = player.ledger;
    drop(node);
    for plan in [CrashPlan::LoseAll, CrashPlan::KeepAll, CrashPlan::Random(after), CrashPlan::Random(!after)] {
        let (disk, mut ledger) = (disk.crash(plan), ledger.clone());
        let node = recover(&disk, kind, &mut ledger, &format!("{what}, {plan:?}")).await;
        // Another one on top of whatever is left of that.
        let mut player = Player::new(node.partition(kind), ledger);
        player.publish(1, &[OTHER], &[900]);
        player.collect().await;
        snapshot(&disk, &player.partition).await;
        let mut ledger = player.ledger;
        drop(node);
        recover(&disk.crash(plan), kind, &mut ledger, &format!("{what}, {plan:?}, another one")).await;
    }
    disk.operations() <= down_at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_in_a_snapshot_changes_nothing() {
    for kind in BOTH {
        let mut is_over = false;
        for after in 0..40 {
            is_over |= crash_in_a_snapshot(after, kind).await;
        }
        assert!(is_over, "{kind:?}: all of it was seen");
    }
}

/// A snapshot may be of a state in which some pieces of a message are in the log, and the message is not known yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_between_the_pieces_of_a_message_loses_none_of_them() {
    for kind in BOTH {
        let disk = SimulatedDisk::new();
        let node = Node::start(&disk).await.unwrap();
        let mut player = Player::new(node.partition(kind), Ledger::default());
        player.create(GROUP).await;
        for round in 0..20 {
            let before = snapshots(&disk, player.partition.id());
            player.publish(1, &[GROUP], &[100]);
            player.publish(1, &[GROUP], &[90_000]);
            for _ in 0..round % 5 {
                tokio::task::yield_now().await;
            }
            player.partition.snapshot();
            player.publish(1, &[GROUP], &[60_000, 200]);
            until(|| snapshots(&disk, player.partition.id()) != before).await;
            let mut ledger = player.ledger.clone();
            let what = format!("{kind:?}, round {round}");
            drop(recover(&disk.crash(CrashPlan::LoseAll), kind, &mut ledger, &what).await);
            player.collect().await;
            let mut ledger = player.ledger.clone();
            drop(recover(&disk.crash(CrashPlan::LoseAll), kind, &mut ledger, &what).await);
            player.purge(GROUP).await;
        }
    }
}
