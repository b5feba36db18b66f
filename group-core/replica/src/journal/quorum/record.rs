//! The byte form of a quorum journal's entries. Index and term are the log's own, and so are the checksums.
//!
//! ```text
//! kind (1) | node of the leader (8) | blank: nothing · proposal: number (8), payload · membership: as in a snapshot's note
//! ```

use braid_types::CorruptBytes;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use openraft::vote::RaftLeaderId;

use super::types::{Entry, Payload, Proposed};
use crate::{
    store::record::{finish, get_membership, put_membership},
    types::{LeaderId, LogId},
};

const BLANK: u8 = 0;
const PROPOSAL: u8 = 1;
const MEMBERSHIP: u8 = 2;

/// Bytes in front of what is proposed.
const HEAD_BYTES: usize = 1 + 8 + 8;

const CORRUPT: CorruptBytes = CorruptBytes { what: "entry of a quorum journal" };

/// The payload of an entry in the log, without bodies.
pub(super) fn payload(entry: &Entry) -> Bytes {
    let length = if let Payload::Normal(proposed) = &entry.payload { proposed.payload.len() } else { 0 };
    let mut out = BytesMut::with_capacity(HEAD_BYTES + length);
    let kind = match &entry.payload {
        Payload::Blank => BLANK,
        Payload::Normal(_) => PROPOSAL,
        Payload::Membership(_) => MEMBERSHIP,
    };
    out.put_u8(kind);
    out.put_u64_le(entry.log_id.leader_id.node_id);
    match &entry.payload {
        Payload::Blank => {}
        Payload::Normal(proposed) => {
            out.put_u64_le(proposed.number);
            out.put_slice(&proposed.payload);
        }
        Payload::Membership(membership) => put_membership(&mut out, membership),
    }
    out.freeze()
}

/// Reads an entry of the log. What was proposed stays a slice of it.
pub(super) fn read_entry(entry: braid_log::Entry) -> Result<Entry, CorruptBytes> {
    let mut input = entry.payload;
    let kind = input.try_get_u8().map_err(|_| CORRUPT)?;
    let node = input.try_get_u64_le().map_err(|_| CORRUPT)?;
    let payload = match kind {
        BLANK => Payload::Blank,
        PROPOSAL => {
            let number = input.try_get_u64_le().map_err(|_| CORRUPT)?;
            let payload = input.split_to(input.len());
            Payload::Normal(Proposed { number, payload, bodies: entry.bodies })
        }
        MEMBERSHIP => Payload::Membership(get_membership(&mut input)?),
        _ => return Err(CORRUPT),
    };
    finish(&input)?;
    Ok(Entry { log_id: LogId::new(LeaderId::new(entry.term.0, node), entry.index.0), payload })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use braid_types::{LogIndex, Term};
    use openraft::impls::BasicNode;

    use super::*;
    use crate::types::Membership;

    fn in_log(entry: &Entry, payload: Bytes) -> braid_log::Entry {
        let (index, term) = (LogIndex(entry.log_id.index), Term(entry.log_id.leader_id.term));
        braid_log::Entry { index, term, payload, bodies: Vec::new() }
    }

    #[test]
    fn entries_come_back_and_cut_ones_do_not() {
        let nodes = BTreeMap::from([(7, BasicNode::new("")), (9, BasicNode::new("node:6721"))]);
        let membership = Membership::new_with_defaults(vec![[7].into(), [7, 9].into()], []);
        let membership = Membership::new(membership.get_joint_config().clone(), nodes).unwrap();
        let proposed = Proposed { number: 77, payload: Bytes::from_static(b"batch"), bodies: Vec::new() };
        for content in [Payload::Blank, Payload::Normal(proposed), Payload::Membership(membership)] {
            let original = Entry { log_id: LogId::new(LeaderId::new(3, 9), 5), payload: content };
            let bytes = payload(&original);
            assert_eq!(read_entry(in_log(&original, bytes.clone())).unwrap(), original);
            let fixed = if bytes[0] == PROPOSAL { HEAD_BYTES } else { bytes.len() };
            for cut in 0..fixed {
                assert!(read_entry(in_log(&original, bytes.slice(..cut))).is_err(), "{original} cut to {cut}");
            }
            let longer = Bytes::from([bytes.as_ref(), b"x"].concat());
            assert!(bytes[0] == PROPOSAL || read_entry(in_log(&original, longer)).is_err());
        }
        let none = Entry { log_id: LogId::new(LeaderId::new(3, 9), 5), payload: Payload::Blank };
        assert!(read_entry(in_log(&none, Bytes::from_static(&[9; 20]))).is_err(), "a kind that there is not");
    }
}
