//! The order in which members come makes no difference: whoever is first, they end up in one group.

use braid_conformance::{Broker, Outcome, group, mqtt::Version, unique, within};

use crate::{
    ledger::Ledger,
    members::{Crew, Kind, Report},
    publishers::Publishers,
};

/// Messages of each publisher.
const MESSAGES_EACH: u32 = 100;

/// All orders of three.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[tokio::test]
async fn every_order_of_arrival_gives_one_group() -> Outcome {
    let broker = Broker::start().await?;
    for version in Version::ALL {
        let kinds = [Kind::Amqp, Kind::Mqtt(version), Kind::Nats];
        for order in ORDERS {
            let arrived: Vec<Kind> = order.into_iter().map(|position| kinds[position]).collect();
            arrive(&broker, &arrived).await?;
        }
    }
    Ok(())
}

async fn arrive(broker: &Broker, kinds: &[Kind]) -> Outcome {
    let (name, base) = (unique("group"), unique("base"));
    let mut crew = Crew::new();
    for kind in kinds {
        crew.join(broker, *kind, &name, &base, None).await?;
    }
    assert_eq!(group::show(broker, &name).await?.members, ["amqp", "mqtt", "nats"], "{kinds:?}");
    let messages = 3 * MESSAGES_EACH;
    let mut ledger = Ledger::new(messages, kinds.len());
    Publishers::start(broker, &base, MESSAGES_EACH).await?.finish().await?;
    while ledger.distinct() < usize::try_from(messages)? {
        let what = format!("report of {kinds:?} after {} messages", ledger.distinct());
        if let Report::Took(receipt) = within(&what, crew.report()).await?? {
            ledger.enter(receipt)?;
        }
    }
    for receipt in crew.finish(&[]).await? {
        ledger.enter(receipt)?;
    }
    assert_eq!(ledger.duplicates(), Vec::<u32>::new(), "came twice with {kinds:?}");
    assert!(ledger.taken_by_member().iter().all(|taken| *taken > 0), "{kinds:?}: {:?}", ledger.taken_by_member());
    Ok(())
}
