//! Texts as Go's `fmt` makes them: several messages of spec/01 section 4 carry values of users in that form.

use serde_json::Value;

use crate::schema::go_number;

/// `%q`: in double quotes, with escapes for what cannot be printed.
pub fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c != ' ' && (c.is_control() || c.is_whitespace() || c == '\u{feff}' || c == '\u{ad}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `%s` of a decoded JSON value: what is no text shows its type.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "%!s(<nil>)".to_owned(),
        Value::Bool(b) => format!("%!s(bool={b})"),
        Value::Number(n) => format!("%!s(float64={})", go_number(n)),
        Value::String(s) => s.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> = entries.into_iter().map(|(k, v)| format!("{k}:{}", text(v))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

/// `%T` of a decoded JSON value.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("plain", r#""plain""#)]
    #[case("a\"b\\c\n\u{1}", r#""a\"b\\c\n\x01""#)]
    #[case("größe", r#""größe""#)]
    #[case("a\u{2028}b", r#""a\u2028b""#)]
    fn quotes(#[case] value: &str, #[case] wanted: &str) {
        assert_eq!(quote(value), wanted);
    }

    #[rstest]
    #[case(json!("x"), "x", "string")]
    #[case(json!(7), "%!s(float64=7)", "float64")]
    #[case(json!(null), "%!s(<nil>)", "<nil>")]
    #[case(json!(true), "%!s(bool=true)", "bool")]
    #[case(json!(["string", "null", 1]), "[string null %!s(float64=1)]", "[]interface {}")]
    #[case(json!({"b": "y", "a": {}}), "map[a:map[] b:y]", "map[string]interface {}")]
    fn prints(#[case] value: Value, #[case] wanted: &str, #[case] name: &str) {
        assert_eq!((text(&value).as_str(), type_name(&value)), (wanted, name));
    }
}
