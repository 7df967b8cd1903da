//! What every controller gets.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use manager_core::plan::Note;
use tracing::debug;

use super::clock::Clock;
use super::key::Key;
use super::memo::{ConfigMaps, DryRuns, Interest, Secrets};
use super::queue::Queue;
use super::world::World;
use crate::config::Config;
use crate::hardware::Memory;
use crate::metrics::Metrics;
use crate::request::Templates;

/// One queue per area.
#[derive(Debug)]
pub(crate) struct Queues {
    /// ClusterTemplates.
    pub template: Queue<Key>,
    /// ProvisioningRequests.
    pub request: Queue<Key>,
    /// NodeAllocationRequests.
    pub allocation: Queue<Key>,
    /// AllocatedNodes.
    pub node: Queue<Key>,
    /// One key only: all waiting allocations are planned together.
    pub planner: Queue<Key>,
    /// Locations, OCloudSites, ResourcePools, HardwareProfiles, FirmwareCatalogs: the namespace holds the kind.
    pub inventory: Queue<Key>,
    /// Clusters with our add-on.
    pub addon: Queue<Key>,
    /// CertificateSigningRequests of our agents.
    pub csr: Queue<Key>,
    /// Our ClusterManagementAddOn.
    pub cma: Queue<Key>,
}

impl Default for Queues {
    fn default() -> Self {
        Queues {
            template: Queue::new("template"),
            request: Queue::new("request"),
            allocation: Queue::new("allocation"),
            node: Queue::new("node"),
            planner: Queue::new("planner"),
            inventory: Queue::new("inventory"),
            addon: Queue::new("addon"),
            csr: Queue::new("csr"),
            cma: Queue::new("cma"),
        }
    }
}

impl Queues {
    /// All of them.
    pub(crate) fn all(&self) -> [&Queue<Key>; 9] {
        [
            &self.template,
            &self.request,
            &self.allocation,
            &self.node,
            &self.planner,
            &self.inventory,
            &self.addon,
            &self.csr,
            &self.cma,
        ]
    }
}

/// Who looked at what, by area (see [`Interest`]). Keys of kinds that share a namespace are told apart by a prefix.
#[derive(Debug, Default)]
pub(crate) struct Interests {
    /// ConfigMaps that requests read.
    pub request_config_maps: Interest<Key>,
    /// HardwareProfiles (by name) that requests read.
    pub request_profiles: Interest<Key>,
    /// ClusterImageSets (by name) that templates read.
    pub template_image_sets: Interest<Key>,
}

/// See the module.
pub(crate) struct Context {
    /// Client of the hub.
    pub client: kube::Client,
    /// All watch caches.
    pub world: World,
    /// All queues.
    pub queues: Queues,
    /// Time of decisions.
    pub clock: Clock,
    /// Flags.
    pub config: Config,
    /// Metrics.
    pub metrics: Metrics,
    /// Dry runs, by hash of their input.
    pub memo: DryRuns,
    /// ConfigMaps by version.
    pub config_maps: ConfigMaps,
    /// What is known of Secrets.
    pub secrets: Secrets,
    /// Who looked at what.
    pub interests: Interests,
    /// Templates prepared for requests.
    pub templates: Templates,
    /// What the last run of the planner decided.
    pub hardware: Memory,
    recorder: Recorder,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Context {
    /// A context with empty caches and closed queues.
    pub(crate) fn new(client: kube::Client, config: Config) -> Arc<Self> {
        let reporter = Reporter { controller: "ocloud-manager".to_owned(), instance: None };
        Arc::new(Context {
            recorder: Recorder::new(client.clone(), reporter),
            client,
            world: World::default(),
            queues: Queues::default(),
            clock: Clock,
            config,
            metrics: Metrics::new(),
            memo: DryRuns::default(),
            config_maps: ConfigMaps::default(),
            secrets: Secrets::default(),
            interests: Interests::default(),
            templates: Templates::default(),
            hardware: Memory::default(),
        })
    }

    /// Puts the answer to one of our writes into the caches, and wakes whom it concerns.
    pub(crate) fn absorb(&self, api: &ApiResource, object: &DynamicObject) {
        if let Err(error) = self.world.absorb(self, api, object) {
            debug!(kind = api.kind, %error, "answer not taken into the cache; the watch will bring it");
        }
    }

    /// A kind is served from now on.
    pub(crate) fn served(&self, kind: &str) {
        debug!(kind, "served");
        super::routes::served(self);
    }

    /// Publishes events about an object. Failures are not worth a retry.
    pub(crate) async fn publish<K>(&self, object: &K, notes: &[Note])
    where
        K: kube::Resource<DynamicType = ()>,
    {
        for note in notes {
            let event = Event {
                type_: if note.warning { EventType::Warning } else { EventType::Normal },
                reason: note.reason.clone(),
                // The API server refuses longer ones.
                note: Some(note.message.chars().take(1000).collect()),
                action: "Reconcile".to_owned(),
                secondary: None,
            };
            if let Err(error) = self.recorder.publish(&event, &object.object_ref(&())).await {
                debug!(%error, "event not published");
            }
        }
    }
}
