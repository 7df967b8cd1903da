//! Conditions as OpenShift's own kinds write them: reason and message may be missing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// A condition of an OpenShift kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusCondition {
    /// Its type.
    #[serde(rename = "type", default)]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// CamelCase reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the status flipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Generation that it speaks of, where the kind tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl StatusCondition {
    /// The status is `True`.
    pub fn is_true(&self) -> bool {
        self.status == "True"
    }

    /// Its reason, or nothing.
    pub fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    /// Its message, or nothing.
    pub fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
}

/// The condition of that type.
pub fn find<'a>(list: &'a [StatusCondition], type_: &str) -> Option<&'a StatusCondition> {
    list.iter().find(|c| c.type_ == type_)
}

/// Its status; `Unknown` when there is none.
pub fn status<'a>(list: &'a [StatusCondition], type_: &str) -> &'a str {
    find(list, type_).map_or("Unknown", |c| c.status.as_str())
}
