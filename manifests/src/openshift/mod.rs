//! OpenShift kinds, partial: ClusterVersion, ClusterOperator, MachineConfigPool, ImageBasedUpgrade, ClusterImageSet.

mod cluster_image_set;
pub mod cluster_operator;
pub mod cluster_version;
pub mod condition;
pub mod image_based_upgrade;
pub mod machine_config_pool;

pub use cluster_image_set::{ClusterImageSet, ClusterImageSetSpec};
pub use cluster_operator::ClusterOperator;
pub use cluster_version::ClusterVersion;
pub use condition::StatusCondition;
pub use image_based_upgrade::ImageBasedUpgrade;
pub use machine_config_pool::MachineConfigPool;
