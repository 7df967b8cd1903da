//! `ocloud.openshift.io/v1alpha1` (spec/01 sections 1.8 to 1.11): where the O-Cloud is, and its one configuration.

pub mod conditions;
mod inventory;
mod location;
mod o_cloud_site;
mod resource_pool;

pub use inventory::{
    CLIENT_BINDING_CLAIM, GROUPS_CLAIM, IngressConfig, Inventory, InventorySpec, InventoryStatus,
    OAuthConfig, ServerConfig, SmoConfig, TlsConfig, USERNAME_CLAIM, UsedServerConfig,
};
pub use location::{CivicAddressElement, Coordinate, Location, LocationSpec, LocationStatus};
pub use o_cloud_site::{OCloudSite, OCloudSiteSpec, OCloudSiteStatus};
pub use resource_pool::{ResourcePool, ResourcePoolSpec, ResourcePoolStatus};

/// API group of this module.
pub const GROUP: &str = "ocloud.openshift.io";
