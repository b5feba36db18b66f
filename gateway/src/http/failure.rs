//! An answer that is an error: status, and a JSON object that says why.

use axum::{
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};

/// Why a request was not answered.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    /// For programs.
    code: &'static str,
    /// For people.
    message: String,
}

impl Failure {
    /// The request itself is wrong.
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: "bad_request", message: message.into() }
    }

    /// Nobody may ask for this from there.
    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, code: "forbidden", message: message.into() }
    }

    /// What was asked for does not exist.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, code: "not_found", message: message.into() }
    }

    /// The page exists, but not for this method.
    pub(super) fn method_not_allowed() -> Self {
        let message = "this page is only read: GET or HEAD".to_owned();
        Self { status: StatusCode::METHOD_NOT_ALLOWED, code: "method_not_allowed", message }
    }

    /// The body is larger than any request here needs.
    pub(super) fn too_large() -> Self {
        let message = "the request's body is too large".to_owned();
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, code: "too_large", message }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let document = serde_json::json!({"error": {"code": self.code, "message": self.message}});
        (self.status, [(CONTENT_TYPE, "application/json")], format!("{document}\n")).into_response()
    }
}
