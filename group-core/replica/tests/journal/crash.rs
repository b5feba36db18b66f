//! The machine goes down at each change of the disk: what was handed out comes again, and nothing else than what was
//! proposed.

use braid_log::disk::{CrashPlan, SimulatedDisk};

use crate::owner::{Kind, Node, Owner};

/// What the owner saw of a run that a crash ended.
#[derive(Default)]
struct Seen {
    proposed: Vec<String>,
    /// Of those, in order, what was handed out.
    committed: Vec<String>,
}

/// Proposes with two entries in flight, with snapshots in between. Ends at the first error: the machine is down.
async fn run(disk: &SimulatedDisk, kind: Kind, before: &[String], entries: usize) -> Seen {
    let mut seen = Seen { proposed: before.to_vec(), committed: before.to_vec() };
    let Ok(node) = Node::start(disk) else { return seen };
    let Ok(mut owner) = Owner::open(&node, kind).await else { return seen };
    owner.step_until(|owner| owner.leads.is_some()).await;
    for number in 0..entries {
        if owner.stopped.is_some() {
            break;
        }
        let text = format!("{} of {}", number, before.len());
        if owner.propose(&text).is_ok() {
            seen.proposed.push(text);
        }
        owner.step_until(|owner| owner.proposed.len() < 2).await;
        if number % 7 == 5 {
            owner.snapshot().await;
        }
    }
    owner.settle().await;
    if owner.leads.is_some() {
        seen.committed = owner.payloads();
    }
    owner.journal.close().await;
    seen
}

/// What is there after a crash: everything that was handed out, then some of what was proposed, in that order.
async fn check(disk: &SimulatedDisk, kind: Kind, seen: &Seen, what: &str) -> Vec<String> {
    let node = Node::start(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let owner = Owner::lead(&node, kind).await;
    let found = owner.payloads();
    assert!(found.starts_with(&seen.committed), "{what}: {found:?} after {:?}", seen.committed);
    assert!(seen.proposed.starts_with(&found), "{what}: {found:?} of {:?}", seen.proposed);
    owner.check_bodies();
    owner.journal.close().await;
    found
}

async fn crash_at(down_at: u64, kind: Kind, entries: usize) {
    let disk = SimulatedDisk::new();
    disk.go_down_at(down_at);
    let seen = run(&disk, kind, &[], entries).await;
    for plan in [CrashPlan::LoseAll, CrashPlan::KeepAll, CrashPlan::Random(down_at)] {
        let what = format!("{kind:?}, down at {down_at}, {plan:?}");
        let disk = disk.crash(plan);
        let found = check(&disk, kind, &seen, &what).await;
        if plan == CrashPlan::Random(down_at) {
            // Again, on top of it, in the middle of the next run.
            disk.go_down_at(disk.operations() + down_at % 40);
            let seen = run(&disk, kind, &found, 4).await;
            check(&disk.crash(CrashPlan::Random(!down_at)), kind, &seen, &what).await;
        }
    }
}

/// Changes of the disk that a whole run makes.
async fn operations(kind: Kind, entries: usize) -> u64 {
    let disk = SimulatedDisk::new();
    let seen = run(&disk, kind, &[], entries).await;
    assert_eq!(seen.committed.len(), entries);
    disk.operations()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_every_point_nothing_is_lost_or_forged_on_one_disk() {
    let count = operations(Kind::Disk, 16).await;
    for down_at in 0..=count {
        crash_at(down_at, Kind::Disk, 16).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_every_point_nothing_is_lost_or_forged_in_a_group() {
    let count = operations(Kind::Quorum, 16).await;
    for down_at in 0..=count {
        crash_at(down_at, Kind::Quorum, 16).await;
    }
}
