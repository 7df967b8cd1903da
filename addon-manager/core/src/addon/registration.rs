//! How the agent registers and what it may do on the hub (spec/07 5.3 and 12.2).

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::{RoleBinding, RoleRef, Subject as RbacSubject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use manifests::addon::{REPORT_NAME, SpokeReport, SpokeReportSpec};
use manifests::ocm::ManagedClusterAddOn;
use manifests::ocm::addon::{Registration, Subject};
use manifests::ocm::names::{
    ADDON, AGENT_CLUSTER_ROLE, AGENT_ROLE_BINDING, KUBE_CLIENT_SIGNER, LABEL_ADDON_NAME, agent_cluster_group,
    agent_shared_group, agent_token_user, agent_user,
};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Who the agent is, as the add-on's status says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// Nobody has named it yet.
    Pending,
    /// A name that this add-on's agent cannot have; it gets no rights.
    Foreign(String),
    /// The agent.
    Known(Subject),
}

fn driver(addon: &ManagedClusterAddOn) -> &str {
    addon.status.as_ref().and_then(|s| s.kube_client_driver.as_deref()).unwrap_or_default()
}

fn registrations(addon: &ManagedClusterAddOn) -> &[Registration] {
    addon.status.as_ref().map_or(&[], |s| s.registrations.as_slice())
}

fn observed_subject(addon: &ManagedClusterAddOn) -> Option<&Subject> {
    let ours = registrations(addon).iter().find(|r| r.signer_name == KUBE_CLIENT_SIGNER)?;
    ours.subject.as_ref().filter(|s| !s.user.is_empty())
}

/// The registrations that the status shall hold. Under the `token` driver the spoke names the subject and we keep
/// what it wrote: writing ours back would fight for ever.
pub(super) fn desired(addon: &ManagedClusterAddOn, cluster: &str) -> Vec<Registration> {
    let subject = if driver(addon) == "token" {
        observed_subject(addon).cloned().unwrap_or_default()
    } else {
        Subject {
            user: agent_user(cluster),
            groups: vec![agent_cluster_group(cluster), agent_shared_group()],
            organization_unit: Vec::new(),
        }
    };
    let signer_name = KUBE_CLIENT_SIGNER.to_owned();
    vec![Registration { signer_name, subject: Some(subject) }]
}

/// The identity to give rights to: the one found in the status, if the agent of this cluster can have it. The spoke
/// may write the status, so anything else found there gets nothing.
pub(super) fn identity(addon: &ManagedClusterAddOn, cluster: &str) -> Identity {
    let Some(subject) = observed_subject(addon) else { return Identity::Pending };
    let expected = if driver(addon) == "token" { agent_token_user(cluster) } else { agent_user(cluster) };
    if subject.user == expected {
        Identity::Known(subject.clone())
    } else if subject.user == agent_user(cluster) || subject.user == agent_token_user(cluster) {
        // The driver is being switched; the other side has not written its name yet.
        Identity::Pending
    } else {
        Identity::Foreign(subject.user.clone())
    }
}

/// Reference that makes an object in the cluster namespace go with the add-on.
pub(super) fn owner(addon: &ManagedClusterAddOn) -> OwnerReference {
    OwnerReference {
        api_version: ManagedClusterAddOn::api_version(&()).into_owned(),
        kind: ManagedClusterAddOn::kind(&()).into_owned(),
        name: addon.metadata.name.clone().unwrap_or_default(),
        uid: addon.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

fn owned(addon: &ManagedClusterAddOn, cluster: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(cluster.to_owned()),
        labels: Some(BTreeMap::from([(LABEL_ADDON_NAME.to_owned(), ADDON.to_owned())])),
        owner_references: Some(vec![owner(addon)]),
        ..ObjectMeta::default()
    }
}

/// The agent's rights in its own cluster namespace. Never bound to the group that the agents of all clusters share:
/// with it each agent could write into every cluster namespace.
pub(super) fn role_binding(addon: &ManagedClusterAddOn, cluster: &str, subject: &Subject) -> RoleBinding {
    let entry = |kind: &str, name: &str| RbacSubject {
        api_group: Some(RBAC_GROUP.to_owned()),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: None,
    };
    let group = agent_cluster_group(cluster);
    let mut subjects = vec![entry("User", &subject.user)];
    if subject.groups.contains(&group) {
        subjects.push(entry("Group", &group));
    }
    RoleBinding {
        metadata: owned(addon, cluster, AGENT_ROLE_BINDING),
        role_ref: RoleRef {
            api_group: Some(RBAC_GROUP.to_owned()),
            kind: "ClusterRole".to_owned(),
            name: AGENT_CLUSTER_ROLE.to_owned(),
        },
        subjects: Some(subjects),
    }
}

/// The report object, empty: the agent may not create it.
pub(super) fn report(addon: &ManagedClusterAddOn, cluster: &str) -> SpokeReport {
    let mut report = SpokeReport::new(REPORT_NAME, SpokeReportSpec {});
    report.metadata = owned(addon, cluster, REPORT_NAME);
    report
}
