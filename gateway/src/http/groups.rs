//! `/v1/groups`: the groups, and one group by vhost and name.

use std::sync::Arc;

use axum::{
    extract::{Path, RawQuery, State, rejection::PathRejection},
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    document::{GroupDocument, GroupsDocument},
    failure::Failure,
    inspect::Inspect,
    query,
};

/// All groups, or those of `?vhost=`.
pub(super) async fn list(State(inspect): State<Arc<dyn Inspect>>, RawQuery(query): RawQuery) -> Response {
    let vhost = match query::only_parameter(query.as_deref(), "vhost") {
        Ok(vhost) => vhost,
        Err(message) => return Failure::bad_request(message).into_response(),
    };
    json(&GroupsDocument::from(inspect.list_groups(vhost).await))
}

/// One group.
pub(super) async fn show(
    State(inspect): State<Arc<dyn Inspect>>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Response {
    let Ok(Path((vhost, name))) = path else {
        return Failure::bad_request("vhost and name must be UTF-8").into_response();
    };
    let listings = inspect.list_groups(Some(vhost.clone())).await;
    match listings.into_iter().find(|listing| listing.vhost == vhost && listing.name == name) {
        Some(listing) => json(&GroupDocument::from(listing)),
        None => Failure::not_found(format!("vhost {vhost} has no group {name}")).into_response(),
    }
}

fn json(document: &impl Serialize) -> Response {
    match serde_json::to_string(document) {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => Failure::bad_request(error.to_string()).into_response(),
    }
}
