//! Every CRD that we generate, built from the types. `cargo gen` writes them to `crds/`.
//!
//! A kind is added by one line in [`own`] or [`lab`].

mod finish;
mod text;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use finish::finish;
pub use text::{file_name, to_yaml};

use crate::{addon, clcm, metal3, ocloud, openshift, ran};

/// Kinds that the product owns: the chart ships them.
pub fn own() -> Vec<CustomResourceDefinition> {
    vec![
        kind::<clcm::ClusterTemplate>(),
        kind::<clcm::ProvisioningRequest>(),
        // Without its spec a profile could be created but never be changed again (spec/01 1.4).
        finish::require_spec(kind::<clcm::HardwareProfile>()),
        kind::<clcm::FirmwareCatalog>(),
        kind::<clcm::NodeAllocationRequest>(),
        kind::<clcm::AllocatedNode>(),
        kind::<ocloud::Inventory>(),
        kind::<ocloud::Location>(),
        kind::<ocloud::OCloudSite>(),
        kind::<ocloud::ResourcePool>(),
        kind::<addon::SpokeReport>(),
    ]
}

/// Kinds of others that a hub without them (the lab, a development cluster) gets from us; real hubs bring their own.
pub fn lab() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        kind::<ran::ClusterInstance>(),
        kind::<ran::Agent>(),
        kind::<ran::InfraEnv>(),
        kind::<ran::NMStateConfig>(),
        kind::<openshift::ClusterImageSet>(),
    ];
    crds.extend(metal3::crds());
    crds
}

fn kind<K: CustomResourceExt>() -> CustomResourceDefinition {
    finish(K::crd())
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
