//! Deletion gives everything back, and says what it waits for.

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::DeleteParams;
use manifests::clcm::ProvisioningPhase;
use manifests::meta::names;
use serde_json::json;
use tests::lab::wait;
use tests::scene::check;
use tests::scene::fixture::{Fixture, PULL_SECRET};
use tests::sim::knobs;
use tests::sim::siteconfig::Outcome;

use crate::kit::{self, Case, LIMIT, merge};

#[test]
fn deletion_gives_everything_back_and_hosts_are_allocated_again() -> Result<()> {
    kit::beside(|scene| async move {
        let case = Case::new(scene, Fixture::single("gone-sno")).await?;
        case.ask().await?;
        case.fulfilled().await?;
        let slow = json!({"metadata": {"annotations": {format!("{}deprovisioning", knobs::DELAY): "1s"}}});
        merge(&case.hosts(), "host-0", &slow).await?;
        let story = case.story();
        case.delete().await?;
        let node = names::allocated_node(case.cluster(), &case.fixture.racks(), "host-0");
        for blocker in [
            format!("waiting for NodeAllocationRequest {} to release {node}", case.name()),
            format!("waiting for ClusterInstance {}", case.cluster()),
            format!("waiting for namespace {}", case.cluster()),
        ] {
            story.tells(&format!("Deletion is in progress: {blocker}")).await?;
        }
        ensure!(story.phases().last() == Some(&ProvisioningPhase::Deleting), "{:?}", story.phases());
        check::gone(&case).await?;

        // The only host again, for the same cluster; and away with it in the middle of its installation.
        scene.control().siteconfig.install_time(case.cluster(), LIMIT);
        case.ask().await?;
        case.says("ClusterProvisioned", "False", "Provisioning cluster").await?;
        ensure!(case.claimed().await? == [("host-0".to_owned(), node)]);
        case.delete().await?;
        check::gone(&case).await?;
        scene.retire(case.cluster()).await
    })
}

#[test]
fn a_request_without_hosts_and_one_without_template_go_at_once() -> Result<()> {
    kit::beside(|scene| async move {
        let without_hosts = Case::bare(scene, Fixture::single("gone-no-hosts"));
        let mut world = without_hosts.fixture.site_objects();
        world.extend(without_hosts.fixture.template());
        world.extend(without_hosts.fixture.policies());
        scene.put(world).await?;
        let without_template = Case::bare(scene, Fixture::single("gone-no-tpl"));
        without_hosts.ask().await?;
        without_template.ask().await?;
        without_hosts.says("HardwareProvisioned", "False", "not enough free resources").await?;
        without_template
            .says("ProvisioningRequestValidated", "False", "does not exist in any namespace")
            .await?;
        for case in [without_hosts, without_template] {
            case.requests().delete(&case.name(), &DeleteParams::default()).await?;
            wait::gone(&case.requests(), &case.name(), LIMIT).await?;
            wait::gone(&case.namespaces(), case.cluster(), LIMIT).await?;
            ensure!(case.allocations().get_opt(&case.name()).await?.is_none());
            scene.retire(case.cluster()).await?;
        }
        Ok(())
    })
}

/// B-15: requests whose hosts share a namespace share the copy of the pull secret there.
#[test]
fn a_shared_pull_secret_stays_until_the_last_request_goes() -> Result<()> {
    kit::beside(|scene| async move {
        let case = Case::new(scene, Fixture::single("gone-shared").spare(1)).await?;
        let other = "gone-shared-2";
        for cluster in [case.cluster(), other] {
            scene.control().siteconfig.outcome(cluster, Outcome::HangStart);
        }
        let sibling = case.fixture.sibling(other);
        let sibling_name = sibling["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        scene.put(vec![case.fixture.request(), sibling]).await?;
        for name in [&case.name(), &sibling_name] {
            wait::condition(&case.requests(), name, LIMIT, "HardwareNodeConfigApplied", "True").await?;
        }
        let secrets = case.secrets(&case.fixture.racks());
        wait::until(&secrets, PULL_SECRET, LIMIT, "both requests own it", |s| {
            s.owner_references().len() == 2
        })
        .await?;
        case.delete().await?;
        let left =
            |s: &Secret| s.owner_references().iter().map(|o| o.name.clone()).eq([sibling_name.clone()]);
        wait::until(&secrets, PULL_SECRET, LIMIT, "it belongs to the other", left).await?;
        case.requests().delete(&sibling_name, &DeleteParams::default()).await?;
        wait::gone(&secrets, PULL_SECRET, LIMIT).await?;
        wait::gone(&case.requests(), &sibling_name, LIMIT).await?;
        check::gone(&case).await?;
        scene.retire(case.cluster()).await
    })
}
