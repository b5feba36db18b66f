//! The bindings of one exchange, and where a publish goes by them.
//!
//! | kind | a binding matches when |
//! |---|---|
//! | direct | its key is the routing key, byte for byte |
//! | fanout | always |
//! | topic | its key, as a filter in AMQP's notation, matches the address |
//! | headers | its arguments match the headers (see [`headers`]) |
//!
//! Two bindings are the same when target, key and arguments are; the order of the arguments does not matter (as in
//! RabbitMQ). A target gets a publish once, however many of its bindings match. Targets come in a fixed order that depends
//! on the sequence of changes alone.
//!
//! Invariants: the router holds exactly what the bindings say; a target is known as long as a binding names it.

mod binding;
mod headers;
mod router;

use braid_types::{Address, AddressError, ExchangeKind, Filter, Headers, Protocol};
use bytes::Bytes;
use smallvec::SmallVec;

use crate::{limits::EXCHANGE_BINDINGS_MAX, slots::Slots};
use binding::{Binding, BindingKey, Target};
use headers::HeaderMatch;
use router::Router;

pub use binding::BindingView;

/// Numbers of targets that matched; few, as a rule.
type Matches = SmallVec<[u32; 16]>;

/// Why a binding is not possible. The client must change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// The key of a topic binding is not a filter.
    #[error("invalid topic pattern: {0}")]
    Pattern(#[from] AddressError),
    /// `x-match` of a headers binding is none of `all`, `any`, `all-with-x` and `any-with-x`.
    #[error("invalid x-match, expected all, any, all-with-x or any-with-x")]
    MatchKind,
    /// [`crate::limits::EXCHANGE_BINDINGS_MAX`].
    #[error("too many bindings")]
    TooMany,
}

/// One exchange's bindings to targets of type `T` (the key of a group, or of an exchange).
#[derive(Clone, Debug)]
pub struct Exchange<T> {
    kind: ExchangeKind,
    targets: Slots<Target<T>>,
    bindings: Slots<Binding>,
    router: Router,
}

impl<T: Eq + core::hash::Hash> Exchange<T> {
    /// An exchange without bindings.
    #[must_use]
    pub fn new(kind: ExchangeKind) -> Self {
        Self { kind, targets: Slots::default(), bindings: Slots::default(), router: Router::new(kind) }
    }

    /// How it routes.
    #[must_use]
    pub fn kind(&self) -> ExchangeKind {
        self.kind
    }

    /// Binds `target`. `false` when the very same binding is there already.
    ///
    /// # Errors
    /// See [`BindError`]; nothing has changed.
    pub fn bind(&mut self, target: T, key: Bytes, arguments: Headers) -> Result<bool, BindError> {
        let filter = match self.kind {
            ExchangeKind::Topic => Some(Filter::from_notation(Protocol::Amqp, &key)?),
            ExchangeKind::Direct | ExchangeKind::Fanout | ExchangeKind::Headers => None,
        };
        let header_match = match self.kind {
            ExchangeKind::Headers => Some(HeaderMatch::new(&arguments)?),
            ExchangeKind::Direct | ExchangeKind::Fanout | ExchangeKind::Topic => None,
        };
        let known = self.targets.find(&&target);
        let mut binding = Binding::new(known.unwrap_or(u32::MAX), key, arguments);
        if known.is_some() && self.bindings.find(&binding.identity()).is_some() {
            return Ok(false);
        }
        if self.bindings.len() >= EXCHANGE_BINDINGS_MAX {
            return Err(BindError::TooMany);
        }
        let target = match known {
            Some(known) => known,
            None => self.targets.insert(Target::new(target)).ok_or(BindError::TooMany)?,
        };
        binding.target = target;
        let key = binding.key.clone();
        let number = self.bindings.insert(binding).ok_or(BindError::TooMany)?;
        if let Some(target) = self.targets.get_mut(target) {
            target.bindings += 1;
        }
        let is_routed = match &mut self.router {
            Router::Direct(table) => {
                table.entry(key).or_default().push(target);
                true
            }
            Router::Fanout => true,
            Router::Topic(trie) => filter.is_some_and(|filter| trie.insert(&filter, target)),
            Router::Headers(table) => {
                header_match.is_some_and(|condition| table.insert(number, (condition, target)).is_none())
            }
        };
        if !is_routed {
            self.bindings.remove(number);
            self.release(target);
            return Err(BindError::TooMany);
        }
        Ok(true)
    }

    /// Undoes a binding; says whether there was one.
    pub fn unbind(&mut self, target: &T, key: &[u8], arguments: &Headers) -> bool {
        let Some(target) = self.targets.find(&target) else { return false };
        let arguments = binding::arguments_identity(arguments);
        let Some(number) = self.bindings.find(&BindingKey { target, key, arguments: &arguments }) else { return false };
        self.bindings.remove(number);
        match &mut self.router {
            Router::Direct(table) => router::remove_direct(table, key, target),
            Router::Fanout => {}
            Router::Topic(trie) => {
                if let Ok(filter) = Filter::from_notation(Protocol::Amqp, key) {
                    trie.remove(&filter, &target);
                }
            }
            Router::Headers(table) => {
                table.remove(&number);
            }
        }
        self.release(target);
        true
    }

    /// Binds `target` to a topic exchange by a filter of any dialect, beside the bindings that clients make: it is not
    /// listed, and each call counts. `false`: the exchange is of another kind, or full.
    pub fn bind_filter(&mut self, target: T, filter: &Filter) -> bool {
        let Router::Topic(trie) = &mut self.router else { return false };
        let known = self.targets.find(&&target);
        let Some(number) = known.or_else(|| self.targets.insert(Target::new(target))) else { return false };
        let is_bound = trie.insert(filter, number);
        if let Some(target) = self.targets.get_mut(number) {
            target.bindings += 1;
        }
        if !is_bound {
            self.release(number);
        }
        is_bound
    }

    /// Undoes one [`Exchange::bind_filter`]; says whether there was one.
    pub fn unbind_filter(&mut self, target: &T, filter: &Filter) -> bool {
        let Router::Topic(trie) = &mut self.router else { return false };
        let Some(number) = self.targets.find(&target) else { return false };
        let existed = trie.remove(filter, &number);
        if existed {
            self.release(number);
        }
        existed
    }

    /// Calls `found` with each target that a publish goes to, once. `key` is the routing key in AMQP's notation, `address`
    /// what it says (`None`: nothing that a pattern could match, such as too many levels), `origin` the protocol it was
    /// published by, where that is known (see [`Filter::matches_from`]); `headers` is asked only by headers exchanges that
    /// have bindings.
    pub fn route<'a>(
        &'a self,
        key: &[u8],
        address: Option<&Address>,
        origin: Option<Protocol>,
        headers: &mut dyn FnMut() -> Headers,
        mut found: impl FnMut(&'a T),
    ) {
        let mut matches = Matches::new();
        match &self.router {
            Router::Fanout => {
                for target in self.targets.iter() {
                    found(&target.name);
                }
                return;
            }
            Router::Direct(table) => matches.extend(table.get(key).into_iter().flatten().copied()),
            Router::Topic(trie) => {
                let mut push = |target: &u32| matches.push(*target);
                match (address, origin) {
                    (Some(address), Some(origin)) => trie.for_each_match_from(address, origin, &mut push),
                    (Some(address), None) => trie.for_each_match(address, &mut push),
                    (None, _) => {}
                }
            }
            Router::Headers(table) if table.is_empty() => {}
            Router::Headers(table) => router::match_headers(table, &headers(), &mut matches),
        }
        if matches.len() > 1 {
            matches.sort_unstable();
            matches.dedup();
        }
        for target in matches.iter().filter_map(|target| self.targets.get(*target)) {
            found(&target.name);
        }
    }

    /// All bindings, in a fixed order.
    pub fn bindings(&self) -> impl Iterator<Item = BindingView<'_, T>> {
        self.bindings.iter().filter_map(|binding| {
            let target = &self.targets.get(binding.target)?.name;
            Some(BindingView { target, key: &binding.key, arguments: &binding.arguments })
        })
    }

    /// How many bindings clients have made.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bindings.len()
    }

    /// Clients have made no binding.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One binding less names `target`.
    fn release(&mut self, target: u32) {
        if let Some(known) = self.targets.get_mut(target) {
            known.bindings = known.bindings.saturating_sub(1);
            if known.bindings == 0 {
                self.targets.remove(target);
            }
        }
    }
}
