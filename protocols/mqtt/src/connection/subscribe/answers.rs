//! SUBACKs and UNSUBACKs that wait for the broker's answers.

use alloc::{collections::BTreeMap, string::String, vec, vec::Vec};

use braid_types::{RefusalKind, SubscriptionId};

use crate::{ReasonCode, packet::kind, subscriptions::Subscription};

/// What is known of a filter whose answer has not come.
#[derive(Debug)]
pub(crate) struct Waited {
    pub(crate) subscription: SubscriptionId,
    /// The code if it goes well.
    pub(crate) code: u8,
    /// What the subscription was before.
    pub(crate) before: Option<Subscription>,
    pub(crate) is_unsubscribe: bool,
}

/// One SUBACK or UNSUBACK in the making.
#[derive(Debug)]
pub(crate) struct Answer {
    packet_kind: u8,
    packet_id: u16,
    codes: Vec<u8>,
    waited: BTreeMap<u32, Waited>,
    reason: Option<String>,
}

impl Answer {
    /// For a packet with `count` filters.
    pub(crate) fn new(packet_kind: u8, packet_id: u16, count: usize) -> Self {
        Self { packet_kind, packet_id, codes: vec![0; count], waited: BTreeMap::new(), reason: None }
    }

    /// SUBACK or UNSUBACK.
    pub(crate) fn packet_kind(&self) -> u8 {
        self.packet_kind
    }

    /// The identifier of the client's packet.
    pub(crate) fn packet_id(&self) -> u16 {
        self.packet_id
    }

    /// One per filter.
    pub(crate) fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Why the first refused one was.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The code of the filter at `position`.
    pub(crate) fn set(&mut self, position: u32, code: u8) {
        if let Some(place) = usize::try_from(position).ok().and_then(|position| self.codes.get_mut(position)) {
            *place = code;
        }
    }

    /// The filter at `position` is with the broker.
    pub(crate) fn wait(&mut self, position: u32, subscription: SubscriptionId, code: u8, before: Option<Subscription>) {
        let is_unsubscribe = self.packet_kind == kind::UNSUBACK;
        self.waited.insert(position, Waited { subscription, code, before, is_unsubscribe });
    }

    /// All codes are known.
    pub(crate) fn is_complete(&self) -> bool {
        self.waited.is_empty()
    }
}

/// All that wait. Their number is bounded by what the client has sent and the broker has not answered.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    answers: BTreeMap<u32, Answer>,
    last_operation: u32,
}

impl Answers {
    /// A number for the next packet.
    pub(crate) fn next_operation(&mut self) -> u32 {
        self.last_operation = self.last_operation.wrapping_add(1);
        self.last_operation
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.answers.len()
    }

    /// Keeps an answer until it is complete.
    pub(crate) fn insert(&mut self, operation: u32, answer: Answer) {
        self.answers.insert(operation, answer);
    }

    /// The broker has answered for a filter: what was known of it.
    pub(crate) fn waited(&mut self, operation: u32, position: u32) -> Option<Waited> {
        self.answers.get_mut(&operation)?.waited.remove(&position)
    }

    /// The code of a filter.
    pub(crate) fn set(&mut self, operation: u32, position: u32, code: u8) {
        if let Some(answer) = self.answers.get_mut(&operation) {
            answer.set(position, code);
        }
    }

    /// Why a filter was refused; the first one counts.
    pub(crate) fn set_reason(&mut self, operation: u32, text: String) {
        if let Some(answer) = self.answers.get_mut(&operation) {
            answer.reason.get_or_insert(text);
        }
    }

    /// The answer, if all its codes are known.
    pub(crate) fn take_if_complete(&mut self, operation: u32) -> Option<Answer> {
        self.answers.get(&operation).is_some_and(Answer::is_complete).then(|| self.answers.remove(&operation))?
    }
}

/// What SUBACK says of a refusal (MQTT 5, table 3-8).
pub(crate) fn refusal_code(kind: RefusalKind) -> ReasonCode {
    match kind {
        RefusalKind::AccessRefused | RefusalKind::BadCredentials => ReasonCode::NOT_AUTHORIZED,
        RefusalKind::LimitReached => ReasonCode::QUOTA_EXCEEDED,
        RefusalKind::NotFound => ReasonCode::TOPIC_FILTER_INVALID,
        RefusalKind::NotAllowed | RefusalKind::NotImplemented | RefusalKind::PreconditionFailed => {
            ReasonCode::IMPLEMENTATION_SPECIFIC
        }
        RefusalKind::ResourceLocked | RefusalKind::Unavailable | RefusalKind::Internal => ReasonCode::UNSPECIFIED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_when_all_filters_are() {
        let mut answers = Answers::default();
        let operation = answers.next_operation();
        let mut answer = Answer::new(kind::SUBACK, 7, 2);
        answer.set(0, 0x97);
        answer.wait(1, SubscriptionId(1), 2, None);
        answers.insert(operation, answer);
        assert!(answers.take_if_complete(operation).is_none());
        assert_eq!(answers.waited(operation, 1).map(|waited| waited.code), Some(2));
        answers.set(operation, 1, 2);
        let answer = answers.take_if_complete(operation).expect("complete");
        assert_eq!((answer.packet_id(), answer.codes()), (7, &[0x97, 2][..]));
        assert!(answers.waited(operation, 1).is_none());
    }
}
