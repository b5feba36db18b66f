//! What is proposed comes back, in order, each once.

use braid_log::{Body, disk::SimulatedDisk};
use braid_replica::{Error, JournalEvent, Proposal, limits};
use braid_types::LogIndex;
use bytes::Bytes;

use crate::owner::{BOTH, Kind, Node, Owner};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_proposals_in_flight_come_back_in_order() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        let mut expected = Vec::new();
        for number in 0..1_000 {
            let index = owner.propose_when_it_fits(&format!("entry {number}")).await;
            let known = (kind == Kind::Disk).then_some(LogIndex(number + 1));
            assert_eq!(index, known, "only a disk journal knows the index before");
            expected.push(format!("entry {number}"));
        }
        owner.settle().await;
        assert_eq!(owner.stopped, None);
        assert_eq!(owner.payloads(), expected);
        let contiguous = owner.state.windows(2).all(|pair| pair[1].index.0 == pair[0].index.0 + 1);
        assert!(contiguous, "nothing else is in the log meanwhile, in either kind");
        assert_eq!(owner.journal.pending(), 0);
        owner.check_bodies();
    }
}

#[tokio::test]
async fn without_waiting_there_is_an_event_or_there_is_not() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        assert!(owner.journal.try_next().is_none(), "{kind:?}");
        owner.propose("one").unwrap();
        owner.propose("two").unwrap();
        owner.settle().await;
        assert!(owner.journal.try_next().is_none(), "{kind:?}");
        owner.propose("three").unwrap();
        // A look in between takes nothing away from who waits afterwards.
        let looked = owner.journal.try_next();
        looked.into_iter().for_each(|event| owner.handle(event));
        owner.settle().await;
        assert_eq!(owner.payloads(), ["one", "two", "three"]);
    }
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        for number in 0..200 {
            owner.propose_when_it_fits(&format!("{number}")).await;
            tokio::select! {
                biased;
                () = tokio::task::yield_now() => {}
                event = owner.journal.next() => owner.handle(event),
            }
        }
        owner.settle().await;
        assert_eq!(owner.payloads(), (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn nothing_is_proposed_before_the_journal_leads() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::open(&node, kind).await.unwrap();
        assert_eq!(owner.propose("early"), Err(Error::NotLeader { leader: None }));
        assert!(matches!(owner.journal.next().await, JournalEvent::Leads { .. }));
        owner.propose("in time").unwrap();
        owner.leads = Some(braid_types::Term(1));
        owner.settle().await;
        assert_eq!(owner.payloads(), ["in time"]);
    }
}

#[tokio::test]
async fn what_no_log_can_take_is_refused_and_nothing_else() {
    for kind in BOTH {
        let node = Node::start(&SimulatedDisk::new()).unwrap();
        let mut owner = Owner::lead(&node, kind).await;
        let payload = Bytes::from(vec![0; limits::ENTRY_BYTES_MAX + 1]);
        let too_large = owner.journal.propose(Proposal { payload, bodies: Vec::new() });
        assert!(matches!(too_large, Err(Error::TooLarge { .. })), "{too_large:?}");
        let bodies = vec![Body::new(2, Bytes::new()), Body::new(2, Bytes::new())];
        let unordered = owner.journal.propose(Proposal { payload: Bytes::new(), bodies });
        assert!(matches!(unordered, Err(Error::Unloggable(_))), "{unordered:?}");
        assert_eq!(owner.journal.pending(), 0);
        owner.propose("fits").unwrap();
        owner.settle().await;
        assert_eq!(owner.payloads(), ["fits"]);
    }
}
