//! One request with everything that belongs to it, as tests and lab commands handle it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use manifests::clcm::{
    AllocatedNode, ClusterTemplate, NodeAllocationRequest, ProvisioningPhase, ProvisioningRequest,
};
use manifests::meta::condition::Condition;
use manifests::meta::labels;
use manifests::metal3::BareMetalHost;
use manifests::ocm::{ManagedCluster, ManagedClusterAddOn};
use manifests::ran::ClusterInstance;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::Scene;
use super::fixture::Fixture;
use crate::lab::hub::OPERATOR_NAMESPACE;
use crate::lab::wait;

/// Everything that takes longer is stuck.
pub const LIMIT: Duration = Duration::from_mins(2);

/// One request with everything that belongs to it.
#[derive(Debug)]
pub struct Case {
    /// Where it happens.
    pub scene: &'static Scene,
    /// Its names and objects.
    pub fixture: Fixture,
}

impl Case {
    /// A case whose world is there, with a valid template; the request is not.
    pub async fn new(scene: &'static Scene, fixture: Fixture) -> Result<Self> {
        let case = Case::bare(scene, fixture);
        scene.put(case.fixture.world()).await?;
        let template = case.fixture.template_name();
        wait::condition(&case.templates(), &template, LIMIT, "ClusterTemplateValidated", "True").await?;
        Ok(case)
    }

    /// A case of which nothing is there, only the servers of its cluster start.
    pub fn bare(scene: &'static Scene, fixture: Fixture) -> Self {
        scene.expect(&fixture.cluster);
        Case { scene, fixture }
    }

    /// Admin client of the hub.
    pub fn client(&self) -> Client {
        self.scene.client()
    }

    /// Name of the cluster.
    pub fn cluster(&self) -> &str {
        &self.fixture.cluster
    }

    /// Name of the request and of its NodeAllocationRequest.
    pub fn name(&self) -> String {
        self.fixture.request_name()
    }

    /// ProvisioningRequests.
    pub fn requests(&self) -> Api<ProvisioningRequest> {
        Api::all(self.client())
    }

    /// ClusterTemplates of the template's namespace.
    pub fn templates(&self) -> Api<ClusterTemplate> {
        Api::namespaced(self.client(), &self.fixture.template_namespace())
    }

    /// NodeAllocationRequests.
    pub fn allocations(&self) -> Api<NodeAllocationRequest> {
        Api::namespaced(self.client(), OPERATOR_NAMESPACE)
    }

    /// AllocatedNodes.
    pub fn allocated(&self) -> Api<AllocatedNode> {
        Api::namespaced(self.client(), OPERATOR_NAMESPACE)
    }

    /// BareMetalHosts of the case.
    pub fn hosts(&self) -> Api<BareMetalHost> {
        Api::namespaced(self.client(), &self.fixture.racks())
    }

    /// ClusterInstances in the cluster's namespace.
    pub fn instances(&self) -> Api<ClusterInstance> {
        Api::namespaced(self.client(), self.cluster())
    }

    /// ManagedClusters.
    pub fn clusters(&self) -> Api<ManagedCluster> {
        Api::all(self.client())
    }

    /// Add-ons of the cluster.
    pub fn addons(&self) -> Api<ManagedClusterAddOn> {
        Api::namespaced(self.client(), self.cluster())
    }

    /// Namespaces.
    pub fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client())
    }

    /// ConfigMaps of a namespace.
    pub fn maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client(), namespace)
    }

    /// Secrets of a namespace.
    pub fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client(), namespace)
    }

    /// Creates the request.
    pub async fn ask(&self) -> Result<()> {
        self.scene.put(vec![self.fixture.request()]).await
    }

    /// Waits until the request says so.
    pub async fn until(
        &self,
        what: &str,
        ready: impl Fn(&ProvisioningRequest) -> bool,
    ) -> Result<ProvisioningRequest> {
        wait::until(&self.requests(), &self.name(), LIMIT, what, ready).await
    }

    /// Waits until the request's current generation is fulfilled.
    pub async fn fulfilled(&self) -> Result<ProvisioningRequest> {
        let request = self.until("it is fulfilled", is_fulfilled).await;
        request.with_context(|| format!("cluster {}", self.cluster()))
    }

    /// Waits until a condition of the request has this status and a message that contains `text`.
    pub async fn says(
        &self,
        type_: impl AsRef<str>,
        status: &str,
        text: &str,
    ) -> Result<ProvisioningRequest> {
        let type_ = type_.as_ref();
        let what = format!("condition {type_} is {status} with {text:?}");
        self.until(&what, |r| {
            condition(r, type_).is_some_and(|c| c.status == status && c.message.contains(text))
        })
        .await
    }

    /// The nodes of the request.
    pub async fn own_nodes(&self) -> Result<Vec<AllocatedNode>> {
        let mut all = self.allocated().list(&ListParams::default()).await?.items;
        all.retain(|n| n.spec.node_allocation_request == self.name());
        Ok(all)
    }

    /// Hosts of the case that are allocated, with the name of the node.
    pub async fn claimed(&self) -> Result<Vec<(String, String)>> {
        let all = self.hosts().list(&ListParams::default()).await?.items;
        let claim = |h: &BareMetalHost| {
            let node = h.label(labels::ALLOCATED_NODE)?;
            Some((h.name_any(), node.to_owned()))
        };
        Ok(all.iter().filter_map(claim).collect())
    }

    /// A merge patch of the request, as its user.
    pub async fn edit(&self, patch: Value) -> Result<ProvisioningRequest> {
        merge(&self.requests(), &self.name(), &patch).await
    }

    /// Deletes the request and waits until it is gone.
    pub async fn delete(&self) -> Result<()> {
        self.requests().delete(&self.name(), &DeleteParams::default()).await?;
        wait::gone(&self.requests(), &self.name(), LIMIT).await
    }

    /// The case is over: nothing of it is left on the hub, its cluster's processes end.
    pub async fn end(self) -> Result<()> {
        self.delete().await?;
        self.scene.retire(self.cluster()).await
    }

    /// Begins to write down every version of the request.
    pub fn story(&self) -> Story {
        let seen: Arc<Mutex<Vec<ProvisioningRequest>>> = Arc::default();
        let config = watcher::Config::default().fields(&format!("metadata.name={}", self.name()));
        let (api, log) = (self.requests(), seen.clone());
        let task = tokio::spawn(async move {
            let events = watcher::watcher(api, config).default_backoff().applied_objects();
            pin_mut!(events);
            while let Some(event) = events.next().await {
                if let Ok(request) = event {
                    log.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                }
            }
        });
        Story { seen, _task: AbortOnDropHandle::new(task) }
    }
}

/// Every version of a request, as a watch brought it.
#[derive(Debug)]
pub struct Story {
    seen: Arc<Mutex<Vec<ProvisioningRequest>>>,
    _task: AbortOnDropHandle<()>,
}

impl Story {
    /// Waits until the story has this version of the request.
    pub async fn reaches(&self, request: &ProvisioningRequest) -> Result<()> {
        let version = |r: &ProvisioningRequest| r.resource_version();
        let has = || async { self.versions().iter().any(|r| version(r) == version(request)) };
        wait::poll(LIMIT, "the watch has brought what was seen", has).await
    }

    /// Waits until the details have begun with `text`.
    pub async fn tells(&self, text: &str) -> Result<()> {
        let has = || async { self.details().iter().any(|d| d.starts_with(text)) };
        let told = wait::poll(Duration::from_secs(10), &format!("it has told {text:?}"), has).await;
        told.with_context(|| format!("told was {:#?}", self.details()))
    }

    /// Phases in the order in which they followed each other.
    pub fn phases(&self) -> Vec<ProvisioningPhase> {
        let mut phases: Vec<_> = self.versions().iter().filter_map(phase).collect();
        phases.dedup();
        phases
    }

    /// Details in the order in which they followed each other.
    /// Its details; empty without any.
    pub fn details(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.versions().iter().map(details).filter(|d| !d.is_empty()).collect();
        texts.dedup();
        texts
    }

    /// All of them.
    pub fn versions(&self) -> Vec<ProvisioningRequest> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The current generation is fulfilled.
pub fn is_fulfilled(request: &ProvisioningRequest) -> bool {
    let observed = request.status.as_ref().and_then(|s| s.observed_generation);
    phase(request) == Some(ProvisioningPhase::Fulfilled) && observed == request.metadata.generation
}

/// Its phase.
pub fn phase(request: &ProvisioningRequest) -> Option<ProvisioningPhase> {
    request.status.as_ref()?.provisioning_status.as_ref()?.provisioning_phase
}

/// Its details; empty without any.
pub fn details(request: &ProvisioningRequest) -> String {
    let status = request.status.as_ref().and_then(|s| s.provisioning_status.as_ref());
    status.and_then(|s| s.provisioning_details.clone()).unwrap_or_default()
}

/// A condition of the request.
pub fn condition<'a>(request: &'a ProvisioningRequest, type_: &str) -> Option<&'a Condition> {
    request.status.as_ref()?.conditions.iter().find(|c| c.type_ == type_)
}

/// A merge patch, as a user.
pub async fn merge<K>(api: &Api<K>, name: &str, patch: &Value) -> Result<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("patching {name}"))
}

/// Takes all finalizers off an object, as a person does who knows what the others do not.
pub async fn strip<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + DeserializeOwned + Debug,
{
    merge(api, name, &json!({"metadata": {"finalizers": null}})).await.map(drop)
}
