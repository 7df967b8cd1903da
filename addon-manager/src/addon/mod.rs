//! The add-on contract of Open Cluster Management (spec/07 part 2).

mod act;
mod observe;

pub(crate) use act::{AddonKinds, Addons, SigningRequests};
