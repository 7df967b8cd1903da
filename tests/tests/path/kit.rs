//! What the tests of this binary share: the stage, and a case with everything that belongs to one request.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use manifests::clcm::{
    AllocatedNode, ClusterTemplate, NodeAllocationRequest, ProvisioningPhase, ProvisioningRequest,
};
use manifests::meta::condition::Condition;
use manifests::metal3::BareMetalHost;
use manifests::ocm::{ManagedCluster, ManagedClusterAddOn};
use manifests::ran::ClusterInstance;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::lab::audit::{Mark, Write};
use tests::lab::hub::OPERATOR_NAMESPACE;
use tests::lab::wait::{self, yaml};
use tests::lab::{self, progress};
use tests::scene::Scene;
use tests::scene::fixture::Fixture;
use tokio::sync::RwLock;
use tokio_util::task::AbortOnDropHandle;

/// Everything that takes longer is stuck.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Tests that count the manager's writes or kill it are alone on the stage.
static STAGE: RwLock<()> = RwLock::const_new(());

/// Runs a test that other tests may run beside. At its end no request of the manager was refused for want of rights.
pub(crate) fn beside<F: Future<Output = Result<()>>>(test: impl FnOnce(&'static Scene) -> F) -> Result<()> {
    lab::run(async {
        let scene = Scene::shared().await?;
        let _guard = STAGE.read().await;
        run(scene, test(scene)).await
    })
}

/// Runs a test that no other may run beside; else as [`beside`].
pub(crate) fn alone<F: Future<Output = Result<()>>>(test: impl FnOnce(&'static Scene) -> F) -> Result<()> {
    lab::run(async {
        let scene = Scene::shared().await?;
        let _guard = STAGE.write().await;
        run(scene, test(scene)).await
    })
}

async fn run(scene: &'static Scene, test: impl Future<Output = Result<()>>) -> Result<()> {
    let mark = mark(scene).await?;
    test.await?;
    not_refused(scene, mark).await
}

/// The present end of the hub's audit log.
pub(crate) async fn mark(scene: &Scene) -> Result<Mark> {
    scene.lab().hub().audit().mark().await
}

/// No request of the manager since `mark` was answered 403.
pub(crate) async fn not_refused(scene: &Scene, mark: Mark) -> Result<()> {
    let refused = scene.lab().hub().audit().answered(&scene.manager().user(), 403, mark).await?;
    ensure!(refused.is_empty(), "the manager was refused:\n{}", list(&refused));
    Ok(())
}

/// The manager's writes since `mark`.
pub(crate) async fn writes(scene: &Scene, mark: Mark) -> Result<Vec<Write>> {
    scene.lab().hub().audit().writes_of(&scene.manager().user(), mark).await
}

/// One per line.
pub(crate) fn list(writes: &[Write]) -> String {
    writes.iter().map(|w| format!("  {w}\n")).collect()
}

/// One request with everything that belongs to it.
pub(crate) struct Case {
    pub(crate) scene: &'static Scene,
    pub(crate) fixture: Fixture,
}

impl Case {
    /// A case whose world is there, with a valid template; the request is not.
    pub(crate) async fn new(scene: &'static Scene, fixture: Fixture) -> Result<Self> {
        let case = Case::bare(scene, fixture);
        scene.put(case.fixture.world()).await?;
        let template = case.fixture.template_name();
        wait::condition(&case.templates(), &template, LIMIT, "ClusterTemplateValidated", "True").await?;
        Ok(case)
    }

    /// A case of which nothing is there, only the servers of its cluster start.
    pub(crate) fn bare(scene: &'static Scene, fixture: Fixture) -> Self {
        scene.expect(&fixture.cluster);
        Case { scene, fixture }
    }

    pub(crate) fn client(&self) -> Client {
        self.scene.client()
    }

    pub(crate) fn cluster(&self) -> &str {
        &self.fixture.cluster
    }

    /// Name of the request and of its NodeAllocationRequest.
    pub(crate) fn name(&self) -> String {
        self.fixture.request_name()
    }

    pub(crate) fn requests(&self) -> Api<ProvisioningRequest> {
        Api::all(self.client())
    }

    pub(crate) fn templates(&self) -> Api<ClusterTemplate> {
        Api::namespaced(self.client(), &self.fixture.template_namespace())
    }

    pub(crate) fn allocations(&self) -> Api<NodeAllocationRequest> {
        Api::namespaced(self.client(), OPERATOR_NAMESPACE)
    }

    pub(crate) fn allocated(&self) -> Api<AllocatedNode> {
        Api::namespaced(self.client(), OPERATOR_NAMESPACE)
    }

    pub(crate) fn hosts(&self) -> Api<BareMetalHost> {
        Api::namespaced(self.client(), &self.fixture.racks())
    }

    pub(crate) fn instances(&self) -> Api<ClusterInstance> {
        Api::namespaced(self.client(), self.cluster())
    }

    pub(crate) fn clusters(&self) -> Api<ManagedCluster> {
        Api::all(self.client())
    }

    pub(crate) fn addons(&self) -> Api<ManagedClusterAddOn> {
        Api::namespaced(self.client(), self.cluster())
    }

    pub(crate) fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client())
    }

    pub(crate) fn maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client(), namespace)
    }

    pub(crate) fn secrets(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client(), namespace)
    }

    /// Creates the request.
    pub(crate) async fn ask(&self) -> Result<()> {
        self.scene.put(vec![self.fixture.request()]).await
    }

    /// Waits until the request says so.
    pub(crate) async fn until(
        &self,
        what: &str,
        ready: impl Fn(&ProvisioningRequest) -> bool,
    ) -> Result<ProvisioningRequest> {
        wait::until(&self.requests(), &self.name(), LIMIT, what, ready).await
    }

    /// Waits until the request's current generation is fulfilled.
    pub(crate) async fn fulfilled(&self) -> Result<ProvisioningRequest> {
        let request = self.until("it is fulfilled", is_fulfilled).await;
        request.with_context(|| format!("cluster {}", self.cluster()))
    }

    /// Waits until a condition of the request has this status and a message that contains `text`.
    pub(crate) async fn says(
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
    pub(crate) async fn own_nodes(&self) -> Result<Vec<AllocatedNode>> {
        let mut all = self.allocated().list(&ListParams::default()).await?.items;
        all.retain(|n| n.spec.node_allocation_request == self.name());
        Ok(all)
    }

    /// Hosts of the case that are allocated, with the name of the node.
    pub(crate) async fn claimed(&self) -> Result<Vec<(String, String)>> {
        let all = self.hosts().list(&ListParams::default()).await?.items;
        let claim = |h: &BareMetalHost| {
            let node = h.label(manifests::meta::labels::ALLOCATED_NODE)?;
            Some((h.name_any(), node.to_owned()))
        };
        Ok(all.iter().filter_map(claim).collect())
    }

    /// A merge patch of the request, as its user.
    pub(crate) async fn edit(&self, patch: Value) -> Result<ProvisioningRequest> {
        merge(&self.requests(), &self.name(), &patch).await
    }

    /// Deletes the request and waits until it is gone.
    pub(crate) async fn delete(&self) -> Result<()> {
        self.requests().delete(&self.name(), &DeleteParams::default()).await?;
        wait::gone(&self.requests(), &self.name(), LIMIT).await
    }

    /// The case is over: nothing of it is left on the hub, its cluster's processes end.
    pub(crate) async fn end(self) -> Result<()> {
        self.delete().await?;
        self.scene.retire(self.cluster()).await
    }

    /// Begins to write down every version of the request.
    pub(crate) fn story(&self) -> Story {
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
pub(crate) struct Story {
    seen: Arc<Mutex<Vec<ProvisioningRequest>>>,
    _task: AbortOnDropHandle<()>,
}

impl Story {
    /// Phases in the order in which they followed each other.
    pub(crate) fn phases(&self) -> Vec<ProvisioningPhase> {
        let mut phases: Vec<_> = self.versions().iter().filter_map(phase).collect();
        phases.dedup();
        phases
    }

    /// Details in the order in which they followed each other.
    pub(crate) fn details(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.versions().iter().map(details).filter(|d| !d.is_empty()).collect();
        texts.dedup();
        texts
    }

    pub(crate) fn versions(&self) -> Vec<ProvisioningRequest> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) fn is_fulfilled(request: &ProvisioningRequest) -> bool {
    let observed = request.status.as_ref().and_then(|s| s.observed_generation);
    phase(request) == Some(ProvisioningPhase::Fulfilled) && observed == request.metadata.generation
}

pub(crate) fn phase(request: &ProvisioningRequest) -> Option<ProvisioningPhase> {
    request.status.as_ref()?.provisioning_status.as_ref()?.provisioning_phase
}

pub(crate) fn details(request: &ProvisioningRequest) -> String {
    let status = request.status.as_ref().and_then(|s| s.provisioning_status.as_ref());
    status.and_then(|s| s.provisioning_details.clone()).unwrap_or_default()
}

pub(crate) fn condition<'a>(request: &'a ProvisioningRequest, type_: &str) -> Option<&'a Condition> {
    request.status.as_ref()?.conditions.iter().find(|c| c.type_ == type_)
}

pub(crate) async fn merge<K>(api: &Api<K>, name: &str, patch: &Value) -> Result<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("patching {name}"))
}

/// Takes all finalizers off an object, as a person does who knows what the others do not.
pub(crate) async fn strip<K>(api: &Api<K>, name: &str) -> Result<()>
where
    K: Clone + DeserializeOwned + Debug,
{
    merge(api, name, &json!({"metadata": {"finalizers": null}})).await.map(drop)
}

/// Fails with the object as YAML.
pub(crate) fn check(holds: bool, what: &str, object: &(impl Resource + Clone + Serialize)) -> Result<()> {
    ensure!(holds, "{what}:\n{}", yaml(object));
    Ok(())
}

/// Prints a step of a test with the time that it took.
pub(crate) fn note(text: &str) {
    progress::line(text);
}
