//! Long generated runs, each a chain of crashes.

use braid_broker::OnLoss;
use braid_log::disk::{CrashPlan, SimulatedDisk};
use braid_types::{GroupId, Outcome, PartitionKind};

use crate::client::RELEASED;
use crate::ledger::Ledger;
use crate::node::BOTH;
use crate::player::Player;
use crate::random::Random;
use crate::recovery::recover;

/// Runs of each kind.
const RUNS: u64 = 30;

const STEPS: u64 = 70;

fn size(random: &mut Random) -> usize {
    let sizes = match random.below(12) {
        0 => 20_000..60_000,
        1..=3 => 1_000..9_000,
        _ => 8..300_u64,
    };
    usize::try_from(sizes.start + random.below(sizes.end - sizes.start)).unwrap()
}

fn outcome(random: &mut Random) -> Outcome {
    match random.below(8) {
        0 => Outcome::Rejected,
        1 => Outcome::Released,
        2 => Outcome::Modified,
        _ => Outcome::Accepted,
    }
}

fn some_groups(groups: &[GroupId], random: &mut Random) -> Vec<GroupId> {
    let count = match random.below(6) {
        0 => 2 + random.below(3),
        1 => 9 + random.below(4),
        _ => 1,
    };
    let first = usize::try_from(random.below(groups.len() as u64)).unwrap();
    let count = usize::try_from(count).unwrap().min(groups.len());
    let mut some: Vec<GroupId> = groups.iter().cycle().skip(first).take(count).copied().collect();
    some.sort_unstable();
    some
}

async fn step(player: &mut Player, random: &mut Random) {
    let open = player.ledger.groups.iter().filter(|(_, group)| !group.may_be_deleted);
    let groups: Vec<GroupId> = open.map(|(id, _)| *id).collect();
    let client = 1 + random.below(4);
    let Some(group) = random.pick(&groups).copied() else { return player.create(next_group(player)).await };
    match random.below(40) {
        0..=13 => {
            let groups = some_groups(&groups, random);
            let sizes: Vec<usize> = (0..=random.below(4)).map(|_| size(random)).collect();
            player.publish(client, &groups, &sizes);
        }
        14..=17 => {
            let on_loss = if random.once_in(3) { OnLoss::Detach(Outcome::Modified) } else { RELEASED };
            let window = u32::try_from(random.below(6)).unwrap();
            player.attach(client, group, window, on_loss);
        }
        18..=27 => {
            let (place, count) = (random.below(4), 1 + random.below(3));
            let outcome = outcome(random);
            player.settle(group, usize::try_from(place).unwrap(), usize::try_from(count).unwrap(), outcome);
        }
        28..=30 => player.get(client, group),
        31 => {
            if let Some(seat) = random.pick(&player.attached()) {
                player.detach(*seat, random.once_in(2)).await;
            }
        }
        32 => player.lose(client).await,
        33 if random.once_in(2) => player.purge(group).await,
        34 if random.once_in(3) => player.delete(group).await,
        35 => player.create(next_group(player)).await,
        36 => player.partition.snapshot(),
        _ => player.collect().await,
    }
}

fn next_group(player: &Player) -> GroupId {
    GroupId(player.ledger.next_number() + 1_000)
}

async fn run(seed: u64, kind: PartitionKind) {
    let mut random = Random::new(seed);
    let mut disk = SimulatedDisk::new();
    let mut ledger = Ledger::default();
    for crash in 0..4 {
        let what = format!("{kind:?}, seed {seed}, crash {crash}");
        let node = recover(&disk, kind, &mut ledger, &what).await;
        disk.go_down_at(disk.operations() + random.below(150));
        let mut player = Player::new(node.partition(kind), ledger);
        if crash == 0 {
            for group in 1..=13 {
                player.create(GroupId(group)).await;
            }
        }
        for _ in 0..STEPS {
            if !player.is_up {
                break;
            }
            step(&mut player, &mut random).await;
        }
        if random.once_in(2) {
            player.collect().await;
        }
        ledger = player.ledger;
        drop(node);
        let plan = match random.below(4) {
            0 => CrashPlan::LoseAll,
            1 => CrashPlan::KeepAll,
            _ => CrashPlan::Random(random.below(u64::MAX)),
        };
        disk = disk.crash(plan);
    }
    recover(&disk, kind, &mut ledger, &format!("{kind:?}, seed {seed}, at the end")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_done_and_whenever_it_crashes_the_ledger_holds() {
    for kind in BOTH {
        for seed in 1..=RUNS {
            run(seed, kind).await;
        }
    }
}
