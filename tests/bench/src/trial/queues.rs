//! Many durable queues, declared over many connections: a broker may take one declare of a connection at a time.

use std::{io, net::SocketAddr, thread};

use crate::amqp::Session;

/// Connections that declare at a time.
const CONNECTIONS: usize = 64;

/// Queues that a connection declares before it waits: far below what a broker takes ahead of its answers.
const AHEAD: usize = 200;

/// The name of queue `number`.
pub(super) fn name(number: u64) -> String {
    format!("bench-{number:06}")
}

/// Declares the queues 0 to `count` - 1, bound to `exchange` where one is given.
///
/// # Errors
/// When the broker refuses one, or does not answer.
pub(super) fn declare(address: SocketAddr, count: u64, exchange: Option<&str>) -> io::Result<()> {
    let names: Vec<String> = (0..count).map(name).collect();
    let share = names.len().div_ceil(CONNECTIONS).max(1);
    thread::scope(|scope| {
        let declaring = |names: &[String]| {
            let mut session = Session::open(address)?;
            names.chunks(AHEAD).try_for_each(|names| session.declare_all(names, exchange))
        };
        let threads: Vec<_> = names.chunks(share).map(|names| scope.spawn(move || declaring(names))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().map_err(|_| io::Error::other("a thread that declares queues broke"))?
        })
    })
}

/// Sees that about 100 of the queues 0 to `count` - 1, the last one too, are there with `messages` messages each.
///
/// # Errors
/// When one is not, or holds another number of messages.
pub(super) fn check(session: &mut Session, count: u64, messages: u64) -> io::Result<()> {
    let last = count.saturating_sub(1);
    let step = usize::try_from((count / 100).max(1)).map_err(io::Error::other)?;
    for number in (0..count).step_by(step).chain([last]) {
        let found = session.message_count(&name(number))?;
        if found != messages {
            return Err(io::Error::other(format!("{} has {found} messages, not {messages}", name(number))));
        }
    }
    Ok(())
}
