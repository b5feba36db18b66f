//! A file that cannot be trusted is refused, with the reason, and left as it is (P3).

use std::{fs, path::Path};

use braid_replica::{Error, Options, Replica};

use crate::kit::{Ledger, file, note, open, options};

/// A directory with a ledger of that many numbers.
async fn ledger(count: u64) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let replica = open(directory.path()).await.unwrap();
    for number in 0..count {
        replica.propose(note(number)).await.unwrap();
    }
    replica.shutdown().await.unwrap();
    directory
}

/// Opens what must be refused, and checks that nothing was changed.
async fn refused(directory: &Path) -> Error {
    let before = fs::read(file(directory)).unwrap();
    let error = open(directory).await.expect_err("it was opened");
    assert!(fs::read(file(directory)).unwrap() == before, "the refused file was changed: {error}");
    error
}

#[tokio::test]
async fn an_empty_or_cut_file_is_damaged() {
    let directory = ledger(50).await;
    let whole = fs::read(file(directory.path())).unwrap();
    for length in [0, 1, 100, 4_096, whole.len() / 2, whole.len() - 1] {
        fs::write(file(directory.path()), &whole[..length]).unwrap();
        let error = refused(directory.path()).await;
        assert!(matches!(error, Error::Damaged { .. }), "cut at {length}: {error:?}");
    }
    fs::write(file(directory.path()), vec![0; whole.len()]).unwrap();
    assert!(matches!(refused(directory.path()).await, Error::Damaged { .. }));
}

#[tokio::test]
async fn a_lost_file_is_not_made_anew_when_it_must_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let must_be_there = Options { create: false, ..options(directory.path()) };
    let error = Replica::<Ledger>::open(must_be_there, Box::new(|_| {})).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    assert!(!file(directory.path()).exists());
}

#[tokio::test]
async fn a_file_of_another_is_refused() {
    let directory = ledger(1).await;
    let before = fs::read(file(directory.path())).unwrap();
    for other in
        [Options { node_id: 2, ..options(directory.path()) }, Options { identity: 7, ..options(directory.path()) }]
    {
        let error = Replica::<Ledger>::open(other, Box::new(|_| {})).await.unwrap_err();
        assert!(matches!(error, Error::NotOurs { .. }), "{error:?}");
    }
    assert!(fs::read(file(directory.path())).unwrap() == before);
    let first = open(directory.path()).await.unwrap();
    let error = open(directory.path()).await.unwrap_err();
    assert!(matches!(&error, Error::NotOurs { why, .. } if why.contains("another process")), "{error:?}");
    assert_eq!(first.propose(note(9)).await, Ok(2), "the one that has it is not disturbed");
}

/// Flips bits all over a file. Where nothing is kept a flip harms nothing; everywhere else it must be found.
async fn flip_bits(whole: &[u8], flips: usize, expected: &[u64]) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let mut found = 0;
    for step in 0..flips {
        // The first ones into the header, where there is no room between what matters.
        let at = if step < flips / 3 { step * 320 / (flips / 3) } else { (step * 1_361_477) % whole.len() };
        let mut damaged = whole.to_vec();
        damaged[at] ^= 1 << (step % 8);
        fs::write(file(directory.path()), &damaged).unwrap();
        match open(directory.path()).await {
            Ok(replica) => {
                let numbers: Vec<u64> = replica.read().numbers.iter().copied().collect();
                assert_eq!(numbers, expected, "a flip at {at} changed the state");
                replica.shutdown().await.unwrap();
            }
            Err(Error::Damaged { .. } | Error::NotOurs { .. }) => {
                found += 1;
                assert!(fs::read(file(directory.path())).unwrap() == damaged, "the refused file was changed at {at}");
            }
            Err(other) => panic!("a flip at {at}: {other:?}"),
        }
    }
    found
}

#[tokio::test]
async fn a_flipped_bit_is_found_or_harmless() {
    let directory = ledger(250).await;
    let whole = fs::read(file(directory.path())).unwrap();
    let found = flip_bits(&whole, 60, &(0..250).collect::<Vec<_>>()).await;
    assert!(found > 5, "only {found} flips met something that is kept");
}

#[tokio::test]
async fn a_flipped_bit_after_a_crash_is_found_or_harmless() {
    let directory = tempfile::tempdir().unwrap();
    let replica = open(directory.path()).await.unwrap();
    for number in 0..250 {
        replica.propose(note(number)).await.unwrap();
    }
    // As it would be after a loss of power now: nothing is being written.
    let whole = fs::read(file(directory.path())).unwrap();
    let found = flip_bits(&whole, 60, &(0..250).collect::<Vec<_>>()).await;
    assert!(found > 5, "only {found} flips met something that is kept");
}
