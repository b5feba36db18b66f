//! What `$share/N/F` means, in every order of arrival (SPEC section 3, Identity).

use braid_catalog::Command;
use braid_types::ConnectionId;

use crate::kit::{Kit, VHOST, bind, declare, open, unbind};

#[test]
fn the_answer_does_not_depend_on_the_order_of_arrival() {
    // `Bind` needs its group, so a group comes before its binding; the subscriber may come at any time.
    for share_at in 0..3 {
        let mut kit = Kit::new();
        let mut steps = vec![declare("n", true, None, Vec::new()), bind("n", "amq.topic", "a.*")];
        steps.insert(share_at, open("n", "a/+", true));
        for step in steps {
            kit.run(step);
        }
        let declared = kit.catalog.group(VHOST, b"n").unwrap().id;
        assert_eq!(kit.resolved("n", "a/+"), Some(declared), "subscriber at {share_at}");
        assert_eq!(kit.row(open("n", "a/+", true)).id, declared);
        assert_eq!(kit.routed("amq.topic", "a.b"), ["n"], "a message is in one group, not in two");
        // Without the binding the pair means its shared group again, in every order.
        kit.done(unbind("n", "amq.topic", "a.*"));
        assert_eq!(kit.changed_shares(), ["n"]);
        let row = kit.row(open("n", "a/+", true));
        assert_eq!(row.name.as_ref(), b"$share/n/a/+");
        assert_eq!(kit.routed("amq.topic", "a.b"), ["$share/n/a/+"]);
    }
}

#[test]
fn each_change_of_the_answer_is_told() {
    let mut kit = Kit::new();
    let declared = kit.declare("n");
    assert_eq!(kit.changed_shares(), Vec::<String>::new(), "a name alone changes nothing");
    kit.share("n", "a/+");
    assert_eq!(kit.changed_shares(), ["n"], "the first subscriber");
    kit.share("n", "a/+");
    assert_eq!(kit.changed_shares(), Vec::<String>::new());
    kit.done(bind("n", "amq.topic", "a.*"));
    assert_eq!(kit.changed_shares(), ["n"]);
    kit.done(bind("n", "amq.topic", "a.*"));
    assert_eq!(kit.changed_shares(), Vec::<String>::new());
    kit.done(bind("n", "amq.direct", "a.*"));
    assert_eq!(kit.changed_shares(), Vec::<String>::new(), "only amq.topic counts");
    kit.done(Command::DeleteGroup { group: declared.id });
    assert_eq!(kit.changed_shares(), ["n"]);
    let shared = kit.resolved("n", "a/+").unwrap();
    kit.done(Command::DropShared { group: shared });
    assert_eq!(kit.changed_shares(), ["n"]);
    assert_eq!(kit.resolved("n", "a/+"), None);
}

#[test]
fn another_filter_is_another_group() {
    let mut kit = Kit::new();
    kit.declare("n");
    kit.done(bind("n", "amq.topic", "a.*"));
    let (one, two) = (kit.share("n", "a/#"), kit.share("n", "b"));
    assert!(one.is_shared() && two.is_shared() && one.id != two.id);
    let joined = kit.share("n", "a/+");
    assert_eq!(joined.name.as_ref(), b"n");
    assert_eq!(kit.routed("amq.topic", "a.b"), ["n", "$share/n/a/#"]);
}

#[test]
fn a_shadowed_group_keeps_its_members_messages_but_gets_no_more() {
    let mut kit = Kit::new();
    let shared = kit.share("n", "a");
    kit.declare("n");
    kit.done(bind("n", "amq.topic", "a"));
    assert_eq!(kit.routed("amq.topic", "a"), ["n"]);
    assert_eq!(kit.catalog.group_by_id(shared.id), Some(&shared), "it stays until it is dropped");
    kit.done(Command::DropShared { group: shared.id });
    assert_eq!(kit.changed_shares(), Vec::<String>::new(), "nobody was sent there any more");
}

#[test]
fn an_exclusive_group_takes_no_share_away() {
    let mut kit = Kit::new();
    let shared = kit.share("n", "a");
    kit.row(declare("n", false, Some(ConnectionId(1)), Vec::new()));
    kit.done(bind("n", "amq.topic", "a"));
    assert_eq!(kit.resolved("n", "a"), Some(shared.id));
    assert_eq!(kit.changed_shares(), Vec::<String>::new());
    assert_eq!(kit.routed("amq.topic", "a"), ["$share/n/a", "n"]);
}
