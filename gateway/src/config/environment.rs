//! The environment: `BRAIDMQ_` + section + `_` + key, in capitals. Lists have commas between their elements.
//!
//! A variable that names no key stops nothing, because others make such ones: a Kubernetes service called `braidmq`
//! puts `BRAIDMQ_SERVICE_HOST` and `BRAIDMQ_PORT` into every container beside it. What looks like a mistyped key is
//! worth a warning.

use super::{Entry, origin::Origin, setting::Given, suggestion};

const PREFIX: &str = "BRAIDMQ_";

/// Read by the command line, not by this module.
const OTHERS: [&str; 3] = ["BRAIDMQ_CONFIG", "BRAIDMQ_USER", "BRAIDMQ_PASSWORD"];

/// What the environment says.
pub(super) struct FromEnvironment {
    /// Values of keys.
    pub(super) entries: Vec<Entry>,
    /// Variables that look like mistyped keys.
    pub(super) warnings: Vec<String>,
}

/// Picks the values of `keys` out of `variables`.
pub(super) fn entries(keys: &[String], variables: &[(String, String)]) -> FromEnvironment {
    let names: Vec<String> = keys.iter().map(|key| variable_of(key)).collect();
    let mut entries = Vec::new();
    let mut warnings = Vec::new();
    for (variable, value) in variables.iter().filter(|(variable, _)| variable.starts_with(PREFIX)) {
        if let Some((key, _)) = keys.iter().zip(&names).find(|(_, name)| *name == variable) {
            let origin = Origin::Environment { variable: variable.clone() };
            entries.push(Entry { key: key.clone(), origin, given: Given::Untyped(value.clone()) });
        } else if !OTHERS.contains(&variable.as_str())
            && let Some(meant) = suggestion::nearest(variable, names.iter().map(String::as_str))
        {
            warnings.push(format!("environment {variable} names no key and is not used; did you mean {meant}?"));
        }
    }
    FromEnvironment { entries, warnings }
}

/// The variable that sets `key`.
fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_ascii_uppercase())
}
