//! Objects that a cluster needs before its hardware does (spec/02 section 8), as values.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use manifests::clcm::{AllocatedNode, ProvisioningRequest};
use manifests::meta::{labels, names};
use serde_json::{Map, Value};

use super::error::InputError;
use super::names::ClusterNamespace;
use crate::plan::Step;

/// The request, as owner of what it creates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// Name of the ProvisioningRequest.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Owner {
    /// This request.
    pub fn of(request: &ProvisioningRequest) -> Self {
        Owner {
            name: request.metadata.name.clone().unwrap_or_default(),
            uid: request.metadata.uid.clone().unwrap_or_default(),
        }
    }

    /// The owner reference of objects that only one request can own.
    pub fn controller(&self) -> OwnerReference {
        OwnerReference { controller: Some(true), block_owner_deletion: Some(true), ..self.shared() }
    }

    /// The owner reference of objects that several requests share (B-15): the object goes with the last of them.
    pub fn shared(&self) -> OwnerReference {
        OwnerReference {
            api_version: "clcm.openshift.io/v1alpha1".to_owned(),
            kind: "ProvisioningRequest".to_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            controller: None,
            block_owner_deletion: None,
        }
    }
}

/// The cluster namespace (8.1).
pub fn namespace(cluster: &str, owner: &Owner) -> Namespace {
    Namespace {
        metadata: ObjectMeta {
            name: Some(cluster.to_owned()),
            labels: Some(BTreeMap::from([(labels::REQUEST_NAME.to_owned(), owner.name.clone())])),
            owner_references: Some(vec![owner.controller()]),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}

/// Nothing can be created in a namespace that goes away (8.1).
///
/// # Errors
/// Of class input.
pub fn check_namespace(cluster: &str, found: Option<&ClusterNamespace>) -> Result<(), InputError> {
    match found {
        Some(ns) if ns.terminating => {
            Err(InputError::input(format!("the namespace {cluster} is terminating")))
        }
        _ => Ok(()),
    }
}

/// A copy of the pull secret (8.2). The shell reads the content when the copy is made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretCopy {
    /// Name of source and copy.
    pub name: String,
    /// Namespace of the template.
    pub from: String,
    /// Namespace of the copy.
    pub to: String,
    /// Other requests may have their own reference on the same copy (B-15).
    pub shared: bool,
}

impl SecretCopy {
    /// The step that makes it. `version` is the resource version of the source.
    pub fn step(&self, owner: &Owner, version: &str) -> Step {
        let reference = if self.shared { owner.shared() } else { owner.controller() };
        Step::CopySecret {
            from: (self.from.clone(), self.name.clone()),
            to: self.to.clone(),
            metadata: serde_json::json!({ "ownerReferences": [reference] }),
            source_version: version.to_owned(),
        }
    }
}

/// The copy of the pull secret in the cluster namespace. `found` tells whether the source exists.
///
/// # Errors
/// Of class input.
pub fn pull_secret(
    spec: &Value,
    cluster: &str,
    template_namespace: &str,
    found: impl FnOnce(&str) -> bool,
) -> Result<SecretCopy, InputError> {
    let within = |e: InputError| e.within(&format!("failed to create pull Secret for cluster {cluster}: "));
    let name = pull_secret_name(spec)
        .ok_or_else(|| within(InputError::input("the ClusterInstance has no pullSecretRef.name")))?;
    if !found(name) {
        return Err(within(InputError::input(format!(
            "pull secret {name} expected to exist in the {template_namespace} namespace, but it is missing"
        ))));
    }
    Ok(SecretCopy {
        name: name.to_owned(),
        from: template_namespace.to_owned(),
        to: cluster.to_owned(),
        shared: false,
    })
}

/// Name of the pull secret of a ClusterInstance.
pub fn pull_secret_name(spec: &Value) -> Option<&str> {
    spec.pointer("/pullSecretRef/name").and_then(Value::as_str).filter(|n| !n.is_empty())
}

/// Copies of the pull secret in every namespace that hosts of the request are in (8.2 with B-15), in name order.
///
/// # Errors
/// Of class internal, when no node says where its host is.
pub fn host_pull_secrets(
    name: &str,
    template_namespace: &str,
    cluster: &str,
    nodes: &[AllocatedNode],
) -> Result<Vec<SecretCopy>, InputError> {
    let namespaces: BTreeSet<&str> =
        nodes.iter().filter_map(|n| n.spec.hw_mgr_node_ns.as_deref()).filter(|ns| !ns.is_empty()).collect();
    if namespaces.is_empty() {
        return Err(InputError::internal("failed to determine the target namespace for pull secret copy"));
    }
    // Never over the source, and the cluster namespace has its own copy.
    let wanted = namespaces.into_iter().filter(|ns| *ns != template_namespace && *ns != cluster);
    Ok(wanted
        .map(|to| SecretCopy {
            name: name.to_owned(),
            from: template_namespace.to_owned(),
            to: to.to_owned(),
            shared: true,
        })
        .collect())
}

/// Names of the extra manifests of a ClusterInstance, in order.
pub fn extra_manifest_names(spec: &Value) -> impl Iterator<Item = &str> {
    let refs = spec.get("extraManifestsRefs").and_then(Value::as_array);
    refs.into_iter().flatten().filter_map(|r| r.get("name")).filter_map(Value::as_str)
}

/// Copies of the extra manifests in the cluster namespace (8.3). `data` gives `data` of a ConfigMap of the template
/// namespace.
///
/// # Errors
/// Of class input, when one is missing.
pub fn extra_manifests<'a>(
    spec: &Value,
    cluster: &str,
    template_namespace: &str,
    owner: &Owner,
    data: impl Fn(&str) -> Option<&'a BTreeMap<String, String>>,
) -> Result<Vec<ConfigMap>, InputError> {
    extra_manifest_names(spec)
        .map(|name| match data(name) {
            Some(data) => Ok(config_map(name, cluster, owner, data.clone())),
            None => Err(InputError::input(format!(
                "failed to create extraManifests ConfigMap for cluster {cluster}: extra-manifests configmap {name} \
                 expected to exist in the {template_namespace} namespace, but it is missing"
            ))),
        })
        .collect()
}

fn config_map(name: &str, namespace: &str, owner: &Owner, data: BTreeMap<String, String>) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            owner_references: Some(vec![owner.controller()]),
            ..ObjectMeta::default()
        },
        data: (!data.is_empty()).then_some(data),
        ..ConfigMap::default()
    }
}

/// The ConfigMap that hub templates of policies read (8.4); `None` when there are no policy parameters.
///
/// # Errors
/// Of class input.
pub fn policy_config_map(
    spec: &Value,
    cluster: &str,
    template_namespace: &str,
    owner: &Owner,
    policy: &Map<String, Value>,
) -> Result<Option<ConfigMap>, InputError> {
    let within = |e: InputError| {
        e.within(&format!("failed to create policy template ConfigMap for cluster {cluster}: "))
    };
    let of_cluster = spec.pointer("/extraLabels/ManagedCluster").and_then(Value::as_object);
    let Some(of_cluster) = of_cluster.filter(|l| !l.is_empty()) else {
        return Err(within(InputError::input(format!(
            "No cluster labels configured by the ClusterInstance {cluster}({cluster}). Labels are needed for \
             cluster configuration"
        ))));
    };
    if !of_cluster.contains_key(labels::CLUSTER_VERSION) {
        return Err(within(InputError::input(format!(
            "Managed cluster {cluster} is missing the cluster-version label. This label is needed for correctly \
             generating and populating configuration data"
        ))));
    }
    let mut data = BTreeMap::new();
    for (key, value) in policy {
        let Some(text) = value.as_str() else {
            return Err(within(InputError::input(format!(
                "policyTemplateParameters/policyTemplateSchema for the {key} key ({value}) is not a string"
            ))));
        };
        data.insert(key.clone(), text.to_owned());
    }
    if data.is_empty() {
        return Ok(None);
    }
    let namespace = names::policy_namespace(template_namespace);
    Ok(Some(config_map(&names::policy_config_map(cluster), &namespace, owner, data)))
}

/// Namespaces where an earlier template left `<cluster>-pg` behind (B-28). `found` are the namespaces of `ConfigMaps`
/// of that name that this request owns.
pub fn stale_policy_namespaces<'a>(
    found: impl IntoIterator<Item = &'a str>,
    template_namespace: &str,
) -> Vec<&'a str> {
    let current = names::policy_namespace(template_namespace);
    found.into_iter().filter(|ns| *ns != current).collect()
}
