//! ManifestWork (spec/07 section 8).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::conditions::WorkCondition;

/// Manifests for one spoke.
#[derive(CustomResource, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[kube(
    group = "work.open-cluster-management.io",
    version = "v1",
    kind = "ManifestWork",
    namespaced,
    status = "ManifestWorkStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default",
    doc = "Manifests for one spoke; lies in the cluster namespace."
)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkSpec {
    /// The objects.
    #[serde(default)]
    pub workload: Workload,
    /// What stays when the work goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_option: Option<DeleteOption>,
    /// How each object is applied and what is read back; one entry per object (spec/07 8.1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifest_configs: Vec<ManifestConfig>,
}

/// The objects of a work, applied in this order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Workload {
    /// Whole objects with names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<Value>,
}

/// What happens to the objects when the work is deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteOption {
    /// `Foreground` (they go), `Orphan` (all stay) or `SelectivelyOrphan`.
    pub propagation_policy: String,
    /// Which objects stay under `SelectivelyOrphan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectively_orphans: Option<SelectivelyOrphan>,
}

/// Rules of `SelectivelyOrphan`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectivelyOrphan {
    /// Exact names, no wildcards.
    #[serde(default)]
    pub orphaning_rules: Vec<ResourceIdentifier>,
}

/// An object of a work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ResourceIdentifier {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

/// How an object is applied and what is read back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestConfig {
    /// Which object.
    pub resource_identifier: ResourceIdentifier,
    /// Values to report back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback_rules: Vec<FeedbackRule>,
    /// `Poll` or `Watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback_scrape_type: Option<String>,
    /// `Update`, `CreateOnly`, `ServerSideApply` or `ReadOnly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
    /// Conditions computed on the spoke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condition_rules: Vec<ConditionRule>,
}

/// Values to report back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRule {
    /// `WellKnownStatus` or `JSONPaths`.
    #[serde(rename = "type")]
    pub type_: String,
    /// For `JSONPaths`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub json_paths: Vec<JsonPath>,
}

/// A named path, in kubectl's dialect without braces, beginning with a point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct JsonPath {
    /// Name of the value.
    pub name: String,
    /// For example `.status.desired.version`.
    pub path: String,
}

/// How the work agent writes an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// `Update`, `CreateOnly`, `ServerSideApply` or `ReadOnly`.
    #[serde(rename = "type")]
    pub type_: String,
    /// For `ServerSideApply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_side_apply: Option<ServerSideApply>,
}

/// Settings of server-side apply on the spoke.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSideApply {
    /// Take fields from other managers.
    #[serde(default)]
    pub force: bool,
    /// Must begin with `work-agent`.
    pub field_manager: String,
}

/// A condition computed on the spoke.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionRule {
    /// Name of the condition.
    pub condition: String,
    /// `CEL` or `WellKnownConditions`.
    #[serde(rename = "type")]
    pub type_: String,
    /// All must be true; variable `object`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cel_expressions: Vec<String>,
    /// Fixed message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Computed message; variables `object` and `result`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message_expression: String,
}

/// What the work agent tells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestWorkStatus {
    /// See [`WorkCondition`]; all carry the generation that they speak of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Per manifest.
    #[serde(default)]
    pub resource_status: ResourceStatus,
}

/// State of the manifests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResourceStatus {
    /// In any order: match by identity, not by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<ManifestCondition>,
}

/// State of one manifest.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestCondition {
    /// Which one.
    #[serde(default)]
    pub resource_meta: ResourceMeta,
    /// Values read back; they carry no generation.
    #[serde(default)]
    pub status_feedback: StatusFeedback,
    /// `Applied` (with the generation), `Available`, `StatusFeedbackSynced` and those of condition rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// Identity of a manifest on the spoke.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceMeta {
    /// Place in the work.
    #[serde(default)]
    pub ordinal: i32,
    /// API group.
    #[serde(default)]
    pub group: String,
    /// API version.
    #[serde(default)]
    pub version: String,
    /// Kind.
    #[serde(default)]
    pub kind: String,
    /// Plural; empty when the spoke does not know the kind.
    #[serde(default)]
    pub resource: String,
    /// `metadata.name`
    #[serde(default)]
    pub name: String,
    /// Empty for cluster-scoped kinds.
    #[serde(default)]
    pub namespace: String,
}

/// Values read back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StatusFeedback {
    /// By name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<FeedbackValue>,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackValue {
    /// As in the rule.
    pub name: String,
    /// The value.
    #[serde(default)]
    pub field_value: FieldValue,
}

/// A scalar, or JSON text where the spoke has the gate for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldValue {
    /// `Integer`, `String`, `Boolean` or `JsonRaw`.
    #[serde(rename = "type", default)]
    pub type_: String,
    /// For `Integer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integer: Option<i64>,
    /// For `String`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
    /// For `Boolean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boolean: Option<bool>,
    /// For `JsonRaw`, at most 1024 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_raw: Option<String>,
}

impl ManifestWork {
    /// One of the work's conditions, whatever generation it speaks of.
    pub fn condition(&self, kind: WorkCondition) -> Option<&Condition> {
        self.status.as_ref()?.conditions.iter().find(|c| c.type_ == kind.as_str())
    }

    /// For the watch cache: keeps of each manifest only its identity. What we wrote is known by its hash annotation.
    pub fn trim(&mut self) {
        self.metadata.managed_fields = None;
        for manifest in &mut self.spec.workload.manifests {
            let at = |path: &str| manifest.pointer(path).and_then(Value::as_str).map(str::to_owned);
            let mut metadata = json!({"name": at("/metadata/name")});
            if let (Some(ns), Some(m)) = (at("/metadata/namespace"), metadata.as_object_mut()) {
                m.insert("namespace".to_owned(), Value::String(ns));
            }
            *manifest = json!({"apiVersion": at("/apiVersion"), "kind": at("/kind"), "metadata": metadata});
        }
    }
}
