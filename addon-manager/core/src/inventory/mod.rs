//! The small kinds that need no more than their parent or themselves: Location, OCloudSite, ResourcePool (spec/01
//! section 5), HardwareProfile (spec/01 1.4), `FirmwareCatalog` (spec/01 6.2).
//!
//! ```text
//! Location <-- OCloudSite <-- ResourcePool      each is Ready when its parent exists and is Ready
//! HardwareProfile, FirmwareCatalog              condition Validation
//! ```
//!
//! Nothing is polled and nothing is ever blocked: a parent that goes or comes wakes its children.

mod catalog;
mod guard;
mod place;
mod profile;

pub use catalog::{create_catalog, decide_catalog};
pub use guard::{delete_warning, refuse_catalog_update, refuse_profile_delete};
pub use place::{PoolSeen, SiteSeen, decide_location, decide_pool, decide_site, is_ready};
pub use profile::{decide_profile, problems};

#[cfg(test)]
mod tests;
