//! Watches on the spoke. A kind is watched from the moment its CRD appears until the CRD goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PartialObjectMeta};
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use kube::{Client, ResourceExt};
use manifests::addon::Served;
use manifests::openshift::{ClusterOperator, ClusterVersion, ImageBasedUpgrade, MachineConfigPool};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::health::Shared;
use crate::observed::{Fact, NodeView};

/// Kinds that a CRD brings.
const OPTIONAL: [(&str, Served); 4] = [
    ("clusterversions.config.openshift.io", Served::ClusterVersion),
    ("clusteroperators.config.openshift.io", Served::ClusterOperator),
    ("machineconfigpools.machineconfiguration.openshift.io", Served::MachineConfigPool),
    ("imagebasedupgrades.lca.openshift.io", Served::ImageBasedUpgrade),
];

/// Name under which the watch of definitions is told about.
const DEFINITIONS: &str = "CustomResourceDefinition";
/// Failures in a row after which a watch is told about in the report.
const PATIENCE: u32 = 3;

/// Watches everything until `stop`.
pub(crate) async fn watch_all(client: Client, shared: Arc<Shared>, stop: CancellationToken) {
    let mut kinds = Kinds {
        client: client.clone(),
        shared: shared.clone(),
        stop: stop.clone(),
        running: BTreeMap::new(),
        tasks: JoinSet::new(),
    };
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client);
    // Pages keep the peak small: clusters have hundreds of definitions, of which the names of four matter.
    let config = watcher::Config::default().page_size(50);
    let stream = watcher(api, config).backoff(DefaultBackoff::default()).take_until(stop.cancelled_owned());
    let mut stream = std::pin::pin!(stream);
    let mut listed: Option<BTreeSet<Served>> = None;
    let mut errors = 0;
    while let Some(event) = stream.next().await {
        if event.is_ok() {
            errors = 0;
            shared.watch_works(DEFINITIONS);
        }
        match event {
            Ok(Event::Init) => listed = Some(BTreeSet::new()),
            Ok(Event::InitApply(definition)) => {
                if let (Some(kind), Some(listed)) = (kind_of(&definition), listed.as_mut()) {
                    listed.insert(kind);
                }
            }
            Ok(Event::InitDone) => {
                let listed = listed.take().unwrap_or_default();
                let gone: Vec<Served> =
                    kinds.running.keys().filter(|k| !listed.contains(k)).copied().collect();
                for kind in gone {
                    kinds.end(kind);
                }
                for kind in listed {
                    kinds.begin(kind);
                }
                // Last, so that a report waits for all lists.
                kinds.nodes();
            }
            Ok(Event::Apply(definition)) => {
                if let Some(kind) = kind_of(&definition) {
                    kinds.begin(kind);
                }
            }
            Ok(Event::Delete(definition)) => {
                if let Some(kind) = kind_of(&definition) {
                    kinds.end(kind);
                }
            }
            Err(error) => {
                errors += 1;
                failed(&shared, DEFINITIONS, &error, errors);
                if errors >= PATIENCE {
                    // Without definitions there are still nodes, and the report says what is wrong.
                    kinds.nodes();
                }
            }
        }
    }
    while kinds.tasks.join_next().await.is_some() {}
}

fn kind_of(definition: &PartialObjectMeta<CustomResourceDefinition>) -> Option<Served> {
    if definition.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let name = definition.name_any();
    OPTIONAL.iter().find(|(crd, _)| *crd == name).map(|(_, kind)| *kind)
}

fn failed(shared: &Shared, kind: &str, error: &watcher::Error, in_a_row: u32) {
    if in_a_row == 1 {
        debug!(kind, %error, "watch failed; starting anew");
    } else {
        warn!(kind, %error, in_a_row, "watch failed; starting anew");
    }
    shared.watch_failed(kind, &words(error), in_a_row >= PATIENCE);
}

/// The API server's own words where there are some.
fn words(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(s))
        | watcher::Error::WatchStartFailed(kube::Error::Api(s))
        | watcher::Error::WatchError(s) => s.message.clone(),
        other => other.to_string(),
    }
}

struct Kinds {
    client: Client,
    shared: Arc<Shared>,
    stop: CancellationToken,
    running: BTreeMap<Served, CancellationToken>,
    tasks: JoinSet<()>,
}

impl Kinds {
    fn begin(&mut self, kind: Served) {
        match kind {
            Served::ClusterVersion => self.watch::<ClusterVersion>(),
            Served::ClusterOperator => self.watch::<ClusterOperator>(),
            Served::MachineConfigPool => self.watch::<MachineConfigPool>(),
            Served::ImageBasedUpgrade => self.watch::<ImageBasedUpgrade>(),
            Served::Node => self.watch::<NodeView>(),
        }
    }

    fn nodes(&mut self) {
        self.watch::<NodeView>();
        self.shared.observe(|_| {});
    }

    fn watch<K: Fact>(&mut self) {
        if self.running.contains_key(&K::KIND) {
            return;
        }
        info!(kind = ?K::KIND, "watching");
        let stop = self.stop.child_token();
        self.running.insert(K::KIND, stop.clone());
        self.shared.observe(|o| {
            o.served.insert(K::KIND);
        });
        self.tasks.spawn(watch_kind::<K>(Api::all(self.client.clone()), self.shared.clone(), stop));
    }

    fn end(&mut self, kind: Served) {
        if kind == Served::Node {
            return;
        }
        if let Some(stop) = self.running.remove(&kind) {
            info!(?kind, "not served any more");
            stop.cancel();
            self.shared.watch_works(&format!("{kind:?}"));
            self.shared.observe(|o| o.forget(kind));
        }
    }
}

async fn watch_kind<K: Fact>(api: Api<DeserializeGuard<K>>, shared: Arc<Shared>, stop: CancellationToken) {
    let kind = format!("{:?}", K::KIND);
    let mut config = watcher::Config::default();
    if let Some(name) = K::ONLY {
        config = config.fields(&format!("metadata.name={name}"));
    }
    let stream = watcher(api, config).backoff(DefaultBackoff::default());
    let stream = stream.take_until(stop.clone().cancelled_owned());
    let mut stream = std::pin::pin!(stream);
    let mut listed: Option<BTreeSet<String>> = None;
    let mut errors = 0;
    while let Some(event) = stream.next().await {
        if stop.is_cancelled() {
            break;
        }
        if event.is_ok() {
            errors = 0;
            shared.watch_works(&kind);
        }
        match event {
            Ok(Event::Init) => listed = Some(BTreeSet::new()),
            Ok(Event::InitApply(object)) => {
                if let Some(object) = decoded(&kind, object) {
                    if let Some(listed) = &mut listed {
                        listed.insert(object.name_any());
                    }
                    shared.observe(|o| object.put(o));
                }
            }
            Ok(Event::InitDone) => {
                let listed = listed.take().unwrap_or_default();
                shared.observe(|o| {
                    for name in K::names(o).iter().filter(|n| !listed.contains(*n)) {
                        K::remove(o, name);
                    }
                    o.listed.insert(K::KIND);
                });
            }
            Ok(Event::Apply(object)) => {
                if let Some(object) = decoded(&kind, object) {
                    shared.observe(|o| object.put(o));
                }
            }
            Ok(Event::Delete(object)) => {
                let name = object.name_any();
                shared.observe(|o| K::remove(o, &name));
            }
            Err(error) => {
                errors += 1;
                failed(&shared, &kind, &error, errors);
            }
        }
    }
}

/// One object that does not decode must not stop the watch of a kind.
fn decoded<K>(kind: &str, object: DeserializeGuard<K>) -> Option<K> {
    object
        .0
        .inspect_err(|invalid| warn!(kind, name = invalid.metadata.name, error = %invalid.error, "object does not decode; skipped"))
        .ok()
}
