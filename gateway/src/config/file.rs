//! The TOML file: from text to keys with values and lines.

use std::{fs, io::Read, path::Path};

use toml::de::{DeTable, DeValue};

use super::{Config, Entry, error::ConfigError, origin::Origin, setting::Given, suggestion};

/// Bytes of a configuration file. The sample has some 5,000; what is larger is some other file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Reads the file at `path`.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let mut text = String::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(std::io::Error::other("too large for a configuration file")));
    }
    parse(path, &text)
}

/// Reads `text`, which `path` is the name of.
pub(super) fn parse(path: &Path, text: &str) -> Result<Vec<Entry>, ConfigError> {
    let origin_at = |offset: usize| Origin::File { path: path.to_owned(), line: line_of(text, offset) };
    let document = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        origin: origin_at(error.span().map_or(0, |span| span.start)),
        reason: error.message().replace('\n', ", "),
    })?;
    let sections = sections();
    let mut entries = Vec::new();
    for (name, value) in document.get_ref() {
        let origin = origin_at(name.span().start);
        let name = name.get_ref().as_ref();
        let is_section = sections.iter().any(|section| section == name);
        match value.get_ref() {
            DeValue::Table(table) if is_section => {
                entries.extend(table.iter().map(|(key, value)| Entry {
                    key: format!("{name}.{}", key.get_ref()),
                    origin: origin_at(key.span().start),
                    given: given(value.get_ref()),
                }));
            }
            value if is_section => {
                let mismatch = given(value).mismatch(format!("a section ([{name}])"));
                return Err(ConfigError::Value { origin, key: name.to_owned(), mismatch });
            }
            value => entries.push(Entry { key: name.to_owned(), origin, given: given(value) }),
        }
    }
    // The parser sorts keys; a reader expects the first error of the file first.
    entries.sort_by_key(|entry| if let Origin::File { line, .. } = entry.origin { line } else { 0 });
    Ok(entries)
}

/// The error for a key that does not exist, with the one that was probably meant.
pub(super) fn unknown_key(origin: Origin, key: String) -> ConfigError {
    let keys = Config::keys();
    let sections = sections();
    let candidates = keys.iter().chain(&sections).map(String::as_str);
    let suggestion = suggestion::nearest(&key, candidates).map(str::to_owned);
    ConfigError::UnknownKey { origin, key, suggestion }
}

/// Names of all sections.
fn sections() -> Vec<String> {
    let mut sections: Vec<String> =
        Config::keys().iter().filter_map(|key| key.split_once('.').map(|(section, _)| section.to_owned())).collect();
    sections.dedup();
    sections
}

/// The line of an offset, counted from 1.
fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn given(value: &DeValue<'_>) -> Given {
    match value {
        DeValue::String(text) => Given::Text(text.as_ref().to_owned()),
        DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
            .map_or(Given::Other("a number out of range"), Given::Number),
        DeValue::Boolean(boolean) => Given::Boolean(*boolean),
        DeValue::Array(elements) => Given::List(elements.iter().map(|element| given(element.get_ref())).collect()),
        DeValue::Float(_) => Given::Other("a number with a fraction"),
        DeValue::Datetime(_) => Given::Other("a date"),
        DeValue::Table(_) => Given::Other("a table"),
    }
}
