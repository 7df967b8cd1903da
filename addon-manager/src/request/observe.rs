//! Fills what a pass over a request sees from the caches.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::PartialObjectMeta;
use manager_core::plan::APPLIED_HASH;
use manager_core::request::names::{ClusterNamespace, Taken};
use manager_core::request::seen::{AddonSeen, ExtraManifest, PullSecret, Seen, StageFault};
use manager_core::request::stages::ADDON_RECORDED;
use manager_core::request::template::Template;
use manager_core::request::validate::{self, Input, Validated};
use manager_core::request::{InputError, resources};
use manager_core::template::find_valid;
use manifests::clcm::conditions::RequestCondition;
use manifests::clcm::{ClusterTemplate, ProvisioningRequest};
use manifests::meta::names::parameter;
use manifests::meta::{condition, labels, names};
use serde_json::Value;

use crate::runtime::act::CallError;
use crate::runtime::context::Context;
use crate::runtime::key::Key;
use crate::runtime::world::{ONLY, REQUEST_BY_NAME, TEMPLATE_BY_NAME, claimed_names};

/// Templates prepared for requests, once per version of the template and of its ConfigMaps.
#[derive(Debug, Default)]
pub(crate) struct Templates(Mutex<HashMap<String, (String, Arc<Template>)>>);

impl Templates {
    fn prepare(
        &self,
        template: &ClusterTemplate,
        cluster: Option<&ConfigMap>,
        policy: Option<&ConfigMap>,
    ) -> Arc<Template> {
        let meta = &template.metadata;
        let id = meta.uid.clone().unwrap_or_default();
        let of = |map: Option<&ConfigMap>| {
            map.and_then(|m| m.metadata.resource_version.clone()).unwrap_or_default()
        };
        let version = format!("{}/{}/{}", meta.generation.unwrap_or_default(), of(cluster), of(policy));
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, prepared)) = map.get(&id)
            && *known == version
        {
            return prepared.clone();
        }
        let data = |map: Option<&ConfigMap>| map.map(|m| m.data.clone().unwrap_or_default());
        let (cluster, policy) = (data(cluster), data(policy));
        let prepared = Arc::new(Template::prepare(template, cluster.as_ref(), policy.as_ref()));
        map.insert(id, (version, prepared.clone()));
        prepared
    }
}

/// What was observed; [`Observed::seen`] is the view of it that `decide` takes.
pub(super) struct Observed {
    request: Arc<ProvisioningRequest>,
    operator_namespace: String,
    input: Result<Validated, InputError>,
    rest: Rest,
}

#[derive(Default)]
struct Rest {
    template: Option<Arc<ClusterTemplate>>,
    cluster_name: Option<String>,
    namespace: Option<ClusterNamespace>,
    owned_namespaces: Vec<(String, bool)>,
    policy_namespace: bool,
    policy_map: Option<String>,
    pull_secret: PullSecret,
    extra_manifests: BTreeMap<String, ExtraManifest>,
    host_ids: BTreeMap<String, String>,
    addon: AddonSeen,
}

fn applied_hash<K: kube::Resource>(object: &K) -> Option<String> {
    object.meta().annotations.as_ref()?.get(APPLIED_HASH).cloned()
}

fn cluster_namespace(namespace: &PartialObjectMeta<Namespace>) -> ClusterNamespace {
    ClusterNamespace {
        owner: namespace.metadata.labels.as_ref().and_then(|l| l.get(labels::REQUEST_NAME)).cloned(),
        terminating: namespace.metadata.deletion_timestamp.is_some(),
    }
}

/// Names that older requests claim (B-23): of two requests for one name the older wins.
fn older_claims(ctx: &Context, request: &ProvisioningRequest) -> Vec<Taken> {
    let age = |r: &ProvisioningRequest| (r.metadata.creation_timestamp.clone(), r.metadata.name.clone());
    let mine = age(request);
    claimed_names(request)
        .iter()
        .flat_map(|name| ctx.world.requests.by_index(REQUEST_BY_NAME, name))
        .filter(|other| other.metadata.uid != request.metadata.uid && age(other) < mine)
        .map(|other| {
            let parameters = other.spec.template_parameters.value();
            let text = |v: Option<&Value>| v.and_then(Value::as_str).map(str::to_owned);
            Taken {
                request: other.metadata.name.clone().unwrap_or_default(),
                cluster: text(parameters.pointer("/clusterInstanceParameters/clusterName")),
                node_cluster: text(parameters.get(parameter::NODE_CLUSTER_NAME)),
            }
        })
        .collect()
}

/// Observes one request.
pub(super) async fn observe(
    ctx: &Context,
    request: &Arc<ProvisioningRequest>,
) -> Result<Observed, CallError> {
    let name = request.metadata.name.clone().unwrap_or_default();
    let who = Key::cluster(&name);
    let operator_namespace = ctx.config.namespace.clone();
    let wanted = request.spec.template();
    let candidates = ctx.world.templates.by_index(TEMPLATE_BY_NAME, &wanted);
    let found = find_valid(candidates, &wanted).ok();

    let prepared = match &found {
        None => None,
        Some(template) => {
            let ns = template.metadata.namespace.clone().unwrap_or_default();
            let defaults = &template.spec.template_defaults;
            let mut maps = Vec::with_capacity(2);
            for map in [&defaults.cluster_instance_defaults, &defaults.policy_template_defaults] {
                ctx.interests.request_config_maps.note(&Key::new(&ns, map), &who);
                maps.push(ctx.config_maps.read(ctx, &ns, map).await?);
            }
            let mut maps = maps.into_iter();
            let (cluster, policy) = (maps.next().flatten(), maps.next().flatten());
            Some(ctx.templates.prepare(template, cluster.as_deref(), policy.as_deref()))
        }
    };
    let parameters = request.spec.template_parameters.value();
    let others = older_claims(ctx, request);
    let input = validate::validate(&Input {
        request: &name,
        template_name: &wanted,
        template: prepared.as_deref(),
        parameters: &parameters,
        operator_namespace: &operator_namespace,
        profile_exists: &|profile| {
            ctx.interests.request_profiles.note(&Key::cluster(profile), &who);
            ctx.world.profiles.get(&operator_namespace, profile).is_some()
        },
        namespace: &|cluster| ctx.world.namespaces.get("", cluster).map(|n| cluster_namespace(&n)),
        others: &others,
    });
    let rest = rest(ctx, request, found, &input, &who).await?;
    Ok(Observed { request: request.clone(), operator_namespace, input, rest })
}

async fn rest(
    ctx: &Context,
    request: &ProvisioningRequest,
    template: Option<Arc<ClusterTemplate>>,
    input: &Result<Validated, InputError>,
    who: &Key,
) -> Result<Rest, CallError> {
    let world = &ctx.world;
    let status = request.status.as_ref();
    let known = status
        .and_then(|s| s.extensions.as_ref())
        .and_then(|e| e.cluster_details.as_ref())
        .and_then(|d| d.name.clone());
    // What was built stands under the name that it was built with.
    let cluster_name = known.or_else(|| input.as_ref().ok().map(|i| i.cluster_name.clone()));
    let mut out = Rest {
        owned_namespaces: world
            .namespaces
            .by_index(ONLY, &who.name)
            .iter()
            .map(|n| (n.metadata.name.clone().unwrap_or_default(), n.metadata.deletion_timestamp.is_some()))
            .collect(),
        ..Rest::default()
    };
    if let Some(template) = &template {
        let ns = names::policy_namespace(template.metadata.namespace.as_deref().unwrap_or_default());
        out.policy_namespace = world.namespaces.get("", &ns).is_some();
        ctx.interests.request_config_maps.note(&Key::cluster(&ns), who);
        if let Some(cluster) = &cluster_name {
            let map = names::policy_config_map(cluster);
            ctx.interests.request_config_maps.note(&Key::new(&ns, &map), who);
            out.policy_map = world.config_maps.get(&ns, &map).and_then(|m| applied_hash(m.as_ref()));
        }
    }
    if let Some(cluster) = &cluster_name {
        ctx.interests.request_config_maps.note(&Key::cluster(cluster), who);
        let namespace = world.namespaces.get("", cluster);
        out.addon = AddonSeen {
            offered: world.addon_kinds.get("", manifests::ocm::names::ADDON).is_some(),
            enabled: world.addons.get(cluster, manifests::ocm::names::ADDON).is_some(),
            recorded: namespace
                .as_ref()
                .and_then(|n| n.metadata.annotations.as_ref())
                .is_some_and(|a| a.contains_key(ADDON_RECORDED)),
        };
        out.namespace = namespace.map(|n| cluster_namespace(&n));
    }
    for node in world.nodes.by_index(ONLY, &who.name) {
        let spec = &node.spec;
        let host = world.hosts.get(
            spec.hw_mgr_node_ns.as_deref().unwrap_or_default(),
            spec.hw_mgr_node_id.as_deref().unwrap_or_default(),
        );
        if let (Some(name), Some(uid)) =
            (node.metadata.name.clone(), host.and_then(|h| h.metadata.uid.clone()))
        {
            out.host_ids.insert(name, uid);
        }
    }
    if let Ok(input) = input {
        extras(ctx, request, input, &mut out, who).await?;
    }
    out.template = template;
    out.cluster_name = cluster_name;
    Ok(out)
}

/// Pull secret and extra manifests that the input names.
async fn extras(
    ctx: &Context,
    request: &ProvisioningRequest,
    input: &Validated,
    out: &mut Rest,
    who: &Key,
) -> Result<(), CallError> {
    let ns = &input.template_namespace;
    let installed = request
        .status
        .as_ref()
        .is_some_and(|s| condition::is_true(&s.conditions, RequestCondition::ClusterProvisioned));
    if let Some(secret) = resources::pull_secret_name(&input.cluster)
        && !installed
        && request.metadata.deletion_timestamp.is_none()
    {
        let version = ctx.secrets.version(ctx, ns, secret).await?;
        if let Some(version) = &version {
            let hosts = ctx.world.nodes.by_index(ONLY, &who.name);
            let mut spaces: Vec<String> =
                hosts.iter().filter_map(|n| n.spec.hw_mgr_node_ns.clone()).collect();
            spaces.push(input.cluster_name.clone());
            let uid = request.metadata.uid.as_deref().unwrap_or_default();
            spaces.retain(|to| ctx.secrets.is_copied(ctx, (ns, secret), to, uid, version));
            out.pull_secret.copied = spaces;
        }
        out.pull_secret.version = version;
    }
    for name in resources::extra_manifest_names(&input.cluster) {
        ctx.interests.request_config_maps.note(&Key::new(ns, name), who);
        let data = ctx.config_maps.read(ctx, ns, name).await?.map(|m| m.data.clone().unwrap_or_default());
        let copy = ctx.world.config_maps.get(&input.cluster_name, name);
        let copy = copy.and_then(|m| applied_hash(m.as_ref()));
        out.extra_manifests.insert(name.to_owned(), ExtraManifest { data, copy });
    }
    Ok(())
}

impl Observed {
    /// The view that `decide` takes; `look` is called with it.
    pub(super) fn look<T>(
        &self,
        ctx: &Context,
        fault: Option<StageFault>,
        look: impl FnOnce(&Seen<'_>) -> T,
    ) -> T {
        let world = &ctx.world;
        let name = self.request.metadata.name.as_deref().unwrap_or_default();
        let cluster = self.rest.cluster_name.as_deref().unwrap_or_default();
        let template_namespace =
            self.rest.template.as_ref().and_then(|t| t.metadata.namespace.clone()).unwrap_or_default();
        let (mut roots, mut children) = (Vec::new(), Vec::new());
        if !template_namespace.is_empty() {
            roots = world.policies.in_namespace(&names::policy_namespace(&template_namespace));
            roots
                .retain(|p| !p.metadata.labels.as_ref().is_some_and(|l| l.contains_key(labels::ROOT_POLICY)));
        }
        if !cluster.is_empty() {
            children = world.policies.in_namespace(cluster);
            children
                .retain(|p| p.metadata.labels.as_ref().is_some_and(|l| l.contains_key(labels::ROOT_POLICY)));
        }
        let seen = Seen {
            request: &self.request,
            operator_namespace: &self.operator_namespace,
            template: self.rest.template.clone(),
            input: &self.input,
            cluster_name: self.rest.cluster_name.clone(),
            namespace: self.rest.namespace.clone(),
            owned_namespaces: self.rest.owned_namespaces.clone(),
            policy_namespace: self.rest.policy_namespace,
            policy_map: self.rest.policy_map.clone(),
            pull_secret: self.rest.pull_secret.clone(),
            extra_manifests: self.rest.extra_manifests.clone(),
            instance: world.cluster_instances.get(cluster, cluster),
            allocation: world.allocations.get(&self.operator_namespace, name),
            nodes: world.nodes.by_index(ONLY, name),
            host_ids: self.rest.host_ids.clone(),
            cluster: world.clusters.get("", cluster),
            addon: self.rest.addon,
            agents: world.agents.by_index(ONLY, cluster),
            roots,
            children,
            dry_run: &|hash| ctx.memo.recall(hash),
            fault,
        };
        look(&seen)
    }
}
