//! What becomes of messages in groups, as clients see it: dead letters, exactly-once publishing, retries, hand-over,
//! limits, and large bodies; and that all of it is there after a kill.
//!
//! Each test starts a broker of its own. Waits are for events, polled where the protocol has none; the times that tests
//! give to the broker (to live, to wait) are short, and only ever judged from below.

mod at_least_once;
mod causes;
mod circles;
mod dead_letter;
mod exactly_once;
mod hand_over;
mod kind;
mod large_bodies;
mod length;
mod nowhere;
mod order;
mod origins;
mod refused_identity;
mod retry;
mod second_window;
mod stage;
mod targets;
mod time;
mod very_many;
