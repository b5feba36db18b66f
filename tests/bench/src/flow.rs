//! A given number of messages in or out of a durable queue, on one connection and one thread.

use std::{
    io,
    time::{Duration, Instant},
};

use crate::{
    amqp::{Amqp, Session},
    link::{Codec, Found},
    pace::Pace,
    payload,
    tracker::Tracker,
};

/// Messages that are encoded before they are written.
const BATCH_MESSAGES: u64 = 128;

/// Messages that may be unconfirmed.
const WINDOW: u64 = 1_000;

/// How long nothing may come from the broker before the run is given up.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A publisher in confirm mode.
#[derive(Debug)]
pub(crate) struct Inflow {
    session: Session,
    codec: Amqp,
    body: Vec<u8>,
    next_number: u64,
    start: Instant,
}

impl Inflow {
    /// Publishes into `exchange` with `routing_key`, bodies of `size_bytes`, numbered from 0.
    ///
    /// # Errors
    /// When the broker refuses or does not answer.
    pub(crate) fn open(mut session: Session, exchange: &str, routing_key: &str, size_bytes: usize) -> io::Result<Self> {
        session.select_confirms()?;
        let codec = Amqp::new(exchange, routing_key, size_bytes)?;
        let body = vec![b'.'; size_bytes.max(payload::BYTES_MIN)];
        Ok(Self { session, codec, body, next_number: 0, start: Instant::now() })
    }

    /// Publishes `count` messages and waits for all confirms. Returns messages per second, of all and of the slowest
    /// tenth.
    ///
    /// # Errors
    /// When the connection breaks or the broker refuses one.
    pub(crate) fn publish(&mut self, count: u64) -> io::Result<(u64, u64)> {
        let (mut batch, mut found) = (Vec::new(), Found::default());
        let (mut sent, mut heard) = (0, Instant::now());
        let mut pace = Pace::begin(count);
        while found.confirmed < count {
            let room = (WINDOW - (sent - found.confirmed)).min(count - sent).min(BATCH_MESSAGES);
            if room > 0 {
                batch.clear();
                for _ in 0..room {
                    payload::write(&mut self.body, self.next_number, self.start);
                    self.codec.publish(&self.body, &mut batch);
                    self.next_number += 1;
                }
                self.session.link().send(&batch)?;
                sent += room;
                continue;
            }
            wait(&mut self.session, &mut heard)?;
            let link = self.session.link();
            let used = self.codec.parse(link.unread(), &mut found, &mut |_| {})?;
            link.used(used);
            pace.reached(found.confirmed);
        }
        Ok(pace.end())
    }
}

/// What came out of a queue.
#[derive(Debug)]
pub(crate) struct Outflow {
    /// Messages per second.
    pub(crate) per_s: u64,
    /// The same of the slowest tenth.
    pub(crate) slowest_per_s: u64,
    /// From the consume to the first message.
    pub(crate) first_took: Duration,
}

/// Takes `count` messages out of `queue`, one ack each, and waits until the broker has taken the acks.
///
/// # Errors
/// When the connection breaks, nothing comes, or not exactly the numbers below `count` come, each once.
pub(crate) fn drain(mut session: Session, queue: &str, count: u64, prefetch: u16) -> io::Result<Outflow> {
    let mut codec = Amqp::new("", queue, 0)?;
    let (mut found, mut tracker, mut strange) = (Found::default(), Tracker::default(), 0_u64);
    let (mut received, mut heard, mut first_took) = (0, Instant::now(), None);
    let mut pace = Pace::begin(count);
    session.consume(queue, prefetch)?;
    while received < count {
        let link = session.link();
        let used = codec.parse(link.unread(), &mut found, &mut |body| {
            match payload::read(body) {
                Some((number, _)) if number < count => tracker.enter(number),
                _ => strange += 1,
            }
            received += 1;
        })?;
        link.used(used);
        link.send(&found.replies)?;
        found.replies.clear();
        if received > 0 {
            pace.reached(received);
            first_took.get_or_insert_with(|| pace.elapsed());
        }
        if received < count {
            wait(&mut session, &mut heard)?;
        }
    }
    // Its answer comes after the acks before it were committed.
    let left = session.message_count(queue)?;
    let (per_s, slowest_per_s) = pace.end();
    tracker.check(count).map_err(io::Error::other)?;
    if strange + left > 0 {
        return Err(io::Error::other(format!("{strange} messages are not of this run, {left} are left")));
    }
    Ok(Outflow { per_s, slowest_per_s, first_took: first_took.unwrap_or_default() })
}

/// Reads until something came.
fn wait(session: &mut Session, heard: &mut Instant) -> io::Result<()> {
    while !session.link().fill()? {
        if heard.elapsed() > SILENCE_MAX {
            return Err(io::Error::other(format!("the broker was silent for {} s", SILENCE_MAX.as_secs())));
        }
    }
    *heard = Instant::now();
    Ok(())
}
