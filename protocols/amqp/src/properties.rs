//! The properties of a content (AMQP 0-9-1, 4.2.6.1 and 1.8): property flags and the list of those that are present.
//!
//! ```text
//! bit 15 content-type    s   11 priority        u8   7 message-id  s     3 app-id      s
//!     14 content-encoding s  10 correlation-id  s    6 timestamp   u64   2 cluster-id  s
//!     13 headers      table   9 reply-to        s    5 type        s     1 unused
//!     12 delivery-mode   u8   8 expiration      s    4 user-id     s     0 more flags follow (never, in class basic)
//! ```
//! A message keeps its header block verbatim; this module reads it in place ([`View`]), gives members of other protocols
//! the neutral view ([`neutral()`]), and writes a block for messages that came from another protocol ([`encode()`]).

mod encode;
mod neutral;
mod view;

pub use encode::{REPLY_TOPIC_PREFIX, encode, with_delivery_count};
pub use neutral::neutral;
pub use view::View;
