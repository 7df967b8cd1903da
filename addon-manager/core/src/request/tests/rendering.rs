//! spec/02 19.3, 19.8 (what rendering decides), and labels of 19.7.

use manifests::clcm::conditions::RequestReason;
use manifests::ran::{Agent, AgentSpec};
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::super::names::ClusterNamespace;
use super::super::resources::{self, Owner};
use super::super::{fulfil, render, stage};
use super::*;

fn owner() -> Owner {
    Owner { name: REQUEST.to_owned(), uid: "u-1".to_owned() }
}

fn rendered(input: &str, installed: bool) -> Value {
    let v = check(&Ct::new(), &parameters(input)).unwrap();
    render::render(&v.cluster, &v.cluster_name, &owner(), installed).unwrap()
}

#[test]
fn s02_059_first_rendering() {
    let object = rendered(ONE_NODE, false);
    assert_eq!(
        object["metadata"],
        json!({"name": "edge7", "namespace": "edge7",
            "labels": {"provisioningrequest.clcm.openshift.io/name": REQUEST},
            "ownerReferences": [{"apiVersion": "clcm.openshift.io/v1alpha1", "kind": "ProvisioningRequest",
                "name": REQUEST, "uid": "u-1", "controller": true, "blockOwnerDeletion": true}]})
    );
    let spec = &object["spec"];
    assert_eq!(
        spec["extraAnnotations"]["ManagedCluster"]["import.open-cluster-management.io/disable-auto-import"],
        "true"
    );
    let node = &spec["nodes"][0];
    assert_eq!(node["bmcAddress"], "placeholder");
    assert_eq!(node["bootMACAddress"], "00:00:5E:00:53:AF");
    assert_eq!(node["bmcCredentialsName"], json!({"name": "m0-bmc-secret"}));
    assert_eq!(
        node["nodeNetwork"]["interfaces"],
        json!([{"name": "eno1", "macAddress": "00:00:5E:00:53:AF"}, {"name": "eno2", "macAddress": "00:00:5E:00:53:AF"}])
    );
}

#[test]
fn placeholders_stand_only_for_what_is_missing() {
    let cluster = json!({"nodes": [{"hostName": "Big.Host", "bmcAddress": "", "bootMACAddress": "m",
        "bmcCredentialsName": {"name": "given"}, "nodeNetwork": {"interfaces": [{"name": "a", "macAddress": "x"}]}}]});
    let node = render::render(&cluster, "c", &owner(), true).unwrap()["spec"]["nodes"][0].clone();
    assert_eq!((&node["bmcAddress"], &node["bootMACAddress"]), (&json!("placeholder"), &json!("m")));
    assert_eq!(node["bmcCredentialsName"], json!({"name": "given"}));
    assert_eq!(node["nodeNetwork"]["interfaces"][0]["macAddress"], "x");
    let cluster = json!({"nodes": [{"hostName": "Big.Host", "nodeNetwork": {"interfaces": []}}]});
    let node = render::render(&cluster, "c", &owner(), true).unwrap()["spec"]["nodes"][0].clone();
    assert_eq!(node["bmcCredentialsName"], json!({"name": "big-bmc-secret"}));
}

#[test]
fn a_node_without_interfaces_is_an_error() {
    let e = render::render(&json!({"nodes": [{"hostName": "a"}]}), "c", &owner(), false).unwrap_err();
    let condition = stage::rendered::<()>(&Err(e));
    assert_eq!(
        condition.message,
        "Failed to render and validate ClusterInstance: failed to remove interface labels from ClusterInstance spec: \
         failed to extract the interfaces from the node map"
    );
}

#[test]
fn s02_058_refused_by_the_dry_run() {
    let text = format!(
        "{}{}ClusterInstance \"edge7\" is invalid: spec.nodes[0].templateRefs: Required value",
        render::DRY_RUN_PREFIX,
        render::INVALID_PREFIX
    );
    assert_eq!(
        stage::rendered::<()>(&Err(InputError::input(text))).message,
        "Failed to render and validate ClusterInstance: failed to validate the rendered ClusterInstance with dry-run: \
         invalid ClusterInstance configuration: ClusterInstance \"edge7\" is invalid: spec.nodes[0].templateRefs: \
         Required value"
    );
}

#[test]
fn s02_060_no_import_annotation_after_the_installation() {
    assert!(rendered(ONE_NODE, true)["spec"].get("extraAnnotations").is_none());
}

#[test]
fn s02_061_carry_over_is_partial_and_total() {
    let mut object = rendered(MULTI, true);
    let before = object.clone();
    for odd in
        [json!({}), json!({"nodes": 5}), json!({"nodes": [7, {}, {"hostName": 3}, {"hostName": "other"}]})]
    {
        render::carry_over(&mut object, &odd);
        assert_eq!(object, before);
    }
    render::carry_over(
        &mut object,
        &json!({"nodes": [
            {"hostName": "m0.edge7", "bmcAddress": "b", "hostRef": {"name": "h", "namespace": "n"},
             "nodeNetwork": {"interfaces": [{"name": "eno2", "macAddress": "x"}, {"name": "eno9", "macAddress": "z"}, {}]}},
            {"hostName": "m1.edge7", "bmcCredentialsName": {"name": "s"}, "bootMACAddress": "bm"}
        ]}),
    );
    let node = &object["spec"]["nodes"][0];
    assert_eq!(node["bmcAddress"], "b");
    assert_eq!(node["hostRef"], json!({"name": "h", "namespace": "n"}));
    assert_eq!(node["bootMACAddress"], "00:00:5E:00:53:AF");
    assert_eq!(node["nodeNetwork"]["interfaces"][1], json!({"name": "eno2", "macAddress": "x"}));
    assert_eq!(node["nodeNetwork"]["interfaces"][2], json!({"name": "eno9", "macAddress": "z"}));
    assert_eq!(object["spec"]["nodes"][1]["bmcCredentialsName"], json!({"name": "s"}));
    assert_eq!(object["spec"]["nodes"][1]["bootMACAddress"], "bm");
    assert_eq!(object["spec"]["nodes"][2], before["spec"]["nodes"][2]);
}

#[rstest]
#[case::s02_062_frozen(true, true, false, true, true)]
#[case::s02_063_deleted_by_hand(true, true, false, false, false)]
#[case::installed(true, true, true, true, false)]
#[case::never_applied(true, false, false, true, false)]
#[case::not_rendered(false, true, false, true, false)]
fn frozen(
    #[case] rendered: bool,
    #[case] known: bool,
    #[case] installed: bool,
    #[case] exists: bool,
    #[case] expected: bool,
) {
    assert_eq!(render::is_frozen(rendered, known, installed, exists), expected);
}

#[test]
fn s02_064_frozen_object_keeps_the_live_spec() {
    let live = json!({"clusterImageSetNameRef": "old", "nodes": []});
    let object = render::from_live(&live, "edge7", &owner());
    assert_eq!(object["spec"], live);
    assert_eq!(object["metadata"]["labels"]["provisioningrequest.clcm.openshift.io/name"], REQUEST);
    assert!(object["metadata"].get("resourceVersion").is_none());
}

#[test]
fn s02_065_pull_secret_is_missing() {
    let spec = rendered(ONE_NODE, false)["spec"].clone();
    let result = resources::pull_secret(&spec, "edge7", "edge-tpl", |_| false);
    assert_eq!(
        stage::resources(&result).message,
        "Failed to apply the required cluster resource: failed to create pull Secret for cluster edge7: pull secret \
         hub-pull expected to exist in the edge-tpl namespace, but it is missing"
    );
    let copy = resources::pull_secret(&spec, "edge7", "edge-tpl", |_| true).unwrap();
    assert_eq!((copy.from.as_str(), copy.to.as_str(), copy.shared), ("edge-tpl", "edge7", false));
    assert!(resources::pull_secret(&json!({}), "edge7", "edge-tpl", |_| true).is_err());
}

#[test]
fn s02_066_extra_manifests_are_missing() {
    let spec = rendered(ONE_NODE, false)["spec"].clone();
    let result = resources::extra_manifests(&spec, "edge7", "edge-tpl", &owner(), |_| None);
    assert_eq!(
        result.unwrap_err().message,
        "failed to create extraManifests ConfigMap for cluster edge7: extra-manifests configmap day0-extras expected to \
         exist in the edge-tpl namespace, but it is missing"
    );
    let data = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let made = resources::extra_manifests(&spec, "edge7", "edge-tpl", &owner(), |_| Some(&data)).unwrap();
    assert_eq!(made[0].metadata.namespace.as_deref(), Some("edge7"));
    assert_eq!(made[0].data.as_ref(), Some(&data));
}

const POLICY: &str = "failed to create policy template ConfigMap for cluster edge7: ";

#[rstest]
#[case::s02_067_no_labels(
    json!({}),
    "No cluster labels configured by the ClusterInstance edge7(edge7). Labels are needed for cluster configuration"
)]
#[case::s02_067_no_version(
    json!({"extraLabels": {"ManagedCluster": {"a": "b"}}}),
    "Managed cluster edge7 is missing the cluster-version label. This label is needed for correctly generating and \
     populating configuration data"
)]
fn labels_for_policies(#[case] spec: Value, #[case] expected: &str) {
    let e = resources::policy_config_map(&spec, "edge7", "edge-tpl", &owner(), &Map::new()).unwrap_err();
    assert_eq!(e.message, format!("{POLICY}{expected}"));
}

#[test]
fn s02_068_no_policy_data_no_config_map() {
    let spec = rendered(ONE_NODE, false)["spec"].clone();
    assert_eq!(resources::policy_config_map(&spec, "edge7", "edge-tpl", &owner(), &Map::new()), Ok(None));
    let data = json!({"ptp": "25"}).as_object().unwrap().clone();
    let map = resources::policy_config_map(&spec, "edge7", "edge-tpl", &owner(), &data).unwrap().unwrap();
    assert_eq!(map.metadata.name.as_deref(), Some("edge7-pg"));
    assert_eq!(map.metadata.namespace.as_deref(), Some("ztp-edge-tpl"));
    assert_eq!(resources::stale_policy_namespaces(["ztp-edge-tpl", "ztp-old"], "edge-tpl"), ["ztp-old"]);
}

#[test]
fn s02_056_policy_value_is_no_string() {
    let spec = rendered(ONE_NODE, false)["spec"].clone();
    let data = json!({"ptp": 25}).as_object().unwrap().clone();
    let e = resources::policy_config_map(&spec, "edge7", "edge-tpl", &owner(), &data).unwrap_err();
    assert_eq!(
        e.message,
        format!("{POLICY}policyTemplateParameters/policyTemplateSchema for the ptp key (25) is not a string")
    );
}

#[test]
fn s02_069_only_the_pull_secret_is_copied() {
    let spec = rendered(ONE_NODE, false)["spec"].clone();
    let nodes = [allocated("a", "master", 1)];
    let own = resources::pull_secret(&spec, "edge7", "edge-tpl", |_| true).unwrap();
    let shared = resources::host_pull_secrets("hub-pull", "edge-tpl", "edge7", &nodes).unwrap();
    let names: Vec<&str> = [&own].into_iter().chain(&shared).map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["hub-pull", "hub-pull"], "BMC secrets stay where the hosts are");
}

#[test]
fn s02_070_namespace_is_terminating() {
    let terminating = ClusterNamespace { owner: Some(REQUEST.to_owned()), terminating: true };
    assert_eq!(
        resources::check_namespace("edge7", Some(&terminating)).unwrap_err().message,
        "the namespace edge7 is terminating"
    );
    assert!(resources::check_namespace("edge7", None).is_ok());
    let ns = resources::namespace("edge7", &owner());
    assert_eq!(ns.metadata.labels.unwrap()["provisioningrequest.clcm.openshift.io/name"], REQUEST);
}

#[test]
fn host_namespaces_get_a_shared_copy() {
    let mut nodes = vec![allocated("a", "master", 1), allocated("b", "master", 2)];
    nodes[1].spec.hw_mgr_node_ns = Some("annex".to_owned());
    let copies = resources::host_pull_secrets("hub-pull", "edge-tpl", "edge7", &nodes).unwrap();
    let to: Vec<(&str, bool)> = copies.iter().map(|c| (c.to.as_str(), c.shared)).collect();
    assert_eq!(to, [("annex", true), ("racks", true)]);
    assert_eq!(owner().shared().controller, None);
    nodes[0].spec.hw_mgr_node_ns = Some("edge-tpl".to_owned());
    nodes.truncate(1);
    assert_eq!(resources::host_pull_secrets("hub-pull", "edge-tpl", "edge7", &nodes), Ok(vec![]));
    nodes[0].spec.hw_mgr_node_ns = None;
    assert_eq!(
        resources::host_pull_secrets("hub-pull", "edge-tpl", "edge7", &nodes).unwrap_err().message,
        "failed to determine the target namespace for pull secret copy"
    );
}

#[test]
fn s02_071_another_image_set_suppresses_and_nothing_shrinks() {
    let live = json!({"clusterImageSetNameRef": "v1", "suppressedManifests": ["Old"],
        "nodes": [{"hostName": "a", "bmcAddress": "x"}]});
    let mut object = json!({"spec": {"clusterImageSetNameRef": "v2", "suppressedManifests": ["Mine"],
        "nodes": [{"hostName": "a", "bmcAddress": "y"}]}});
    render::adapt_for_upgrade(&mut object, &live);
    assert_eq!(object["spec"]["suppressedManifests"], json!(["Mine", "AgentClusterInstall", "Old"]));
    let live = object["spec"].clone();
    let mut next =
        json!({"spec": {"clusterImageSetNameRef": "v2", "suppressedManifests": ["Mine"], "nodes": []}});
    render::adapt_for_upgrade(&mut next, &live);
    assert_eq!(next["spec"]["suppressedManifests"], live["suppressedManifests"], "stable");
    let mut plain = json!({"spec": {"clusterImageSetNameRef": "v1"}});
    render::adapt_for_upgrade(&mut plain, &json!({"clusterImageSetNameRef": "v1"}));
    assert!(plain["spec"].get("suppressedManifests").is_none());
}

fn nodes(list: &[(&str, &str)]) -> Value {
    json!({"nodes": list.iter().map(|(h, r)| json!({"hostName": h, "role": r})).collect::<Vec<_>>()})
}

const THREE: &[(&str, &str)] = &[("m0", "master"), ("m1", "master"), ("m2", "master"), ("w0", "worker")];

#[rstest]
#[case::s02_137_remove_master(
    &[("m0", "master"), ("m1", "master"), ("w0", "worker")],
    Some("node scaling is restricted to worker nodes: cannot remove master node \"m2\"")
)]
#[case::s02_137_add_master(
    &[("m0", "master"), ("m1", "master"), ("m2", "master"), ("m3", "master"), ("w0", "worker")],
    Some("node scaling is restricted to worker nodes: cannot add master node \"m3\"")
)]
#[case::s02_137_role_in_place(
    &[("m0", "master"), ("m1", "master"), ("m2", "worker"), ("w0", "worker")],
    Some("in-place role change is not supported: node \"m2\" role changed from master to worker")
)]
#[case::role_while_scaling(
    &[("m0", "master"), ("m1", "master"), ("m2", "worker"), ("w0", "worker"), ("w1", "worker")],
    Some("in-place role change is not supported: node \"m2\" role changed from master to worker")
)]
#[case::s02_139_replace_worker(&[("m0", "master"), ("m1", "master"), ("m2", "master"), ("w1", "worker")], None)]
#[case::same(THREE, None)]
fn scaling(#[case] wanted: &[(&str, &str)], #[case] expected: Option<&str>) {
    let result = render::check_scaling(&nodes(THREE), &nodes(wanted));
    assert_eq!(result.err().map(|e| e.message).as_deref(), expected);
}

#[test]
fn s02_138_single_node_does_not_scale() {
    let single = json!({"nodes": [{"hostName": "m0"}]});
    let e = render::check_scaling(&single, &nodes(&[("m0", "master"), ("w0", "worker")])).unwrap_err();
    assert_eq!(e.message, "node scaling is not supported on single-node clusters");
    assert!(
        render::check_scaling(&single, &nodes(&[("m0", "master")])).is_ok(),
        "the default role is master"
    );
}

fn complete() -> Vec<Condition> {
    let all = [
        RequestCondition::ClusterInstanceProcessed,
        RequestCondition::ClusterProvisioned,
        RequestCondition::ConfigurationApplied,
    ];
    conditions(&all.map(|type_| (type_, "True", RequestReason::Completed, "")))
}

#[test]
fn s02_127_not_fulfilled_while_a_stage_is_open() {
    assert!(fulfil::is_complete(&complete()));
    for type_ in [
        RequestCondition::HardwareConfigured,
        RequestCondition::UpgradeCompleted,
        RequestCondition::ClusterInstanceProcessed,
        RequestCondition::ConfigurationApplied,
    ] {
        let mut list = complete();
        set(&mut list, Next::no(type_, RequestReason::InProgress, ""), at(1));
        assert!(!fulfil::is_complete(&list), "{type_}");
    }
    assert!(!fulfil::is_complete(&[]));
}

fn agent(hostname: &str) -> Agent {
    let mut out =
        Agent::new("agent-1", AgentSpec { hostname: Some(hostname.to_owned()), ..AgentSpec::default() });
    out.metadata.namespace = Some("racks".to_owned());
    out
}

#[test]
fn s02_124_clusters_without_agents_get_one_label() {
    let cluster = ObjectMeta::default();
    let found = fulfil::labels("tid", Some(&cluster), &[], &BTreeMap::new(), |_| None);
    assert_eq!(found.missing.len(), 1);
    assert_eq!(found.missing[0].agent, None);
    assert!(fulfil::labels("tid", None, &[], &BTreeMap::new(), |_| None).missing.is_empty());
}

#[test]
fn s02_125_agents_without_host_get_the_template_label() {
    let found = fulfil::labels("tid", None, &[agent("m0")], &BTreeMap::new(), |_| None);
    assert_eq!(found.missing[0].labels.len(), 1);
    assert_eq!(found.warnings.len(), 1);
}

#[test]
fn s02_126_agents_are_found_by_the_assigned_host_name() {
    let map = BTreeMap::from([("an-1".to_owned(), "m0".to_owned())]);
    let found = fulfil::labels("tid", None, &[agent("m0")], &map, |node| {
        assert_eq!(node, "an-1");
        Some("uid-of-host".to_owned())
    });
    assert_eq!(found.missing[0].labels["clcm.openshift.io/hwMgrNodeId"], "uid-of-host");
    assert_eq!(found.missing[0].labels["clustertemplates.clcm.openshift.io/templateId"], "tid");
    let mut labelled = agent("m0");
    labelled.metadata.labels = Some(found.missing[0].labels.clone());
    let again = fulfil::labels("tid", None, &[labelled], &map, |_| Some("uid-of-host".to_owned()));
    assert_eq!(again, fulfil::Labels::default(), "nothing to write");
}
