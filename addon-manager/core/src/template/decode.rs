//! Whether JSON decodes into the spec of an `ImageBasedGroupUpgrade` (spec/01 4.8 step 5), with Go's text if it does not.

use serde_json::{Map, Value};

/// A Go type, as far as decoding goes.
enum Shape {
    Text(&'static str),
    Int,
    List(&'static str, &'static Shape),
    Map(&'static str, &'static Shape),
    Struct(&'static Struct),
}

struct Struct {
    /// Its name without the package.
    name: &'static str,
    /// Its name with the package, as `%T` prints it.
    full: &'static str,
    fields: &'static [(&'static str, Shape)],
}

const NAME_REF: Struct =
    Struct { name: "PullSecretRef", full: "v1.PullSecretRef", fields: &[("name", Shape::Text("string"))] };
const SEED: Struct = Struct {
    name: "SeedImageRef",
    full: "v1.SeedImageRef",
    fields: &[
        ("image", Shape::Text("string")),
        ("pullSecretRef", Shape::Struct(&NAME_REF)),
        ("version", Shape::Text("string")),
    ],
};
const CONFIG_MAP: Struct = Struct {
    name: "ConfigMapRef",
    full: "v1.ConfigMapRef",
    fields: &[("name", Shape::Text("string")), ("namespace", Shape::Text("string"))],
};
const ROLLBACK: Struct = Struct {
    name: "AutoRollbackOnFailure",
    full: "v1.AutoRollbackOnFailure",
    fields: &[("initMonitorTimeoutSeconds", Shape::Int)],
};
const UPGRADE: Struct = Struct {
    name: "ImageBasedUpgradeSpec",
    full: "v1.ImageBasedUpgradeSpec",
    fields: &[
        ("autoRollbackOnFailure", Shape::Struct(&ROLLBACK)),
        ("extraManifests", Shape::List("[]v1.ConfigMapRef", &Shape::Struct(&CONFIG_MAP))),
        ("oadpContent", Shape::List("[]v1.ConfigMapRef", &Shape::Struct(&CONFIG_MAP))),
        ("seedImageRef", Shape::Struct(&SEED)),
        ("stage", Shape::Text("v1.ImageBasedUpgradeStage")),
    ],
};
const STRATEGY: Struct = Struct {
    name: "RolloutStrategy",
    full: "v1alpha1.RolloutStrategy",
    fields: &[("maxConcurrency", Shape::Int), ("timeout", Shape::Int)],
};
const PLAN: Struct = Struct {
    name: "PlanItem",
    full: "v1alpha1.PlanItem",
    fields: &[
        ("actions", Shape::List("[]string", &Shape::Text("string"))),
        ("rolloutStrategy", Shape::Struct(&STRATEGY)),
    ],
};
const REQUIREMENT: Struct = Struct {
    name: "LabelSelectorRequirement",
    full: "v1.LabelSelectorRequirement",
    fields: &[
        ("key", Shape::Text("string")),
        ("operator", Shape::Text("v1.LabelSelectorOperator")),
        ("values", Shape::List("[]string", &Shape::Text("string"))),
    ],
};
const SELECTOR: Struct = Struct {
    name: "LabelSelector",
    full: "v1.LabelSelector",
    fields: &[
        ("matchExpressions", Shape::List("[]v1.LabelSelectorRequirement", &Shape::Struct(&REQUIREMENT))),
        ("matchLabels", Shape::Map("map[string]string", &Shape::Text("string"))),
    ],
};
const GROUP_UPGRADE: Struct = Struct {
    name: "ImageBasedGroupUpgradeSpec",
    full: "v1alpha1.ImageBasedGroupUpgradeSpec",
    fields: &[
        ("clusterLabelSelectors", Shape::List("[]v1.LabelSelector", &Shape::Struct(&SELECTOR))),
        ("ibuSpec", Shape::Struct(&UPGRADE)),
        ("plan", Shape::List("[]v1alpha1.PlanItem", &Shape::Struct(&PLAN))),
    ],
};

/// Checks that `value` decodes; unknown fields are ignored, `null` is nothing.
pub(super) fn image_based_group_upgrade(value: &Value) -> Result<(), String> {
    match value {
        Value::Null => Ok(()),
        Value::Object(map) => structure(map, &GROUP_UPGRADE, ""),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type {}",
            kind(other),
            GROUP_UPGRADE.full
        )),
    }
}

fn structure(map: &Map<String, Value>, shape: &Struct, path: &str) -> Result<(), String> {
    for (key, value) in map {
        if let Some((_, field)) = shape.fields.iter().find(|(name, _)| name == key) {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            decode(value, field, shape, &path)?;
        }
    }
    Ok(())
}

fn decode(value: &Value, shape: &Shape, parent: &Struct, path: &str) -> Result<(), String> {
    let wrong = |type_: &str| {
        Err(format!(
            "json: cannot unmarshal {} into Go struct field {}.{path} of type {type_}",
            kind(value),
            parent.name
        ))
    };
    match (shape, value) {
        (_, Value::Null) | (Shape::Text(_), Value::String(_)) => Ok(()),
        (Shape::Int, Value::Number(n)) if n.is_i64() => Ok(()),
        (Shape::Int, Value::Number(n)) => Err(format!(
            "json: cannot unmarshal number {n} into Go struct field {}.{path} of type int",
            parent.name
        )),
        (Shape::List(_, item), Value::Array(list)) => {
            list.iter().try_for_each(|value| decode(value, item, parent, path))
        }
        (Shape::Map(_, item), Value::Object(map)) => {
            map.values().try_for_each(|value| decode(value, item, parent, path))
        }
        (Shape::Struct(inner), Value::Object(map)) => structure(map, inner, path),
        (Shape::Int, _) => wrong("int"),
        (Shape::Text(name) | Shape::List(name, _) | Shape::Map(name, _), _) => wrong(name),
        (Shape::Struct(inner), _) => wrong(inner.full),
    }
}

/// What Go calls a JSON value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"ibuSpec": {"seedImageRef": {"version": "4.19.7"}}, "plan": [{"actions": ["Prep"],
        "rolloutStrategy": {"maxConcurrency": 1}}], "other": 1}), None)]
    #[case(json!(null), None)]
    #[case(json!({"ibuSpec": "none"}), Some("string into Go struct field ImageBasedGroupUpgradeSpec.ibuSpec of type \
        v1.ImageBasedUpgradeSpec"))]
    #[case(json!({"ibuSpec": {"seedImageRef": {"version": 4}}}),
        Some("number into Go struct field SeedImageRef.ibuSpec.seedImageRef.version of type string"))]
    #[case(json!({"plan": {}}),
        Some("object into Go struct field ImageBasedGroupUpgradeSpec.plan of type []v1alpha1.PlanItem"))]
    #[case(json!({"plan": [{"rolloutStrategy": {"timeout": 1.5}}]}),
        Some("number 1.5 into Go struct field RolloutStrategy.plan.rolloutStrategy.timeout of type int"))]
    #[case(json!({"clusterLabelSelectors": [{"matchLabels": {"a": 1}}]}),
        Some("number into Go struct field LabelSelector.clusterLabelSelectors.matchLabels of type string"))]
    #[case(json!("x"), Some("string into Go value of type v1alpha1.ImageBasedGroupUpgradeSpec"))]
    fn decodes(#[case] value: Value, #[case] wanted: Option<&str>) {
        let wanted = wanted.map(|text| format!("json: cannot unmarshal {text}"));
        assert_eq!(image_based_group_upgrade(&value).err(), wanted);
    }
}
