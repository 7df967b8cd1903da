use std::fmt;

use manifests::meta::{annotations, labels};
use manifests::metal3::{self, BareMetalHost, ErrorType, OperationalStatus, ProvisioningState};

use crate::hardware::HostView;

/// Why a host was not chosen. `Display` is for people: the plan preview and condition messages print it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// In another pool, or in none.
    Pool {
        /// Name or uid that the node group asks for.
        wanted: String,
        /// Pool of the host.
        found: Option<String>,
    },
    /// Its pool belongs to another site.
    Site {
        /// Site of the request.
        wanted: String,
        /// Site of the pool.
        found: String,
        /// Pool of the host.
        pool: String,
    },
    /// A label differs.
    Label {
        /// Full label key.
        key: String,
        /// Value that the node group asks for.
        wanted: String,
        /// Value of the host.
        found: Option<String>,
    },
    /// Neither in a pool nor with a selector label: not the O-Cloud's host.
    NotManaged,
    /// Belongs to a node already.
    Allocated {
        /// Name of the AllocatedNode, when known.
        node: Option<String>,
    },
    /// Chosen for a request that is older.
    Reserved {
        /// Name of that request.
        request: String,
    },
    /// Chosen for another group of the same request.
    OtherGroup {
        /// Name of that group.
        group: String,
    },
    /// Being deleted.
    Deleting,
    /// Its release is not finished.
    Releasing,
    /// Paused by its owner.
    Paused,
    /// Detached by its owner.
    Detached,
    /// In error.
    Error {
        /// Kind of the error.
        kind: Option<ErrorType>,
        /// Its text.
        message: String,
    },
    /// Somebody else uses it.
    Consumer {
        /// Name of the consumer.
        name: String,
    },
    /// Installed from an image before; must be deleted first.
    ImageBased,
    /// Not ready for an image.
    State {
        /// Its state.
        state: ProvisioningState,
    },
    /// Not inspected, or the details are missing.
    NoHardwareData,
    /// A `hardwaredata/` criterion is not met.
    Criterion {
        /// Selector key.
        key: String,
        /// Selector value.
        wanted: String,
        /// What the host has.
        found: String,
    },
    /// Matches and is free, but enough others come first in order.
    NotNeeded,
}

impl Rejection {
    /// The first reason for which nobody may take this host now, whatever they ask for (spec/04 5.1 B10, 5.2).
    ///
    /// # Errors
    /// That reason.
    pub fn check(view: &HostView) -> Result<(), Rejection> {
        let host = &view.host;
        if !is_managed(host) {
            return Err(Rejection::NotManaged);
        }
        let node = host.label(labels::ALLOCATED_NODE).filter(|n| !n.is_empty());
        if host.label(labels::ALLOCATED) == Some("true") || node.is_some() {
            return Err(Rejection::Allocated { node: node.map(str::to_owned) });
        }
        if host.metadata.deletion_timestamp.is_some() {
            return Err(Rejection::Deleting);
        }
        if host.annotation(annotations::DEALLOCATION_COMPLETE).is_some() {
            return Err(Rejection::Releasing);
        }
        if host.annotation(metal3::annotations::PAUSED).is_some() {
            return Err(Rejection::Paused);
        }
        let health = host.operational_status();
        if host.annotation(metal3::annotations::DETACHED).is_some() || health == OperationalStatus::Detached {
            return Err(Rejection::Detached);
        }
        let error = host.status.as_ref().and_then(|s| s.error_type);
        if health == OperationalStatus::Error || error.is_some() {
            let message = host.status.as_ref().map(|s| s.error_message.to_string()).unwrap_or_default();
            return Err(Rejection::Error { kind: error, message });
        }
        if let Some(consumer) = &host.spec.consumer_ref {
            let name = consumer.name.as_deref().unwrap_or_default().to_owned();
            return Err(Rejection::Consumer { name });
        }
        if host.annotation(annotations::IBI_WARNING).is_some() {
            return Err(Rejection::ImageBased);
        }
        if host.state() != ProvisioningState::Available {
            return Err(Rejection::State { state: host.state() });
        }
        if view.hardware().is_none() {
            return Err(Rejection::NoHardwareData);
        }
        Ok(())
    }

    /// A few words that many hosts share, for counts in a message.
    pub fn category(&self) -> &'static str {
        match self {
            Rejection::Pool { .. } => "in another pool",
            Rejection::Site { .. } => "at another site",
            Rejection::Label { .. } => "with other labels",
            Rejection::NotManaged => "not managed by the O-Cloud",
            Rejection::Allocated { .. } => "allocated",
            Rejection::Reserved { .. } => "reserved for older requests",
            Rejection::OtherGroup { .. } => "needed by other groups of this request",
            Rejection::Deleting => "being deleted",
            Rejection::Releasing => "being released",
            Rejection::Paused => "paused",
            Rejection::Detached => "detached",
            Rejection::Error { .. } => "in error",
            Rejection::Consumer { .. } => "used by another consumer",
            Rejection::ImageBased => "to be deleted after an image-based install",
            Rejection::State { .. } => "not available",
            Rejection::NoHardwareData => "without HardwareData",
            Rejection::Criterion { .. } => "with other hardware",
            Rejection::NotNeeded => "not needed",
        }
    }
}

/// In a pool, or with a selector label (spec/01 7.1).
pub fn is_managed(host: &BareMetalHost) -> bool {
    host.label(labels::RESOURCE_POOL).is_some_and(|p| !p.is_empty())
        || host
            .metadata
            .labels
            .iter()
            .flatten()
            .any(|(key, _)| key.starts_with(labels::RESOURCE_SELECTOR_PREFIX))
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Pool { wanted, found: Some(found) } => {
                write!(f, "is in resource pool {found}, not in {wanted}")
            }
            Rejection::Pool { wanted, found: None } => {
                write!(f, "is in no resource pool (label {}), {wanted} is asked for", labels::RESOURCE_POOL)
            }
            Rejection::Site { wanted, found, pool } => {
                write!(f, "is at site {found} (resource pool {pool}), not at {wanted}")
            }
            Rejection::Label { key, wanted, found: Some(found) } => {
                write!(f, "has label {key}={found}, not {wanted}")
            }
            Rejection::Label { key, wanted, found: None } => {
                write!(f, "has no label {key}, {wanted} is asked for")
            }
            Rejection::NotManaged => write!(
                f,
                "is not managed by the O-Cloud: it has neither label {} nor a label {}<key>",
                labels::RESOURCE_POOL,
                labels::RESOURCE_SELECTOR_PREFIX
            ),
            Rejection::Allocated { node: Some(node) } => write!(f, "is allocated to AllocatedNode {node}"),
            Rejection::Allocated { node: None } => write!(f, "has label {}=true", labels::ALLOCATED),
            Rejection::Reserved { request } => write!(f, "is reserved for NodeAllocationRequest {request}"),
            Rejection::OtherGroup { group } => write!(f, "is needed by node group {group} of the same request"),
            Rejection::Deleting => f.write_str("is being deleted"),
            Rejection::Releasing => f.write_str("is being released by its last user"),
            Rejection::Paused => write!(f, "is paused (annotation {})", metal3::annotations::PAUSED),
            Rejection::Detached => write!(f, "is detached (annotation {})", metal3::annotations::DETACHED),
            Rejection::Error { kind, message } => {
                let kind = kind.map_or("error", ErrorType::as_str);
                if message.is_empty() { write!(f, "is in error: {kind}") } else { write!(f, "is in error: {kind}: {message}") }
            }
            Rejection::Consumer { name } => write!(f, "is used by {name} (spec.consumerRef)"),
            Rejection::ImageBased => f.write_str(
                "was installed from an image; delete the BareMetalHost and install it again before it is used",
            ),
            Rejection::State { state: ProvisioningState::None } => {
                f.write_str("has no provisioning state yet, it must be available")
            }
            Rejection::State { state } => write!(f, "is {}, not available", state.as_str()),
            Rejection::NoHardwareData => f.write_str("has no HardwareData, it must be inspected"),
            Rejection::Criterion { key, wanted, found } => write!(f, "does not meet {key}: {wanted}; {found}"),
            Rejection::NotNeeded => f.write_str("matches, but enough other hosts come first"),
        }
    }
}
