//! OpenShift kinds, partial: ClusterVersion, MachineConfigPool, ClusterImageSet.

mod cluster_image_set;

pub use cluster_image_set::{ClusterImageSet, ClusterImageSetSpec};
