//! The spoke side: what a fresh OpenShift cluster has (spec/03), for a spoke API server without OpenShift.

use kube::Client;
use serde_json::{Value, json};
use uuid::Uuid;

use super::crds;
use super::kinds::{CLUSTER_OPERATOR, CLUSTER_VERSION, Kind, MACHINE_CONFIG_POOL, NODE};
use super::store::Store;
use super::value::{name, now, put};

/// Cluster operators of a small cluster; the list of a full one is longer but not different in kind.
const OPERATORS: &[&str] = &[
    "authentication",
    "cloud-controller-manager",
    "config-operator",
    "console",
    "dns",
    "etcd",
    "image-registry",
    "ingress",
    "insights",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-storage-version-migrator",
    "machine-api",
    "machine-config",
    "marketplace",
    "monitoring",
    "network",
    "node-tuning",
    "openshift-apiserver",
    "openshift-controller-manager",
    "operator-lifecycle-manager",
    "operator-lifecycle-manager-catalog",
    "operator-lifecycle-manager-packageserver",
    "service-ca",
    "storage",
];

/// A fresh cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// OpenShift version, such as `4.20.1`.
    pub version: String,
    /// `spec.clusterID` of the `ClusterVersion`.
    pub cluster_id: String,
    /// Nodes by name and role.
    pub nodes: Vec<(String, Role)>,
}

/// Role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Control plane.
    Master,
    /// Worker.
    Worker,
    /// Both, as the node of a single-node cluster.
    Single,
}

impl Cluster {
    /// A cluster with these nodes: one node is a single-node cluster, of several the first three are the control plane.
    pub fn new(version: &str, nodes: &[&str]) -> Self {
        let role = |at: usize| match (nodes.len(), at) {
            (1, _) => Role::Single,
            (_, 0..3) => Role::Master,
            _ => Role::Worker,
        };
        Cluster {
            version: version.to_owned(),
            cluster_id: Uuid::new_v5(&Uuid::NAMESPACE_OID, nodes.join(",").as_bytes()).to_string(),
            nodes: nodes.iter().enumerate().map(|(at, name)| ((*name).to_owned(), role(at))).collect(),
        }
    }

    /// The cluster that an installation gave.
    pub fn of(installed: &super::siteconfig::Installed) -> Self {
        let is_single = installed.hosts.len() == 1;
        let role = |role: &str| match role {
            _ if is_single => Role::Single,
            "worker" => Role::Worker,
            _ => Role::Master,
        };
        Cluster {
            version: installed.version.clone(),
            cluster_id: installed.cluster_id.clone(),
            nodes: installed.hosts.iter().map(|(name, r)| (name.clone(), role(r))).collect(),
        }
    }
}

/// Installs the CRDs where they are absent and writes what a fresh cluster has. What exists keeps its spec; its status
/// is written anew.
///
/// # Errors
/// When the API server refuses an object.
pub async fn seed(client: &Client, cluster: &Cluster) -> anyhow::Result<()> {
    crds::ensure(client, &crds::spoke()).await?;
    let store = Store::new(client.clone(), "openshift");
    for (kind, object) in objects(cluster) {
        write(&store, kind, &object).await?;
    }
    Ok(())
}

/// Adds a node that has just joined, as [`seed`] would have written it.
///
/// # Errors
/// When the API server refuses it.
pub async fn add_node(client: &Client, host: &str, role: Role, version: &str) -> anyhow::Result<()> {
    write(&Store::new(client.clone(), "openshift"), NODE, &node(host, role, version)).await
}

async fn write(store: &Store, kind: Kind, object: &Value) -> anyhow::Result<()> {
    let mut bare = object.clone();
    super::value::remove(&mut bare, "/status");
    store.create(kind, &bare).await?;
    let mut current = store.get(kind, "", name(object)).await?.unwrap_or(bare);
    put(&mut current, "status", super::value::at(object, "/status").clone());
    store.put_status(kind, &current).await?;
    Ok(())
}

/// Everything, with its status.
fn objects(cluster: &Cluster) -> Vec<(Kind, Value)> {
    let mut all = vec![(CLUSTER_VERSION, cluster_version(cluster))];
    all.extend(OPERATORS.iter().map(|name| (CLUSTER_OPERATOR, operator(name, &cluster.version))));
    let masters = cluster.nodes.iter().filter(|(_, r)| *r != Role::Worker).count();
    let workers = cluster.nodes.len() - masters;
    all.push((MACHINE_CONFIG_POOL, pool("master", masters, &cluster.cluster_id)));
    all.push((MACHINE_CONFIG_POOL, pool("worker", workers, &cluster.cluster_id)));
    all.extend(cluster.nodes.iter().map(|(host, role)| (NODE, node(host, *role, &cluster.version))));
    all
}

fn conditions(list: &[(&str, &str, &str, &str)]) -> Value {
    let one = |(type_, status, reason, message): &(&str, &str, &str, &str)| json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": now()});
    list.iter().map(one).collect()
}

/// Digest of a simulated release image: the same for the same version.
fn release_image(version: &str) -> String {
    let id =
        |n: u8| Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{version}/{n}").as_bytes()).simple().to_string();
    format!("quay.io/openshift-release-dev/ocp-release@sha256:{}{}", id(0), id(1))
}

fn cluster_version(cluster: &Cluster) -> Value {
    let version = cluster.version.as_str();
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    let image = release_image(version);
    let done = format!("Done applying {version}");
    let is = format!("Cluster version is {version}");
    json!({
        "apiVersion": CLUSTER_VERSION.api_version(), "kind": CLUSTER_VERSION.kind,
        "metadata": {"name": "version"},
        "spec": {"clusterID": cluster.cluster_id, "channel": format!("stable-{minor}")},
        "status": {
            "observedGeneration": 1, "versionHash": "sIm0000000=", "availableUpdates": null,
            "desired": {"version": version, "image": image, "channels": [format!("stable-{minor}")]},
            "history": [{
                "state": "Completed", "version": version, "image": image, "verified": false,
                "startedTime": now(), "completionTime": now(),
            }],
            "conditions": conditions(&[
                ("RetrievedUpdates", "True", "AsExpected", ""),
                ("Upgradeable", "True", "AsExpected", ""),
                ("ImplicitlyEnabledCapabilities", "False", "AsExpected", "Capabilities match configured spec"),
                ("ReleaseAccepted", "True", "PayloadLoaded", &format!("Payload loaded version=\"{version}\"")),
                ("Available", "True", "AsExpected", &done),
                ("Failing", "False", "AsExpected", ""),
                ("Progressing", "False", "AsExpected", &is),
            ]),
        },
    })
}

fn operator(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": CLUSTER_OPERATOR.api_version(), "kind": CLUSTER_OPERATOR.kind,
        "metadata": {"name": name}, "spec": {},
        "status": {
            "versions": [{"name": "operator", "version": version}],
            "conditions": conditions(&[
                ("Available", "True", "AsExpected", "All is well"),
                ("Progressing", "False", "AsExpected", "All is well"),
                ("Degraded", "False", "AsExpected", "All is well"),
                ("Upgradeable", "True", "AsExpected", "All is well"),
            ]),
        },
    })
}

fn pool(name: &str, machines: usize, cluster_id: &str) -> Value {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{cluster_id}/{name}").as_bytes()).simple();
    let rendered = format!("rendered-{name}-{id}");
    json!({
        "apiVersion": MACHINE_CONFIG_POOL.api_version(), "kind": MACHINE_CONFIG_POOL.kind,
        "metadata": {"name": name, "labels": {format!("pools.operator.machineconfiguration.openshift.io/{name}"): ""}},
        "spec": {
            "paused": false, "configuration": {"name": rendered},
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": name}},
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
        },
        "status": {
            "observedGeneration": 1, "configuration": {"name": rendered},
            "machineCount": machines, "readyMachineCount": machines, "updatedMachineCount": machines,
            "unavailableMachineCount": 0, "degradedMachineCount": 0,
            "conditions": conditions(&[
                ("RenderDegraded", "False", "", ""),
                ("NodeDegraded", "False", "", ""),
                ("Degraded", "False", "", ""),
                ("Updated", "True", "", &format!("All nodes are updated with MachineConfig {rendered}")),
                ("Updating", "False", "", ""),
            ]),
        },
    })
}

fn node(host: &str, role: Role, version: &str) -> Value {
    let roles: &[&str] = match role {
        Role::Master => &["control-plane", "master"],
        Role::Worker => &["worker"],
        Role::Single => &["control-plane", "master", "worker"],
    };
    let mut labels = serde_json::Map::new();
    labels.insert("kubernetes.io/hostname".to_owned(), json!(host));
    labels.insert("kubernetes.io/os".to_owned(), json!("linux"));
    labels.extend(roles.iter().map(|r| (format!("node-role.kubernetes.io/{r}"), json!(""))));
    json!({
        "apiVersion": "v1", "kind": NODE.kind,
        "metadata": {"name": host, "labels": labels}, "spec": {},
        "status": {
            "capacity": {"cpu": "64", "memory": "263855872Ki", "pods": "250"},
            "allocatable": {"cpu": "60", "memory": "262729472Ki", "pods": "250"},
            "addresses": [{"type": "Hostname", "address": host}],
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.33.5",
                "osImage": format!("Red Hat Enterprise Linux CoreOS {version}"), "kernelVersion": "5.14.0",
                "containerRuntimeVersion": "cri-o://1.33.4", "kubeProxyVersion": "", "bootID": "", "machineID": "",
                "systemUUID": "",
            },
            "conditions": conditions(&[
                ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ]),
        },
    })
}
