# `just verify` before a commit, `just test` before a submission. CI calls ./test.

# Read-only: writes nothing but the target folder.
verify:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items

# Puts right what a program can put right.
fix:
    cargo fmt --all
    cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged

# Everything that must hold.
test:
    ./test

# And every suite, the release build, and peers.
full:
    ./test --full

# The broker as clients that nobody here wrote see it.
conformance:
    cargo build --workspace --all-targets
    cargo test -p braid-conformance
    tests/conformance/run-clients
    tests/conformance/run-suites

# Licences, advisories, sources (needs cargo-deny).
deny:
    cargo deny check

# Load against what BENCH_OURS_* and BENCH_PEER_* name; scenes as arguments.
bench *scenes:
    cargo run --release -p braid-bench -- {{ scenes }}
