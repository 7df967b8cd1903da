//! The objects of a ClusterInstance, as the default template sets give them (spec/02 9.4).

use serde_json::{Map, Value, json};

use super::super::kinds::{
    AGENT_CLUSTER_INSTALL, CLUSTER_DEPLOYMENT, HOST, IMAGE_CLUSTER_INSTALL, INFRA_ENV, KLUSTERLET_CONFIG,
    Kind, MANAGED_CLUSTER, NMSTATE, SECRET,
};
use super::super::value::{at, entries, items, put, text};
use super::OWNED_BY;
use super::pass::Pass;

const WAVE: &str = "siteconfig.open-cluster-management.io/sync-wave";

/// One rendered object.
pub(super) struct Manifest {
    pub(super) kind: Kind,
    pub(super) object: Value,
    /// Created in ascending, deleted in descending order.
    pub(super) wave: i64,
    /// Not to be written, not to be deleted.
    pub(super) is_suppressed: bool,
    /// Not to be written, to be deleted.
    pub(super) is_pruned: bool,
}

impl Manifest {
    pub(super) fn is_wanted(&self) -> bool {
        !self.is_suppressed && !self.is_pruned
    }
}

/// All objects in the order of their waves.
pub(super) fn render(pass: &Pass<'_>) -> Vec<Manifest> {
    let mut manifests = cluster(pass);
    for node in items(&pass.instance, "/spec/nodes") {
        manifests.extend(host(pass, node));
    }
    manifests.sort_by_key(|m| m.wave);
    manifests
}

/// What a manifest needs besides its content: labels, annotations, and whether it is wanted at all.
fn finish(pass: &Pass<'_>, node: Option<&Value>, kind: Kind, wave: i64, mut object: Value) -> Manifest {
    let spec = at(&pass.instance, "/spec");
    put(&mut object, "apiVersion", json!(kind.api_version()));
    put(&mut object, "kind", json!(kind.kind));
    for (field, extra) in [("labels", "extraLabels"), ("annotations", "extraAnnotations")] {
        // A node's map for a kind replaces the cluster's.
        let of_node = node.map_or(&Value::Null, |n| at(n, &format!("/{extra}/{}", kind.kind)));
        let of_cluster = at(spec, &format!("/{extra}/{}", kind.kind));
        let chosen = if of_node.is_object() { of_node } else { of_cluster };
        let mut all: Map<String, Value> = chosen.as_object().cloned().unwrap_or_default();
        all.extend(at(&object, &format!("/metadata/{field}")).as_object().cloned().unwrap_or_default());
        put(&mut object, &format!("metadata/{field}"), Value::Object(all));
    }
    let owner = pass.owner();
    if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.insert(OWNED_BY.to_owned(), json!(owner));
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.insert(WAVE.to_owned(), json!(wave.to_string()));
    }
    let levels = [Some(spec), node];
    let is_suppressed =
        levels.iter().flatten().any(|l| items(l, "/suppressedManifests").iter().any(|k| k == kind.kind));
    let is_pruned = levels.iter().flatten().any(|l| {
        let named = |p: &Value| text(p, "/kind") == kind.kind && text(p, "/apiVersion") == kind.api_version();
        items(l, "/pruneManifests").iter().any(named)
    });
    Manifest { kind, object, wave, is_suppressed, is_pruned }
}

fn cluster(pass: &Pass<'_>) -> Vec<Manifest> {
    let spec = at(&pass.instance, "/spec");
    let name = pass.cluster();
    let metadata = json!({"namespace": name, "name": name});
    let masters = items(spec, "/nodes").iter().filter(|n| text(n, "/role") == "master").count();
    let workers = items(spec, "/nodes").iter().filter(|n| text(n, "/role") == "worker").count();
    let is_single = text(spec, "/clusterType") == "SNO";
    let install = if pass.is_image_based() { IMAGE_CLUSTER_INSTALL } else { AGENT_CLUSTER_INSTALL };
    let make = |kind: Kind, wave: i64, object: Value| finish(pass, None, kind, wave, object);

    let deployment = json!({"metadata": metadata, "spec": {
        "baseDomain": at(spec, "/baseDomain"), "clusterName": name, "pullSecretRef": at(spec, "/pullSecretRef"),
        "clusterInstallRef": {"group": install.group, "version": install.version, "kind": install.kind, "name": name},
        "platform": if pass.is_image_based() { json!({"none": {}}) } else {
            json!({"agentBareMetal": {"agentSelector": {"matchLabels": {"cluster-name": name}}}})
        },
    }});
    let installation = if pass.is_image_based() {
        let node = items(spec, "/nodes").first().cloned().unwrap_or_default();
        let (namespace, host) = pass.host_of(&node);
        json!({"metadata": metadata, "spec": {
            "clusterDeploymentRef": {"name": name}, "imageSetRef": {"name": at(spec, "/clusterImageSetNameRef")},
            "hostname": at(&node, "/hostName"), "sshKey": at(spec, "/sshPublicKey"),
            "extraManifestsRefs": at(spec, "/extraManifestsRefs"),
            "bareMetalHostRef": {"name": host, "namespace": namespace},
        }})
    } else {
        let services: Vec<&Value> = items(spec, "/serviceNetwork").iter().map(|n| at(n, "/cidr")).collect();
        json!({"metadata": metadata, "spec": {
            "clusterDeploymentRef": {"name": name}, "imageSetRef": {"name": at(spec, "/clusterImageSetNameRef")},
            "holdInstallation": pass.is_held(), "sshPublicKey": at(spec, "/sshPublicKey"),
            "apiVIPs": at(spec, "/apiVIPs"), "ingressVIPs": at(spec, "/ingressVIPs"),
            "networking": {
                "clusterNetwork": at(spec, "/clusterNetwork"), "machineNetwork": at(spec, "/machineNetwork"),
                "serviceNetwork": services, "networkType": at(spec, "/networkType"),
            },
            "provisionRequirements": {
                "controlPlaneAgents": masters, "workerAgents": if is_single { 0 } else { workers },
            },
            "manifestsConfigMapRefs": at(spec, "/extraManifestsRefs"),
        }})
    };
    let managed = json!({
        "metadata": {"name": name, "labels": {"name": name}},
        "spec": {"hubAcceptsClient": true},
    });
    let klusterlet = json!({"metadata": metadata, "spec": {
        "clusterName": name, "clusterNamespace": name, "clusterLabels": {"cloud": "auto-detect", "vendor": "auto-detect"},
        "applicationManager": {"enabled": false}, "certPolicyController": {"enabled": false},
        "policyController": {"enabled": true}, "searchCollector": {"enabled": false},
    }});
    vec![
        make(CLUSTER_DEPLOYMENT, 1, prune_nulls(deployment)),
        make(install, 1, prune_nulls(installation)),
        make(MANAGED_CLUSTER, 2, managed),
        make(KLUSTERLET_CONFIG, 2, klusterlet),
    ]
}

fn host(pass: &Pass<'_>, node: &Value) -> Vec<Manifest> {
    let spec = at(&pass.instance, "/spec");
    let cluster = pass.cluster();
    let (namespace, name) = pass.host_of(node);
    let metadata = json!({"namespace": namespace, "name": name});
    let make = |kind: Kind, wave: i64, object: Value| finish(pass, Some(node), kind, wave, object);
    let mut manifests = Vec::new();
    if pass.is_image_based() {
        let config = at(node, "/nodeNetwork/config");
        if config.is_object() {
            let secret = json!({
                "metadata": {"namespace": namespace, "name": format!("{name}-network")},
                "stringData": {"nmstate": config.to_string()},
            });
            manifests.push(make(SECRET, 1, secret));
        }
        manifests.push(make(HOST, 1, bare_metal(node, metadata, cluster, true)));
        return manifests;
    }
    let infra = json!({"metadata": metadata, "spec": {
        "clusterRef": {"name": cluster, "namespace": cluster}, "pullSecretRef": at(spec, "/pullSecretRef"),
        "sshAuthorizedKey": at(spec, "/sshPublicKey"), "additionalNTPSources": at(spec, "/additionalNTPSources"),
        "nmStateConfigLabelSelector": {"matchLabels": {"nmstate-label": name}},
    }});
    manifests.push(make(INFRA_ENV, 1, prune_nulls(infra)));
    if at(node, "/nodeNetwork").is_object() {
        let network = json!({
            "metadata": {"namespace": namespace, "name": name, "labels": {"nmstate-label": name}},
            "spec": {"config": at(node, "/nodeNetwork/config"), "interfaces": at(node, "/nodeNetwork/interfaces")},
        });
        manifests.push(make(NMSTATE, 1, prune_nulls(network)));
    }
    manifests.push(make(HOST, 3, bare_metal(node, metadata, cluster, false)));
    manifests
}

fn bare_metal(node: &Value, mut metadata: Value, cluster: &str, is_image_based: bool) -> Value {
    let mut annotations = Map::new();
    let mut annotate = |key: &str, value: &str| {
        if !value.is_empty() {
            annotations.insert(key.to_owned(), json!(value));
        }
    };
    annotate("inspect.metal3.io", text(node, "/ironicInspect"));
    annotate("bmac.agent-install.openshift.io/hostname", text(node, "/hostName"));
    annotate("bmac.agent-install.openshift.io/role", text(node, "/role"));
    annotate("bmac.agent-install.openshift.io/installer-args", text(node, "/installerArgs"));
    annotate(
        "bmac.agent-install.openshift.io/ignition-config-overrides",
        text(node, "/ignitionConfigOverride"),
    );
    for (label, value) in entries(node, "/nodeLabels") {
        let key = format!("bmac.agent-install.openshift.io.node-label.{label}");
        annotate(&key, value.as_str().unwrap_or_default());
    }
    put(&mut metadata, "annotations", Value::Object(annotations));
    let mut spec = json!({
        "online": true, "bootMode": at(node, "/bootMode"), "bootMACAddress": at(node, "/bootMACAddress"),
        "automatedCleaningMode": at(node, "/automatedCleaningMode"),
        "bmc": {
            "address": at(node, "/bmcAddress"), "credentialsName": at(node, "/bmcCredentialsName/name"),
            "disableCertificateVerification": true,
        },
        "rootDeviceHints": at(node, "/rootDeviceHints"),
    });
    if is_image_based {
        put(&mut spec, "externallyProvisioned", json!(true));
    } else {
        put(&mut metadata, "labels", json!({"infraenvs.agent-install.openshift.io": cluster}));
    }
    prune_nulls(json!({"metadata": metadata, "spec": spec}))
}

/// Without keys that have no value.
fn prune_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, prune_nulls(v))).collect(),
        ),
        other => other,
    }
}
