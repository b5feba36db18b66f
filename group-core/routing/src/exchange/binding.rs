//! Bindings and targets of one exchange, and what makes two bindings the same.
//!
//! Arguments are compared by a byte form made here, so that a value always equals itself (a NaN too). It is never stored
//! outside or sent.

use alloc::{boxed::Box, vec::Vec};

use braid_types::{HeaderValue, Headers};
use bytes::Bytes;

use crate::slots::Keyed;

/// A binding, for listings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BindingView<'a, T> {
    /// Who gets what matches.
    pub target: &'a T,
    /// Routing key or pattern, as bound.
    pub key: &'a Bytes,
    /// Arguments, as bound.
    pub arguments: &'a Headers,
}

/// A binding as it is kept.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    /// Number of the target.
    pub(super) target: u32,
    /// As bound.
    pub(super) key: Bytes,
    /// As bound.
    pub(super) arguments: Headers,
    identity: Box<[u8]>,
}

/// What makes a binding the same as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BindingKey<'a> {
    pub(super) target: u32,
    pub(super) key: &'a [u8],
    pub(super) arguments: &'a [u8],
}

/// A target, and how many bindings name it.
#[derive(Clone, Debug)]
pub(super) struct Target<T> {
    pub(super) name: T,
    pub(super) bindings: u32,
}

impl Binding {
    pub(super) fn new(target: u32, key: Bytes, arguments: Headers) -> Self {
        let identity = arguments_identity(&arguments);
        Self { target, key, arguments, identity }
    }

    pub(super) fn identity(&self) -> BindingKey<'_> {
        BindingKey { target: self.target, key: &self.key, arguments: &self.identity }
    }
}

impl Keyed for Binding {
    type Key<'a> = BindingKey<'a>;

    fn key(&self) -> BindingKey<'_> {
        self.identity()
    }
}

impl<T> Target<T> {
    pub(super) fn new(name: T) -> Self {
        Self { name, bindings: 0 }
    }
}

impl<T: Eq + core::hash::Hash> Keyed for Target<T> {
    type Key<'a>
        = &'a T
    where
        T: 'a;

    fn key(&self) -> &T {
        &self.name
    }
}

/// Equal bytes for equal arguments in any order.
pub(super) fn arguments_identity(arguments: &Headers) -> Box<[u8]> {
    let mut parts: Vec<Vec<u8>> = arguments
        .iter()
        .map(|(name, value)| {
            let mut part = Vec::new();
            put_sized(&mut part, name);
            put_value(&mut part, value);
            part
        })
        .collect();
    parts.sort_unstable();
    parts.concat().into()
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// A tag and the value, so that no two values have the same bytes and none is the beginning of another.
fn put_value(out: &mut Vec<u8>, value: &HeaderValue) {
    match value {
        HeaderValue::Void => out.push(0),
        HeaderValue::Boolean(value) => out.extend_from_slice(&[1, u8::from(*value)]),
        HeaderValue::Integer(value) => put_tagged(out, 2, &value.to_le_bytes()),
        HeaderValue::Float(value) => put_tagged(out, 3, &value.to_bits().to_le_bytes()),
        HeaderValue::Decimal { scale, value } => {
            put_tagged(out, 4, &[*scale]);
            out.extend_from_slice(&value.to_le_bytes());
        }
        HeaderValue::Text(text) => put_tagged_sized(out, 5, text),
        HeaderValue::Binary(bytes) => put_tagged_sized(out, 6, bytes),
        HeaderValue::TimestampS(value) => put_tagged(out, 7, &value.to_le_bytes()),
        HeaderValue::List(values) => {
            put_tagged(out, 8, &(values.len() as u64).to_le_bytes());
            for value in values {
                put_value(out, value);
            }
        }
        HeaderValue::Table(table) => {
            put_tagged(out, 9, &(table.len() as u64).to_le_bytes());
            for (name, value) in table {
                put_sized(out, name);
                put_value(out, value);
            }
        }
    }
}

fn put_tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_tagged_sized(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    put_sized(out, bytes);
}
