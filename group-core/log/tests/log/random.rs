//! Long random runs with crashes, compared with the model after each.

use braid_log::{Error, disk::CrashPlan};
use braid_types::{MessageId, PartitionId};

use crate::world::World;

/// A small generator, so that a seed says everything.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

fn some_live(world: &World, partition: u32, random: &mut Random) -> Vec<MessageId> {
    let Some(machine) = world.machines.get(&PartitionId(partition)) else { return Vec::new() };
    // Mostly the oldest, now and then any; one in each partition is never forgotten.
    let live: Vec<MessageId> = machine.live.keys().copied().skip(1).collect();
    let count = random.below(12);
    (0..count)
        .filter_map(|_| {
            let place = if random.below(4) == 0 { random.below(live.len() as u64) } else { random.below(8) };
            live.get(usize::try_from(place).unwrap()).copied()
        })
        .collect()
}

fn step(world: &mut World, random: &mut Random) -> Result<(), Error> {
    let partition = u32::try_from(random.below(4)).unwrap() + 1;
    let id = PartitionId(partition);
    match random.below(100) {
        0..=39 => {
            let forgets = some_live(world, partition, random);
            let mut positions: Vec<u32> =
                (0..random.below(8)).map(|_| u32::try_from(random.below(64)).unwrap()).collect();
            positions.sort_unstable();
            positions.dedup();
            let term =
                world.current.get(&id).and_then(|found| found.entries.values().next_back()).map_or(1, |last| last.term);
            world.append(partition, term + random.below(2), &positions, forgets)
        }
        40..=59 => {
            world.write_once();
            Ok(())
        }
        60..=69 => {
            let upto = world.applied(partition) + random.below(10);
            world.apply(partition, upto)
        }
        70..=73 => {
            let last = world.next_index(id) - 1;
            let applied = world.applied(partition);
            if last > applied { world.truncate(partition, applied + 1 + random.below(last - applied)) } else { Ok(()) }
        }
        74..=76 => world.vote(partition, random.next()),
        77..=81 => world.snapshot(partition),
        82..=85 => world.purge(partition),
        86 if random.below(4) == 0 => world.remove(partition),
        _ => {
            world.maintain_once();
            Ok(())
        }
    }
}

fn run(seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let mut world = World::new();
    let mut retired = 0;
    for round in 0..6 {
        let operations = world.disk.operations();
        if round % 3 != 2 {
            world.disk.go_down_at(operations + random.below(steps as u64 / 2));
        }
        for _ in 0..steps {
            match step(&mut world, &mut random) {
                Ok(()) => {}
                Err(Error::Busy) => world.write(),
                Err(_) => break,
            }
        }
        retired += world.wal().statistics().retired;
        for _ in 0..random.below(3) {
            world.kill();
        }
        let plan = match random.below(4) {
            0 => CrashPlan::LoseAll,
            1 => CrashPlan::KeepAll,
            _ => CrashPlan::Random(random.next()),
        };
        world.crash(plan);
    }
    world.settle();
    world.check_live();
    assert!(steps < 500 || retired > 0, "the run is long enough to use segments again");
}

/// How many seeds; more of them with `BRAID_LOG_SEEDS`.
fn seeds(usual: u64) -> u64 {
    std::env::var("BRAID_LOG_SEEDS").map_or(usual, |text| text.parse().unwrap())
}

#[test]
fn long_runs_with_crashes_lose_and_forge_nothing() {
    for seed in 0..seeds(20) {
        run(seed, 600);
    }
}

#[test]
fn short_runs_with_many_crashes_lose_and_forge_nothing() {
    for seed in 0..seeds(100) {
        run(1_000_000 + seed, 60);
    }
}
