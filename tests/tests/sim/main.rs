//! The simulators against a real API server: they do what the real operators do, and refuse what those refuse.

#![expect(clippy::indexing_slicing, clippy::panic, reason = "objects of tests are JSON with known keys")]

mod kit;
mod metal3;
mod policy;
mod siteconfig;
mod spoke;
