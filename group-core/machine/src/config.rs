//! Settings of a group, as its partition knows them.

/// Settings of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupConfig {
    /// Failed tries allowed; one more and the message is rejected. `None`: unlimited.
    pub delivery_limit: Option<u32>,
}
