//! What was confirmed outlives the process.

use std::{
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use crate::kit::{note, open};

/// Set in the process that is to be killed: where it writes.
const VICTIM: &str = "BRAID_REPLICA_TEST_VICTIM";

/// Not a test of its own: the process that the next one kills. It says each number when it was confirmed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn victim() {
    let Some(directory) = std::env::var_os(VICTIM).map(PathBuf::from) else {
        return;
    };
    let replica = Arc::new(open(&directory).await.unwrap());
    let first = replica.read().numbers.last().map_or(0, |last| last + 1);
    let mut proposers = tokio::task::JoinSet::new();
    for lane in 0..8u64 {
        let replica = Arc::clone(&replica);
        proposers.spawn(async move {
            for step in 0..1_000_000u64 {
                let number = first + step * 8 + lane;
                replica.propose(note(number)).await.unwrap();
                writeln!(std::io::stdout(), "confirmed {number}").unwrap();
            }
        });
    }
    proposers.join_all().await;
}

#[tokio::test]
async fn a_killed_process_loses_nothing_confirmed() {
    let directory = tempfile::tempdir().unwrap();
    let mut confirmed = Vec::new();
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::victim", "--exact", "--nocapture"])
            .env(VICTIM, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut count = 0;
        while count < 150 * round {
            let line = lines.next().expect("the victim ended by itself").unwrap();
            let Some((_, number)) = line.split_once("confirmed ") else { continue };
            confirmed.push(number.trim().parse::<u64>().unwrap());
            count += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it was killed counts too.
        for line in lines.map_while(Result::ok) {
            confirmed.extend(line.split_once("confirmed ").and_then(|(_, number)| number.trim().parse::<u64>().ok()));
        }
    }
    let replica = open(directory.path()).await.unwrap();
    let state = replica.read();
    let lost: Vec<_> = confirmed.iter().filter(|number| !state.numbers.contains(number)).collect();
    assert!(lost.is_empty(), "{} of {} confirmed are lost: {lost:?}", lost.len(), confirmed.len());
}

#[test]
fn a_runtime_that_ends_under_it_loses_nothing_confirmed() {
    let directory = tempfile::tempdir().unwrap();
    for run in 0..3u64 {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let replica = runtime.block_on(open(directory.path())).unwrap();
        assert_eq!(replica.read().numbers.len() as u64, run * 50);
        for number in 0..50 {
            runtime.block_on(replica.propose(note(run * 50 + number))).unwrap();
        }
        runtime.shutdown_background();
        drop(replica);
    }
}

#[tokio::test]
async fn a_replica_that_is_dropped_or_stopped_leaves_no_task_behind() {
    for is_stopped in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let replica = open(directory.path()).await.unwrap();
        replica.propose(note(1)).await.unwrap();
        if is_stopped {
            replica.shutdown().await.unwrap();
        }
        drop(replica);
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        for _ in 0..100 {
            if tasks() > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
        assert_eq!(tasks(), 0, "after a shutdown: {is_stopped}");
        assert_eq!(open(directory.path()).await.unwrap().read().numbers.len(), 1);
    }
}
