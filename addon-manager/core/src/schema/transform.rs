//! Changes to schema documents before they are used (spec/01 4.3, 4.5.1; spec/02 6.2, 6.3).

use serde_json::{Map, Value};

/// Why the whole-input schema cannot be built (spec/02 6.2).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClearError {
    /// The schema has no object `properties`.
    #[error("missing keyword 'properties' in the schema from ClusterTemplate ({template})")]
    NoProperties {
        /// Name of the template.
        template: String,
    },
    /// One of the two mandatory sub-schemas is absent.
    #[error("missing required property '{property}' in the schema from ClusterTemplate ({template})")]
    Missing {
        /// The absent sub-schema.
        property: &'static str,
        /// Name of the template.
        template: String,
    },
}

/// Refuses keys that a schema does not declare: wherever `properties` is given and `additionalProperties` is not,
/// the latter becomes `false`. Looks through `properties` and `items` only (spec/02 6.3).
pub fn forbid_unknown(schema: &mut Value) {
    walk(schema, &mut |level| {
        if level.contains_key("properties") {
            level.entry("additionalProperties").or_insert(Value::Bool(false));
        }
    });
}

/// Drops the `required` lists of every level that has `properties` (spec/01 4.5.1 step 5).
pub fn strip_required(schema: &mut Value) {
    walk(schema, &mut |level| {
        if level.contains_key("properties") {
            level.remove("required");
        }
    });
}

/// Leaves of the sub-schemas that are checked on their own only that they are there: drops their `properties`,
/// `required` and `additionalProperties` (spec/02 6.2 with B-21).
///
/// # Errors
/// When the schema has no `properties`, or one of the two mandatory sub-schemas is missing.
pub fn clear_properties(schema: &mut Value, template: &str) -> Result<(), ClearError> {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return Err(ClearError::NoProperties { template: template.to_owned() });
    };
    for (property, mandatory) in
        [("clusterInstanceParameters", true), ("policyTemplateParameters", true), ("hwMgmtParameters", false)]
    {
        match properties.get_mut(property) {
            Some(Value::Object(part)) => {
                for keyword in ["properties", "required", "additionalProperties"] {
                    part.remove(keyword);
                }
            }
            None if mandatory => {
                return Err(ClearError::Missing { property, template: template.to_owned() });
            }
            _ => {}
        }
    }
    Ok(())
}

fn walk(schema: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    let Some(level) = schema.as_object_mut() else { return };
    if level.get("properties").is_none_or(Value::is_object) {
        change(level);
    }
    if let Some(properties) = level.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            walk(property, change);
        }
    }
    if let Some(items) = level.get_mut("items") {
        walk(items, change);
    }
}
