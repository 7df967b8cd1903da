//! The agent's manifests on the spoke, as typed builders (spec/07 12.3).
//!
//! Everything is small and least privilege: the agent reads five kinds and keeps one lease; it holds no secret but
//! its own hub kubeconfig. The work agent gets, by aggregation, exactly what upgrades through ManifestWorks need.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, LocalObjectReference,
    Namespace, ObjectFieldSelector, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
    ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext, ServiceAccount, Toleration,
    Volume, VolumeMount,
};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use manifests::ocm::config::{NodePlacement, ProxyConfig};
use manifests::ocm::names::{ADDON, HUB_KUBECONFIG_SECRET, LABEL_AGGREGATE_TO_WORK};
use serde_json::json;

use super::config::{AgentConfig, CONTAINER, DEPLOYMENT};
use crate::work::{Item, WorkError};

/// Name of the agent's ClusterRole, and of its binding.
const AGENT_ROLE: &str = "open-cluster-management:ocloud:agent";
/// Name of the role that is added to the work agent's.
const WORK_ROLE: &str = "open-cluster-management:ocloud:work";
/// Where the agent finds its hub kubeconfig.
const HUB_DIRECTORY: &str = "/var/run/ocloud/hub";
/// Where the agent finds the CA bundle of a proxy.
const PROXY_CA_DIRECTORY: &str = "/var/run/ocloud/proxy-ca";
const PROXY_CA: &str = "ocloud-agent-proxy-ca";
const PROXY_CA_KEY: &str = "ca-bundle.crt";
const PROBE_PORT: i32 = 8081;
/// Pull secret of the klusterlet, and the label of namespaces that get a copy.
const PULL_SECRET: &str = "open-cluster-management-image-pull-credentials";
const LABEL_ADDON_NAMESPACE: &str = "addon.open-cluster-management.io/namespace";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn meta(namespace: Option<&str>, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespace.map(str::to_owned),
        labels: Some(labels()),
        ..ObjectMeta::default()
    }
}

fn labels() -> BTreeMap<String, String> {
    map(&[("app.kubernetes.io/name", DEPLOYMENT), ("app.kubernetes.io/part-of", ADDON)])
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let list = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(list(resources)),
        verbs: list(verbs),
        ..PolicyRule::default()
    }
}

const READ: &[&str] = &["get", "list", "watch"];

/// All objects, sorted by kind rank: namespace and roles first, for the work agent of OCM v1.2 applies in the order of
/// the work.
///
/// # Errors
/// When an object cannot be written as JSON.
pub fn agent_items(config: &AgentConfig) -> Result<Vec<Item>, WorkError> {
    let ns = config.namespace.as_str();
    let mut items = vec![
        // Other add-ons live there too: it must not go with ours.
        Item::of(&namespace(ns))?.orphan(),
        Item::of(&ServiceAccount { metadata: meta(Some(ns), DEPLOYMENT), ..ServiceAccount::default() })?,
        Item::of(&agent_role())?,
        Item::of(&work_role())?,
        Item::of(&cluster_binding(ns))?,
        Item::of(&lease_role(ns))?,
        Item::of(&lease_binding(ns))?,
    ];
    let bundle = config.proxy.as_ref().map(|p| p.ca_bundle.as_str()).filter(|b| !b.is_empty());
    if let Some(bundle) = bundle {
        // The bundle is base64 already, which is what binaryData wants.
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": PROXY_CA, "namespace": ns, "labels": labels()},
            "binaryData": {PROXY_CA_KEY: bundle},
        });
        items.push(Item::raw("", "configmaps", object)?);
    }
    items.push(Item::of(&deployment(config, bundle.is_some()))?);
    Ok(items)
}

fn namespace(name: &str) -> Namespace {
    Namespace {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            // Single-node clusters with workload partitioning put the pod on the management cores.
            annotations: Some(map(&[("workload.openshift.io/allowed", "management")])),
            // The klusterlet copies its pull secret into namespaces with this label.
            labels: Some(map(&[(LABEL_ADDON_NAMESPACE, "true")])),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    }
}

fn agent_role() -> ClusterRole {
    ClusterRole {
        metadata: meta(None, AGENT_ROLE),
        rules: Some(vec![
            rule("config.openshift.io", &["clusterversions", "clusteroperators"], READ),
            rule("machineconfiguration.openshift.io", &["machineconfigpools"], READ),
            rule("lca.openshift.io", &["imagebasedupgrades"], READ),
            rule("apiextensions.k8s.io", &["customresourcedefinitions"], READ),
            rule("", &["nodes"], READ),
        ]),
        ..ClusterRole::default()
    }
}

/// What upgrades through ManifestWorks need: server-side apply patches objects that are there; nothing is deleted,
/// since the works orphan them. Pools are paused by the agent, not by works.
fn work_role() -> ClusterRole {
    let mut metadata = meta(None, WORK_ROLE);
    metadata.labels.get_or_insert_default().insert(LABEL_AGGREGATE_TO_WORK.to_owned(), "true".to_owned());
    ClusterRole {
        metadata,
        rules: Some(vec![
            rule("config.openshift.io", &["clusterversions"], &["get", "list", "watch", "update", "patch"]),
            rule(
                "lca.openshift.io",
                &["imagebasedupgrades"],
                &["get", "list", "watch", "create", "update", "patch"],
            ),
            rule("machineconfiguration.openshift.io", &["machineconfigpools"], READ),
        ]),
        ..ClusterRole::default()
    }
}

fn account(namespace: &str) -> Vec<Subject> {
    vec![Subject {
        kind: "ServiceAccount".to_owned(),
        name: DEPLOYMENT.to_owned(),
        namespace: Some(namespace.to_owned()),
        api_group: None,
    }]
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: Some(RBAC_GROUP.to_owned()), kind: kind.to_owned(), name: name.to_owned() }
}

fn cluster_binding(namespace: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: meta(None, AGENT_ROLE),
        role_ref: role_ref("ClusterRole", AGENT_ROLE),
        subjects: Some(account(namespace)),
    }
}

fn lease_role(namespace: &str) -> Role {
    let mut own = rule("coordination.k8s.io", &["leases"], &["get", "update", "patch"]);
    own.resource_names = Some(vec![ADDON.to_owned()]);
    Role {
        metadata: meta(Some(namespace), DEPLOYMENT),
        // A name cannot bound the right to create.
        rules: Some(vec![rule("coordination.k8s.io", &["leases"], &["create"]), own]),
    }
}

fn lease_binding(namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: meta(Some(namespace), DEPLOYMENT),
        role_ref: role_ref("Role", DEPLOYMENT),
        subjects: Some(account(namespace)),
    }
}

fn deployment(config: &AgentConfig, with_proxy_ca: bool) -> Deployment {
    let selector = map(&[("app.kubernetes.io/name", DEPLOYMENT)]);
    let effect = r#"{"effect":"PreferredDuringScheduling"}"#;
    Deployment {
        metadata: meta(Some(&config.namespace), DEPLOYMENT),
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            revision_history_limit: Some(1),
            selector: LabelSelector { match_labels: Some(selector), ..LabelSelector::default() },
            // Two agents at once would write over each other's reports.
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                ..DeploymentStrategy::default()
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels()),
                    annotations: Some(map(&[("target.workload.openshift.io/management", effect)])),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(config, with_proxy_ca)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn pod(config: &AgentConfig, with_proxy_ca: bool) -> PodSpec {
    let mut volumes = vec![Volume {
        name: "hub".to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(HUB_KUBECONFIG_SECRET.to_owned()),
            // The agent starts without it and says so, instead of hanging in ContainerCreating.
            optional: Some(true),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }];
    if with_proxy_ca {
        volumes.push(Volume {
            name: "proxy-ca".to_owned(),
            config_map: Some(k8s_openapi::api::core::v1::ConfigMapVolumeSource {
                name: PROXY_CA.to_owned(),
                ..Default::default()
            }),
            ..Volume::default()
        });
    }
    let placement = config.placement.as_ref();
    let selector = placement.map(|p| p.node_selector.clone()).filter(|s| !s.is_empty());
    PodSpec {
        service_account_name: Some(DEPLOYMENT.to_owned()),
        // A kubelet does not mind when it is missing.
        image_pull_secrets: Some(vec![LocalObjectReference { name: PULL_SECRET.to_owned() }]),
        priority_class_name: Some(config.priority_class.clone()).filter(|c| !c.is_empty()),
        node_selector: selector,
        tolerations: Some(tolerations(placement)),
        termination_grace_period_seconds: Some(15),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        containers: vec![container(config, with_proxy_ca)],
        volumes: Some(volumes),
        ..PodSpec::default()
    }
}

/// By default control plane and infrastructure nodes are fine; what the user names replaces that.
fn tolerations(placement: Option<&NodePlacement>) -> Vec<Toleration> {
    if let Some(own) = placement.map(|p| &p.tolerations).filter(|t| !t.is_empty()) {
        return own.clone();
    }
    [
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/infra",
    ]
    .iter()
    .map(|key| Toleration {
        key: Some((*key).to_owned()),
        operator: Some("Exists".to_owned()),
        ..Toleration::default()
    })
    .collect()
}

fn container(config: &AgentConfig, with_proxy_ca: bool) -> Container {
    let probe = |path: &str, period: i32| Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(PROBE_PORT),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        ..Probe::default()
    };
    let mount = |name: &str, path: &str| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    let mut mounts = vec![mount("hub", HUB_DIRECTORY)];
    if with_proxy_ca {
        mounts.push(mount("proxy-ca", PROXY_CA_DIRECTORY));
    }
    Container {
        name: CONTAINER.to_owned(),
        image: Some(config.image.clone()),
        env: Some(environment(config, with_proxy_ca)),
        ports: Some(vec![ContainerPort {
            name: Some("probe".to_owned()),
            container_port: PROBE_PORT,
            ..ContainerPort::default()
        }]),
        liveness_probe: Some(probe("/healthz", 30)),
        readiness_probe: Some(probe("/readyz", 10)),
        resources: Some(config.resources.clone().unwrap_or_else(default_resources)),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
            ..SecurityContext::default()
        }),
        // What the process said last stands in the pod's status.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

fn default_resources() -> ResourceRequirements {
    let amounts = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), Quantity((*v).to_owned()))).collect::<BTreeMap<_, _>>()
    };
    ResourceRequirements {
        requests: Some(amounts(&[("cpu", "5m"), ("memory", "24Mi")])),
        limits: Some(amounts(&[("memory", "96Mi")])),
        ..ResourceRequirements::default()
    }
}

fn environment(config: &AgentConfig, with_proxy_ca: bool) -> Vec<EnvVar> {
    let text = |name: &str, value: &str| EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        value_from: None,
    };
    let mut env = vec![
        text("OCLOUD_HUB_DIRECTORY", HUB_DIRECTORY),
        text("OCLOUD_PROBE_ADDRESS", &format!("0.0.0.0:{PROBE_PORT}")),
        EnvVar {
            name: "POD_NAMESPACE".to_owned(),
            value: None,
            value_from: Some(EnvVarSource {
                field_ref: Some(ObjectFieldSelector {
                    field_path: "metadata.namespace".to_owned(),
                    api_version: None,
                }),
                ..EnvVarSource::default()
            }),
        },
    ];
    if let Some(log) = &config.log {
        env.push(text("OCLOUD_LOG", log));
    }
    if let Some(seconds) = &config.report_seconds {
        env.push(text("OCLOUD_REPORT_SECONDS", seconds));
    }
    if with_proxy_ca {
        env.push(text("OCLOUD_PROXY_CA", &format!("{PROXY_CA_DIRECTORY}/{PROXY_CA_KEY}")));
    }
    if let Some(proxy) = &config.proxy {
        env.extend(proxy_environment(proxy).into_iter().map(|(k, v)| text(&k, v)));
    }
    env
}

/// Upper and lower case twins, only when there is a proxy at all.
fn proxy_environment(proxy: &ProxyConfig) -> Vec<(String, &str)> {
    if proxy.http_proxy.is_empty() && proxy.https_proxy.is_empty() {
        return Vec::new();
    }
    let all = [
        ("HTTP_PROXY", proxy.http_proxy.as_str()),
        ("HTTPS_PROXY", proxy.https_proxy.as_str()),
        ("NO_PROXY", proxy.no_proxy.as_str()),
    ];
    let set = all.into_iter().filter(|(_, value)| !value.is_empty());
    set.flat_map(|(name, value)| [(name.to_owned(), value), (name.to_lowercase(), value)]).collect()
}
