//! The manager is killed at five moments of a request, and goes on where it was: one host, no orphan, fulfilled.

use std::time::Duration;

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::runtime::watcher;
use manifests::clcm::ProvisioningRequest;
use manifests::meta::{finalizers, labels};
use serde_json::Value;
use tests::lab::wait;
use tests::scene::check;
use tests::scene::fixture::{Fixture, judge};
use tests::sim::policy::Verdict;

use crate::kit::{self, Case, LIMIT, condition, note};

/// Hosts that could be taken by mistake.
const SPARE: usize = 2;

/// Restarts the manager; the request must be fulfilled, and in the end everything is given back.
async fn goes_on(case: Case) -> Result<()> {
    case.scene.start_manager(false).await?;
    let request = case.fulfilled().await?;
    check::whole(&case, &request).await?;
    case.delete().await?;
    check::gone(&case).await?;
    case.scene.retire(case.cluster()).await
}

#[test]
fn after_the_finalizer() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("kill-finalizer").spare(SPARE)).await?;
        case.ask().await?;
        case.until("it has our finalizer", |r| r.finalizers().iter().any(|f| f == finalizers::REQUEST))
            .await?;
        scene.kill_manager().await?;
        ensure!(case.allocations().get_opt(&case.name()).await?.is_none(), "too late");
        goes_on(case).await
    })
}

#[test]
fn after_the_allocation_request() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::bare(scene, Fixture::single("kill-allocation").spare(SPARE));
        let mut world = case.fixture.site_objects();
        world.extend(case.fixture.template());
        world.extend(case.fixture.policies());
        scene.put(world).await?;
        case.ask().await?;
        wait::present(&case.allocations(), &case.name(), LIMIT).await?;
        scene.kill_manager().await?;
        // Only now there is something to claim.
        scene.put(case.fixture.host_objects()).await?;
        goes_on(case).await
    })
}

#[test]
fn after_the_claim() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("kill-claim").spare(SPARE)).await?;
        case.ask().await?;
        let claimed = watcher::Config::default().labels(labels::ALLOCATED);
        wait::many(&case.hosts(), claimed, LIMIT, "a host is claimed", |hosts| !hosts.is_empty()).await?;
        scene.kill_manager().await?;
        let nodes = case.own_nodes().await?;
        note(&format!("killed after the claim: {} AllocatedNodes", nodes.len()));
        ensure!(case.instances().get_opt(case.cluster()).await?.is_none(), "too late");
        goes_on(case).await
    })
}

#[test]
fn after_the_cluster_instance() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("kill-instance").spare(SPARE)).await?;
        scene.control().siteconfig.install_time(case.cluster(), Duration::from_secs(4));
        case.ask().await?;
        let instance = wait::present(&case.instances(), case.cluster(), LIMIT).await?;
        scene.kill_manager().await?;
        let before = case.requests().get(&case.name()).await?;
        ensure!(condition(&before, "ClusterProvisioned").is_none_or(|c| c.status != "True"), "too late");
        let uid = instance.uid();
        let instances = case.instances();
        let cluster = case.cluster().to_owned();
        case.scene.start_manager(false).await?;
        case.fulfilled().await?;
        ensure!(instances.get(&cluster).await?.uid() == uid, "the ClusterInstance was made anew");
        scene.kill_manager().await?;
        goes_on(case).await
    })
}

#[test]
fn while_policies_are_pending() -> Result<()> {
    kit::alone(|scene| async move {
        let case = Case::new(scene, Fixture::single("kill-policies").spare(SPARE)).await?;
        judge(&scene.control().policy, &case.fixture, Verdict::NonCompliant);
        case.ask().await?;
        let before =
            case.says("ConfigurationApplied", "False", "The configuration is still being applied").await?;
        let clock = |r: &ProvisioningRequest| -> Option<Value> {
            let details = r.status.as_ref()?.extensions.as_ref()?.cluster_details.as_ref()?;
            serde_json::to_value(details.non_compliant_at.as_ref()?).ok()
        };
        let started = clock(&before);
        ensure!(started.is_some(), "the configuration clock runs");
        scene.kill_manager().await?;
        scene.start_manager(false).await?;
        // Looked at again, the clock is where it was.
        let looked =
            || async { scene.metric("ocloud_reconcile_seconds_count{area=\"request\"").await > Some(0.0) };
        wait::poll(LIMIT, "the new process has looked at the request", looked).await?;
        let after =
            case.says("ConfigurationApplied", "False", "The configuration is still being applied").await?;
        ensure!(clock(&after) == started, "the configuration clock was set back");
        scene.kill_manager().await?;
        judge(&scene.control().policy, &case.fixture, Verdict::Compliant);
        goes_on(case).await
    })
}
