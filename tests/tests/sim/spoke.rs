//! Spokes.

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::ListParams;
use tests::lab::{self, Lab};
use tests::sim::openshift;
use tests::sim::siteconfig::Event;

use super::kit::{LIMIT, api, condition, create, event, instance, node, prerequisites, sims, site};

/// What the demo does: the simulated installation ends, and a real spoke joins as the cluster that it gave.
#[test]
fn an_installed_cluster_joins_the_hub() -> Result<()> {
    lab::run(async {
        let (sims, lab) = (sims().await?, Lab::shared().await?);
        let (client, cluster) = (&sims.client, "isle");
        site(client, cluster, 1).await?;
        prerequisites(client, cluster).await?;
        create(client, instance(cluster, &[node(cluster, 0, "master")])).await?;
        let Event::Installed(installed) =
            event(sims, |e| matches!(e, Event::Installed(i) if i.cluster == "isle")).await?
        else {
            bail!("not installed")
        };
        let spoke = lab.spoke(cluster).await?;
        openshift::seed(&spoke.client(), &openshift::Cluster::of(&installed)).await?;
        spoke.join(lab.hub(), cluster).await?;
        let managed = spoke.until_available(lab.hub(), LIMIT).await?;
        ensure!(managed.labels()["clusterID"] == installed.cluster_id && managed.labels()["site"] == "east");
        let version = api(&spoke.client(), "ClusterVersion", "").get("version").await?;
        ensure!(version.data["spec"]["clusterID"] == installed.cluster_id);
        Ok(())
    })
}

#[test]
fn a_spoke_looks_like_a_fresh_cluster() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let spoke = lab.spoke("fresh").await?;
        let client = spoke.client();
        let cluster = openshift::Cluster::new("4.20.1", &["m0", "m1", "m2", "w0"]);
        openshift::seed(&client, &cluster).await?;
        openshift::seed(&client, &cluster).await.context("a second time")?;
        let version = api(&client, "ClusterVersion", "").get("version").await?;
        ensure!(version.data["status"]["history"][0]["version"] == "4.20.1");
        ensure!(
            version.data["status"]["desired"]["version"] == "4.20.1"
                && version.data["status"]["availableUpdates"].is_null()
        );
        ensure!(condition(&version, "Available").is_some_and(|c| c["status"] == "True"));
        let operators = api(&client, "ClusterOperator", "").list(&ListParams::default()).await?.items;
        ensure!(
            operators.len() > 20
                && operators.iter().all(|o| o.data["status"]["versions"][0]["version"] == "4.20.1")
        );
        let pools = api(&client, "MachineConfigPool", "");
        for (pool, machines) in [("master", 3), ("worker", 1)] {
            let pool = pools.get(pool).await?;
            ensure!(pool.data["status"]["readyMachineCount"] == machines);
        }
        openshift::add_node(&client, "w1", openshift::Role::Worker, "4.20.1").await?;
        let nodes = api(&client, "Node", "").list(&ListParams::default()).await?.items;
        ensure!(
            nodes.len() == 5
                && nodes.iter().all(|n| condition(n, "Ready").is_some_and(|c| c["status"] == "True"))
        );
        Ok(())
    })
}
