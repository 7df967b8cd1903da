//! Configuration by policies: what the policies bound to a cluster mean for its request (spec/02 section 11).
//!
//! ```text
//! roots of the template + children in the cluster namespace + ManagedCluster --decide--> ConfigurationApplied,
//!     configuration clock, ztpStatus, list of bound policies
//! ```
//!
//! Placement is not done here: policies bind through labels of the ManagedCluster.

mod decide;
mod inputs;

pub use decide::{Decision, Seen, decide, progress};
pub use inputs::{Bound, Child, Cluster, Root, bind, root_of};

/// Details while expected policies are missing.
pub const PREPARING: &str = "Cluster configuration is being prepared";
/// Details while policies are not compliant.
pub const APPLYING: &str = "Cluster configuration is being applied";
/// Details while the cluster cannot take configuration.
pub const WAITING_FOR_CLUSTER: &str = "Waiting for cluster to be ready for policy configuration";

/// How long a cluster must have been available before "no policies" is believed for a new cluster (B-10): the
/// propagator needs a moment to create them.
pub const GRACE: jiff::SignedDuration = jiff::SignedDuration::from_mins(2);

#[cfg(test)]
mod tests;
