//! Locations, OCloudSites, ResourcePools, HardwareProfiles, FirmwareCatalogs.

mod act;

pub(crate) use act::Inventory;
