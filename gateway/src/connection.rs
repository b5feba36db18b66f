//! The connection task: the only place that reads and writes a client's socket. One generic loop drives the endpoints
//! of all three protocols in rounds: read once, take the mailbox once, hand over one batch, write once.
//!
//! Invariants: what does not fit the output limit stays in the mailbox, where windows, grants and the mailbox's own
//! limit hold it; an idle connection owns no read buffer.

use std::cell::RefCell;
use std::io::{ErrorKind, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use braid_broker::{Item, Mailbox};
use braid_types::{CloseReason, Endpoint, Event, Protocol, Timestamp};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Sleep;

use crate::detect;
use crate::limits::{
    ITEMS_PER_OUTPUT_CHECK, ITEMS_PER_ROUND_MAX, LAST_READS_MAX, LAST_WRITE_TIMEOUT_MS, READ_BYTES, WRITE_PIECES_MAX,
};
use crate::node::Node;
use crate::service::Service;

thread_local! {
    /// The read buffer of a worker: lent to a connection while it reads, so that idle connections own none.
    static READ_BUFFER: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// One client connection.
pub(crate) struct ConnectionTask<E> {
    endpoint: E,
    stream: TcpStream,
    service: Service,
    mailbox: Arc<Mailbox>,
    node: Arc<Node>,
    /// Bytes of an incomplete frame.
    input: BytesMut,
    items: std::vec::IntoIter<Item>,
    output_bytes_max: usize,
    /// Taken for NATS because it was silent: other first bytes end it.
    was_silent: bool,
}

/// What woke the task.
enum Woken {
    Mailbox,
    Socket(tokio::io::Ready),
    Timer,
    Memory,
    Close,
    Stop,
}

/// What a read brought.
#[derive(PartialEq, Eq)]
enum Read {
    Bytes,
    Nothing,
    End,
}

impl<E: Endpoint> ConnectionTask<E> {
    /// A task for a connection whose first bytes, `prefix`, were read already.
    pub(crate) fn new(
        node: Arc<Node>,
        mailbox: Arc<Mailbox>,
        stream: TcpStream,
        service: Service,
        endpoint: E,
        prefix: Bytes,
    ) -> Self {
        let output_bytes_max = node.config.limits.output_bytes_max;
        let input = BytesMut::from(prefix);
        let items = Vec::new().into_iter();
        Self { endpoint, stream, service, mailbox, node, input, items, output_bytes_max, was_silent: false }
    }

    /// The client was silent on the one port.
    pub(crate) fn after_silence(mut self) -> Self {
        self.was_silent = true;
        self
    }

    /// Serves the client until it or the node ends the connection.
    pub(crate) async fn run(mut self, stop: watch::Receiver<bool>) {
        if let Err(error) = self.serve(stop).await {
            tracing::debug!(connection = self.mailbox.connection().0, %error, "the connection was lost");
        }
        let now = self.node.broker.clock.now();
        self.service.stop_delivering();
        self.endpoint.handle(now, Event::ConnectionLost);
        while let Some(request) = self.endpoint.poll_request() {
            self.service.request(request);
        }
        let Self { stream, service, items, .. } = self;
        service.end(items).await;
        linger(stream).await;
    }

    async fn serve(&mut self, mut stop: watch::Receiver<bool>) -> std::io::Result<()> {
        let mut memory = self.node.broker.memory.watch();
        let mut timer = std::pin::pin!(tokio::time::sleep(Duration::from_secs(0)));
        let mut armed: Option<Timestamp> = None;
        let mut now = self.node.broker.clock.now();
        if !self.input.is_empty() {
            self.endpoint.receive(now, &mut self.input);
        }
        loop {
            self.round(now)?;
            if let Some(crowded) = self.service.take_crowded() {
                crowded.pause_for().await;
            }
            if self.endpoint.is_closing() {
                // The client reads the last bytes as "it is all done": what was its own alone must be gone by then.
                self.service.delete_exclusive_groups().await;
                return self.write_last().await;
            }
            arm(&self.node, timer.as_mut(), &mut armed, self.endpoint.poll_timeout());
            arm(&self.node, timer.as_mut(), &mut armed, self.service.poll_timeout());
            let woken = self.wait(&mut stop, &mut memory, timer.as_mut(), armed.is_some()).await?;
            now = self.node.broker.clock.now();
            // Whatever woke it: a busy connection has no moment without something else to do.
            self.service.handle_timeout(now);
            match woken {
                Woken::Mailbox => {}
                Woken::Socket(ready) => {
                    if ready.is_readable() && self.read(now)? == Read::End {
                        return Ok(());
                    }
                    if ready.is_error() {
                        // Nothing is read just now, so nothing else would tell.
                        return Err(self.stream.take_error()?.unwrap_or_else(|| ErrorKind::ConnectionReset.into()));
                    }
                }
                Woken::Timer => {
                    armed = None;
                    if self.endpoint.poll_timeout().is_some_and(|deadline| deadline <= now) {
                        self.endpoint.handle_timeout(now);
                    }
                }
                Woken::Memory => {
                    let blocked = *memory.borrow_and_update();
                    let reason = String::from(self.node.broker.memory.reason());
                    self.endpoint.handle(now, Event::Blocked { blocked, reason });
                }
                Woken::Close => {
                    if !self.hear_last(now)? {
                        return Ok(());
                    }
                    if let Some(close) = self.mailbox.take_close() {
                        self.endpoint.handle(now, close);
                    }
                }
                Woken::Stop => {
                    let text = String::from("the node is stopping");
                    self.endpoint.handle(now, Event::Close { reason: CloseReason::ShuttingDown, text });
                }
            }
        }
    }

    /// Reads what the client said before it is disconnected: a DISCONNECT that has arrived decides what becomes of its
    /// session and will. Returns false at the end of the stream.
    fn hear_last(&mut self, now: Timestamp) -> std::io::Result<bool> {
        for _ in 0..LAST_READS_MAX {
            match self.read(now)? {
                Read::Nothing => break,
                Read::End => return Ok(false),
                Read::Bytes => self.round(now)?,
            }
        }
        Ok(true)
    }

    /// One round: mailbox and requests in, batches and bytes out.
    fn round(&mut self, now: Timestamp) -> std::io::Result<()> {
        loop {
            if self.service.waits_for_room() {
                self.service.resume();
            }
            let took = self.take_items(now);
            self.drive(now);
            self.service.flush();
            if self.endpoint.is_closing() {
                return Ok(());
            }
            self.write()?;
            if self.endpoint.transmit().size_bytes() < self.output_bytes_max {
                self.service.grant();
                self.service.flush();
            }
            if took < ITEMS_PER_ROUND_MAX || self.endpoint.transmit().size_bytes() >= self.output_bytes_max {
                return Ok(());
            }
        }
    }

    fn take_items(&mut self, now: Timestamp) -> usize {
        let mut count = 0;
        while count < ITEMS_PER_ROUND_MAX {
            // Asked rarely: the endpoint gathers what belongs together (confirms) until it is asked.
            if count % ITEMS_PER_OUTPUT_CHECK == 0 && !self.takes_items() {
                break;
            }
            let Some(item) = self.items.next() else {
                let taken = self.mailbox.take();
                if taken.is_empty() {
                    break;
                }
                self.items = taken.into_iter();
                continue;
            };
            count += 1;
            self.service.item(item);
            while let Some(event) = self.service.next_event() {
                self.endpoint.handle(now, event);
            }
        }
        count
    }

    /// There is room for output; or deliveries must be looked for that go back.
    fn takes_items(&mut self) -> bool {
        self.endpoint.transmit().size_bytes() < self.output_bytes_max || self.service.is_closing_second_window()
    }

    fn drive(&mut self, now: Timestamp) {
        loop {
            let mut is_idle = true;
            while let Some(request) = self.endpoint.poll_request() {
                self.service.request(request);
                is_idle = false;
            }
            while let Some(event) = self.service.next_event() {
                self.endpoint.handle(now, event);
                is_idle = false;
            }
            if is_idle {
                return;
            }
        }
    }

    async fn wait(
        &mut self,
        stop: &mut watch::Receiver<bool>,
        memory: &mut watch::Receiver<bool>,
        timer: std::pin::Pin<&mut Sleep>,
        is_armed: bool,
    ) -> std::io::Result<Woken> {
        let pending_bytes = self.endpoint.transmit().size_bytes();
        let has_room_out = pending_bytes < self.output_bytes_max;
        let waits_for_room = self.service.waits_for_room();
        if waits_for_room {
            self.mailbox.wait_for_room();
            self.service.resume();
            // What was carried out must be on its way, or nothing would ever make room.
            self.service.flush();
            if !self.service.waits_for_room() {
                return Ok(Woken::Mailbox);
            }
        }
        let takes_items = self.takes_items();
        if takes_items && self.items.len() > 0 {
            return Ok(Woken::Mailbox);
        }
        let reads = has_room_out && self.service.wants_input();
        let interest = match (reads, pending_bytes > 0) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (true, false) => Interest::READABLE,
            // Without reading, a lost peer still shows as an error or hang-up.
            (false, true) => Interest::WRITABLE,
            (false, false) => Interest::ERROR,
        };
        let watches_memory = waits_for_room || self.mailbox.info().protocol == Protocol::Amqp;
        tokio::select! {
            biased;
            () = self.mailbox.close_requested() => Ok(Woken::Close),
            () = self.mailbox.notified(), if takes_items => Ok(Woken::Mailbox),
            ready = self.stream.ready(interest) => ready.map(Woken::Socket),
            () = timer, if is_armed => Ok(Woken::Timer),
            _ = memory.changed(), if watches_memory => Ok(Woken::Memory),
            _ = stop.changed() => Ok(Woken::Stop),
        }
    }

    /// Reads once and feeds the endpoint.
    fn read(&mut self, now: Timestamp) -> std::io::Result<Read> {
        if !self.service.wants_input() {
            return Ok(Read::Nothing);
        }
        let owns_input = !self.input.is_empty();
        let mut buffer = if owns_input { std::mem::take(&mut self.input) } else { READ_BUFFER.with(RefCell::take) };
        buffer.reserve(READ_BYTES);
        let read = match self.stream.try_read_buf(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.give_back(buffer, owns_input);
                return Ok(Read::Nothing);
            }
            Err(error) => return Err(error),
        };
        if read == 0 {
            return Ok(Read::End);
        }
        if self.was_silent {
            self.was_silent = false;
            if detect::is_not_nats(&buffer) {
                self.node.broker.counters.silence_mismatch_total.add(1);
                tracing::warn!(
                    peer = %self.mailbox.info().peer,
                    setting = "detect.silence_ms",
                    "a client that was silent and taken for NATS spoke another protocol; it is disconnected"
                );
                return Ok(Read::End);
            }
        }
        self.endpoint.receive(now, &mut buffer);
        self.give_back(buffer, false);
        Ok(Read::Bytes)
    }

    /// Keeps an incomplete frame's bytes, and lends the buffer to the next connection.
    fn give_back(&mut self, mut buffer: BytesMut, owns_input: bool) {
        if owns_input || buffer.len() > READ_BYTES / 4 {
            self.input = buffer;
            return;
        }
        self.input = BytesMut::new();
        if !buffer.is_empty() {
            self.input.extend_from_slice(&buffer);
            buffer.clear();
        }
        READ_BUFFER.with(|lent| lent.replace(buffer));
    }

    fn write(&mut self) -> std::io::Result<()> {
        let transmit = self.endpoint.transmit();
        while !transmit.is_empty() {
            let mut pieces = [IoSlice::new(&[]); WRITE_PIECES_MAX];
            let mut count = 0;
            for (slot, piece) in pieces.iter_mut().zip(transmit.pieces()) {
                *slot = IoSlice::new(piece);
                count += 1;
            }
            match self.stream.try_write_vectored(pieces.get(..count).unwrap_or(&[])) {
                Ok(written) => transmit.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes what a closing endpoint still has to say, for a bounded time.
    async fn write_last(&mut self) -> std::io::Result<()> {
        let all = async {
            loop {
                self.write()?;
                if self.endpoint.transmit().is_empty() {
                    return Ok(());
                }
                self.stream.writable().await?;
            }
        };
        match tokio::time::timeout(Duration::from_millis(LAST_WRITE_TIMEOUT_MS), all).await {
            Ok(written) => written,
            Err(_) => Err(std::io::Error::new(ErrorKind::TimedOut, "the client does not take its last bytes")),
        }
    }
}

/// Sets the timer when the endpoint wants to be called earlier than it is set to.
fn arm(node: &Node, timer: std::pin::Pin<&mut Sleep>, armed: &mut Option<Timestamp>, deadline: Option<Timestamp>) {
    if let Some(deadline) = deadline
        && armed.is_none_or(|armed| deadline < armed)
    {
        // One millisecond more: timers must not fire before the clock shows the time.
        let instant = node.broker.clock.instant_of(deadline.plus_ms(1));
        timer.reset(tokio::time::Instant::from_std(instant));
        *armed = Some(deadline);
    }
}

/// Closes the socket so that the client gets what was written last: without this, unread input would make the kernel
/// reset the connection and drop it.
async fn linger(mut stream: TcpStream) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let discard = async {
        let mut discarded = [0u8; 4096];
        loop {
            stream.readable().await?;
            match stream.try_read(&mut discarded) {
                Ok(0) => return Ok::<(), std::io::Error>(()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    };
    if tokio::time::timeout(Duration::from_millis(LAST_WRITE_TIMEOUT_MS), discard).await.is_err() {
        tracing::trace!("the client did not close after the last bytes");
    }
}
