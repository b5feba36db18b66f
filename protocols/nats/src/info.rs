//! The JSON object of `INFO`: who the server is and what it can do. Written at construction, after the first `PING` of
//! a client that understands it, and when the node stops.

use alloc::{format, string::String};

use bytes::Bytes;

use crate::Options;

/// Which `INFO` it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion<'a> {
    /// The first thing on the connection.
    Greeting,
    /// The client is in, and works in this vhost.
    Connected {
        /// The vhost's name.
        vhost: &'a [u8],
    },
    /// The node stops: connect elsewhere (lame duck).
    Stopping,
}

/// The whole line.
pub(crate) fn info(options: &Options, occasion: Occasion<'_>) -> Bytes {
    let mut line = format!(
        "INFO {{\"server_id\":{},\"server_name\":{},\"version\":{},\"proto\":1,\"go\":\"\",\"product\":\"BraidMQ\",\
         \"host\":{},\"port\":{},\"headers\":true",
        json(&options.server_id),
        json(&options.server_name),
        json(&options.version),
        json(&options.host),
        options.port,
    );
    if options.auth_required {
        line.push_str(",\"auth_required\":true");
    }
    line.push_str(&format!(",\"max_payload\":{},\"client_id\":{}", options.max_payload_bytes, options.client_id.0));
    if !options.client_ip.is_empty() {
        line.push_str(&format!(",\"client_ip\":{}", json(&options.client_ip)));
    }
    match occasion {
        Occasion::Greeting => {}
        Occasion::Connected { vhost } => {
            let vhost = json(&String::from_utf8_lossy(vhost));
            line.push_str(&format!(",\"connect_info\":true,\"remote_account\":{vhost}"));
        }
        Occasion::Stopping => line.push_str(",\"ldm\":true"),
    }
    line.push_str("} \r\n");
    Bytes::from(line)
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;

    #[test]
    fn it_is_one_line_of_json_whatever_the_names_are() {
        let options = Options { server_name: Arc::from("a\"b\r\n"), auth_required: true, ..Options::default() };
        for occasion in [Occasion::Greeting, Occasion::Connected { vhost: b"/\xff" }, Occasion::Stopping] {
            let line = info(&options, occasion);
            let body = line.strip_prefix(b"INFO ").and_then(|rest| rest.strip_suffix(b" \r\n")).unwrap();
            assert!(!body.contains(&b'\n'));
            let value: serde_json::Value = serde_json::from_slice(body).unwrap();
            assert_eq!(value["server_name"], "a\"b\r\n");
            assert_eq!(value["max_payload"], 1_048_576);
            assert_eq!(value["auth_required"], true);
            assert_eq!(value["ldm"].as_bool(), (occasion == Occasion::Stopping).then_some(true));
        }
    }
}
