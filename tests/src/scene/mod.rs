//! A lab in which the product does its job: simulators on the hub, the manager under its own rights, and spokes that
//! join when the installer says that their cluster is up. Shared by the demo and the integration tests.
//!
//! ```text
//! ClusterInstance installed (simulator) --> the spoke of that name joins the hub through the real OCM agents
//!                                       --> the add-on's ManifestWork arrives --> the agent runs as its pod would
//! ```

pub mod case;
pub mod check;
pub mod fixture;
mod follow;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::DeleteParams;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

pub use follow::follow;

use crate::lab::hub::OPERATOR_NAMESPACE;
use crate::lab::pod::Pod;
use crate::lab::product::{self, Manager, ManagerOptions};
use crate::lab::{Lab, Spoke, apply, progress};
use crate::sim;

/// How the simulators behave.
#[derive(Debug, Default)]
pub struct Options {
    /// Hosts.
    pub metal3: sim::metal3::Options,
    /// Installations; its event channel is the scene's own.
    pub siteconfig: sim::siteconfig::Options,
    /// Policies.
    pub policy: sim::policy::Options,
    /// The manager.
    pub manager: ManagerOptions,
}

/// Orders for the simulators while they run.
#[derive(Debug, Clone, Default)]
pub struct Control {
    /// Installations.
    pub siteconfig: sim::siteconfig::Control,
    /// Policies.
    pub policy: sim::policy::Control,
}

/// Name of the lease that the leading manager holds in the operator namespace.
pub const LEASE: &str = "ocloud-manager";

type Agents = Arc<Mutex<BTreeMap<String, Arc<Pod>>>>;

/// See the module.
#[derive(Debug)]
pub struct Scene {
    lab: &'static Lab,
    manager: Manager,
    control: Control,
    agents: Agents,
    _simulators: Vec<sim::Handle>,
    _joins: AbortOnDropHandle<()>,
}

static SHARED: OnceCell<Scene> = OnceCell::const_new();

impl Scene {
    /// The scene of this test binary on its shared lab.
    pub async fn shared() -> Result<&'static Scene> {
        let start = async {
            SHARED
                .get_or_try_init(|| async { Scene::start(Lab::shared().await?, Options::default()).await })
                .await
        };
        crate::lab::runtime()?.spawn(start).await?
    }

    /// Prepares the hub, starts the simulators and the manager, and waits until the manager is ready.
    pub async fn start(lab: &'static Lab, mut options: Options) -> Result<Scene> {
        let hub = lab.hub();
        let client = hub.simulator().await?;
        sim::prepare_hub(&hub.client()).await.context("preparing the hub for the simulators")?;
        apply::path(&hub.client(), &data("hub")).await.context("what a hub has before the add-on comes")?;
        let (sender, events) = unbounded_channel();
        options.siteconfig.events = Some(sender);
        let control = Control {
            siteconfig: options.siteconfig.control.clone(),
            policy: options.policy.control.clone(),
        };
        let simulators = vec![
            sim::metal3::Metal3::start(&client, options.metal3),
            sim::siteconfig::SiteConfig::start(&client, options.siteconfig),
            sim::policy::Governance::start(&client, options.policy),
        ];
        let manager = Manager::start(lab.base(), hub, &options.manager).await?;
        let addon = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/addon-manager/files/addon.yaml");
        apply::path(&hub.client(), &addon).await.context("the add-on of the chart")?;
        manager.until_ready(Duration::from_mins(1)).await?;
        let agents = Agents::default();
        let joins = AbortOnDropHandle::new(tokio::spawn(join_installed(lab, events, agents.clone())));
        Ok(Scene { lab, manager, control, agents, _simulators: simulators, _joins: joins })
    }

    /// The lab.
    pub fn lab(&self) -> &'static Lab {
        self.lab
    }

    /// The manager.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// Orders for the simulators.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Admin client of the hub.
    pub fn client(&self) -> Client {
        self.lab.hub().client()
    }

    /// The agent's pod on the spoke of a cluster, once that has joined.
    pub fn agent(&self, cluster: &str) -> Option<Arc<Pod>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).get(cluster).cloned()
    }

    /// Starts the servers of a cluster-to-be while the hub works, so that joining takes less time.
    pub fn expect(&self, cluster: &str) {
        let (lab, cluster) = (self.lab, cluster.to_owned());
        tokio::spawn(async move {
            if let Err(error) = lab.spoke(&cluster).await {
                progress::line(&format!("lab: spoke {cluster}: {error:#}"));
            }
        });
    }

    /// Ends all processes of a cluster that nobody needs any more.
    pub async fn retire(&self, cluster: &str) -> Result<()> {
        leave(self.lab, cluster, &self.agents).await?;
        let spoke = self.lab.spoke(cluster).await?;
        spoke.controllers().kill().await?;
        spoke.server().kill().await.map(drop)
    }

    /// `kill -9` of the manager.
    pub async fn kill_manager(&self) -> Result<()> {
        self.manager.kill().await.map(drop)
    }

    /// Starts the manager again after [`Scene::kill_manager`]. The lease of the killed process would hold the new one up
    /// for 15 s; unless `waits`, it is deleted first.
    pub async fn start_manager(&self, waits: bool) -> Result<()> {
        if !waits {
            let leases: Api<Lease> = Api::namespaced(self.client(), OPERATOR_NAMESPACE);
            match leases.delete(LEASE, &DeleteParams::default()).await {
                Ok(_) => {}
                // Killed before it led.
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(error).context("the manager's lease"),
            }
        }
        self.manager.process().start_again().await?;
        self.manager.until_ready(Duration::from_mins(1)).await?;
        let leads = || async { self.metric("ocloud_leader").await.is_some_and(|leader| leader > 0.0) };
        self.manager.process().until_ready("it leads", Duration::from_mins(1), leads).await
    }

    /// The sum of the manager's metrics whose name, with labels, begins so.
    pub async fn metric(&self, start: &str) -> Option<f64> {
        let text = self.manager.metrics().await.ok()?;
        let lines = text.lines().filter(|line| line.starts_with(start));
        Some(lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum())
    }

    /// Applies objects as a user does.
    pub async fn put(&self, objects: Vec<Value>) -> Result<()> {
        let objects = objects.into_iter().map(apply::object).collect::<Result<_>>()?;
        apply::all(&self.client(), objects).await.map(drop)
    }

    /// Applies a folder of `tests/data`.
    pub async fn apply(&self, folder: &str) -> Result<()> {
        apply::path(&self.client(), &data(folder)).await.map(drop)
    }
}

/// One request of the sample repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Name of the request.
    pub request: &'static str,
    /// Name of its cluster.
    pub cluster: &'static str,
}

/// The requests of the sample repository: one node; three masters and two workers.
pub const SAMPLES: [Sample; 2] = [
    Sample { request: "0d0c8d0e-6f3c-4a5b-8a41-7b1d1f0a9001", cluster: "harbor-sno" },
    Sample { request: "0d0c8d0e-6f3c-4a5b-8a41-7b1d1f0a9002", cluster: "harbor-mno" },
];

/// A folder of the sample repository.
pub fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/git").join(folder)
}

/// Joins the spoke of every cluster that is installed, and lets it go when the cluster is removed.
async fn join_installed(
    lab: &'static Lab,
    mut events: UnboundedReceiver<sim::siteconfig::Event>,
    agents: Agents,
) {
    while let Some(event) = events.recv().await {
        let agents = agents.clone();
        tokio::spawn(async move {
            let (what, result) = match event {
                sim::siteconfig::Event::Installed(installed) => {
                    let name = installed.cluster.clone();
                    (name, join(lab, &installed, &agents).await)
                }
                sim::siteconfig::Event::Removed { cluster } => {
                    let result = leave(lab, &cluster, &agents).await;
                    (cluster, result)
                }
                sim::siteconfig::Event::HostAdded { cluster, .. } => (cluster, Ok(())),
            };
            if let Err(error) = result {
                progress::line(&format!("lab: spoke {what}: {error:#}"));
            }
        });
    }
}

async fn join(lab: &'static Lab, installed: &sim::siteconfig::Installed, agents: &Agents) -> Result<()> {
    let spoke: Arc<Spoke> = lab.spoke(&installed.cluster).await?;
    sim::openshift::seed(&spoke.client(), &sim::openshift::Cluster::of(installed)).await?;
    if spoke.cluster().is_none() {
        spoke.join(lab.hub(), &installed.cluster).await?;
    }
    if !agents.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&installed.cluster) {
        let pod = product::agent(lab.base(), &spoke).await?;
        agents
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(installed.cluster.clone(), Arc::new(pod));
    }
    Ok(())
}

async fn leave(lab: &'static Lab, cluster: &str, agents: &Agents) -> Result<()> {
    agents.lock().unwrap_or_else(PoisonError::into_inner).remove(cluster);
    let spoke = lab.spoke(cluster).await?;
    if spoke.cluster().is_some() {
        spoke.leave().await?;
    }
    Ok(())
}
