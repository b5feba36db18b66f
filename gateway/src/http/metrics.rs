//! `/metrics`: what the node counts, in the text format of Prometheus (version 0.0.4).
//!
//! Names of ours begin with `braidmq_`, those that Prometheus gives to every process with `process_`.

use std::{fmt, fs, sync::Arc};

use axum::{
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};

use super::inspect::Inspect;

/// Version of the text format, for the scraper.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics.
pub(super) async fn show(State(inspect): State<Arc<dyn Inspect>>) -> Response {
    ([(CONTENT_TYPE, FORMAT)], page(inspect.as_ref())).into_response()
}

fn page(inspect: &dyn Inspect) -> String {
    let mut page = Page(String::with_capacity(8 * 1024));
    for (name, kind, help, value) in inspect.samples() {
        page.metric(&format!("braidmq_{name}"), kind, help, value);
    }
    page.metric("braidmq_ready", "gauge", "The node takes clients.", u64::from(inspect.is_ready()));
    let build = format!("braidmq_build_info{{version=\"{}\"}}", escaped_label(env!("CARGO_PKG_VERSION")));
    page.head("braidmq_build_info", "gauge", "The version of this node; always 1.");
    page.sample(&build, 1_u8);
    if let Some(bytes) = resident_bytes() {
        page.metric("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", bytes);
    }
    if let Some(count) = open_files() {
        page.metric("process_open_fds", "gauge", "Number of open file descriptors.", count);
    }
    page.0
}

/// The text as it grows.
struct Page(String);

impl Page {
    fn metric(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.head(name, kind, help);
        self.sample(name, value);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {}", escaped_help(help)));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn sample(&mut self, name: &str, value: impl fmt::Display) {
        self.line(format_args!("{name} {value}"));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        self.0.push_str(&line.to_string());
        self.0.push('\n');
    }
}

/// In a help text, backslash and line feed are escaped.
fn escaped_help(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// In a label's value, the quotation mark too.
fn escaped_label(text: &str) -> String {
    escaped_help(text).replace('"', "\\\"")
}

/// Memory of this process, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Open files and sockets of this process, where the system tells.
fn open_files() -> Option<u64> {
    u64::try_from(fs::read_dir("/proc/self/fd").ok()?.count()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_and_labels_are_escaped() {
        assert_eq!(escaped_help("a\\b\nc\"d"), "a\\\\b\\nc\"d");
        assert_eq!(escaped_label("a\\b\nc\"d"), "a\\\\b\\nc\\\"d");
    }
}
