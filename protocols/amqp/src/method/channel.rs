//! Class 20: channels (AMQP 0-9-1, 1.5).

use super::method;

method! {
    /// Client: open it.
    Open = 20, 10 {
        /// Was out-of-band settings.
        reserved_1: short_string,
    }
}
method! {
    /// Server: it is open.
    OpenOk = 20, 11 {
        /// Was channel id.
        reserved_1: long_string,
    }
}
method! {
    /// Client: stop or go on with contents.
    Flow = 20, 20 {
        /// Go on.
        active: bit,
    }
}
method! {
    /// Server: done.
    FlowOk = 20, 21 {
        /// Contents flow.
        active: bit,
    }
}
method! {
    /// Either: the end, and why.
    Close = 20, 40 {
        /// Code.
        reply_code: short,
        /// Name and text.
        reply_text: short_string,
        /// Class of the method that failed.
        class_id: short,
        /// The method that failed.
        method_id: short,
    }
}
method! {
    /// Either: the end is understood.
    CloseOk = 20, 41 {}
}
