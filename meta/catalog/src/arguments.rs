//! The `x-` arguments of groups and exchanges: which there are, what they may hold, and when two declares mean the same
//! (as RabbitMQ 4.3 has it, but the width of an integer never matters). Unknown arguments are kept and not compared.

use alloc::{
    format,
    string::{String, ToString},
};

use core::ops::RangeInclusive;

use braid_types::{HeaderValue, Headers, Refusal, RefusalKind};
use bytes::BytesMut;

use crate::{
    StorageClass, codec,
    limits::{ARGUMENTS_BYTES_MAX, ARGUMENTS_DEPTH_MAX, EXPIRY_MS_MAX, MAX_PRIORITY_MAX},
    refusals,
};

/// AMQP's word for where messages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueType {
    /// One replica.
    Classic,
    /// A majority.
    Quorum,
}

impl QueueType {
    /// The type that a stored class stands for: memory groups are classic ones that do not last.
    pub(crate) fn of(class: StorageClass) -> Self {
        if class == StorageClass::Quorum { Self::Quorum } else { Self::Classic }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Quorum => "quorum",
        }
    }
}

/// What is wrong with a value, in RabbitMQ's terms; `None`: nothing.
type Check = fn(&HeaderValue, &Headers) -> Option<String>;

struct Argument {
    name: &'static str,
    classic: bool,
    quorum: bool,
    check: Check,
}

const fn both(name: &'static str, check: Check) -> Argument {
    Argument { name, classic: true, quorum: true, check }
}

const fn classic(name: &'static str, check: Check) -> Argument {
    Argument { name, classic: true, quorum: false, check }
}

const fn quorum(name: &'static str, check: Check) -> Argument {
    Argument { name, classic: false, quorum: true, check }
}

/// All arguments that mean something, in the order in which they are checked. The retired ones (`x-queue-mode`,
/// `x-queue-version`, `x-max-in-memory-…`) are not here: they are accepted and ignored. `x-delayed-retry-…` are
/// RabbitMQ's, which has them on quorum queues only; `x-dispatch-strategy` and `x-deduplication-window` are our own.
const ARGUMENTS: [Argument; 19] = [
    both("x-expires", check_expires),
    both("x-message-ttl", check_expiry),
    both("x-dead-letter-exchange", check_text),
    both("x-dead-letter-routing-key", check_dead_letter_key),
    quorum("x-dead-letter-strategy", check_dead_letter_strategy),
    both("x-max-length", check_not_negative),
    both("x-max-length-bytes", check_not_negative),
    classic("x-max-priority", check_max_priority),
    both("x-overflow", check_overflow),
    both("x-single-active-consumer", check_boolean),
    quorum("x-quorum-initial-group-size", check_positive),
    quorum("x-delivery-limit", check_integer),
    quorum("x-consumer-timeout", check_expires),
    both("x-queue-leader-locator", check_leader_locator),
    both("x-delayed-retry-type", check_delayed_retry_type),
    both("x-delayed-retry-min", check_expires),
    both("x-delayed-retry-max", check_delayed_retry_max),
    both("x-dispatch-strategy", check_dispatch_strategy),
    both("x-deduplication-window", check_expires),
];

/// The value of an argument; the first one, where it is given twice.
pub(crate) fn find<'a>(arguments: &'a Headers, name: &str) -> Option<&'a HeaderValue> {
    arguments.iter().find(|(key, _)| key.as_ref() == name.as_bytes()).map(|(_, value)| value)
}

/// Refuses arguments that are too large or too deep to be kept, whatever they mean.
pub(crate) fn check_size(arguments: &Headers) -> Result<(), Refusal> {
    if codec::headers_depth(arguments) > ARGUMENTS_DEPTH_MAX {
        return Err(refusals::limit("arguments depth"));
    }
    let mut bytes = BytesMut::new();
    codec::put_headers(&mut bytes, arguments);
    if bytes.len() > ARGUMENTS_BYTES_MAX {
        return Err(refusals::limit("arguments size"));
    }
    Ok(())
}

/// The type that the arguments ask for; `None`: they do not say.
pub(crate) fn queue_type(arguments: &Headers, which: &str) -> Result<Option<QueueType>, Refusal> {
    match find(arguments, "x-queue-type") {
        None => Ok(None),
        Some(HeaderValue::Text(name)) => match name.as_ref() {
            b"classic" => Ok(Some(QueueType::Classic)),
            b"quorum" => Ok(Some(QueueType::Quorum)),
            b"stream" => Err(Refusal::new(
                RefusalKind::NotImplemented,
                format!("queue type 'stream' of {which} is not implemented"),
            )),
            other => {
                let why = format!("\"unsupported queue type '{}'\"", refusals::text(other));
                Err(refusals::invalid_argument("x-queue-type", which, &why))
            }
        },
        Some(other) => Err(refusals::invalid_argument("x-queue-type", which, &unacceptable(other))),
    }
}

/// Checks the arguments of a group to be made.
pub(crate) fn check_group(arguments: &Headers, queue_type: QueueType, which: &str) -> Result<(), Refusal> {
    for argument in &ARGUMENTS {
        if let Some(value) = find(arguments, argument.name)
            && argument.is_of(queue_type)
            && let Some(why) = (argument.check)(value, arguments)
        {
            return Err(refusals::invalid_argument(argument.name, which, &why));
        }
    }
    for argument in &ARGUMENTS {
        if !argument.is_of(queue_type) && find(arguments, argument.name).is_some() {
            return Err(Refusal::new(
                RefusalKind::PreconditionFailed,
                format!("invalid arg '{}' for {which} of queue type rabbit_{}_queue", argument.name, queue_type.name()),
            ));
        }
    }
    Ok(())
}

/// Whether `received` may redeclare a group that has `current`. A declare that names no type takes any.
pub(crate) fn check_group_equivalent(
    current: &Headers,
    class: StorageClass,
    received: &Headers,
    which: &str,
) -> Result<(), Refusal> {
    let queue_type = QueueType::of(class);
    if let Some(value) = find(received, "x-queue-type") {
        let stored = HeaderValue::Text(queue_type.name().into());
        if *value != stored {
            return Err(refusals::inequivalent("x-queue-type", which, &shown(Some(value)), &shown(Some(&stored))));
        }
    }
    for argument in ARGUMENTS.iter().filter(|argument| argument.is_of(queue_type)) {
        check_equivalent(argument.name, current, received, which)?;
    }
    Ok(())
}

/// Whether one argument is the same in both.
pub(crate) fn check_equivalent(name: &str, current: &Headers, received: &Headers, which: &str) -> Result<(), Refusal> {
    let (current, received) = (find(current, name), find(received, name));
    if current == received {
        return Ok(());
    }
    Err(refusals::inequivalent(name, which, &shown(received), &shown(current)))
}

/// The argument of an exchange that must be a text where it is given.
pub(crate) fn check_alternate_exchange(arguments: &Headers, which: &str) -> Result<(), Refusal> {
    match find(arguments, "alternate-exchange") {
        None | Some(HeaderValue::Text(_)) => Ok(()),
        Some(other) => Err(Refusal::new(
            RefusalKind::PreconditionFailed,
            format!("invalid type '{}' for arg 'alternate-exchange' in {which}", type_name(other)),
        )),
    }
}

impl Argument {
    fn is_of(&self, queue_type: QueueType) -> bool {
        match queue_type {
            QueueType::Classic => self.classic,
            QueueType::Quorum => self.quorum,
        }
    }
}

fn check_integer(value: &HeaderValue, _: &Headers) -> Option<String> {
    within(value, i64::MIN..=i64::MAX)
}

fn check_not_negative(value: &HeaderValue, _: &Headers) -> Option<String> {
    within(value, 0..=i64::MAX)
}

fn check_positive(value: &HeaderValue, _: &Headers) -> Option<String> {
    within(value, 1..=i64::MAX)
}

fn check_expiry(value: &HeaderValue, _: &Headers) -> Option<String> {
    within(value, 0..=EXPIRY_MS_MAX)
}

fn check_expires(value: &HeaderValue, _: &Headers) -> Option<String> {
    within(value, 1..=EXPIRY_MS_MAX)
}

fn check_max_priority(value: &HeaderValue, arguments: &Headers) -> Option<String> {
    match number(value) {
        Some(number) if number > MAX_PRIORITY_MAX => Some(format!("{{max_value_exceeded,{number}}}")),
        _ => check_not_negative(value, arguments),
    }
}

/// Whether a value is an integer of a range.
fn within(value: &HeaderValue, range: RangeInclusive<i64>) -> Option<String> {
    let Some(number) = number(value) else {
        return Some(format!("\"expected integer, got {}\"", type_name(value)));
    };
    if number == 0 && *range.start() > 0 {
        Some("{value_zero,0}".to_string())
    } else if number < *range.start() {
        Some(format!("{{value_negative,{number}}}"))
    } else if number > *range.end() {
        Some(format!("{{value_too_big,{number}}}"))
    } else {
        None
    }
}

fn number(value: &HeaderValue) -> Option<i64> {
    if let HeaderValue::Integer(number) = value { Some(*number) } else { None }
}

fn check_boolean(value: &HeaderValue, _: &Headers) -> Option<String> {
    (!matches!(value, HeaderValue::Boolean(_))).then(|| unacceptable(value))
}

fn check_text(value: &HeaderValue, _: &Headers) -> Option<String> {
    (!matches!(value, HeaderValue::Text(_))).then(|| unacceptable(value))
}

fn check_dead_letter_key(value: &HeaderValue, arguments: &Headers) -> Option<String> {
    if let Some(why) = check_text(value, arguments) {
        return Some(why);
    }
    find(arguments, "x-dead-letter-exchange").is_none().then(|| "routing_key_but_no_dlx_defined".to_string())
}

fn check_dead_letter_strategy(value: &HeaderValue, _: &Headers) -> Option<String> {
    one_of(value, &["at-most-once", "at-least-once"], "invalid_dlx_strategy")
}

fn check_overflow(value: &HeaderValue, _: &Headers) -> Option<String> {
    one_of(value, &["drop-head", "reject-publish", "reject-publish-dlx"], "invalid_overflow")
}

/// `all` and `returned` would hold back what came back uncounted too, which no group does.
fn check_delayed_retry_type(value: &HeaderValue, _: &Headers) -> Option<String> {
    let HeaderValue::Text(text) = value else {
        return Some(unacceptable(value));
    };
    match text.as_ref() {
        b"disabled" | b"failed" => None,
        b"all" | b"returned" => Some(format!("delayed_retry_type_not_implemented,{}", refusals::text(text))),
        _ => Some("invalid_delayed_retry_type".to_string()),
    }
}

fn check_delayed_retry_max(value: &HeaderValue, arguments: &Headers) -> Option<String> {
    if let Some(why) = check_expires(value, arguments) {
        return Some(why);
    }
    let shortest = find(arguments, "x-delayed-retry-min").and_then(number);
    (number(value) < shortest).then(|| "delayed_retry_max_below_min".to_string())
}

fn check_dispatch_strategy(value: &HeaderValue, _: &Headers) -> Option<String> {
    let allowed = ["round_robin", "least_unacked", "random", "local_first", "key"];
    one_of(value, &allowed, "invalid_dispatch_strategy")
}

fn check_leader_locator(value: &HeaderValue, _: &Headers) -> Option<String> {
    one_of(value, &["client-local", "balanced", "random", "least-leaders"], "invalid_queue_locator_arg")
}

fn one_of(value: &HeaderValue, allowed: &[&str], why: &str) -> Option<String> {
    let HeaderValue::Text(text) = value else {
        return Some(unacceptable(value));
    };
    let is_allowed = allowed.iter().any(|word| word.as_bytes() == text.as_ref());
    (!is_allowed).then(|| why.to_string())
}

fn unacceptable(value: &HeaderValue) -> String {
    format!("{{unacceptable_type,{}}}", type_name(value))
}

/// A value in the text of a mismatch.
fn shown(value: Option<&HeaderValue>) -> String {
    let Some(value) = value else {
        return "none".to_string();
    };
    let text = match value {
        HeaderValue::Text(bytes) | HeaderValue::Binary(bytes) => refusals::text(bytes),
        HeaderValue::Integer(number) => number.to_string(),
        HeaderValue::Boolean(flag) => flag.to_string(),
        HeaderValue::TimestampS(seconds) => seconds.to_string(),
        HeaderValue::Void
        | HeaderValue::Float(_)
        | HeaderValue::Decimal { .. }
        | HeaderValue::List(_)
        | HeaderValue::Table(_) => format!("{value:?}"),
    };
    format!("the value '{text}' of type '{}'", type_name(value))
}

/// RabbitMQ's name of a value's type. The width of an integer is not kept, so it is told from its value.
fn type_name(value: &HeaderValue) -> &'static str {
    match value {
        HeaderValue::Void => "void",
        HeaderValue::Boolean(_) => "bool",
        HeaderValue::Integer(number) if i32::try_from(*number).is_ok() => "signedint",
        HeaderValue::Integer(_) => "long",
        HeaderValue::Float(_) => "double",
        HeaderValue::Decimal { .. } => "decimal",
        HeaderValue::Text(_) => "longstr",
        HeaderValue::Binary(_) => "binary",
        HeaderValue::TimestampS(_) => "timestamp",
        HeaderValue::List(_) => "array",
        HeaderValue::Table(_) => "table",
    }
}
