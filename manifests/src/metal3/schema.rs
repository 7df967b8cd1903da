//! Short constructors for the schemas of the lab's CRDs.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

/// Schema of one value.
pub(super) type Schema = JSONSchemaProps;

/// MAC address, as the operator's CRDs check it.
pub(super) const MAC: &str = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}";

const CONDITION_TYPE: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

fn typed(type_: &str) -> Schema {
    Schema { type_: Some(type_.to_owned()), ..Schema::default() }
}

pub(super) fn string() -> Schema {
    typed("string")
}

pub(super) fn boolean() -> Schema {
    typed("boolean")
}

pub(super) fn integer() -> Schema {
    typed("integer")
}

pub(super) fn int64() -> Schema {
    Schema { format: Some("int64".to_owned()), ..integer() }
}

pub(super) fn double() -> Schema {
    Schema { format: Some("double".to_owned()), ..typed("number") }
}

pub(super) fn date_time() -> Schema {
    Schema { format: Some("date-time".to_owned()), ..string() }
}

pub(super) fn int_or_string() -> Schema {
    Schema {
        any_of: Some(vec![integer(), string()]),
        x_kubernetes_int_or_string: Some(true),
        ..Schema::default()
    }
}

pub(super) fn one_of(values: &[&str]) -> Schema {
    Schema { enum_: Some(values.iter().map(|v| JSON(Value::String((*v).to_owned()))).collect()), ..string() }
}

pub(super) fn pattern(regex: &str) -> Schema {
    Schema { pattern: Some(regex.to_owned()), ..string() }
}

pub(super) fn default_to(schema: Schema, value: Value) -> Schema {
    Schema { default: Some(JSON(value)), ..schema }
}

pub(super) fn list(items: Schema) -> Schema {
    Schema { items: Some(JSONSchemaPropsOrArray::Schema(Box::new(items))), ..typed("array") }
}

pub(super) fn map(values: Schema) -> Schema {
    Schema { additional_properties: Some(JSONSchemaPropsOrBool::Schema(Box::new(values))), ..typed("object") }
}

/// An object; a name that ends with `*` is required. Fields that we do not name are kept.
pub(super) fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let mut required = Vec::new();
    let mut properties = BTreeMap::new();
    for (name, schema) in fields {
        let bare = name.trim_end_matches('*');
        if bare.len() != name.len() {
            required.push(bare.to_owned());
        }
        properties.insert(bare.to_owned(), schema);
    }
    Schema {
        properties: Some(properties),
        required: (!required.is_empty()).then_some(required),
        x_kubernetes_preserve_unknown_fields: Some(true),
        ..typed("object")
    }
}

/// `metav1.Condition` list with the published bounds.
pub(super) fn conditions() -> Schema {
    Schema {
        x_kubernetes_list_type: Some("map".to_owned()),
        x_kubernetes_list_map_keys: Some(vec!["type".to_owned()]),
        ..list(object([
            ("lastTransitionTime*", date_time()),
            ("message*", Schema { max_length: Some(32_768), ..string() }),
            ("observedGeneration", Schema { minimum: Some(0.0), ..int64() }),
            (
                "reason*",
                Schema {
                    min_length: Some(1),
                    max_length: Some(1024),
                    ..pattern("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
                },
            ),
            ("status*", one_of(&["True", "False", "Unknown"])),
            ("type*", Schema { max_length: Some(316), ..pattern(CONDITION_TYPE) }),
        ]))
    }
}
