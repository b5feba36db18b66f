//! A crash at every single change of the disk, for a run in which everything happens once.

use braid_broker::OnLoss;
use braid_log::disk::{CrashPlan, SimulatedDisk};
use braid_types::{GroupId, Outcome, PartitionKind};

use crate::client::RELEASED;
use crate::ledger::Ledger;
use crate::node::{Node, within};
use crate::player::Player;
use crate::recovery::recover;

const FIRST: GroupId = GroupId(1);
const SECOND: GroupId = GroupId(2);
const DOOMED: GroupId = GroupId(3);

/// So many groups are named as a set.
fn many() -> Vec<GroupId> {
    (10..22).map(GroupId).collect()
}

/// More than one piece of a message can have in a log of small segments.
const LARGE_BYTES: usize = 40_000;

/// A step that is not taken when the machine is down.
macro_rules! while_up {
    ($player:ident: $($step:expr;)*) => { $(
        if !$player.is_up {
            return;
        }
        $step;
    )* };
}

/// Everything once: some of it with several commands on their way.
async fn play(player: &mut Player) {
    let loses = OnLoss::Detach(Outcome::Modified);
    let wanted: Vec<GroupId> = [FIRST, SECOND].into_iter().chain(many()).collect();
    wanted.iter().for_each(|group| player.ledger.create(*group));
    let wanted = wanted.into_iter().map(|group| (group, braid_machine::GroupConfig::default())).collect();
    within(player.partition.reconcile(wanted, GroupId(1_000))).await;
    while_up! { player:
        player.create(DOOMED).await;
        player.publish(1, &[FIRST], &[10, 100, 1_000, 8]);
        player.publish(2, &[FIRST, SECOND], &[300]);
        player.attach(3, FIRST, 3, RELEASED);
        player.collect().await;
        player.settle(FIRST, 0, 1, Outcome::Accepted);
        player.settle(FIRST, 0, 1, Outcome::Modified);
        player.settle(FIRST, 0, 1, Outcome::Released);
        player.publish(1, &[FIRST], &[5_000, 20]);
        player.collect().await;
        player.publish(2, &[FIRST, SECOND], &[LARGE_BYTES]);
        player.publish(2, &[SECOND], &[50]);
        player.settle(FIRST, 1, 1, Outcome::Rejected);
        player.attach(4, SECOND, 0, loses);
        player.publish(1, &many(), &[70, 80]);
        player.publish(1, &[DOOMED], &[90, 200]);
        player.collect().await;
        player.partition.snapshot();
        player.settle(SECOND, 0, 2, Outcome::Accepted);
        player.delete(DOOMED).await;
        player.publish(1, &many(), &[60]);
        player.purge(FIRST).await;
        player.publish(2, &[FIRST], &[LARGE_BYTES, 30]);
        player.get(5, GroupId(10));
        player.collect().await;
        player.settle(GroupId(10), 0, 1, Outcome::Accepted);
        player.lose(4).await;
        player.lose(3).await;
        player.partition.snapshot();
        player.attach(6, SECOND, 1, RELEASED);
        player.collect().await;
        player.settle(SECOND, 0, 1, Outcome::Accepted);
        player.publish(1, &[SECOND, FIRST], &[25]);
        player.collect().await;
    }
}

/// A run that a crash may end. What clients know then.
async fn run(disk: &SimulatedDisk, kind: PartitionKind) -> Ledger {
    let Ok(node) = Node::start(disk).await else { return Ledger::default() };
    let mut player = Player::new(node.partition(kind), Ledger::default());
    play(&mut player).await;
    player.ledger
}

/// Some more on what was recovered.
async fn go_on(node: &Node, kind: PartitionKind, ledger: Ledger) -> Ledger {
    let mut player = Player::new(node.partition(kind), ledger);
    let groups: Vec<GroupId> = player.ledger.groups.keys().copied().take(3).collect();
    player.publish(1, &groups, &[100, LARGE_BYTES, 200]);
    for group in &groups {
        player.attach(2, *group, 2, RELEASED);
    }
    player.collect().await;
    for group in &groups {
        player.settle(*group, 0, 1, Outcome::Accepted);
        player.settle(*group, 0, 1, Outcome::Modified);
    }
    player.publish(1, &groups, &[300]);
    player.collect().await;
    player.ledger
}

async fn crash_at(down_at: u64, kind: PartitionKind) {
    let disk = SimulatedDisk::new();
    disk.go_down_at(down_at);
    let ledger = run(&disk, kind).await;
    for plan in [CrashPlan::LoseAll, CrashPlan::KeepAll, CrashPlan::Random(down_at)] {
        let what = format!("{kind:?}, down at {down_at}, {plan:?}");
        let disk = disk.crash(plan);
        let mut ledger = ledger.clone();
        if plan == CrashPlan::Random(down_at) {
            // While it starts, too.
            let torn = disk.crash(CrashPlan::KeepAll);
            torn.go_down_at(down_at % 23);
            drop(Node::start(&torn).await);
            let torn = torn.crash(CrashPlan::Random(!down_at));
            recover(&torn, kind, &mut ledger.clone(), &format!("{what}, and at the start")).await;
        }
        let node = recover(&disk, kind, &mut ledger, &what).await;
        disk.go_down_at(disk.operations() + down_at % 29);
        let mut ledger = go_on(&node, kind, ledger).await;
        drop(node);
        recover(&disk.crash(plan), kind, &mut ledger, &format!("{what}, and again")).await;
    }
}

async fn crash_everywhere(kind: PartitionKind) {
    let disk = SimulatedDisk::new();
    let mut ledger = run(&disk, kind).await;
    assert!(ledger.is_exact, "nothing fails");
    let count = disk.operations();
    recover(&disk.crash(CrashPlan::LoseAll), kind, &mut ledger, "at the end").await;
    for down_at in 0..=count {
        crash_at(down_at, kind).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_every_point_nothing_confirmed_is_lost_or_forged_on_one_disk() {
    crash_everywhere(PartitionKind::Disk).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_every_point_nothing_confirmed_is_lost_or_forged_in_a_group() {
    crash_everywhere(PartitionKind::Quorum).await;
}
