//! The ProvisioningRequest lifecycle (spec/02).
