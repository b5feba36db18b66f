//! The kill -9 loop: a real broker is killed again and again on one data folder, under load of all three protocols, and
//! every message is accounted for. And what a restart keeps of groups, exchanges and bindings.
//!
//! `BRAIDMQ_KILLS=200` makes the long run of it, by hand; `CONFORMANCE_SEED` repeats the choices of a run, and
//! `CONFORMANCE_KEEP` leaves the data where it is. A killed process loses nothing that it had written, synced or not:
//! power loss is the business of the log's own tests, on a disk that forgets.

mod book;
mod faults;
mod layout;
mod ledger;
mod members;
mod message;
mod publishers;
mod random;
mod restart;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use braid_conformance::{Broker, Failure, Options, Outcome, PATIENCE, Port, amqp, say, within};
use lapin::{Channel, options::BasicGetOptions};
use layout::{PREFETCH, Queue};
use ledger::Ledger;
use random::Random;
use tokio::task::JoinSet;

/// Stops of the broker unless `BRAIDMQ_KILLS` says otherwise.
const STOPS: u32 = 5;

/// How long the broker is under load before it is stopped, in milliseconds.
const LOAD_MS: (u64, u64) = (200, 1_500);

/// One of so many stops is in order (SIGTERM).
const IN_ORDER_ONE_OF: u64 = 4;

/// One of so many starts is preceded by one that is killed before it is ready, after so many milliseconds at most.
const BRIEF_ONE_OF: u64 = 3;
const BRIEF_MS_MAX: u64 = 150;

/// How long clients of a dead broker may take to notice; those that have not are thrown away as well.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

/// How often the queues are asked while they are drained, and for how long they must be empty.
const ASKED_EVERY: Duration = Duration::from_millis(200);
const EMPTY_FOR: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn nothing_confirmed_is_lost_however_often_the_broker_is_killed() -> Outcome {
    let stops = std::env::var("BRAIDMQ_KILLS").map_or(Ok(STOPS), |text| text.parse())?;
    let (mut random, seed) = Random::from_environment()?;
    // Small prefetches have a second window too: with large ones no member of a debug build is quick enough.
    let config = String::from("[limits]\nsecond_window_prefetch_min = 1\n");
    let mut broker = Broker::start_with(Options { config, ..Options::default() }).await?;
    let ledger = Arc::new(Ledger::new());
    let (mut kills, mut in_order, mut brief) = (0, 0, 0);
    let mut slowest = Duration::ZERO;
    for _ in 0..stops {
        if stop_under_load(&mut broker, &ledger, &mut random).await? {
            in_order += 1;
        } else {
            kills += 1;
        }
        if random.next().is_multiple_of(BRIEF_ONE_OF) {
            // It dies again while it reads what it had written.
            broker.start_briefly(Duration::from_millis(random.between(0, BRIEF_MS_MAX))).await?;
            brief += 1;
        }
        let stopped = Instant::now();
        broker.start_again().await?;
        slowest = slowest.max(stopped.elapsed());
        ledger.began();
        if !ledger.is_clean() {
            break;
        }
    }
    drain(&broker, &ledger).await?;
    broker.kill().await?;
    broker.start_again().await?;
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    empty(&within("channel", connection.create_channel()).await??, &ledger, "after it was drained and killed").await?;
    say(&format!(
        "seed {seed}: {kills} kills and {in_order} stops in order under load, {brief} kills while starting; back after {} \
         ms at most\n{}",
        slowest.as_millis(),
        ledger.summary()
    ));
    assert!(ledger.is_clean(), "the faults stand above");
    Ok(())
}

/// One round: load, then the end of the broker and of all clients. Returns whether it was a stop in order.
async fn stop_under_load(broker: &mut Broker, ledger: &Arc<Ledger>, random: &mut Random) -> Result<bool, Failure> {
    count(broker, ledger).await?;
    let mut tasks = JoinSet::new();
    let consuming = members::start(broker, ledger, &mut tasks).await?;
    let publishing = publishers::start(broker, ledger, &mut tasks).await?;
    let load = Duration::from_millis(random.between(LOAD_MS.0, LOAD_MS.1));
    // The moment of death is a matter of chance, not of an event.
    tokio::time::sleep(load).await;
    let is_in_order = random.next().is_multiple_of(IN_ORDER_ONE_OF);
    if is_in_order {
        ledger.is_stopping();
        let status = broker.terminate().await?;
        assert!(status.success(), "{status}; its log:\n{}", broker.log());
    } else {
        broker.kill().await?;
    }
    ledger.end();
    if tokio::time::timeout(NOTICED_WITHIN, finish(&mut tasks)).await.is_err() {
        say(&format!("{} clients did not notice the end of the broker", tasks.len()));
        tasks.shutdown().await;
    }
    drop((consuming, publishing));
    ledger.stopped();
    Ok(is_in_order)
}

async fn finish(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        assert!(ended.is_ok(), "a client's task: {ended:?}");
    }
}

/// Declares the queues and enters what they hold before anybody consumes them.
async fn count(broker: &Broker, ledger: &Ledger) -> Outcome {
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let channel = within("channel", connection.create_channel()).await??;
    for queue in Queue::ALL {
        let declared = queue.declare(&channel).await?;
        ledger.counted(queue, declared.message_count(), declared.consumer_count());
    }
    Ok(within("close-ok", connection.close(200, "".into())).await??)
}

/// Consumes all queues until they have been empty for a while, then finds what is lost.
async fn drain(broker: &Broker, ledger: &Arc<Ledger>) -> Outcome {
    count(broker, ledger).await?;
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    let channel = within("channel", connection.create_channel()).await??;
    let mut tasks = JoinSet::new();
    for queue in Queue::ALL {
        members::consume(&connection, ledger, (queue, PREFETCH), &mut tasks).await?;
    }
    let (mut deliveries, mut since) = (ledger.deliveries(), Instant::now());
    loop {
        // A queue has no event for being empty.
        tokio::time::sleep(ASKED_EVERY).await;
        let mut ready = 0;
        for queue in Queue::ALL {
            ready += within("queue.declare-ok", queue.ask(&channel)).await??.message_count();
        }
        let now = ledger.deliveries();
        if now != deliveries {
            (deliveries, since) = (now, Instant::now());
        } else if ready == 0 && since.elapsed() >= EMPTY_FOR {
            break;
        } else if since.elapsed() >= PATIENCE {
            ledger.miscounted(format!("{ready} messages are ready and do not come"));
            break;
        }
    }
    ledger.end();
    within("end of the consumers", finish(&mut tasks)).await?;
    within("close-ok", connection.close(200, "".into())).await??;
    ledger.drained();
    let connection = amqp::connect(broker.address(Port::Amqp)?).await?;
    empty(&within("channel", connection.create_channel()).await??, ledger, "after it was drained").await
}

/// Enters a fault for each queue that is not empty.
async fn empty(channel: &Channel, ledger: &Ledger, when: &str) -> Outcome {
    for queue in Queue::ALL {
        let ready = within("queue.declare-ok", queue.ask(channel)).await??.message_count();
        let got = channel.basic_get(queue.name().into(), BasicGetOptions::default());
        let got = within("basic.get", got).await??.is_some();
        if ready > 0 || got {
            let name = queue.name();
            ledger.miscounted(format!("{name} {when}: {ready} ready, basic.get finds one: {got}"));
        }
    }
    Ok(())
}
