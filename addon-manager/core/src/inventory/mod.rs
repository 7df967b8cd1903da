//! Location, OCloudSite, ResourcePool (spec/01 section 5).
