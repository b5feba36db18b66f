//! The byte form of what is kept: numbers little endian, no padding, behind a checksum that covers the record's name.
//!
//! Reading trusts nothing: it fails on any byte too few or too many.

use std::collections::{BTreeMap, BTreeSet};

use braid_types::{CorruptBytes, Timestamp};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use openraft::{EntryPayload, impls::BasicNode, vote::RaftLeaderId};

use crate::{
    limits::MEMBERS_MAX,
    types::{Entry, LeaderId, LogId, Membership, Proposal, SnapshotMeta, StoredMembership, Vote},
};

const CHECKSUM_BYTES: usize = 4;

const PAYLOAD_BLANK: u8 = 0;
const PAYLOAD_NORMAL: u8 = 1;
const PAYLOAD_MEMBERSHIP: u8 = 2;

const CORRUPT: CorruptBytes = CorruptBytes { what: "replica record" };

pub(crate) type Decoded<T> = Result<T, CorruptBytes>;

/// Puts the checksum of name and body in front of the body.
pub(super) fn seal(name: &[u8], body: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(CHECKSUM_BYTES + body.len());
    out.put_u32_le(checksum(name, body));
    out.put_slice(body);
    out.freeze()
}

/// Checks a record and gives its body.
pub(super) fn unseal(name: &[u8], record: &[u8]) -> Decoded<Bytes> {
    let (stored, body) = record.split_first_chunk::<CHECKSUM_BYTES>().ok_or(CORRUPT)?;
    if u32::from_le_bytes(*stored) != checksum(name, body) {
        return Err(CorruptBytes { what: "checksum of a replica record" });
    }
    Ok(Bytes::copy_from_slice(body))
}

/// The name of a log record, for its checksum.
pub(super) fn log_name(index: u64) -> [u8; 8] {
    index.to_be_bytes()
}

pub(crate) fn vote(vote: &Vote) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u64_le(vote.leader_id.term);
    out.put_u64_le(vote.leader_id.node_id);
    out.put_u8(u8::from(vote.committed));
    out.freeze()
}

pub(crate) fn read_vote(mut input: Bytes) -> Decoded<Vote> {
    let leader_id = LeaderId::new(get_u64(&mut input)?, get_u64(&mut input)?);
    let committed = get_flag(&mut input)?;
    finish(&input)?;
    Ok(Vote { leader_id, committed })
}

pub(crate) fn optional_log_id(log_id: Option<LogId>) -> Bytes {
    let mut out = BytesMut::new();
    put_optional_log_id(&mut out, log_id);
    out.freeze()
}

pub(crate) fn read_optional_log_id(mut input: Bytes) -> Decoded<Option<LogId>> {
    let log_id = get_optional_log_id(&mut input)?;
    finish(&input)?;
    Ok(log_id)
}

pub(super) fn entry(entry: &Entry) -> Bytes {
    let mut out = BytesMut::new();
    put_log_id(&mut out, entry.log_id);
    match &entry.payload {
        EntryPayload::Blank => out.put_u8(PAYLOAD_BLANK),
        EntryPayload::Normal(proposal) => {
            out.put_u8(PAYLOAD_NORMAL);
            out.put_u64_le(proposal.time.0);
            out.put_slice(&proposal.command);
        }
        EntryPayload::Membership(membership) => {
            out.put_u8(PAYLOAD_MEMBERSHIP);
            put_membership(&mut out, membership);
        }
    }
    out.freeze()
}

pub(super) fn read_entry(mut input: Bytes) -> Decoded<Entry> {
    let log_id = get_log_id(&mut input)?;
    let payload = match get_u8(&mut input)? {
        PAYLOAD_BLANK => EntryPayload::Blank,
        PAYLOAD_NORMAL => {
            let time = Timestamp(get_u64(&mut input)?);
            let command = input.split_to(input.len());
            EntryPayload::Normal(Proposal { time, command })
        }
        PAYLOAD_MEMBERSHIP => EntryPayload::Membership(get_membership(&mut input)?),
        _ => return Err(CORRUPT),
    };
    finish(&input)?;
    Ok(Entry { log_id, payload })
}

pub(crate) fn snapshot_meta(meta: &SnapshotMeta) -> Bytes {
    let mut out = BytesMut::new();
    put_optional_log_id(&mut out, meta.last_log_id);
    put_optional_log_id(&mut out, *meta.last_membership.log_id());
    put_membership(&mut out, meta.last_membership.membership());
    out.freeze()
}

pub(crate) fn read_snapshot_meta(mut input: Bytes) -> Decoded<SnapshotMeta> {
    let last_log_id = get_optional_log_id(&mut input)?;
    let membership_log_id = get_optional_log_id(&mut input)?;
    let membership = get_membership(&mut input)?;
    finish(&input)?;
    Ok(SnapshotMeta { last_log_id, last_membership: StoredMembership::new(membership_log_id, membership) })
}

fn checksum(name: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(name), body)
}

fn put_log_id(out: &mut BytesMut, log_id: LogId) {
    out.put_u64_le(log_id.leader_id.term);
    out.put_u64_le(log_id.leader_id.node_id);
    out.put_u64_le(log_id.index);
}

fn get_log_id(input: &mut Bytes) -> Decoded<LogId> {
    let leader_id = LeaderId::new(get_u64(input)?, get_u64(input)?);
    Ok(LogId::new(leader_id, get_u64(input)?))
}

fn put_optional_log_id(out: &mut BytesMut, log_id: Option<LogId>) {
    out.put_u8(u8::from(log_id.is_some()));
    if let Some(log_id) = log_id {
        put_log_id(out, log_id);
    }
}

fn get_optional_log_id(input: &mut Bytes) -> Decoded<Option<LogId>> {
    if get_flag(input)? { Ok(Some(get_log_id(input)?)) } else { Ok(None) }
}

pub(crate) fn put_membership(out: &mut BytesMut, membership: &Membership) {
    let configs = membership.get_joint_config();
    put_count(out, configs.len());
    for config in configs {
        put_count(out, config.len());
        for id in config {
            out.put_u64_le(*id);
        }
    }
    put_count(out, membership.nodes().count());
    for (id, node) in membership.nodes() {
        out.put_u64_le(*id);
        put_count(out, node.addr.len());
        out.put_slice(node.addr.as_bytes());
    }
}

pub(crate) fn get_membership(input: &mut Bytes) -> Decoded<Membership> {
    let mut configs = Vec::new();
    for _ in 0..get_count(input)? {
        let mut config = BTreeSet::new();
        for _ in 0..get_count(input)? {
            config.insert(get_u64(input)?);
        }
        configs.push(config);
    }
    let mut nodes = BTreeMap::new();
    for _ in 0..get_count(input)? {
        let id = get_u64(input)?;
        let length = usize::try_from(get_u32(input)?).map_err(|_| CORRUPT)?;
        if length > input.len() {
            return Err(CORRUPT);
        }
        let addr = String::from_utf8(input.split_to(length).to_vec()).map_err(|_| CORRUPT)?;
        nodes.insert(id, BasicNode { addr });
    }
    // The membership of a log that was never initialised: openraft takes it, but not its constructor.
    if configs.is_empty() && nodes.is_empty() {
        return Ok(Membership::default());
    }
    Membership::new(configs, nodes).map_err(|_| CORRUPT)
}

fn put_count(out: &mut BytesMut, count: usize) {
    out.put_u32_le(u32::try_from(count).unwrap_or(u32::MAX));
}

fn get_count(input: &mut Bytes) -> Decoded<usize> {
    let count = usize::try_from(get_u32(input)?).map_err(|_| CORRUPT)?;
    if count > MEMBERS_MAX { Err(CORRUPT) } else { Ok(count) }
}

fn get_u8(input: &mut Bytes) -> Decoded<u8> {
    input.try_get_u8().map_err(|_| CORRUPT)
}

fn get_u32(input: &mut Bytes) -> Decoded<u32> {
    input.try_get_u32_le().map_err(|_| CORRUPT)
}

fn get_u64(input: &mut Bytes) -> Decoded<u64> {
    input.try_get_u64_le().map_err(|_| CORRUPT)
}

fn get_flag(input: &mut Bytes) -> Decoded<bool> {
    match get_u8(input)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(CORRUPT),
    }
}

pub(crate) fn finish(input: &Bytes) -> Decoded<()> {
    if input.is_empty() { Ok(()) } else { Err(CORRUPT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_id(index: u64) -> LogId {
        LogId::new(LeaderId::new(3, 9), index)
    }

    fn joint() -> Membership {
        let nodes = (1..4).map(|id| (id, BasicNode::new(format!("node{id}:6721")))).collect::<BTreeMap<_, _>>();
        Membership::new(vec![BTreeSet::from([1, 2]), BTreeSet::from([2, 3])], nodes).unwrap()
    }

    #[test]
    fn entries_come_back_and_cut_ones_do_not() {
        let proposal = Proposal { time: Timestamp(77), command: Bytes::from_static(b"command") };
        for payload in [EntryPayload::Blank, EntryPayload::Normal(proposal), EntryPayload::Membership(joint())] {
            let original = Entry { log_id: log_id(5), payload };
            let bytes = entry(&original);
            assert_eq!(read_entry(bytes.clone()).unwrap(), original);
            let header = 24 + 1;
            for cut in 0..header.min(bytes.len()) {
                assert!(read_entry(bytes.slice(..cut)).is_err());
            }
        }
        assert!(
            read_entry(Bytes::from(
                [entry(&Entry { log_id: log_id(1), payload: EntryPayload::Blank }).as_ref(), b"x"].concat()
            ))
            .is_err()
        );
    }

    #[test]
    fn the_rest_comes_back() {
        let leader_id = LeaderId::new(u64::MAX, 2);
        for committed in [true, false] {
            let original = Vote { leader_id, committed };
            assert_eq!(read_vote(vote(&original)), Ok(original));
        }
        for original in [None, Some(log_id(8))] {
            assert_eq!(read_optional_log_id(optional_log_id(original)), Ok(original));
        }
        let full = SnapshotMeta {
            last_log_id: Some(log_id(4)),
            last_membership: StoredMembership::new(Some(log_id(2)), joint()),
        };
        for original in [SnapshotMeta::default(), full] {
            assert_eq!(read_snapshot_meta(snapshot_meta(&original)), Ok(original));
        }
    }

    #[test]
    fn any_flipped_bit_and_any_other_name_show() {
        let sealed = seal(b"name", b"body");
        assert_eq!(unseal(b"name", &sealed).unwrap(), "body");
        assert!(unseal(b"nome", &sealed).is_err());
        assert!(unseal(b"name", &[]).is_err());
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal(b"name", &damaged).is_err());
        }
    }
}
