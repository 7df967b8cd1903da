//! Governance without governance: replicas of root policies in the cluster namespaces, and verdicts (spec/07 1.12).
//!
//! ```text
//!   root Policy in ztp-*  + PlacementBinding + Placement (or a selector annotation)
//!        -> replica <root namespace>.<root name> in each chosen cluster's namespace, hub templates resolved
//!        -> after a while status.compliant, as told -> summary in the root's status
//! ```
//!
//! Not here: dependencies, `PolicySets`, `PlacementRules`, cluster sets, and what the policies would do on the spoke.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::core::DynamicObject;
use kube::{Client, ResourceExt};

use super::Handle;
use super::engine::{Engine, Phases, Queue, Reconcile, lock};
use super::kinds::{CONFIG_MAP, MANAGED_CLUSTER, PLACEMENT, PLACEMENT_BINDING, POLICY};
use super::store::{Failure, Store};
use super::value::Key;

mod judge;
mod replicate;
mod select;
mod template;

const ROOT_LABEL: &str = "policy.open-cluster-management.io/root-policy";
/// Names of root policies longer than this (with the namespace, without the dot) get no replica.
const LONGEST: usize = 62;

/// How long things last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Times {
    /// A new or changed replica until it is judged.
    pub judge: Duration,
    /// Non-compliant until an enforced policy has put things right.
    pub heal: Duration,
    /// A cluster that is not available: until it is looked at again.
    pub look_again: Duration,
}

impl Times {
    /// About as fast as the real controllers at their fastest.
    pub fn fast() -> Self {
        let ms = Duration::from_millis;
        Times { judge: ms(50), heal: ms(100), look_again: ms(300) }
    }

    /// Visible to a person.
    pub fn visible() -> Self {
        let ms = Duration::from_millis;
        Times { judge: ms(1000), heal: ms(3000), look_again: ms(1000) }
    }
}

/// What a policy says of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    /// Compliant; an enforced policy passes through `NonCompliant` first.
    #[default]
    Compliant,
    /// `NonCompliant`, for as long as it is told.
    NonCompliant,
    /// Pending: a dependency is missing.
    Pending,
    /// Not judged: the status stays as it is, or absent.
    None,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Compliant => "Compliant",
            Verdict::NonCompliant => "NonCompliant",
            Verdict::Pending => "Pending",
            Verdict::None => "",
        }
    }

    fn read(word: &str) -> Option<Self> {
        match word {
            "Compliant" => Some(Verdict::Compliant),
            "NonCompliant" => Some(Verdict::NonCompliant),
            "Pending" => Some(Verdict::Pending),
            "none" => Some(Verdict::None),
            _ => None,
        }
    }
}

/// Queue and known root policies of a running simulator.
#[derive(Debug, Clone)]
struct Running {
    queue: Arc<Queue>,
    roots: Arc<Mutex<BTreeSet<Key>>>,
}

/// Orders at any moment. Clones share them. An annotation on the root policy or on the ManagedCluster
/// ([`super::knobs::COMPLIANCE`]) goes before.
#[derive(Debug, Clone, Default)]
pub struct Control {
    verdicts: Arc<Mutex<BTreeMap<(String, String), Verdict>>>,
    running: Arc<Mutex<Vec<Running>>>,
}

impl Control {
    /// What the policy `<root namespace>.<root name>` says of the cluster; an empty cluster means all.
    pub fn verdict(&self, policy: &str, cluster: &str, verdict: Verdict) {
        lock(&self.verdicts).insert((policy.to_owned(), cluster.to_owned()), verdict);
        for Running { queue, roots } in lock(&self.running).iter() {
            for root in lock(roots).iter() {
                queue.add(root.clone());
            }
        }
    }

    fn ordered(&self, policy: &str, cluster: &str) -> Option<Verdict> {
        let verdicts = lock(&self.verdicts);
        let order = |c: &str| verdicts.get(&(policy.to_owned(), c.to_owned())).copied();
        order(cluster).or_else(|| order(""))
    }
}

/// What can be chosen.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long things last.
    pub times: Times,
    /// Whether only available clusters are judged, as a dead spoke judges nothing; false where no agent joins.
    pub needs_available: bool,
    /// Orders by policy and cluster.
    pub control: Control,
}

impl Default for Options {
    fn default() -> Self {
        Options { times: Times::fast(), needs_available: true, control: Control::default() }
    }
}

/// The simulator. Do not run it beside the real propagator.
#[derive(Debug)]
pub struct Governance;

impl Governance {
    /// Starts it for root policies in namespaces that begin with `ztp-`.
    pub fn start(client: &Client, options: Options) -> Handle {
        let mut engine = Engine::new();
        let roots: Arc<Mutex<BTreeSet<Key>>> = Arc::default();
        lock(&options.control.running).push(Running { queue: engine.queue(), roots: roots.clone() });
        let simulator = Arc::new(Simulator {
            store: Store::new(client.clone(), "governance-policy-propagator"),
            options,
            phases: Phases::default(),
            roots: roots.clone(),
            judged: Mutex::default(),
        });
        engine.watch(client, POLICY, "", |o| match o.labels().get(ROOT_LABEL) {
            Some(root) => {
                root.split_once('.').map(|(ns, n)| (ns.to_owned(), n.to_owned())).into_iter().collect()
            }
            None => vec![(o.namespace().unwrap_or_default(), o.name_any())],
        });
        let all = roots.clone();
        engine.watch(client, MANAGED_CLUSTER, "", move |_| lock(&all).iter().cloned().collect());
        for kind in [PLACEMENT, PLACEMENT_BINDING, CONFIG_MAP] {
            let all = roots.clone();
            engine.watch(client, kind, "", move |o: &DynamicObject| {
                let namespace = o.namespace().unwrap_or_default();
                lock(&all).iter().filter(|(ns, _)| *ns == namespace).cloned().collect()
            });
        }
        engine.work(&simulator, 4);
        engine.into_handle()
    }
}

struct Simulator {
    store: Store,
    options: Options,
    phases: Phases,
    /// Root policies seen.
    roots: Arc<Mutex<BTreeSet<Key>>>,
    /// Generation of a replica that was judged last, and with which verdict.
    judged: Mutex<BTreeMap<Key, (i64, Verdict)>>,
}

impl Reconcile for Simulator {
    async fn reconcile(&self, key: &Key) -> Result<Option<Duration>, Failure> {
        if !key.0.starts_with("ztp-") {
            return Ok(None);
        }
        let root = self.store.get(POLICY, &key.0, &key.1).await?;
        if root.is_some() {
            lock(&self.roots).insert(key.clone());
        } else {
            lock(&self.roots).remove(key);
        }
        let chosen = match &root {
            Some(root) => self.chosen_clusters(root).await?,
            None => Vec::new(),
        };
        let replicas = self.replicate(key, root.as_ref(), &chosen).await?;
        let Some(root) = root else { return Ok(None) };
        let again = self.judge(&root, &replicas).await?;
        self.summarise(&root, &chosen).await?;
        Ok(again)
    }
}
