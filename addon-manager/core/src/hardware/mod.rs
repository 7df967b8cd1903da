//! Hosts for clusters: selection, claims, nodes, firmware before the installation, release (spec/04).
//!
//! ```text
//! NodeAllocationRequests ---> planner ---> claims: labels on BareMetalHosts (compare-and-set)
//!          |                                  |
//!          v                                  v
//!        nar  <---- conditions ---- AllocatedNodes <---- node (boot MAC, firmware, status)
//!          |                                  |
//!          '---- deletes ------------------> release (clean, power off, free)
//! ```
//!
//! * [`select`]: which hosts a node group may have, and why not the others.
//! * [`planner`]: all waiting requests together; every group of a request or none.
//! * [`nar`], [`node`], [`release`]: one decision per object.
//!
//! A claim is the pair of labels on the host. It is written before anything else is done for a request, and it is what
//! everything is rebuilt from after a crash or a restore: a pass that finds its own labels goes on from there.

mod boot;
mod claim;
mod firmware;
mod holdings;
mod matching;
pub mod nar;
pub mod node;
pub mod planner;
pub mod release;
pub mod select;
mod texts;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;

use manifests::metal3::{BareMetalHost, HardwareData, HardwareDetails};

pub use claim::{is_claim_of, node_of};
pub use texts::DEFAULT_TIMEOUT;

/// Namespace and name of a host. Orders as the API server lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HostKey {
    /// Namespace of the BareMetalHost.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl HostKey {
    /// The key of a host.
    pub fn of(host: &BareMetalHost) -> Self {
        HostKey {
            namespace: host.metadata.namespace.clone().unwrap_or_default(),
            name: host.metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for HostKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A host with what inspection found.
#[derive(Debug, Clone)]
pub struct HostView {
    /// The host.
    pub host: Arc<BareMetalHost>,
    /// The HardwareData of the same name and namespace.
    pub data: Option<Arc<HardwareData>>,
}

impl HostView {
    /// Namespace and name.
    pub fn key(&self) -> HostKey {
        HostKey::of(&self.host)
    }

    /// What inspection found; `None` when it found nothing yet.
    pub fn hardware(&self) -> Option<&HardwareDetails> {
        self.data.as_ref()?.spec.hardware.as_ref()
    }
}

/// A site as a pool refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// `metadata.name` of the OCloudSite.
    pub name: String,
    /// Its uid, which the inventory API shows as `oCloudSiteId`; `None` while the site does not exist.
    pub uid: Option<String>,
}

impl Site {
    /// Requests name a site by either.
    pub fn is(&self, id: &str) -> bool {
        self.name == id || self.uid.as_deref() == Some(id)
    }
}

/// A resource pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// uid of the ResourcePool, which the inventory API shows as `resourcePoolId`.
    pub uid: String,
    /// Where it stands.
    pub site: Site,
}

/// The resource pools by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pools(pub BTreeMap<String, Pool>);

impl Pools {
    /// The pool of this name has this uid.
    pub fn is(&self, name: &str, uid: &str) -> bool {
        self.0.get(name).is_some_and(|pool| pool.uid == uid)
    }

    /// The site of the pool of this name.
    pub fn site_of(&self, name: &str) -> Option<&Site> {
        self.0.get(name).map(|pool| &pool.site)
    }
}
