//! The lab: what integration tests and the demo run on.

pub mod sim;
