//! Dispatch strategies, and single active members.

use std::collections::{BTreeMap, BTreeSet};

use braid_machine::{Command, GroupConfig, MemberConfig, Owner, Refused, Reply, Skipped, Strategy};
use braid_types::{MemberId, Outcome, UnackedOnEnd};

use crate::scene::{GROUP, Scene, windowed};

fn with(strategy: Strategy) -> Scene {
    Scene::new(GroupConfig { strategy, ..GroupConfig::default() })
}

#[test]
fn the_least_loaded_member_is_next() {
    let mut scene = with(Strategy::LeastUnacked);
    let (a, b) = (scene.attach(windowed(0)), scene.attach(windowed(0)));
    let to: Vec<_> = (0..4)
        .map(|_| {
            scene.publish_plain();
            scene.pairs()[0].0
        })
        .collect();
    assert_eq!(to, [a, b, a, b]);
    scene.settle(b, &[0, 1], Outcome::Accepted);
    for expected in [b, b] {
        scene.publish_plain();
        assert_eq!(scene.pairs()[0].0, expected);
    }
}

#[test]
fn random_is_fair_and_the_same_every_time() {
    let run = || {
        let mut scene = with(Strategy::Random);
        let mut counts: BTreeMap<MemberId, u32> = (0..4).map(|_| (scene.attach(windowed(0)), 0)).collect();
        for _ in 0..800 {
            scene.publish_plain();
            *counts.get_mut(&scene.pairs()[0].0).expect("a member") += 1;
        }
        counts
    };
    let counts = run();
    assert!(counts.values().all(|count| (150..250).contains(count)), "{counts:?}");
    assert_eq!(counts, run());
}

#[test]
fn one_key_goes_to_one_member_and_moves_only_when_that_has_settled() {
    let mut scene = with(Strategy::Key);
    let members: Vec<MemberId> = (0..4).map(|_| scene.attach(windowed(0))).collect();
    let mut owners: BTreeMap<String, MemberId> = BTreeMap::new();
    for round in 0..3 {
        for key in (0..20).map(|key| format!("key/{key}")) {
            scene.publish_to(&key);
            let to = scene.pairs()[0].0;
            assert_eq!(*owners.entry(key).or_insert(to), to, "round {round}");
        }
    }
    assert!(owners.values().collect::<BTreeSet<_>>().len() > 1);
    // A member that ends keeps its keys until it has settled; the others keep theirs.
    let (key, ending) = owners.iter().next().map(|(key, member)| (key.clone(), *member)).expect("a key");
    scene.detach(ending, UnackedOnEnd::Keep);
    scene.publish_to(&key);
    assert_eq!(scene.sent(), []);
    for (other, owner) in owners.iter().filter(|(_, owner)| **owner != ending) {
        scene.publish_to(other);
        assert_eq!(scene.pairs()[0].0, *owner);
    }
    let held: Vec<u64> = (0..100).collect();
    scene.settle(ending, &held, Outcome::Accepted);
    assert_eq!(scene.sent().len(), 1);
    assert!(members.contains(&scene.pairs()[0].0) && scene.pairs()[0].0 != ending);
}

#[test]
fn a_key_whose_member_has_no_credit_waits_and_holds_up_no_other() {
    let mut scene = with(Strategy::Key);
    scene.attach(windowed(1));
    scene.publish_to("a");
    scene.publish_to("a");
    assert_eq!(scene.sent(), []);
    let other = scene.attach(windowed(0));
    let keys = (0..20).map(|key| format!("key/{key}"));
    let to_other = keys.filter(|key| {
        scene.publish_to(key);
        scene.pairs().first().is_some_and(|(member, _)| *member == other)
    });
    assert!(to_other.count() > 0);
    let get = Command::Get { group: GROUP, owner: Owner::default(), settled: true, on_loss: Outcome::Released };
    assert_eq!(scene.apply(get), Reply::Refused(Refused::Exclusive));
}

#[test]
fn only_the_active_member_is_sent_messages() {
    let mut scene = Scene::new(GroupConfig { single_active: true, ..GroupConfig::default() });
    let (first, second) = (scene.attach(windowed(0)), scene.attach(windowed(0)));
    scene.publish_plain();
    scene.publish_plain();
    assert_eq!(scene.pairs()[0].0, first);
    assert_eq!(scene.member(second).skipped, Some(Skipped::Standby));
    let get = Command::Get { group: GROUP, owner: Owner::default(), settled: true, on_loss: Outcome::Released };
    assert_eq!(scene.apply(get), Reply::Refused(Refused::Exclusive));
    scene.detach(first, UnackedOnEnd::Settle(Outcome::Modified));
    assert_eq!(scene.sent().iter().map(|sent| sent.member).collect::<Vec<_>>(), [second, second]);
}

#[test]
fn a_better_member_takes_over_when_the_active_one_has_settled() {
    let mut scene = Scene::new(GroupConfig { single_active: true, ..GroupConfig::default() });
    let active = scene.attach(windowed(0));
    scene.publish_plain();
    let better = scene.attach(MemberConfig { priority: 1, ..windowed(0) });
    let waiting = scene.publish_plain();
    assert_eq!(scene.sent(), []);
    assert_eq!(scene.member(active).skipped, Some(Skipped::Quiescing));
    scene.settle(active, &[0], Outcome::Accepted);
    assert_eq!(scene.pairs(), [(better, waiting)]);
    let best = scene.attach(MemberConfig { priority: 2, ..windowed(0) });
    scene.publish_plain();
    scene.detach(best, UnackedOnEnd::Keep);
    assert_eq!(scene.pairs()[0].0, better, "it goes on when the better one has gone again");
}
