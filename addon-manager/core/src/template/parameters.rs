//! `spec.templateParameterSchema` (spec/01 4.3). The texts, artefacts like `%!w(<nil>)` included, are upstream's.

use manifests::meta::names::parameter;
use serde_json::{Map, Value};

use super::go;

/// The properties that every template must have, with their types.
const MANDATORY: [(&str, &str); 4] = [
    (parameter::NODE_CLUSTER_NAME, "string"),
    (parameter::O_CLOUD_SITE_ID, "string"),
    (parameter::POLICY_TEMPLATE, "object"),
    (parameter::CLUSTER_INSTANCE, "object"),
];

/// The two layouts of hosts, exactly one of which a template uses.
pub(super) const NODES: &str = "nodes";
/// See [`NODES`].
pub(super) const NODE_GROUPS: &str = "nodeGroups";

type Level = Map<String, Value>;

/// Why a property's schema cannot be taken out of a schema.
pub(super) enum Extract {
    /// The schema has properties, this one is not among them.
    Absent(String),
    /// Anything else.
    Bad(String),
}

impl Extract {
    pub(super) fn text(self) -> String {
        match self {
            Extract::Absent(text) | Extract::Bad(text) => text,
        }
    }
}

/// The schema of one property at the root.
pub(super) fn sub_schema<'a>(schema: &'a Value, name: &str) -> Result<&'a Level, Extract> {
    let Some(properties) = schema.get("properties") else {
        return Err(Extract::Bad(
            "non compliant Main Schema, missing 'properties' section: %!w(<nil>)".to_owned(),
        ));
    };
    let Some(properties) = properties.as_object() else {
        return Err(Extract::Bad(
            "could not cast 'properties' section of schema as map[string]any: %!w(<nil>)".to_owned(),
        ));
    };
    match properties.get(name) {
        None => Err(Extract::Absent(format!("subSchema '{name}' does not exist: sub-schema not found"))),
        Some(Value::Object(level)) => Ok(level),
        Some(_) => Err(Extract::Bad(format!("subSchema '{name}' is not a valid map: %!w(<nil>)"))),
    }
}

/// Checks of the schema; the first that fails ends them.
pub(super) fn check(
    template: &str,
    schema: &Value,
    has_hardware_groups: bool,
    has_upgrade_defaults: bool,
) -> Result<(), String> {
    if schema.is_null() {
        return Err("templateParameterSchema is present but empty:".to_owned());
    }
    mandatory(template, schema)?;
    cluster_instance(schema)
        .map_err(|e| format!("Error validating the clusterInstanceParameters schema: {e}"))?;
    policy(schema).map_err(|e| format!("Error validating the policyTemplateParameters schema: {e}"))?;
    let exposes_hardware = schema.get("properties").is_some_and(|p| p.get(parameter::HW_MGMT).is_some());
    if !has_hardware_groups && !exposes_hardware {
        return Err(
            "ClusterTemplate must define hardware provisioning via hwMgmtDefaults.nodeGroupData or expose \
                    hwMgmtParameters in templateParameterSchema"
                .to_owned(),
        );
    }
    upgrade(schema, has_upgrade_defaults)
        .map_err(|e| format!("Error validating the upgradeParameters schema: {e}"))
}

fn mandatory(template: &str, schema: &Value) -> Result<(), String> {
    let (mut missing, mut mistyped) = (Vec::new(), Vec::new());
    for (name, expected) in MANDATORY {
        match sub_schema(schema, name) {
            Ok(level) => {
                let actual = level.get("type").map_or_else(|| "none".to_owned(), go::text);
                if level.get("type").and_then(Value::as_str) != Some(expected) {
                    mistyped.push(format!("{name} (expected = {expected} actual= {actual})"));
                }
            }
            Err(Extract::Absent(_)) => missing.push(name),
            Err(Extract::Bad(text)) => {
                return Err(format!("error extracting subschema at key {name}: {text}"));
            }
        }
    }
    let required = required(schema).map_err(|e| format!("error unmarshalling required subschema: {e}"))?;
    let optional: Vec<&str> =
        MANDATORY.iter().map(|(name, _)| *name).filter(|name| !required.contains(name)).collect();
    if !missing.is_empty() {
        return Err(format!(
            "failed to validate ClusterTemplate: {template}. The following mandatory fields are missing: {}.",
            missing.join(",")
        ));
    }
    if !mistyped.is_empty() {
        return Err(format!(
            "failed to validate ClusterTemplate: {template}. The following entries are present but have a unexpected \
             type: {}.",
            mistyped.join(",")
        ));
    }
    if !optional.is_empty() {
        return Err(format!(
            "failed to validate ClusterTemplate: {template}. The following entries are missing in the required \
             section of the template: {}",
            optional.join(",")
        ));
    }
    Ok(())
}

fn required(schema: &Value) -> Result<Vec<&str>, &'static str> {
    let Some(required) = schema.get("required") else {
        return Err(
            "could not extract the 'required' section of schema: parent schema does not contain key \
                    'required': %!w(<nil>)",
        );
    };
    let Some(list) = required.as_array() else {
        return Err("could not cast 'required' section as []any");
    };
    list.iter().map(|v| v.as_str().ok_or("could not cast 'required' section item as a string")).collect()
}

/// The properties of a sub-schema, if it has a usable section of them.
pub(super) fn properties(level: &Level) -> Option<&Level> {
    level.get("properties").and_then(Value::as_object)
}

/// 4.3 g
fn cluster_instance(schema: &Value) -> Result<(), String> {
    let level = sub_schema(schema, parameter::CLUSTER_INSTANCE).map_err(Extract::text)?;
    let Some(properties) = properties(level) else { return Err(no_cluster_properties()) };
    match (properties.contains_key(NODES), properties.contains_key(NODE_GROUPS)) {
        (true, true) => {
            Err("\"clusterInstanceParameters\" schema must not define both \"nodes\" and \"nodeGroups\"; \
                             choose exactly one"
                .to_owned())
        }
        (false, false) => {
            Err("\"clusterInstanceParameters\" schema must define either \"nodes\" or \"nodeGroups\""
                .to_owned())
        }
        _ => Ok(()),
    }
}

pub(super) fn no_cluster_properties() -> String {
    "\"clusterInstanceParameters\" schema must have a properties section".to_owned()
}

/// 4.3 h: one level, every property a string.
fn policy(schema: &Value) -> Result<(), String> {
    let level = sub_schema(schema, parameter::POLICY_TEMPLATE).map_err(Extract::text)?;
    let Some(properties) = level.get("properties") else {
        return Err("unexpected policyTemplateParameters structure, no properties present".to_owned());
    };
    let Some(properties) = properties.as_object() else {
        return Err("unexpected policyTemplateParameters properties structure".to_owned());
    };
    for (key, property) in properties {
        let Some(property) = property.as_object() else {
            return Err(format!("unexpected policyTemplateParameters structure for the {key} property"));
        };
        match property.get("type") {
            None => {
                return Err(
                    "unexpected policyTemplateParameters structure: expected subproperty \"type\" missing"
                        .to_owned(),
                );
            }
            Some(Value::String(name)) if name == "string" => {}
            Some(Value::String(_)) => return Err(format!("expected type string for the {key} property")),
            Some(_) => {
                return Err(
                    "unexpected policyTemplateParameters structure: expected the subproperty \"type\" to be \
                            string"
                        .to_owned(),
                );
            }
        }
    }
    Ok(())
}

pub(super) const NO_UPGRADE_PARAMETERS: &str =
    "templateParameterSchema must define \"upgradeParameters\" when upgradeDefaults is set";
pub(super) const NO_UPGRADE_PROPERTIES: &str = "\"upgradeParameters\" schema must have a properties section";

/// 4.3 j
fn upgrade(schema: &Value, has_defaults: bool) -> Result<(), String> {
    let level = match sub_schema(schema, parameter::UPGRADE) {
        Ok(level) => level,
        Err(Extract::Absent(_)) if has_defaults => return Err(NO_UPGRADE_PARAMETERS.to_owned()),
        Err(Extract::Absent(_)) => return Ok(()),
        Err(Extract::Bad(text)) => {
            return Err(format!("failed to extract \"upgradeParameters\" schema: {text}"));
        }
    };
    if level.get("type").and_then(Value::as_str) != Some("object") {
        return Err("\"upgradeParameters\" must have type \"object\"".to_owned());
    }
    let Some(properties) = properties(level) else { return Err(NO_UPGRADE_PROPERTIES.to_owned()) };
    let types = [parameter::CLUSTER_VERSION, parameter::IMAGE_BASED_GROUP_UPGRADE];
    let given: Vec<_> =
        types.into_iter().filter_map(|key| properties.get(key).map(|value| (key, value))).collect();
    if given.len() > 1 {
        return Err("\"upgradeParameters\" schema must not define both \"clusterVersion\" and \
                    \"imageBasedGroupUpgrade\"; choose exactly one upgrade type"
            .to_owned());
    }
    if given.is_empty() && has_defaults {
        return Err("\"upgradeParameters\" schema must define either \"clusterVersion\" or \
                    \"imageBasedGroupUpgrade\" when upgradeDefaults is set"
            .to_owned());
    }
    for (key, value) in given {
        let Some(value) = value.as_object() else {
            return Err(format!("upgradeParameters.{key} must be an object schema"));
        };
        if value.get("type").and_then(Value::as_str) != Some("object") {
            return Err(format!("upgradeParameters.{key} must have type \"object\""));
        }
    }
    Ok(())
}
