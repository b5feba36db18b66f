//! The words of refusals, in the shape that RabbitMQ's users match on, without the code's name. Public, because the
//! gateway refuses passive declares, consumes and gets with the same words.

use alloc::{
    format,
    string::{String, ToString},
};

use braid_types::{Refusal, RefusalKind};

/// How a group is named in texts: `queue 'q' in vhost '/'`.
#[must_use]
pub fn group_text(name: &[u8], vhost: &[u8]) -> String {
    format!("queue '{}' in vhost '{}'", text(name), text(vhost))
}

/// How an exchange is named in texts: `exchange 'x' in vhost '/'`.
#[must_use]
pub fn exchange_text(name: &[u8], vhost: &[u8]) -> String {
    format!("exchange '{}' in vhost '{}'", text(name), text(vhost))
}

/// There is no such group.
#[must_use]
pub fn no_group(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("no {}", group_text(name, vhost)))
}

/// There is no such exchange.
#[must_use]
pub fn no_exchange(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("no {}", exchange_text(name, vhost)))
}

/// There is no such vhost.
#[must_use]
pub fn no_vhost(vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::NotFound, format!("vhost '{}' not found", text(vhost)))
}

/// The group belongs to another connection, or was not declared exclusive by this one.
#[must_use]
pub fn locked(name: &[u8], vhost: &[u8]) -> Refusal {
    let which = group_text(name, vhost);
    Refusal::new(
        RefusalKind::ResourceLocked,
        format!(
            "cannot obtain exclusive access to locked {which}. It could be originally declared on another connection \
             or the exclusive property value does not match that of the original declaration."
        ),
    )
}

/// An exchange that cannot be published to.
#[must_use]
pub fn internal_exchange(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::AccessRefused, format!("cannot publish to internal {}", exchange_text(name, vhost)))
}

pub(crate) fn reserved(what: &str, name: &[u8], prefix: &str) -> Refusal {
    Refusal::new(
        RefusalKind::AccessRefused,
        format!("{what} name '{}' contains reserved prefix '{prefix}'", text(name)),
    )
}

pub(crate) fn default_exchange() -> Refusal {
    Refusal::new(RefusalKind::AccessRefused, "operation not permitted on the default exchange")
}

pub(crate) fn shared_group(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::AccessRefused, format!("operation not permitted on shared {}", group_text(name, vhost)))
}

pub(crate) fn system_exchange(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::AccessRefused, format!("deletion of system {} not allowed", exchange_text(name, vhost)))
}

pub(crate) fn exchange_in_use(name: &[u8], vhost: &[u8]) -> Refusal {
    Refusal::new(RefusalKind::PreconditionFailed, format!("{} in use", exchange_text(name, vhost)))
}

/// `received` and `current` are already in quotes, or the word `none`.
pub(crate) fn inequivalent(argument: &str, which: &str, received: &str, current: &str) -> Refusal {
    Refusal::new(
        RefusalKind::PreconditionFailed,
        format!("inequivalent arg '{argument}' for {which}: received {received} but current is {current}"),
    )
}

pub(crate) fn invalid_argument(argument: &str, which: &str, why: &str) -> Refusal {
    Refusal::new(RefusalKind::PreconditionFailed, format!("invalid arg '{argument}' for {which}: {why}"))
}

pub(crate) fn invalid_property(property: &str, which: &str) -> Refusal {
    Refusal::new(RefusalKind::PreconditionFailed, format!("invalid property '{property}' for {which}"))
}

pub(crate) fn limit(what: &str) -> Refusal {
    Refusal::new(RefusalKind::LimitReached, format!("{what} limit is reached"))
}

/// Bytes of a name as text for people.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_string()
}
