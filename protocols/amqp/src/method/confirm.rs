//! Class 85: publisher confirms (RabbitMQ's extension).

use super::method;

method! {
    /// Client: confirm what this channel publishes from now on.
    Select = 85, 10 {
        /// Do not answer.
        no_wait: bit,
    }
}
method! {
    /// Server: so it is.
    SelectOk = 85, 11 {}
}
