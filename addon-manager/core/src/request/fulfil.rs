//! When a request is fulfilled, and the labels that follow (spec/02 2.8 and section 12).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use manifests::clcm::conditions::RequestCondition;
use manifests::meta::{condition, labels};
use manifests::ran::Agent;

/// Every stage holds; the optional ones hold where they exist. `ClusterInstanceProcessed` counts too (B-07).
pub fn is_complete(conditions: &[Condition]) -> bool {
    let required = [
        RequestCondition::ClusterInstanceProcessed,
        RequestCondition::ClusterProvisioned,
        RequestCondition::ConfigurationApplied,
    ];
    let optional = [RequestCondition::HardwareConfigured, RequestCondition::UpgradeCompleted];
    required.into_iter().all(|type_| condition::is_true(conditions, type_))
        && optional.into_iter().all(|type_| {
            condition::find(conditions, type_).is_none_or(|c| c.status == condition::status::TRUE)
        })
}

/// Labels that an object lacks, for a merge patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The Agent as `(namespace, name)`; `None` is the ManagedCluster.
    pub agent: Option<(String, String)>,
    /// Only what differs.
    pub labels: BTreeMap<String, String>,
}

/// What [`labels`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// Patches, the ManagedCluster first, then Agents in the order given.
    pub missing: Vec<Missing>,
    /// Agents whose host could not be told, for an event.
    pub warnings: Vec<String>,
}

/// Labels of ManagedCluster and Agents that are not as they shall be.
///
/// An Agent finds its AllocatedNode by the host name that it was assigned, never by the one that was inspected.
/// `host_uid` gives the uid of the BareMetalHost that carries the label of an AllocatedNode. A ManagedCluster that
/// does not exist yet is labelled later (B-29), as are clusters without Agents (image based).
pub fn labels<'a>(
    template_id: &str,
    cluster: Option<&ObjectMeta>,
    agents: impl IntoIterator<Item = &'a Agent>,
    host_map: &BTreeMap<String, String>,
    host_uid: impl Fn(&str) -> Option<String>,
) -> Labels {
    let mut out = Labels::default();
    if let Some(cluster) = cluster {
        push(&mut out, None, cluster, [(labels::TEMPLATE_ID, template_id.to_owned())]);
    }
    for agent in agents {
        let id = (
            agent.metadata.namespace.clone().unwrap_or_default(),
            agent.metadata.name.clone().unwrap_or_default(),
        );
        let host = agent.spec.hostname.as_deref().unwrap_or_default();
        let node = host_map.iter().find(|(_, mapped)| *mapped == host).map(|(node, _)| node);
        let uid = node.and_then(|node| host_uid(node));
        if uid.is_none() {
            out.warnings.push(match node {
                Some(node) => format!("Agent {}: no BareMetalHost of AllocatedNode {node} found", id.1),
                None => format!("Agent {}: no AllocatedNode for host name {host:?} found", id.1),
            });
        }
        let wanted = std::iter::once((labels::TEMPLATE_ID, template_id.to_owned()))
            .chain(uid.map(|uid| (labels::HOST_ID, uid)));
        push(&mut out, Some(id), &agent.metadata, wanted);
    }
    out
}

fn push(
    out: &mut Labels,
    agent: Option<(String, String)>,
    object: &ObjectMeta,
    wanted: impl IntoIterator<Item = (&'static str, String)>,
) {
    let have = |key: &str| object.labels.as_ref().and_then(|l| l.get(key));
    let missing: BTreeMap<String, String> = wanted
        .into_iter()
        .filter(|(key, value)| !value.is_empty() && have(key) != Some(value))
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    if !missing.is_empty() {
        out.missing.push(Missing { agent, labels: missing });
    }
}
