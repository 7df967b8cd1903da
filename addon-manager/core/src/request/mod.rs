//! The ProvisioningRequest lifecycle (spec/02).
//!
//! ```text
//! request + template + live objects --decide--> steps, status
//!     PRE      validate, merge, expand, hwmgmt, names, render, resources
//!     HW       nar, nodes
//!     INSTALL  install, clock
//!     POST     crate::policy, phase
//! admission    create, update and delete of requests, on the same functions
//! ```
//!
//! Everything here is total: malformed data gives an [`InputError`], never a panic (B-44).

pub mod admission;
pub mod clock;
mod decide;
pub mod diff;
mod error;
mod expand;
pub mod fulfil;
pub mod hwmgmt;
pub mod install;
pub mod merge;
pub mod names;
pub mod nar;
pub mod nodes;
pub mod phase;
pub mod render;
pub mod resources;
pub mod seen;
pub mod stage;
pub mod stages;
pub mod template;
mod upgrade_input;
pub mod validate;

pub use decide::{RequestPlan, decide};
pub use error::{Class, InputError};

#[cfg(test)]
mod tests;
