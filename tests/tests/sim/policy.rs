//! Policies.

use anyhow::{Result, ensure};
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject};
use serde_json::json;
use tests::lab::{self, wait};
use tests::sim::policy;

use super::kit::{LIMIT, api, create, merge, namespace, sims};

#[test]
fn policies_reach_their_clusters_and_are_judged() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let client = &sims.client;
        for name in ["ztp-demo", "pol-a", "pol-b"] {
            namespace(client, name).await?;
        }
        for (name, tier) in [("pol-a", "1"), ("pol-b", "2")] {
            create(
                client,
                json!({"kind": "ManagedCluster", "metadata": {"name": name, "labels": {"demo-tier": tier}},
                "spec": {"hubAcceptsClient": false}}),
            )
            .await?;
        }
        create(client, json!({"kind": "ConfigMap", "metadata": {"namespace": "ztp-demo", "name": "pol-a-pg"}, "data": {"level": "debug"}})).await?;
        create(client, json!({"kind": "Placement", "metadata": {"namespace": "ztp-demo", "name": "one"}, "spec": {"predicates": [
            {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"demo-tier": "1"}}}}]}})).await?;
        create(client, json!({"kind": "PlacementBinding", "metadata": {"namespace": "ztp-demo", "name": "one"},
            "placementRef": {"apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "one"},
            "subjects": [{"apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "conf"}]})).await?;
        let hub = r#"{{hub fromConfigMap "" (printf "%s-pg" .ManagedClusterName) "level" hub}}-{{hub .ManagedClusterName hub}}"#;
        let root = json!({"kind": "Policy", "metadata": {"namespace": "ztp-demo", "name": "conf",
            "labels": {"team": "ran"}, "annotations": {"clustertemplates.clcm.openshift.io/templates": "demo.v1"}},
            "spec": {"disabled": false, "remediationAction": "enforce", "policy-templates": [{"objectDefinition": {
                "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy", "metadata": {"name": "conf"},
                "spec": {"remediationAction": "inform", "severity": "low", "object-templates": [{"complianceType": "musthave",
                    "objectDefinition": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}, "data": {"level": hub}}}]}}}]}});
        sims.verdicts.verdict("ztp-demo.conf", "pol-a", policy::Verdict::NonCompliant);
        create(client, root).await?;
        let replicas = api(client, "Policy", "pol-a");
        let told = |wanted: &'static str| move |p: &DynamicObject| p.data["status"]["compliant"] == wanted;
        let seen =
            wait::until(&replicas, "ztp-demo.conf", LIMIT, "it is not compliant", told("NonCompliant"))
                .await?;
        ensure!(seen.labels()["policy.open-cluster-management.io/root-policy"] == "ztp-demo.conf");
        ensure!(
            seen.labels()["policy.open-cluster-management.io/cluster-name"] == "pol-a"
                && seen.labels()["team"] == "ran"
        );
        ensure!(seen.annotations()["clustertemplates.clcm.openshift.io/templates"] == "demo.v1");
        ensure!(seen.data["spec"].to_string().contains("debug-pol-a"), "{}", seen.data["spec"]);
        let first = seen.data["status"]["details"][0]["history"][0]["eventName"].clone();
        let roots = api(client, "Policy", "ztp-demo");
        wait::until(&roots, "conf", LIMIT, "the root says so", told("NonCompliant")).await?;
        sims.verdicts.verdict("ztp-demo.conf", "pol-a", policy::Verdict::Compliant);
        let seen =
            wait::until(&replicas, "ztp-demo.conf", LIMIT, "it is compliant", told("Compliant")).await?;
        ensure!(seen.data["status"]["details"][0]["history"][0]["eventName"] != first);
        let seen = wait::until(&roots, "conf", LIMIT, "the root is compliant", told("Compliant")).await?;
        ensure!(
            seen.data["status"]["status"]
                == json!([{"clustername": "pol-a", "clusternamespace": "pol-a", "compliant": "Compliant"}])
        );

        // Another cluster fits now, but has no ConfigMap for the template.
        let clusters = api(client, "ManagedCluster", "");
        merge(&clusters, "pol-b", json!({"metadata": {"labels": {"demo-tier": "1"}}})).await?;
        let others = api(client, "Policy", "pol-b");
        let seen =
            wait::until(&others, "ztp-demo.conf", LIMIT, "it is not compliant", told("NonCompliant")).await?;
        ensure!(
            seen.data["status"]["details"]
                .to_string()
                .contains("NonCompliant; template-error; failed to resolve the template")
        );
        create(client, json!({"kind": "ConfigMap", "metadata": {"namespace": "ztp-demo", "name": "pol-b-pg"}, "data": {"level": "info"}})).await?;
        wait::until(&others, "ztp-demo.conf", LIMIT, "it is compliant", told("Compliant")).await?;
        merge(&clusters, "pol-a", json!({"metadata": {"labels": {"demo-tier": "2"}}})).await?;
        wait::gone(&replicas, "ztp-demo.conf", LIMIT).await?;
        roots.delete("conf", &DeleteParams::default()).await?;
        wait::gone(&others, "ztp-demo.conf", LIMIT).await?;
        Ok(())
    })
}
