//! What the commands that talk to a running broker do. Each has a file; [`run`] is their way from `main` and back.
//!
//! What was asked for goes to standard output, everything else to standard error. A reader that closes the output
//! early (`| head`) ends the command without a complaint.

pub(crate) mod group;
mod printable;
pub(crate) mod publish;
pub(crate) mod subscribe;

use std::{
    fmt,
    io::{self, Write},
    process::ExitCode,
};

use crate::{cli::ClientCommand, client::ClientError};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The broker or the way to it.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Nobody takes the output, or there is no input.
    #[error("input or output: {0}")]
    Stream(#[from] io::Error),
    /// The broker did what it was told, and the outcome is still not what was wanted.
    #[error("{0}")]
    Outcome(String),
}

/// Runs `command` to its end in a runtime of its own; the code is 0 for success and 1 for failure.
#[must_use]
pub(crate) fn run(command: &ClientCommand) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(dispatch(command, &mut io::stdout())),
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failure(&error),
    }
}

/// Tells the user why nothing came of it; the exit code for that.
#[must_use]
pub(crate) fn failure(error: &dyn fmt::Display) -> ExitCode {
    note(&format!("error: {error}"));
    ExitCode::FAILURE
}

async fn dispatch(command: &ClientCommand, output: &mut impl Write) -> Result<(), CommandError> {
    match command {
        ClientCommand::Publish(publish) => publish::run(publish, output).await,
        ClientCommand::Subscribe(subscribe) => subscribe::run(subscribe, output).await,
        ClientCommand::Group(group) => group::run(group, output).await,
    }
}

/// Tells the user something that is not what was asked for.
fn note(line: &str) {
    // Without standard error there is nobody to tell.
    drop(writeln!(io::stderr(), "braidmq: {}", printable::line(line)));
}
