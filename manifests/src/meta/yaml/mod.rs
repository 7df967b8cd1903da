//! YAML as the Go parser of Kubernetes reads it (spec/01 section 12): YAML 1.1 booleans, merge keys, anchors with a
//! bound, integers that stay integers, the last of duplicate keys.

mod compose;
mod scalar;

use serde_json::{Map, Value};

/// Why a text is not what was asked for; prints as the Go parser does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// Not YAML.
    #[error("error converting YAML to JSON: yaml: line {line}: {text}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        text: String,
    },
    /// YAML that has no meaning: an unknown anchor, a bad merge, too many aliases, too deep.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Content(String),
    /// A key or a number that JSON cannot hold.
    #[error("error converting YAML to JSON: {0}")]
    NoJson(String),
    /// Not a mapping; holds what it is instead: `array`, `string`, `number` or `bool`.
    #[error(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {0} into Go value of type \
         map[string]interface {{}}"
    )]
    NotMapping(&'static str),
}

/// A key that a mapping has more than once; the last one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate {
    /// The key.
    pub key: String,
    /// Line of the later one, from 1.
    pub line: usize,
}

/// One document as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its content.
    pub value: Value,
    /// Keys that stand twice, for a warning.
    pub duplicates: Vec<Duplicate>,
}

/// Reads the first document, which must be a mapping; empty text and `null` are the empty mapping.
///
/// # Errors
/// When it is not YAML, or not a mapping.
pub fn parse_mapping(text: &str) -> Result<Value, YamlError> {
    read_mapping(text).map(|d| d.value)
}

/// As [`parse_mapping`], with the keys that stand twice.
///
/// # Errors
/// When it is not YAML, or not a mapping.
pub fn read_mapping(text: &str) -> Result<Document, YamlError> {
    let empty = Document { value: Value::Null, duplicates: Vec::new() };
    let mut document = compose::read(text, true)?.pop().unwrap_or(empty);
    match document.value {
        Value::Null => document.value = Value::Object(Map::new()),
        Value::Object(_) => {}
        Value::Array(_) => return Err(YamlError::NotMapping("array")),
        Value::String(_) => return Err(YamlError::NotMapping("string")),
        Value::Number(_) => return Err(YamlError::NotMapping("number")),
        Value::Bool(_) => return Err(YamlError::NotMapping("bool")),
    }
    Ok(document)
}

/// Reads the first document of any kind; empty text is null.
///
/// # Errors
/// When it is not YAML.
pub fn parse(text: &str) -> Result<Value, YamlError> {
    Ok(compose::read(text, true)?.pop().map_or(Value::Null, |d| d.value))
}

/// Reads all documents that are not empty.
///
/// # Errors
/// When one of them is not YAML.
pub fn documents(text: &str) -> Result<Vec<Value>, YamlError> {
    Ok(compose::read(text, false)?.into_iter().map(|d| d.value).filter(|v| !v.is_null()).collect())
}

#[cfg(test)]
mod tests;
