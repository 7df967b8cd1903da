//! Kinds of the assisted installer, partial (spec/02 sections 12 and 15.2). The schemas keep unknown fields: they are
//! only for the lab's CRDs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::meta::{FreeForm, absent_is_default};

macro_rules! open_schema {
    ($($name:ident),+ $(,)?) => { $(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
            }
        }
    )+ };
}

/// A discovered host.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "Agent",
    plural = "agents",
    namespaced,
    status = "AgentStatus",
    doc = "A discovered host.",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct AgentSpec {
    /// May be installed.
    #[serde(default)]
    pub approved: bool,
    /// The cluster that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_deployment_name: Option<ClusterDeploymentReference>,
    /// Host name that it shall have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// master or worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

absent_is_default!(AgentSpec);

/// A ClusterDeployment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClusterDeploymentReference {
    /// metadata.name
    #[serde(default)]
    pub name: String,
    /// metadata.namespace
    #[serde(default)]
    pub namespace: String,
}

/// Observed state of a discovered host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Among others Installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What the host is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<FreeForm>,
    /// Role that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl Agent {
    /// Host name that it shall have, else the one that it found (spec/02 15.2).
    pub fn hostname(&self) -> Option<String> {
        self.spec.hostname.clone().filter(|h| !h.is_empty()).or_else(|| {
            let inventory = self.status.as_ref()?.inventory.as_ref()?.value();
            inventory.get("hostname")?.as_str().filter(|h| !h.is_empty()).map(str::to_owned)
        })
    }
}

/// Boot environment of hosts.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent, remote = "Self")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "InfraEnv",
    plural = "infraenvs",
    namespaced,
    doc = "Boot environment of hosts.",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct InfraEnvSpec(pub FreeForm);

absent_is_default!(InfraEnvSpec);

/// Network of a host while it boots.
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent, remote = "Self")]
#[kube(
    group = "agent-install.openshift.io",
    version = "v1beta1",
    kind = "NMStateConfig",
    plural = "nmstateconfigs",
    namespaced,
    doc = "Network of a host while it boots.",
    derive = "Default",
    derive = "PartialEq"
)]
pub struct NMStateConfigSpec(pub FreeForm);

absent_is_default!(NMStateConfigSpec);

open_schema!(AgentSpec, AgentStatus, InfraEnvSpec, NMStateConfigSpec);
