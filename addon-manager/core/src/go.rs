//! JSON text as Go's `encoding/json` writes it: what hashes of Open Cluster Management (spec/07 4.3) and error texts of
//! schemas (spec/01 4.5.2) are made of.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// As Kubernetes decodes them: what fits into an int64 as such, everything else as a float64.
    Typed,
    /// Every number as a float64.
    Floats,
}

/// Compact JSON as Go prints it: keys sorted bytewise, HTML characters escaped, floats in their shortest form.
pub fn json(value: &Value, numbers: Numbers) -> String {
    let mut out = String::new();
    write(value, numbers, &mut out);
    out
}

fn write(value: &Value, numbers: Numbers, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&number(n, numbers)),
        Value::String(s) => string(s, out),
        Value::Array(list) => {
            out.push('[');
            for (i, item) in list.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, numbers, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                string(key, out);
                out.push(':');
                write(item, numbers, out);
            }
            out.push('}');
        }
    }
}

fn number(n: &Number, numbers: Numbers) -> String {
    match (numbers, n.as_i64()) {
        (Numbers::Typed, Some(i)) => i.to_string(),
        _ => float(n.as_f64().unwrap_or_default()),
    }
}

/// Shortest digits; exponents only below 1e-6 and from 1e21 on.
fn float(f: f64) -> String {
    let size = f.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{f:e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent}"),
            _ => text,
        }
    } else {
        format!("{f}")
    }
}

fn string(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
