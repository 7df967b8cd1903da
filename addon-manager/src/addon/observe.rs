//! Fills what the decisions of the add-on area see from the caches.

use std::sync::Arc;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use manager_core::addon::{Settings, cluster, cma, csr};
use manager_core::plan::Fault;
use manifests::meta::labels;
use manifests::ocm::{AddOnDeploymentConfig, ClusterManagementAddOn, names};

use crate::runtime::context::Context;

fn settings(ctx: &Context) -> Arc<Settings> {
    Arc::new(Settings::new(ctx.config.agent_image.clone()))
}

fn configs(ctx: &Context, wanted: Vec<(String, String)>) -> Vec<Arc<AddOnDeploymentConfig>> {
    wanted
        .into_iter()
        .filter_map(|(namespace, name)| ctx.world.addon_configs.get(&namespace, &name))
        .collect()
}

/// The add-on on one cluster.
pub(super) fn cluster(ctx: &Context, name: &str, fault: Option<Fault>) -> cluster::Seen {
    let world = &ctx.world;
    let addon = world.addons.get(name, names::ADDON);
    let wanted = addon.as_deref().map(manager_core::addon::config::wanted_configs).unwrap_or_default();
    let owner = world
        .cluster_instances
        .get(name, name)
        .and_then(|i| i.metadata.labels.clone())
        .and_then(|l| l.get(labels::REQUEST_NAME).cloned());
    cluster::Seen {
        settings: settings(ctx),
        name: name.to_owned(),
        cluster: world.clusters.get("", name),
        configs: configs(ctx, wanted),
        works: world.works.in_namespace(name),
        binding: world.bindings.get(name, names::AGENT_ROLE_BINDING),
        report: world.reports.get(name, manifests::addon::REPORT_NAME),
        request: owner,
        addon,
        fault,
    }
}

/// The ClusterManagementAddOn.
pub(super) fn kind(ctx: &Context, addon: Arc<ClusterManagementAddOn>) -> cma::Seen {
    cma::Seen { configs: configs(ctx, cma::wanted(&addon)), addon }
}

/// A CertificateSigningRequest of an agent.
pub(super) fn signing_request(ctx: &Context, csr: Arc<CertificateSigningRequest>) -> csr::Seen {
    let cluster = csr::cluster_of(&csr).map(str::to_owned).unwrap_or_default();
    csr::Seen {
        settings: settings(ctx),
        cluster: ctx.world.clusters.get("", &cluster),
        addon: ctx.world.addons.get(&cluster, names::ADDON),
        csr,
    }
}
