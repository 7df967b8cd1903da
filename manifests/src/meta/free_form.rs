//! JSON that users shape freely, kept as compact text.

use std::borrow::Cow;
use std::fmt::Write as _;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON object of free form (template parameters, a ClusterInstance's spec) as compact text with sorted keys.
///
/// Text is a small fraction of the size of a parsed tree, and thousands of these stand in the watch caches. Because
/// keys are sorted, equal text means equal JSON.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FreeForm(Box<str>);

impl FreeForm {
    /// From a parsed document.
    pub fn from_value(value: &Value) -> Self {
        let mut text = String::new();
        write_sorted(value, &mut text);
        FreeForm(text.into_boxed_str())
    }

    /// The parsed document.
    pub fn value(&self) -> Value {
        // The text was written by `write_sorted`, so it always parses.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// The compact text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for `{}` and `null`.
    pub fn is_empty(&self) -> bool {
        matches!(&*self.0, "{}" | "null")
    }
}

impl Default for FreeForm {
    fn default() -> Self {
        FreeForm("{}".into())
    }
}

impl std::fmt::Debug for FreeForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&Value> for FreeForm {
    fn from(value: &Value) -> Self {
        FreeForm::from_value(value)
    }
}

impl From<Value> for FreeForm {
    fn from(value: Value) -> Self {
        FreeForm::from_value(&value)
    }
}

impl Serialize for FreeForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FreeForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(FreeForm::from_value(&Value::deserialize(deserializer)?))
    }
}

impl JsonSchema for FreeForm {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FreeForm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    }
}

/// Compact JSON with sorted keys, whatever order the map type keeps.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(k, _)| *k);
            out.push('{');
            for (i, (k, v)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::String(k.clone()));
                write_sorted(v, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_sorted(item, out);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("\\PC{0,8}", inner, 0..6)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn equal_json_is_equal_text_in_any_key_order() {
        let a: FreeForm = serde_json::from_str(r#"{"b": 1, "a": {"y": [1, 2], "x": null}}"#).unwrap();
        let b: FreeForm = serde_json::from_str(r#"{"a":{"x":null,"y":[1,2]},"b":1}"#).unwrap();
        assert_eq!(a, b);
        assert_eq!(a.as_str(), r#"{"a":{"x":null,"y":[1,2]},"b":1}"#);
        assert_ne!(a, FreeForm::from_value(&json!({"a": {"x": null, "y": [2, 1]}, "b": 1})));
    }

    #[test]
    fn default_is_the_empty_object() {
        assert_eq!(FreeForm::default().as_str(), "{}");
        assert_eq!(FreeForm::default().value(), json!({}));
        assert!(FreeForm::default().is_empty());
        assert!(!FreeForm::from_value(&json!({"a": null})).is_empty());
    }

    #[test]
    fn large_integers_keep_their_value() {
        let text = r#"{"max":18446744073709551615,"min":-9223372036854775808}"#;
        let f: FreeForm = serde_json::from_str(text).unwrap();
        assert_eq!(f.as_str(), text);
        assert_eq!(serde_json::to_string(&f).unwrap(), text);
    }

    proptest! {
        #[test]
        fn round_trips(value in any_json()) {
            let free = FreeForm::from_value(&value);
            prop_assert_eq!(&free.value(), &value);
            let text = serde_json::to_string(&free).unwrap();
            let back: FreeForm = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&back, &free);
            prop_assert_eq!(serde_json::from_value::<FreeForm>(value).unwrap(), free);
        }
    }
}
