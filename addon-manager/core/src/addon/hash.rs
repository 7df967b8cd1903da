//! Spec hashes of configuration objects (spec/07 4.3).

use std::fmt::Write as _;

use manifests::ocm::AddOnDeploymentConfig;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::go::{self, Numbers};

/// Hash of a configuration object as the API server returns it: SHA-256, in hex, of everything but `apiVersion`,
/// `kind`, `metadata` and `status`, written as Go writes it.
pub fn spec_hash(object: &Value) -> String {
    let mut rest = object.clone();
    if let Some(fields) = rest.as_object_mut() {
        for key in ["apiVersion", "kind", "metadata", "status"] {
            fields.remove(key);
        }
    }
    hex(&go_json(&rest))
}

/// [`spec_hash`] of an AddOnDeploymentConfig; its schema knows no other field than `spec`.
pub fn config_hash(config: &AddOnDeploymentConfig) -> String {
    let mut fields = Map::new();
    fields.insert("spec".to_owned(), config.spec.0.clone());
    hex(&go_json(&Value::Object(fields)))
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Compact JSON exactly as Go's `encoding/json` writes maps: keys sorted bytewise, HTML characters escaped, floats
/// in their shortest form.
pub fn go_json(value: &Value) -> String {
    go::json(value, Numbers::Typed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    const VECTOR: &str = "c48d4822d2bfdcc3c30087532e2f004a7396b277d827a309b6b11970ad24f6e4";

    fn vector() -> Value {
        json!({
            "agentInstallNamespace": "open-cluster-management-agent-addon",
            "customizedVariables": [{"name": "A", "value": "b"}],
        })
    }

    /// T8: the vector that OCM accepted.
    #[test]
    fn s07_t8_spec_hash_is_the_measured_one() {
        let object = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1",
            "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "cfg", "generation": 3},
            "spec": vector(),
        });
        assert_eq!(spec_hash(&object), VECTOR);
        let typed: AddOnDeploymentConfig = serde_json::from_value(object).unwrap();
        assert_eq!(config_hash(&typed), VECTOR);
    }

    #[rstest]
    #[case::sorted(json!({"b": 1, "a": [true, null], "A": {}}), r#"{"A":{},"a":[true,null],"b":1}"#)]
    #[case::html(json!("<a>&b"), r#""\u003ca\u003e\u0026b""#)]
    #[case::separators(json!("\u{2028}\u{2029}"), r#""\u2028\u2029""#)]
    #[case::controls(json!("\n\r\t\u{8}\u{c}\u{1}\u{1f}"), r#""\n\r\t\b\f\u0001\u001f""#)]
    #[case::utf8(json!("größe \u{7f} 😀"), "\"größe \u{7f} 😀\"")]
    #[case::quotes(json!("\"\\/"), r#""\"\\/""#)]
    #[case::int(json!(-7), "-7")]
    #[case::big(json!(u64::MAX), "18446744073709552000")]
    #[case::whole_float(json!(1.0), "1")]
    #[case::float(json!(0.1), "0.1")]
    #[case::smallest_plain(json!(0.000_001), "0.000001")]
    #[case::small(json!(0.000_000_1), "1e-7")]
    #[case::largest_plain(json!(1e20), "100000000000000000000")]
    #[case::large(json!(1.5e21), "1.5e+21")]
    fn s07_t8_json_is_gos(#[case] value: Value, #[case] want: &str) {
        assert_eq!(go_json(&value), want);
    }
}
