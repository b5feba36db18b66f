//! Who a client is. Without configuration, anonymous clients and the default user are let in from loopback only
//! (SPEC section 9).

use std::net::IpAddr;
use std::sync::Arc;

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use braid_catalog::Command;
use braid_types::{Credentials, Identity, Refusal, RefusalKind};
use bytes::Bytes;

use crate::node::{DEFAULT_VHOST, Node, show};

/// The user that exists from the first start on.
pub(crate) const DEFAULT_USER: &str = "guest";

/// OWASP's smallest parameters for argon2id: 7 MiB, 5 passes; about 20 ms, a few at a time (`limits::PASSWORD_CHECKS_MAX`).
const MEMORY_KIB: u32 = 7 * 1024;
const PASSES: u32 = 5;

/// Checks credentials of a client at `peer`.
pub(crate) async fn authenticate(
    node: &Arc<Node>,
    credentials: Credentials,
    peer: IpAddr,
) -> Result<Identity, Refusal> {
    let is_loopback = peer.to_canonical().is_loopback();
    let (user, password) = match credentials {
        Credentials::Anonymous if is_loopback => {
            return Ok(Identity { user: Bytes::from_static(b"anonymous"), vhost: Bytes::from_static(DEFAULT_VHOST) });
        }
        Credentials::Anonymous => return Err(refused("anonymous", "anonymous clients are let in from loopback only")),
        Credentials::Password { user, password } => (user, password),
    };
    let (vhost, user) = split_vhost(node, &user);
    let name = String::from_utf8_lossy(&user).into_owned();
    if name == DEFAULT_USER && !is_loopback {
        return Err(refused(&name, "the default user is let in from loopback only"));
    }
    let hash = node.meta.catalog().user(&user).map(|user| user.password_hash.clone());
    let Ok(_permit) = node.password_checks.acquire().await else {
        return Err(Refusal::new(RefusalKind::Unavailable, "the node is stopping"));
    };
    // An unknown user takes as long as a wrong password.
    let is_right = tokio::task::spawn_blocking(move || {
        let Some(hash) = hash else { return Ok(hash_password(&password).is_err()) };
        PasswordHash::new(&hash).map(|hash| hasher()?.verify_password(&password, &hash)).and_then(|result| match result
        {
            Ok(()) => Ok(true),
            Err(argon2::password_hash::Error::Password) => Ok(false),
            Err(error) => Err(error),
        })
    })
    .await;
    match is_right {
        Ok(Ok(true)) => Ok(Identity { user, vhost }),
        Ok(Ok(false)) => Err(refused(&name, "unknown user or wrong password")),
        Ok(Err(error)) => {
            tracing::error!(%error, user = %name, "the stored password hash cannot be used");
            Err(refused(&name, "unknown user or wrong password"))
        }
        Err(error) => {
            tracing::error!(%error, "the password check did not end");
            Err(Refusal::new(RefusalKind::Unavailable, "the node is stopping"))
        }
    }
}

/// Makes the default user at the first start.
pub(crate) async fn ensure_default_user(node: &Arc<Node>) -> Result<(), Refusal> {
    if node.meta.catalog().users().next().is_some() {
        return Ok(());
    }
    let password_hash = hash_password(DEFAULT_USER.as_bytes())
        .map_err(|error| Refusal::new(RefusalKind::Internal, format!("cannot hash a password: {error}")))?;
    let command = Command::PutUser {
        name: Bytes::from_static(DEFAULT_USER.as_bytes()),
        password_hash,
        tags: vec![String::from("administrator")],
    };
    node.commit(command).await.map(|_| ())
}

fn hasher() -> Result<Argon2<'static>, argon2::password_hash::Error> {
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(MEMORY_KIB, PASSES, 1, None)?))
}

fn hash_password(password: &[u8]) -> Result<String, argon2::password_hash::Error> {
    let mut salt = [0u8; 16];
    for half in salt.chunks_exact_mut(8) {
        half.copy_from_slice(&crate::operations::random().to_le_bytes());
    }
    let salt = SaltString::encode_b64(&salt)?;
    Ok(hasher()?.hash_password(password, &salt)?.to_string())
}

/// MQTT clients name a vhost as `vhost:user`, as in RabbitMQ.
fn split_vhost(node: &Node, user: &Bytes) -> (Bytes, Bytes) {
    if let Some(colon) = user.iter().rposition(|byte| *byte == b':') {
        let (vhost, name) = (user.slice(..colon), user.slice(colon + 1..));
        if node.meta.catalog().has_vhost(&vhost) {
            return (vhost, name);
        }
    }
    (Bytes::from_static(DEFAULT_VHOST), user.clone())
}

fn refused(user: &str, why: &str) -> Refusal {
    tracing::info!(user = %show(user.as_bytes()), why, "a client was refused");
    Refusal::new(RefusalKind::BadCredentials, "login was refused")
}
