use kube::ResourceExt;
use serde_json::{Value, json};

use super::*;
use crate::meta::condition;
use crate::openshift::ClusterImageSet;

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_cluster_instance_keeps_its_spec_as_text() {
    let value = json!({
        "apiVersion": "siteconfig.open-cluster-management.io/v1alpha1",
        "kind": "ClusterInstance",
        "metadata": {"name": "edge7", "namespace": "edge7", "generation": 2},
        "spec": {"clusterName": "edge7", "nodes": [{"hostName": "n1", "nodeNetwork": {"config": {"x": [1, null]}}}]},
        "status": {
            "observedGeneration": 2,
            "conditions": [{
                "type": "Provisioned", "status": "False", "reason": "InProgress", "message": "Provisioning cluster",
                "lastTransitionTime": "2026-01-05T10:00:00Z",
            }],
            "deploymentConditions": [{"type": "Hibernating", "status": "Unknown", "lastProbeTime": "2026-01-05T10:00:00Z"}],
            "clusterDeploymentRef": {"name": "edge7"},
            "manifestsRendered": [{
                "apiGroup": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": "n1", "namespace": "edge7",
                "syncWave": 3, "status": "rendered", "lastAppliedTime": "2026-01-05T10:00:00Z",
            }],
            "paused": {"timeSet": "2026-01-05T10:00:00Z", "reason": "deletion timed out"},
            "reinstall": {"observedGeneration": "first", "history": []},
        },
    });
    let instance: ClusterInstance = object(value.clone());
    assert_eq!(instance.spec.0.value(), value["spec"]);
    let status = instance.status.clone().unwrap();
    assert_eq!(condition::reason(&status.conditions, ClusterInstanceCondition::Provisioned), "InProgress");
    assert_eq!(status.cluster_deployment_ref.unwrap().name, "edge7");
    assert!(status.paused.is_some());
    let mut back = serde_json::to_value(&instance).unwrap();
    back["status"]["reinstall"]["history"] = json!([]);
    assert_eq!(back, value);
}

#[test]
fn a_policy_reads_without_its_templates() {
    let policy: Policy = object(json!({
        "metadata": {"name": "ztp-t.v1-perf", "namespace": "edge7", "labels": {
            "policy.open-cluster-management.io/root-policy": "ztp-t.v1-perf",
        }},
        "spec": {"disabled": false, "remediationAction": "Enforce", "policy-templates": [{"objectDefinition": {}}]},
        "status": {"compliant": "NonCompliant", "details": [{"history": []}]},
    }));
    assert!(policy.spec.enforces());
    assert_eq!(policy.labels()[crate::meta::labels::ROOT_POLICY], "ztp-t.v1-perf");
    assert_eq!(policy.status.unwrap().compliant.as_deref(), Some(Compliance::NonCompliant.as_str()));
    let inform: Policy = object(json!({"metadata": {}, "spec": {"disabled": true, "policy-templates": []}}));
    assert!(!inform.spec.enforces() && inform.spec.disabled);
}

#[test]
fn a_placement_binding_has_its_fields_at_the_root() {
    let value = json!({
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "PlacementBinding",
        "metadata": {"name": "b"},
        "placementRef": {"apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "p"},
        "subjects": [{"apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "q"}],
    });
    let binding: PlacementBinding = object(value.clone());
    assert_eq!(binding.spec.placement_ref.name, "p");
    assert_eq!(serde_json::to_value(binding).unwrap(), value);
}

/// spec/02 scenario 144: an Agent without spec.hostname is known by what it found.
#[test]
fn s02_144_host_name_of_an_agent() {
    let agent =
        |spec: Value, status: Value| object::<Agent>(json!({"metadata": {}, "spec": spec, "status": status}));
    let found = json!({"inventory": {"hostname": "found", "cpu": {"count": 8}}, "conditions": []});
    assert_eq!(
        agent(json!({"hostname": "wanted", "approved": true}), found.clone()).hostname().unwrap(),
        "wanted"
    );
    assert_eq!(agent(json!({"hostname": ""}), found.clone()).hostname().unwrap(), "found");
    assert_eq!(agent(json!({"approved": true}), found).hostname().unwrap(), "found");
    assert_eq!(agent(Value::Null, json!({})).hostname(), None);
}

#[test]
fn an_image_set_reads() {
    let set: ClusterImageSet =
        object(json!({"metadata": {"name": "img"}, "spec": {"releaseImage": "r:4.20.1-x86_64"}}));
    assert_eq!(set.spec.release_image, "r:4.20.1-x86_64");
    assert_eq!(object::<ClusterImageSet>(json!({"metadata": {}})).spec.release_image, "");
}
