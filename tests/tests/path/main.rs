//! The product's path on the real lab: from a ProvisioningRequest to a running cluster and back, with the manager killed
//! at bad moments, with bad input, after a restore, and at rest. All tests share one hub and one manager; each has its
//! own names.

#![expect(clippy::indexing_slicing, reason = "objects of tests are JSON with known keys")]

mod deletion;
mod happy;
mod kill;
mod kit;
mod malformed;
mod rest;
mod restore;
mod rights;
