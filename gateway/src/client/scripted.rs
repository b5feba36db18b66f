//! A server that follows a script, for tests: it expects exact bytes and sends exact bytes.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    task::JoinHandle,
};

/// One line of a script.
pub(super) enum Step {
    /// The client must send exactly this.
    Expect(Vec<u8>),
    /// The server sends this.
    Send(Vec<u8>),
    /// The server sends this in pieces of one byte.
    SendSplit(Vec<u8>),
    /// The client must end the stream.
    ExpectEnd,
}

/// Starts the script; returns the client's end of the stream. Awaiting the handle tells whether the script was followed.
pub(super) fn start(script: Vec<Step>) -> (DuplexStream, JoinHandle<()>) {
    let (client, mut server) = tokio::io::duplex(64 * 1024);
    let handle = tokio::spawn(async move {
        for (position, step) in script.into_iter().enumerate() {
            match step {
                Step::Expect(expected) => {
                    let mut actual = vec![0; expected.len()];
                    let read = server.read_exact(&mut actual).await;
                    read.unwrap_or_else(|error| panic!("step {position}: {error}"));
                    let (actual, expected) = (actual.escape_ascii(), expected.escape_ascii());
                    assert_eq!(actual.to_string(), expected.to_string(), "step {position}");
                }
                Step::Send(bytes) => server.write_all(&bytes).await.unwrap(),
                Step::SendSplit(bytes) => {
                    for byte in bytes {
                        server.write_all(&[byte]).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                }
                Step::ExpectEnd => assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0, "step {position}"),
            }
        }
    });
    (client, handle)
}
