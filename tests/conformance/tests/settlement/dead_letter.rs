//! What a dead letter says of its deaths: RabbitMQ's `x-death` and the headers beside it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use braid_conformance::{Failure, Outcome};
use lapin::{
    message::Delivery,
    types::{AMQPValue, FieldTable},
};

use crate::stage::header;

/// How far the time of a death may be from now, in seconds.
const RECENT_S: u64 = 120;

/// One record of `x-death`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Death {
    pub(crate) queue: String,
    pub(crate) reason: String,
    pub(crate) count: i64,
    pub(crate) exchange: String,
    pub(crate) keys: Vec<String>,
    /// The time to live that the publisher had given.
    pub(crate) expiration: Option<String>,
}

impl Death {
    /// A first death of a message that came by `exchange` and `key`.
    pub(crate) fn once(queue: &str, reason: &str, exchange: &str, key: &str) -> Self {
        Self {
            queue: queue.to_owned(),
            reason: reason.to_owned(),
            count: 1,
            exchange: exchange.to_owned(),
            keys: vec![key.to_owned()],
            expiration: None,
        }
    }

    /// The same, for the `count`th time.
    pub(crate) fn times(self, count: i64) -> Self {
        Self { count, ..self }
    }

    /// Reads a record; its types are RabbitMQ's, and its time is a recent one.
    fn read(table: &FieldTable) -> Result<Self, Failure> {
        let missing = |name: &str| Failure::new(format!("no `{name}` in {table:?}"));
        let text = |name: &str| match table.inner().get(name) {
            Some(AMQPValue::LongString(text)) => Ok(text.to_string()),
            _ => Err(missing(name)),
        };
        let Some(AMQPValue::LongLongInt(count)) = table.inner().get("count") else { return Err(missing("count")) };
        let Some(AMQPValue::Timestamp(time_s)) = table.inner().get("time") else { return Err(missing("time")) };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        assert!(now.abs_diff(Duration::from_secs(*time_s)).as_secs() < RECENT_S, "died at {time_s}, now is {now:?}");
        let Some(AMQPValue::FieldArray(keys)) = table.inner().get("routing-keys") else {
            return Err(missing("routing-keys"));
        };
        let keys = keys.as_slice().iter().map(|key| match key {
            AMQPValue::LongString(key) => Ok(key.to_string()),
            other => Err(Failure::new(format!("{other:?} as a routing key"))),
        });
        Ok(Self {
            queue: text("queue")?,
            reason: text("reason")?,
            count: *count,
            exchange: text("exchange")?,
            keys: keys.collect::<Result<_, _>>()?,
            expiration: text("original-expiration").ok(),
        })
    }
}

/// The records of a dead letter, newest first.
pub(crate) fn deaths(delivery: &Delivery) -> Result<Vec<Death>, Failure> {
    let Some(AMQPValue::FieldArray(records)) = header(delivery, "x-death") else {
        return Err(Failure::new(format!("no x-death in {:?}", delivery.properties)));
    };
    let records = records.as_slice().iter().map(|record| match record {
        AMQPValue::FieldTable(table) => Death::read(table),
        other => Err(Failure::new(format!("{other:?} as a death"))),
    });
    records.collect()
}

/// Asserts the headers of the first or last death (`which`).
pub(crate) fn assert_mark(delivery: &Delivery, which: &str, death: &Death) -> Outcome {
    let said = |what: &str| match header(delivery, &format!("x-{which}-death-{what}")) {
        Some(AMQPValue::LongString(text)) => Ok(text.to_string()),
        other => Err(Failure::new(format!("{other:?} as x-{which}-death-{what}"))),
    };
    let said = (said("queue")?, said("reason")?, said("exchange")?);
    assert_eq!(said, (death.queue.clone(), death.reason.clone(), death.exchange.clone()), "x-{which}-death");
    Ok(())
}
