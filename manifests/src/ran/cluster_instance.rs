//! ClusterInstance of the site-config operator (spec/02 section 9), for watching: the spec stays as text.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cluster_instance_schema;
use crate::meta::{FreeForm, absent_is_default, schema, words};

/// The spec as it stands, as compact JSON; spec/02 9.1 lists its fields.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent, remote = "Self")]
#[kube(
    group = "siteconfig.open-cluster-management.io",
    version = "v1alpha1",
    kind = "ClusterInstance",
    plural = "clusterinstances",
    namespaced,
    status = "ClusterInstanceStatus",
    doc = "One cluster for the site-config operator to install.",
    derive = "Default",
    derive = "PartialEq",
    printcolumn(name = "Paused", type_ = "date", json_path = ".status.paused.timeSet"),
    printcolumn(
        name = "ProvisionStatus",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Provisioned')].reason"
    ),
    printcolumn(
        name = "ProvisionDetails",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Provisioned')].message"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ClusterInstanceSpec(pub FreeForm);

absent_is_default!(ClusterInstanceSpec);

impl JsonSchema for ClusterInstanceSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ClusterInstanceSpec".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        cluster_instance_schema::Spec::json_schema(generator)
    }
}

/// Observed state of a ClusterInstance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterInstanceStatus {
    /// ClusterInstanceValidated to Provisioned, one per step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The ClusterDeployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_ref: Option<LocalReference>,
    /// Conditions of the ClusterDeployment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deployment_conditions: Vec<DeploymentCondition>,
    /// What was rendered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests_rendered: Vec<ManifestReference>,
    /// The metadata.generation that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Set while the operator leaves the object alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// The reinstall in progress and those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinstall: Option<ReinstallStatus>,
}

/// An object in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalReference {
    /// metadata.name
    #[serde(default)]
    pub name: String,
}

/// A condition of a ClusterDeployment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentCondition {
    /// Which aspect.
    #[serde(rename = "type")]
    pub type_: String,
    /// True, False or Unknown.
    pub status: String,
    /// One CamelCase word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Details for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When it was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_probe_time: Option<Time>,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub last_transition_time: Option<Time>,
}

/// One rendered object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ManifestReference {
    /// API group and version.
    pub api_group: String,
    /// Kind.
    pub kind: String,
    /// metadata.name
    pub name: String,
    /// metadata.namespace
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Wave in which it is applied.
    #[schemars(schema_with = "schema::integer")]
    pub sync_wave: i64,
    /// rendered, validated, failed, suppressed, deleted, deletion-in-progress, deletion-failed or
    /// deletion-attempt-timed-out.
    pub status: String,
    /// When it was last applied.
    #[schemars(schema_with = "schema::time")]
    pub last_applied_time: Time,
    /// Details for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub message: Option<String>,
}

/// Why and since when the operator leaves the object alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Paused {
    /// Since when.
    #[schemars(schema_with = "schema::time")]
    pub time_set: Time,
    /// Why.
    #[schemars(length(max = 32768))]
    pub reason: String,
}

/// Reinstalls (spec/02 9.6).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReinstallStatus {
    /// Steps of the reinstall.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Reinstalls that are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<ReinstallHistory>,
    /// spec.reinstall.generation that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_progress_generation: Option<String>,
    /// spec.reinstall.generation that was last done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<String>,
    /// Start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub request_start_time: Option<Time>,
    /// End.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub request_end_time: Option<Time>,
}

/// A reinstall that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReinstallHistory {
    /// Its spec.reinstall.generation.
    pub generation: String,
    /// What else changed in the spec.
    pub cluster_instance_spec_diff: String,
    /// Start.
    #[schemars(schema_with = "schema::time")]
    pub request_start_time: Time,
    /// End.
    #[schemars(schema_with = "schema::time")]
    pub request_end_time: Time,
}

words! {
    /// Condition types of a ClusterInstance (spec/02 9.4), in the order in which they are looked at.
    ClusterInstanceCondition {
        /// The spec and what it names are good.
        Validated = "ClusterInstanceValidated",
        /// Templates are rendered.
        RenderedTemplates = "RenderedTemplates",
        /// The API server accepts what was rendered.
        RenderedTemplatesValidated = "RenderedTemplatesValidated",
        /// What was rendered is applied.
        RenderedTemplatesApplied = "RenderedTemplatesApplied",
        /// What was rendered is deleted.
        RenderedTemplatesDeleted = "RenderedTemplatesDeleted",
        /// The cluster is installed.
        Provisioned = "Provisioned",
    }
}

words! {
    /// Reasons of a ClusterInstance's conditions (spec/02 9.4).
    ClusterInstanceReason {
        /// Started.
        Initialized = "Initialized",
        /// Done.
        Completed = "Completed",
        /// Failed.
        Failed = "Failed",
        /// Took too long.
        TimedOut = "TimedOut",
        /// Under way.
        InProgress = "InProgress",
        /// Not known.
        Unknown = "Unknown",
    }
}
