//! Clusters.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use tests::lab::{self, Lab, wait};
use tests::sim::siteconfig::{Event, Outcome};

use super::kit::{
    LIMIT, api, condition, create, event, instance, merge, node, prerequisites, refusal, sims, site, state,
    until_reason, until_state,
};

#[test]
fn a_cluster_is_validated_installed_extended_and_removed() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "harbor");
        site(client, cluster, 2).await?;
        let instances = api(client, "ClusterInstance", cluster);
        create(client, instance(cluster, &[node(cluster, 0, "master")])).await?;
        let seen = wait::condition(&instances, cluster, LIMIT, "ClusterInstanceValidated", "False").await?;
        let text = condition(&seen, "ClusterInstanceValidated")
            .map(|c| c["message"].to_string())
            .unwrap_or_default();
        ensure!(text.contains("Validation failed: resource validation failed: encountered error validating ClusterImageSetNameRef: harbor-set"), "{text}");
        ensure!(seen.data["status"].get("observedGeneration").is_none());
        prerequisites(client, cluster).await?;

        let seen = until_reason(&instances, cluster, "Completed").await?;
        for (type_, message) in [
            ("ClusterInstanceValidated", "Validation succeeded"),
            ("RenderedTemplates", "Rendered templates successfully"),
            ("RenderedTemplatesValidated", "Rendered templates validation succeeded"),
            ("RenderedTemplatesApplied", "Applied site config manifests"),
            ("Provisioned", "Provisioning completed"),
        ] {
            let condition = condition(&seen, type_).context("condition")?;
            ensure!(condition["status"] == "True" && condition["message"] == message, "{condition}");
        }
        ensure!(seen.finalizers() == ["clusterinstance.siteconfig.open-cluster-management.io/finalizer"]);
        let installed = event(sims, |e| matches!(e, Event::Installed(i) if i.cluster == "harbor")).await?;
        let Event::Installed(installed) = installed else { bail!("not installed") };
        ensure!(
            installed.version == "4.20.1"
                && installed.hosts == [("n0.harbor.test".to_owned(), "master".to_owned())]
        );
        let managed = api(client, "ManagedCluster", "");
        let seen = managed.get(cluster).await?;
        for (label, value) in
            [("site", "east"), ("name", "harbor"), ("vendor", "OpenShift"), ("openshiftVersion", "4.20.1")]
        {
            ensure!(seen.labels().get(label).is_some_and(|v| v == value), "{label}: {:?}", seen.labels());
        }
        ensure!(seen.labels()["clusterID"] == installed.cluster_id);
        ensure!(seen.annotations()["import.open-cluster-management.io/disable-auto-import"] == "true");
        ensure!(seen.data["spec"]["hubAcceptsClient"] == true);
        let agents = api(client, "Agent", "harbor-racks").list(&ListParams::default()).await?.items;
        ensure!(agents.len() == 1 && agents[0].data["spec"]["hostname"] == "n0.harbor.test");
        ensure!(agents[0].labels()["agent-install.openshift.io/clusterdeployment-namespace"] == "harbor");
        let hosts = api(client, "BareMetalHost", "harbor-racks");
        let seen = until_state(&hosts, "h0", "provisioned").await?;
        ensure!(seen.labels()["siteconfig.open-cluster-management.io/owned-by"] == "harbor_harbor");
        ensure!(seen.data["spec"].get("consumerRef").is_none());

        // Day 2: a worker more, then another image set. AgentClusterInstall must be suppressed for that.
        let nodes = json!({"spec": {"nodes": [node(cluster, 0, "master"), node(cluster, 1, "worker")]}});
        merge(&instances, cluster, nodes).await?;
        event(sims, |e| matches!(e, Event::HostAdded { cluster, .. } if cluster == "harbor")).await?;
        create(client, json!({"kind": "ClusterImageSet", "metadata": {"name": "harbor-next"}, "spec": {"releaseImage": "x:4.20.2-x86_64"}})).await?;
        merge(&instances, cluster, json!({"spec": {"clusterImageSetNameRef": "harbor-next"}})).await?;
        let seen = wait::condition(&instances, cluster, LIMIT, "RenderedTemplatesValidated", "False").await?;
        let text = condition(&seen, "RenderedTemplatesValidated")
            .map(|c| c["message"].to_string())
            .unwrap_or_default();
        ensure!(
            text.contains("Rendered manifests failed dry-run validation, err: ")
                && text.contains("immutable after install started"),
            "{text}"
        );
        merge(&instances, cluster, json!({"spec": {"suppressedManifests": ["AgentClusterInstall"]}})).await?;
        wait::until(&instances, cluster, LIMIT, "it is rendered again", |i| {
            i.data["status"]["observedGeneration"].as_i64() == i.metadata.generation
        })
        .await?;

        // The hardware manager has taken one host back: that one stays, the other goes.
        let mine = json!({"metadata": {"labels": {"siteconfig.open-cluster-management.io/owned-by": null}}});
        merge(&hosts, "h0", mine).await?;
        instances.delete(cluster, &DeleteParams::default()).await?;
        wait::gone(&instances, cluster, LIMIT).await?;
        wait::gone(&managed, cluster, LIMIT).await?;
        wait::gone(&hosts, "h1", LIMIT).await?;
        ensure!(hosts.get_opt("h0").await?.is_some());
        ensure!(api(client, "Agent", "harbor-racks").list(&ListParams::default()).await?.items.is_empty());
        ensure!(api(client, "InfraEnv", "harbor-racks").list(&ListParams::default()).await?.items.is_empty());
        Ok(())
    })
}

#[test]
fn an_installation_is_held_hangs_or_fails_as_told() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "reef");
        site(client, cluster, 1).await?;
        prerequisites(client, cluster).await?;
        sims.control.outcome(cluster, Outcome::Hang);
        let mut object = instance(cluster, &[node(cluster, 0, "master")]);
        object["spec"]["holdInstallation"] = json!(true);
        create(client, object).await?;
        let instances = api(client, "ClusterInstance", cluster);
        until_state(&api(client, "BareMetalHost", "reef-racks"), "h0", "provisioned").await?;
        let seen = until_reason(&instances, cluster, "Unknown").await?;
        ensure!(
            condition(&seen, "Provisioned")
                .is_some_and(|c| c["message"] == "Waiting for provisioning to start")
        );
        merge(&instances, cluster, json!({"spec": {"baseDomain": "other.test", "holdInstallation": false}}))
            .await?;
        let seen = until_reason(&instances, cluster, "InProgress").await?;
        ensure!(condition(&seen, "Provisioned").is_some_and(|c| c["message"] == "Provisioning cluster"));
        let answer = refusal(
            merge(&instances, cluster, json!({"spec": {"extraLabels": {"ManagedCluster": {"a": "b"}}}}))
                .await,
        );
        ensure!(
            answer.contains("spec update not allowed during provisioning or cluster reinstalls"),
            "{answer}"
        );
        let told = |how: &str| json!({"metadata": {"annotations": {"sim.ocloud.dev/install": how}}});
        merge(&instances, cluster, told("fail")).await?;
        let seen = until_reason(&instances, cluster, "Failed").await?;
        ensure!(condition(&seen, "Provisioned").is_some_and(|c| c["message"] == "Provisioning failed"));
        merge(&instances, cluster, told("complete")).await?;
        until_reason(&instances, cluster, "Completed").await?;

        // Paused: nothing happens, not even the deletion.
        let pause = |value: Value| json!({"metadata": {"annotations": {"clusterinstance.siteconfig.open-cluster-management.io/paused": value}}});
        merge(&instances, cluster, pause(json!(""))).await?;
        instances.delete(cluster, &DeleteParams::default()).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        ensure!(instances.get_opt(cluster).await?.is_some());
        merge(&instances, cluster, pause(Value::Null)).await?;
        wait::gone(&instances, cluster, LIMIT).await?;
        event(sims, |e| matches!(e, Event::Removed { cluster } if cluster == "reef")).await?;
        Ok(())
    })
}

/// spec/02 9.3; the product's side of it is scenarios 147 to 151 there.
#[test]
fn the_api_server_refuses_what_siteconfig_refuses() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "fjord");
        site(client, cluster, 2).await?;
        prerequisites(client, cluster).await?;
        let plain = instance(cluster, &[node(cluster, 0, "master")]);
        let with = |change: &dyn Fn(&mut Value)| {
            let mut object = plain.clone();
            change(&mut object["spec"]);
            object
        };
        for (object, expected) in [
            (
                with(&|s| s["reinstall"] = json!({"generation": "a", "preservationMode": "None"})),
                "reinstall spec cannot be set during initial installation",
            ),
            (
                with(&|s| s["templateRefs"] = json!([])),
                "validation failed: missing cluster-level template reference",
            ),
            (
                with(&|s| s["nodes"][0]["templateRefs"] = json!([])),
                "validation failed: missing node-level template reference for node \"n0.fjord.test\"",
            ),
            (
                with(&|s| s["nodes"][0]["role"] = json!("worker")),
                "at least 1 control-plane agent is required",
            ),
            (
                with(&|s| {
                    s["clusterType"] = json!("SNO");
                    s["nodes"] = json!([node(cluster, 0, "master"), node(cluster, 1, "master")]);
                }),
                "must have exactly 1 control-plane agent",
            ),
            (with(&|s| s["clusterType"] = json!("HostedControlPlane")), "must not have control-plane agents"),
            (
                with(&|s| s["installConfigOverrides"] = json!("{bad")),
                "installConfigOverrides is not a valid JSON-formatted string",
            ),
        ] {
            let answer = refusal(create(client, object).await);
            ensure!(
                answer.contains(expected) && answer.contains("denied"),
                "expected {expected:?}, got {answer}"
            );
        }
        sims.control.outcome(cluster, Outcome::HangStart);
        create(client, with(&|s| s["installConfigOverrides"] = json!("{\"a\": [1]}"))).await?;
        let instances = api(client, "ClusterInstance", cluster);
        let refused = async |patch: Value, expected: &str| -> Result<()> {
            let answer = refusal(merge(&instances, cluster, json!({"spec": patch})).await);
            ensure!(answer.contains(expected), "expected {expected:?}, got {answer}");
            Ok(())
        };
        let busy = "spec update not allowed during provisioning or cluster reinstalls";
        refused(json!({"baseDomain": "other"}), busy).await?;
        until_reason(&instances, cluster, "Unknown").await?;
        refused(json!({"extraLabels": {"ManagedCluster": {"a": "b"}}}), busy).await?;
        refused(
            json!({"holdInstallation": true}),
            "holdInstallation can only be set to true during creation",
        )
        .await?;
        sims.control.outcome(cluster, Outcome::Complete);
        until_reason(&instances, cluster, "Completed").await?;
        merge(&instances, cluster, json!({"spec": {"extraLabels": {"ManagedCluster": {"a": "b"}}}})).await?;
        wait::until(&api(client, "ManagedCluster", ""), cluster, LIMIT, "it has the label", |c| {
            c.labels().contains_key("a")
        })
        .await?;
        refused(
            json!({"baseDomain": "other", "sshPublicKey": "k"}),
            "detected unauthorized changes in immutable fields: /baseDomain, /sshPublicKey",
        )
        .await?;
        let mut changed = node(cluster, 0, "master");
        changed["bmcAddress"] = json!("ipmi://192.0.2.5");
        refused(json!({"nodes": [changed]}), "detected unauthorized node modifications: [node n0.fjord.test: unauthorized change to bmcAddress]").await?;
        let mut labelled = node(cluster, 0, "master");
        labelled["extraLabels"] = json!({"BareMetalHost": {"x": "y"}});
        merge(&instances, cluster, json!({"spec": {"nodes": [labelled, node(cluster, 1, "worker")]}}))
            .await?;
        Ok(())
    })
}

#[test]
fn an_image_based_cluster_uses_an_externally_provisioned_host() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "skerry");
        site(client, cluster, 1).await?;
        prerequisites(client, cluster).await?;
        create(client, json!({"kind": "ConfigMap", "metadata": {"namespace": cluster, "name": "ibi-cluster-templates-v1"}})).await?;
        let mut object = instance(cluster, &[node(cluster, 0, "master")]);
        object["spec"]["templateRefs"] = json!([{"name": "ibi-cluster-templates-v1", "namespace": cluster}]);
        create(client, object).await?;
        until_reason(&api(client, "ClusterInstance", cluster), cluster, "Completed").await?;
        let hosts = api(client, "BareMetalHost", "skerry-racks");
        let seen = wait::until(&hosts, "h0", LIMIT, "it is detached", |h| {
            h.data["status"]["operationalStatus"] == "detached"
        })
        .await?;
        ensure!(state(&seen) == "externally provisioned");
        ensure!(api(client, "DataImage", "skerry-racks").get_opt("h0").await?.is_some());
        ensure!(api(client, "Agent", "skerry-racks").list(&ListParams::default()).await?.items.is_empty());
        Ok(())
    })
}

/// A ClusterInstance whose object does not go is paused, and says which (spec/02 9.5). Before that, when all
/// is quiet, the simulators write nothing.
#[test]
fn a_deletion_that_takes_too_long_pauses_the_cluster_instance() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "skua");
        site(client, cluster, 1).await?;
        prerequisites(client, cluster).await?;
        create(client, instance(cluster, &[node(cluster, 0, "master")])).await?;
        let instances = api(client, "ClusterInstance", cluster);
        until_reason(&instances, cluster, "Completed").await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let audit = Lab::shared().await?.hub().audit();
        let mark = audit.mark().await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        let writes = audit.writes_of("simulator", mark).await?;
        let mine: Vec<String> = writes
            .iter()
            .filter(|w| w.namespace.starts_with(cluster) || w.name == cluster)
            .map(ToString::to_string)
            .collect();
        ensure!(mine.is_empty(), "writes at rest: {mine:#?}");

        let infra = api(client, "InfraEnv", "skua-racks");
        merge(&infra, "h0", json!({"metadata": {"finalizers": ["test.ocloud.dev/stuck"]}})).await?;
        instances.delete(cluster, &DeleteParams::default()).await?;
        let seen = wait::until(&instances, cluster, LIMIT, "it is paused", |i| {
            !i.data["status"]["paused"].is_null()
        })
        .await?;
        ensure!(
            seen.data["status"]["paused"]["reason"]
                == "deletion timeout exceeded for object (InfraEnv/h0): InfraEnv/h0"
        );
        ensure!(
            seen.annotations().contains_key("clusterinstance.siteconfig.open-cluster-management.io/paused")
        );
        merge(&infra, "h0", json!({"metadata": {"finalizers": null}})).await?;
        merge(&instances, cluster, json!({"metadata": {"annotations": {"clusterinstance.siteconfig.open-cluster-management.io/paused": null}}})).await?;
        wait::gone(&instances, cluster, LIMIT).await?;
        Ok(())
    })
}
