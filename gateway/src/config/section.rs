//! How a section of the configuration is written down: one line per key carries its name, type, default and bounds.

use super::setting::{Given, Mismatch};

/// Keys that belong together.
pub(super) trait Section {
    /// The names of its keys, without the section.
    const KEYS: &'static [&'static str];

    /// Gives `key` its value; `None`: it has no such key.
    fn set(&mut self, key: &str, given: &Given) -> Option<Result<(), Mismatch>>;
}

/// Defines a section: the structure, its defaults, and the way from a key's name to its field.
macro_rules! section {
    (
        $(#[$about:meta])*
        $name:ident {
            $($(#[$key_about:meta])* $key:ident: $kind:ty = $default:expr $(, $low:literal..=$high:expr)?;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$key_about])* pub(crate) $key: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $crate::config::section::Section for $name {
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];

            fn set(
                &mut self,
                key: &str,
                given: &$crate::config::setting::Given,
            ) -> Option<Result<(), $crate::config::setting::Mismatch>> {
                use $crate::config::setting::{Bounds, Setting};
                match key {
                    $(stringify!($key) => Some(self.$key.set(given, Bounds::ANY $(.within($low, $high))?)),)*
                    _ => None,
                }
            }
        }
    };
}

pub(super) use section;
