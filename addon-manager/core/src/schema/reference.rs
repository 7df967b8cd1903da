//! `$ref`: finding its target in the same document, and refusing references that go round in circles.

use serde_json::Value;

use super::SchemaError;
use super::compile::{MAX_DEPTH, error};
use super::node::Schema;

/// What `reference` names inside of `document`. Other documents are never read.
pub(super) fn resolve<'a>(document: &'a Value, reference: &str) -> Result<&'a Value, SchemaError> {
    let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let outside = || error(format_args!("Reference {reference} leads out of the schema"));
    let start = if base.is_empty() { document } else { find_id(document, base, 0).ok_or_else(outside)? };
    if fragment.is_empty() {
        return Ok(start);
    }
    let Some(pointer) = fragment.strip_prefix('/') else {
        return find_id(document, &format!("#{fragment}"), 0).ok_or_else(outside);
    };
    let mut at = start;
    for token in pointer.split('/') {
        let token = unescape(token).replace("~1", "/").replace("~0", "~");
        at = match at {
            Value::Object(map) => {
                map.get(&token).ok_or_else(|| error(format_args!("Object has no key '{token}'")))?
            }
            Value::Array(list) => {
                let index: usize =
                    token.parse().map_err(|_| error(format_args!("Invalid array index '{token}'")))?;
                let size = list.len();
                list.get(index)
                    .ok_or_else(|| error(format_args!("Out of bound array[0,{size}] index '{index}'")))?
            }
            _ => return Err(error(format_args!("Invalid token reference '{token}'"))),
        };
    }
    Ok(at)
}

/// The sub-schema whose `$id` or `id` is exactly `wanted`.
fn find_id<'a>(value: &'a Value, wanted: &str, depth: usize) -> Option<&'a Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value {
        Value::Object(map) => {
            let is = |key: &str| {
                map.get(key)
                    .and_then(Value::as_str)
                    .is_some_and(|id| id == wanted || id.strip_suffix('#') == Some(wanted))
            };
            if is("$id") || is("id") {
                return Some(value);
            }
            map.iter()
                .filter(|(key, _)| !matches!(key.as_str(), "enum" | "const"))
                .find_map(|(_, part)| find_id(part, wanted, depth + 1))
        }
        Value::Array(list) => list.iter().find_map(|part| find_id(part, wanted, depth + 1)),
        _ => None,
    }
}

fn unescape(token: &str) -> String {
    let mut out = Vec::with_capacity(token.len());
    let mut rest = token;
    while let Some((before, after)) = rest.split_once('%') {
        out.extend_from_slice(before.as_bytes());
        if let Some(byte) = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            rest = after.get(2..).unwrap_or_default();
        } else {
            out.push(b'%');
            rest = after;
        }
    }
    out.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// A schema that is applied to the same value again and again never gives an answer.
pub(super) fn refuse_circles(schema: &Schema) -> Result<(), SchemaError> {
    // 0 = not seen, 1 = on the current way, 2 = done
    let mut marks = vec![0_u8; schema.nodes.len()];
    for start in 0..schema.nodes.len() {
        let mut stack = vec![(start, false)];
        while let Some((id, leaving)) = stack.pop() {
            let (Some(node), Some(mark)) = (schema.nodes.get(id), marks.get_mut(id)) else { continue };
            if leaving {
                *mark = 2;
                continue;
            }
            if *mark != 0 {
                continue;
            }
            *mark = 1;
            stack.push((id, true));
            for next in node.in_place() {
                match marks.get(next) {
                    Some(1) => {
                        return Err(error("Reference leads back to itself without going into the value"));
                    }
                    Some(0) => stack.push((next, false)),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}
