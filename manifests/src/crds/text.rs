//! CRDs as files.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

/// `<group>_<plural>.yaml`
pub fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

/// The file's content.
///
/// # Errors
/// When the CRD cannot be written as YAML.
pub fn to_yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    let mut value = serde_json::to_value(crd).map_err(|e| e.to_string())?;
    whole_numbers(&mut value);
    let body = serde_saphyr::to_string(&value)?;
    Ok(format!("# Generated from the types in manifests/src by `cargo gen`; do not edit.\n{body}"))
}

/// Bounds are floats in the type; `minimum: 0` is what people write.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(n) => {
            #[expect(clippy::cast_possible_truncation, reason = "checked: integral and below 2^53")]
            if let Some(f) = n.as_f64().filter(|f| n.is_f64() && f.fract() == 0.0 && f.abs() < 9e15) {
                *value = Value::from(f as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
