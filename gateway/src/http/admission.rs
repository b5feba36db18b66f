//! Which requests are answered at all.
//!
//! Until there are permissions, `/v1` is for this machine: the peer must be on loopback. A browser on this machine is
//! such a peer too, whatever page it shows, so the name that it was told to connect to must be one of this machine
//! (otherwise a page could have its own name point to 127.0.0.1 and read the answer: DNS rebinding).

use std::net::{IpAddr, SocketAddr};

use axum::{
    body::HttpBody,
    extract::Request,
    http::{
        HeaderValue,
        header::{HOST, X_CONTENT_TYPE_OPTIONS},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{failure::Failure, limits};

/// The other end of the connection that a request came by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Lets the request through, or says why not.
pub(super) async fn admit(request: Request, next: Next) -> Response {
    let mut response = match refusal(&request) {
        Some(failure) => failure.into_response(),
        None => next.run(request).await,
    };
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn refusal(request: &Request) -> Option<Failure> {
    if request.body().size_hint().lower() > limits::BODY_BYTES_MAX {
        return Some(Failure::too_large());
    }
    if !request.uri().path().starts_with("/v1/") {
        return None;
    }
    let from_here = request.extensions().get::<Peer>().is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    if !from_here {
        return Some(Failure::forbidden("this page is answered to clients on the same machine only"));
    }
    let host = request.headers().get(HOST)?;
    let names_here = host.to_str().is_ok_and(is_of_this_machine);
    (!names_here).then(|| Failure::forbidden("the Host header must be localhost or an IP address"))
}

/// `localhost` or an IP address, with or without a port.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_of_this_machine;

    #[test]
    fn names_of_others_are_told_from_this_machines() {
        for host in
            ["localhost", "LOCALHOST:15672", "127.0.0.1", "127.0.0.1:15672", "[::1]:15672", "[::1]", "192.168.1.2:1"]
        {
            assert!(is_of_this_machine(host), "{host}");
        }
        for host in ["evil.example", "evil.example:15672", "localhost.evil.example", "", "127.0.0.1.evil.example:80"] {
            assert!(!is_of_this_machine(host), "{host}");
        }
    }
}
