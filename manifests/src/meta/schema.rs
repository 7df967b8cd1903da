//! Schema fragments that the published CRDs have and the derive does not give (spec/08 7.2). Used with
//! `#[schemars(schema_with = "...")]`.

use schemars::{Schema, SchemaGenerator, json_schema};

/// Any object, unknown fields kept.
pub fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// An integer without a format, as Go's `int` is published.
pub fn integer(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer"})
}

/// A time in RFC 3339.
pub fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time"})
}

/// The published list of conditions: atomic.
pub fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": condition()})
}

/// The published list of conditions where it is a map by type.
pub fn conditions_by_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": condition(),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

fn condition() -> Schema {
    json_schema!({
        "type": "object",
        "description": "One aspect of the current state of this object.",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {
                "type": "string",
                "format": "date-time",
                "description": "When the status last changed.",
            },
            "message": {"type": "string", "maxLength": 32768, "description": "Details for people; may be empty."},
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "description": "The metadata.generation that this condition is about.",
            },
            "reason": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                "description": "Why the status is what it is, as one CamelCase word.",
            },
            "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "True, False or Unknown."},
            "type": {
                "type": "string",
                "maxLength": 316,
                "pattern": concat!(
                    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?",
                    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                ),
                "description": "Which aspect.",
            },
        },
    })
}
