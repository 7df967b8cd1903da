//! The site-config operator and the assisted installer behind it (spec/02 section 9).
//!
//! ```text
//!   ClusterInstance --validate--> --render--> --prune--> --dry run--> --apply--> observedGeneration
//!       |                                                                 |
//!       |   ClusterDeployment, AgentClusterInstall, InfraEnv, NMStateConfig (wave 1)
//!       |   ManagedCluster, KlusterletAddonConfig (wave 2), BareMetalHost (wave 3)
//!       v
//!   hosts get customDeploy -> metal3 provisions them -> Agents -> Provisioned InProgress -> Completed or Failed
//!       -> labels of the ManagedCluster, event Installed
//! ```
//!
//! The templates are not read (they are Go templates); what the default sets for the assisted and the image-based
//! installer give is built here. Everything else is as the real one does it: an unchanged spec is never rendered
//! again, deletion goes wave by wave and pauses the ClusterInstance when an object does not go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::core::DynamicObject;
use kube::{Client, ResourceExt};
use tokio::sync::mpsc::UnboundedSender;

use super::Handle;
use super::engine::{Engine, Phases, Queue, Reconcile, lock};
use super::kinds::{AGENT, CLUSTER_DEPLOYMENT, CLUSTER_INSTANCE, HOST, MANAGED_CLUSTER};
use super::store::{Failure, Store};
use super::value::Key;

mod install;
mod pass;
mod remove;
mod render;
mod rules;
mod validate;

pub use rules::rules;

/// Field manager of the real operator (spec/02 9.4).
const MANAGER: &str = "siteconfig-controller";
const FINALIZER: &str = "clusterinstance.siteconfig.open-cluster-management.io/finalizer";
/// A paused ClusterInstance is ignored until a person removes this annotation.
const PAUSED: &str = "clusterinstance.siteconfig.open-cluster-management.io/paused";
/// `<namespace>_<name>` of the ClusterInstance, on everything rendered.
const OWNED_BY: &str = "siteconfig.open-cluster-management.io/owned-by";

/// How long things last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// After a failed validation or rendering (30 s).
    pub retry: Duration,
    /// Between two looks at objects that are being deleted (1 min).
    pub recheck: Duration,
    /// After so long an object that does not go pauses the ClusterInstance (30 min). Whole seconds count, because
    /// deletion timestamps have no more.
    pub give_up: Duration,
    /// All hosts provisioned and agents there, until the installation starts.
    pub start: Duration,
    /// The installation.
    pub install: Duration,
}

impl Times {
    /// Visible to a person: an installation of 5 s.
    pub fn visible() -> Self {
        let ms = Duration::from_millis;
        Times { retry: ms(1000), recheck: ms(300), give_up: ms(60_000), start: ms(1000), install: ms(5000) }
    }

    /// For tests: an installation of half a second.
    pub fn fast() -> Self {
        let ms = Duration::from_millis;
        Times { retry: ms(200), recheck: ms(100), give_up: ms(30_000), start: ms(50), install: ms(500) }
    }

    /// What the real thing takes, at the lower end.
    pub fn realistic() -> Self {
        let s = Duration::from_secs;
        Times { retry: s(30), recheck: s(60), give_up: s(1800), start: s(120), install: s(2700) }
    }
}

/// How an installation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It completes.
    #[default]
    Complete,
    /// It fails at its end.
    Fail,
    /// It starts and never ends.
    Hang,
    /// It never starts.
    HangStart,
}

/// A step that can be told to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailStep {
    /// Condition `RenderedTemplates`
    Render,
    /// Condition `RenderedTemplatesValidated`
    DryRun,
    /// Condition `RenderedTemplatesApplied`
    Apply,
}

impl FailStep {
    fn word(self) -> &'static str {
        match self {
            FailStep::Render => "render",
            FailStep::DryRun => "dry-run",
            FailStep::Apply => "apply",
        }
    }
}

#[derive(Debug, Default)]
struct Orders {
    outcomes: BTreeMap<String, Outcome>,
    durations: BTreeMap<String, Duration>,
    failing: Vec<(String, FailStep)>,
}

/// Orders by cluster name, at any moment, also before the ClusterInstance exists. An annotation on the
/// ClusterInstance ([`super::knobs`]) goes before. Clones share the orders.
#[derive(Debug, Clone, Default)]
pub struct Control {
    orders: Arc<Mutex<Orders>>,
    running: Arc<Mutex<Vec<Arc<Queue>>>>,
}

impl Control {
    /// How the installation of this cluster goes.
    pub fn outcome(&self, cluster: &str, outcome: Outcome) {
        lock(&self.orders).outcomes.insert(cluster.to_owned(), outcome);
        self.wake(cluster);
    }

    /// How long it lasts.
    pub fn install_time(&self, cluster: &str, lasts: Duration) {
        lock(&self.orders).durations.insert(cluster.to_owned(), lasts);
        self.wake(cluster);
    }

    /// Makes a step fail until [`Control::heal`].
    pub fn fail(&self, cluster: &str, step: FailStep) {
        lock(&self.orders).failing.push((cluster.to_owned(), step));
    }

    /// No step of this cluster fails any more.
    pub fn heal(&self, cluster: &str) {
        lock(&self.orders).failing.retain(|(c, _)| c != cluster);
    }

    /// Looks at the cluster again: its ClusterInstance lies in the namespace of the same name.
    fn wake(&self, cluster: &str) {
        for queue in lock(&self.running).iter() {
            queue.add((cluster.to_owned(), cluster.to_owned()));
        }
    }

    fn ordered(&self, cluster: &str) -> (Option<Outcome>, Option<Duration>) {
        let orders = lock(&self.orders);
        (orders.outcomes.get(cluster).copied(), orders.durations.get(cluster).copied())
    }

    fn is_failing(&self, cluster: &str, step: FailStep) -> bool {
        lock(&self.orders).failing.iter().any(|(c, s)| c == cluster && *s == step)
    }
}

/// What the simulator tells the test or the demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An installation is complete: the cluster would now join the hub by itself.
    Installed(Installed),
    /// A host that was added to an installed cluster is up: its node would now ask to join the cluster.
    HostAdded {
        /// `spec.clusterName`
        cluster: String,
        /// Host name and role (`master`, `worker`, `arbiter`).
        host: (String, String),
    },
    /// The ClusterInstance is gone with all that it made.
    Removed {
        /// `spec.clusterName`
        cluster: String,
    },
}

/// A cluster right after its installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// `spec.clusterName`, also the name of the ManagedCluster.
    pub cluster: String,
    /// Namespace of the ClusterInstance.
    pub namespace: String,
    /// OpenShift version of the image set.
    pub version: String,
    /// Label `clusterID` of the ManagedCluster.
    pub cluster_id: String,
    /// Host names and roles (`master`, `worker`, `arbiter`).
    pub hosts: Vec<(String, String)>,
}

/// What can be chosen.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long things last.
    pub times: Times,
    /// Whether an installation waits until metal3 has provisioned the hosts; false where no metal3 simulator runs.
    pub waits_for_hosts: bool,
    /// Whether Agents carry `spec.hostname`; without it only `status.inventory.hostname` (spec/02 scenario 144).
    pub agents_have_hostname: bool,
    /// Orders by cluster name.
    pub control: Control,
    /// Where events go.
    pub events: Option<UnboundedSender<Event>>,
    /// How many `ClusterInstances` are worked on at once.
    pub workers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            times: Times::fast(),
            waits_for_hosts: true,
            agents_have_hostname: true,
            control: Control::default(),
            events: None,
            workers: 4,
        }
    }
}

/// The simulator.
#[derive(Debug)]
pub struct SiteConfig;

impl SiteConfig {
    /// Starts it for all namespaces. Needs what [`super::prepare_hub`] installs.
    pub fn start(client: &Client, options: Options) -> Handle {
        let mut engine = Engine::new();
        let workers = options.workers;
        lock(&options.control.running).push(engine.queue());
        let simulator = Arc::new(Simulator {
            store: Store::new(client.clone(), MANAGER),
            options,
            phases: Phases::default(),
        });
        engine
            .watch(client, CLUSTER_INSTANCE, "", |o| vec![(o.namespace().unwrap_or_default(), o.name_any())]);
        let owner = |o: &DynamicObject| {
            let owner = o.labels().get(OWNED_BY).and_then(|v| v.split_once('_'));
            owner.map(|(namespace, name)| (namespace.to_owned(), name.to_owned())).into_iter().collect()
        };
        for kind in [CLUSTER_DEPLOYMENT, HOST, MANAGED_CLUSTER] {
            engine.watch(client, kind, OWNED_BY, owner);
        }
        engine.watch(client, AGENT, install::CLUSTER_LABEL, |o| {
            o.labels().get(install::CLUSTER_LABEL).map(|c| (c.clone(), c.clone())).into_iter().collect()
        });
        engine.work(&simulator, workers);
        engine.into_handle()
    }
}

struct Simulator {
    store: Store,
    options: Options,
    phases: Phases,
}

impl Reconcile for Simulator {
    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        let Some(instance) = self.store.get(CLUSTER_INSTANCE, &key.0, &key.1).await? else {
            self.phases.reset(key);
            return Ok(None);
        };
        pass::Pass::new(self, key, instance).run().await
    }
}
