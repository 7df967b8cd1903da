//! What a pass over one request sees: facts from the watch caches, no decisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use manifests::clcm::{AllocatedNode, ClusterTemplate, NodeAllocationRequest, ProvisioningRequest};
use manifests::ocm::ManagedCluster;
use manifests::ran::{Agent, ClusterInstance, Policy};

use super::error::InputError;
use super::names::ClusterNamespace;
use super::stages::Stage;
use super::validate::Validated;
use crate::plan::Fault;

/// The answer to a dry run of this hash, if it was asked before: `Err` has the API server's text.
pub type DryRun<'a> = dyn Fn(&str) -> Option<Result<(), String>> + Send + Sync + 'a;

/// Where the pull secret of the cluster stands; its content never gets here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullSecret {
    /// Resource version of the source; `None` while it is missing.
    pub version: Option<String>,
    /// Namespaces that have a copy of that version.
    pub copied: Vec<String>,
}

/// One ConfigMap with extra manifests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtraManifest {
    /// `data` of the source in the template's namespace; `None` while it is missing.
    pub data: Option<BTreeMap<String, String>>,
    /// Hash that the copy in the cluster namespace was applied with.
    pub copy: Option<String>,
}

/// The add-on on the hub and on this cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddonSeen {
    /// The ClusterManagementAddOn exists.
    pub offered: bool,
    /// The ManagedClusterAddOn of this cluster exists.
    pub enabled: bool,
    /// We enabled it once: never again, if a user takes it away.
    pub recorded: bool,
}

/// A step that failed, with the stage that wanted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFault {
    /// Whose step it was.
    pub stage: Stage,
    /// What happened.
    pub fault: Fault,
    /// How often the pass failed in a row before.
    pub failures: u32,
}

/// See the module. Objects that depend on the cluster's name are absent while the name is not known.
pub struct Seen<'a> {
    /// The request.
    pub request: &'a ProvisioningRequest,
    /// Namespace of the hardware kinds.
    pub operator_namespace: &'a str,
    /// The valid template that the request names.
    pub template: Option<Arc<ClusterTemplate>>,
    /// V1 to V7 of spec/02 6.1.
    pub input: &'a Result<Validated, InputError>,
    /// Name of the cluster: from the input, else from the status.
    pub cluster_name: Option<String>,
    /// The namespace of that name.
    pub namespace: Option<ClusterNamespace>,
    /// Namespaces that carry this request's label, and whether each is going away.
    pub owned_namespaces: Vec<(String, bool)>,
    /// The policy namespace `ztp-<template namespace>` exists.
    pub policy_namespace: bool,
    /// Hash that `<cluster>-pg` was applied with.
    pub policy_map: Option<String>,
    /// The pull secret that the input names.
    pub pull_secret: PullSecret,
    /// Extra manifests by name.
    pub extra_manifests: BTreeMap<String, ExtraManifest>,
    /// The ClusterInstance.
    pub instance: Option<Arc<ClusterInstance>>,
    /// The NodeAllocationRequest.
    pub allocation: Option<Arc<NodeAllocationRequest>>,
    /// Its AllocatedNodes.
    pub nodes: Vec<Arc<AllocatedNode>>,
    /// Uid of the host of each AllocatedNode.
    pub host_ids: BTreeMap<String, String>,
    /// The ManagedCluster.
    pub cluster: Option<Arc<ManagedCluster>>,
    /// The add-on.
    pub addon: AddonSeen,
    /// Agents of the assisted installer.
    pub agents: Vec<Arc<Agent>>,
    /// Root policies of `ztp-<template namespace>`.
    pub roots: Vec<Arc<Policy>>,
    /// Propagated policies in the cluster namespace.
    pub children: Vec<Arc<Policy>>,
    /// Dry runs that were asked before.
    pub dry_run: &'a DryRun<'a>,
    /// A step of the plan just made failed: this pass only says so in the status.
    pub fault: Option<StageFault>,
}

impl std::fmt::Debug for Seen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").field("request", &self.request.metadata.name).finish_non_exhaustive()
    }
}
