//! Methods and their arguments: one module per class. Each method is a plain struct that can be read and written, so that
//! the endpoint, its tests and its fuzz targets share one description.

pub mod basic;
pub mod channel;
pub mod confirm;
pub mod connection;
pub mod exchange;
pub mod queue;

use crate::{DecodeError, Reader, Writer};

/// Class and method number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodId {
    /// The class.
    pub class: u16,
    /// The method within its class.
    pub method: u16,
}

impl MethodId {
    /// No method: what a close says when no method failed.
    pub const NONE: Self = Self { class: 0, method: 0 };
}

/// A method with its arguments.
pub trait Method: Sized {
    /// Its numbers.
    const ID: MethodId;

    /// Reads the arguments, up to their end.
    ///
    /// # Errors
    /// They do not fit.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Writes the arguments.
    fn write(&self, writer: &mut Writer<'_>);
}

/// The Rust type of an argument that [`Reader`] and [`Writer`] have a function of the same name for.
macro_rules! argument_type {
    (octet) => {
        u8
    };
    (short) => {
        u16
    };
    (long) => {
        u32
    };
    (long_long) => {
        u64
    };
    (bit) => {
        bool
    };
    (short_string) => {
        bytes::Bytes
    };
    (long_string) => {
        bytes::Bytes
    };
    (table) => {
        braid_types::Headers
    };
}

/// Declares a method: its name, its numbers, and its arguments in the order of the wire with their AMQP types.
macro_rules! method {
    ($(#[$about:meta])* $name:ident = $class:literal, $id:literal {
        $($(#[$about_argument:meta])* $argument:ident: $kind:ident,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(clippy::struct_excessive_bools, reason = "the bits are those of the wire")]
        pub struct $name {
            $($(#[$about_argument])* pub $argument: $crate::method::argument_type!($kind),)*
        }

        impl $crate::method::Method for $name {
            const ID: $crate::method::MethodId = $crate::method::MethodId { class: $class, method: $id };

            fn read(reader: &mut $crate::Reader<'_>) -> Result<Self, $crate::DecodeError> {
                let method = Self { $($argument: reader.$kind()?,)* };
                reader.finish()?;
                Ok(method)
            }

            #[allow(unused_variables, reason = "some methods have no arguments")]
            fn write(&self, writer: &mut $crate::Writer<'_>) {
                $(writer.$kind(&self.$argument);)*
            }
        }
    };
}

pub(crate) use {argument_type, method};
