//! Every API type that the O-Cloud add-on owns or touches, one module per API group; and the CRDs generated from them.
//!
//! Own kinds mirror the published JSON exactly. Foreign kinds are partial: only the fields that we use, unknown
//! fields are ignored, and they are never written back whole.

#![expect(clippy::duplicated_attributes, reason = "printer columns of one kind share their type")]

pub mod addon;
pub mod clcm;
pub mod crds;
pub mod meta;
pub mod metal3;
pub mod ocloud;
pub mod ocm;
pub mod openshift;
pub mod ran;
