//! `braidmq`: the server, and the command line that talks to one.
#![forbid(unsafe_code)]

mod authentication;
mod cli;
mod client;
mod command;
mod config;
mod connection;
mod conversion;
mod dead_letters;
mod detect;
mod effects;
mod endpoints;
mod http;
mod inspection;
mod limits;
mod listener;
mod logging;
mod node;
mod operations;
mod routes;
mod server;
mod service;
mod sessions;
mod shares;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match cli::Cli::parse().into_command() {
        cli::Command::Serve(flags) => serve(&flags),
        cli::Command::Client(command) => command::run(&command),
    }
}

/// Runs the broker; errors go to standard error, code 2 when the configuration is to blame.
fn serve(flags: &cli::ServeFlags) -> ExitCode {
    let loaded = match config::Config::load(&flags.sources()) {
        Ok(loaded) => loaded,
        Err(error) => return fail(&error.to_string(), 2),
    };
    if let Err(error) = logging::install(&loaded.config.log) {
        return fail(&error.to_string(), 2);
    }
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime cannot start: {error}"), 1),
    };
    match runtime.block_on(server::serve(loaded.config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string(), 1),
    }
}

fn fail(text: &str, code: u8) -> ExitCode {
    use std::io::Write;
    // Without standard error there is nobody to tell.
    drop(writeln!(std::io::stderr(), "braidmq: error: {text}"));
    ExitCode::from(code)
}
