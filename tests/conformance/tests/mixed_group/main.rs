//! The main job: one group whose members are AMQP consumers, MQTT `$share` subscribers and NATS queue subscribers at
//! once, fed by publishers of all three protocols. Each message goes to exactly one member.
//!
//! Every client sits behind a cable of its own, so that a member can die without a goodbye. What must hold:
//! nothing is lost, nothing comes twice; when members die, what they had not acknowledged comes again, flagged, and what
//! a NATS member had been handed is gone with it, at most its credit.

mod arrival;
mod ledger;
mod members;
mod publishers;

use std::time::Duration;

use braid_conformance::{Broker, Failure, Outcome, group, mqtt::Version, say, within};
use ledger::Ledger;
use members::{Crew, Kind, Report};
use publishers::Publishers;

/// Messages of each publisher.
const MESSAGES_EACH: u32 = 10_000;

/// Messages of all publishers.
const MESSAGES: u32 = 3 * MESSAGES_EACH;

/// The least share of a member when nobody dies, in percent.
const SHARE_PERCENT_MIN: u32 = 5;

/// What a member that settles at hand-off may have been handed without having seen it, in messages.
const CREDIT_MAX: usize = 1_024;

/// After how many messages a member that is going to die stops to acknowledge.
const HOLD_AFTER: usize = 300;

/// How often the group is asked whether it is empty, and the pause between two questions.
const ASKED_MAX: u32 = 600;
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// Name of the group, and the addresses that it takes.
const GROUP: &str = "work";
const BASE: &str = "jobs";

/// Three of each protocol; of MQTT two of version 5 and one of 3.1.1.
const KINDS: [Kind; 9] = [
    Kind::Amqp,
    Kind::Amqp,
    Kind::Amqp,
    Kind::Mqtt(Version::V5),
    Kind::Mqtt(Version::V5),
    Kind::Mqtt(Version::V311),
    Kind::Nats,
    Kind::Nats,
    Kind::Nats,
];

/// Runs the scene; the members in `dying` (positions in [`KINDS`]) are cut off in the middle of it.
async fn run(dying: &[usize]) -> Result<Ledger, Failure> {
    let broker = Broker::start().await?;
    let mut crew = Crew::new();
    for (index, kind) in KINDS.into_iter().enumerate() {
        let hold_after = dying.contains(&index).then_some(HOLD_AFTER);
        crew.join(&broker, kind, GROUP, BASE, hold_after).await?;
    }
    assert_eq!(group::show(&broker, GROUP).await?.members.len(), KINDS.len(), "not all are members of one group");
    let mut ledger = Ledger::new(MESSAGES, KINDS.len());
    let mut publishers = Publishers::start(&broker, BASE, MESSAGES_EACH).await?;
    let mut waiting_to_die = dying.len();
    while waiting_to_die > 0 || !publishers.are_done() {
        tokio::select! {
            report = within("report of a member", crew.report()) => match report?? {
                Report::Took(receipt) => ledger.enter(receipt)?,
                Report::Holds => {
                    waiting_to_die -= 1;
                    if waiting_to_die == 0 {
                        say(&format!("{} of {MESSAGES} were taken when the members died", ledger.distinct()));
                        cut(&broker, &mut crew, dying).await?;
                    }
                }
            },
            published = publishers.next(), if !publishers.are_done() => published?,
        }
    }
    until_empty(&broker, &mut crew, &mut ledger).await?;
    for receipt in crew.finish(dying).await? {
        ledger.enter(receipt)?;
    }
    Ok(ledger)
}

/// Cuts the cables of `dying`, the last one first: that is the NATS member, and the broker has noticed its death before
/// the others die. What they held goes back and must not be handed to a member that is about to die, where it would be
/// settled, and lost with it.
async fn cut(broker: &Broker, crew: &mut Crew, dying: &[usize]) -> Outcome {
    let mut left = group::show(broker, GROUP).await?.members.len();
    for index in dying.iter().rev() {
        crew.cut(&[*index]).await;
        left -= 1;
        let mut asked = 0;
        while group::show(broker, GROUP).await?.members.len() > left {
            asked += 1;
            assert!(asked < ASKED_MAX, "the broker does not notice the death of member {index}");
            // A member's end has no event for onlookers.
            tokio::time::sleep(ASKED_EVERY).await;
        }
    }
    Ok(())
}

/// Returns when the group has no message left, waiting or handed out.
async fn until_empty(broker: &Broker, crew: &mut Crew, ledger: &mut Ledger) -> Outcome {
    for _ in 0..ASKED_MAX {
        let shown = group::show(broker, GROUP).await?;
        while let Some(report) = crew.try_report() {
            if let Report::Took(receipt) = report {
                ledger.enter(receipt)?;
            }
        }
        if shown.ready == 0 && shown.unacked == 0 {
            return Ok(());
        }
        // A queue has no event for being empty.
        tokio::time::sleep(ASKED_EVERY).await;
    }
    Err(Failure::new(format!("the group is not empty: {:?}", group::show(broker, GROUP).await?)))
}

#[tokio::test(flavor = "multi_thread")]
async fn nine_members_of_three_protocols_share_thirty_thousand_messages() -> Outcome {
    let ledger = run(&[]).await?;
    assert_eq!(ledger.duplicates(), Vec::<u32>::new(), "came twice");
    assert_eq!(ledger.missing(), Vec::<u32>::new(), "never came");
    let shares = ledger.taken_by_member();
    say(&format!("shares: {shares:?}"));
    for (kind, taken) in KINDS.iter().zip(shares) {
        assert!(taken * 100 >= MESSAGES * SHARE_PERCENT_MIN, "a member of {kind:?} got {taken} of {MESSAGES}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn when_one_member_of_each_protocol_dies_every_message_is_accounted_for() -> Outcome {
    check_after_deaths(&[0, 3, 6]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_member_of_the_older_mqtt_dies_every_message_is_accounted_for() -> Outcome {
    check_after_deaths(&[1, 5, 7]).await
}

async fn check_after_deaths(dying: &[usize]) -> Outcome {
    let ledger = run(dying).await?;
    let held = ledger.held_by(dying);
    say(&format!("{} messages were held when their members died", held.len()));
    for id in ledger.duplicates() {
        assert!(held.contains(&id), "{id} came twice, though it was acknowledged");
    }
    let unflagged = ledger.unflagged_repeats();
    assert!(unflagged.is_empty(), "came again without a flag: {unflagged:?}");
    let lost = ledger.missing();
    say(&format!("lost with the NATS member that died: {} (its credit is at most {CREDIT_MAX})", lost.len()));
    assert!(lost.len() <= CREDIT_MAX, "{} messages are lost", lost.len());
    let stuck: Vec<&u32> = held.iter().filter(|id| lost.contains(id)).collect();
    assert!(stuck.is_empty(), "held by a dead member and never given to another: {stuck:?}");
    Ok(())
}
