//! spec/02 19.4.

use manifests::clcm::{
    NodeAllocationRequest, NodeAllocationRequestSpec, NodeAllocationRequestStatus, NodeProperties,
    ResourceProvisioningPhase,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::hwmgmt::Hardware;
use super::super::merge::{self, Merged};
use super::super::nar::{self, Change, Configured};
use super::super::{nodes, phase};
use super::*;

fn merged(input: &str) -> (Merged, Hardware) {
    let v = check(&Ct::new(), &parameters(input)).unwrap();
    (Merged { cluster: v.cluster, groups: v.groups, warnings: v.warnings }, v.hardware)
}

fn spec(generation: i64) -> NodeAllocationRequestSpec {
    let (m, hardware) = merged(MULTI);
    nar::build(&parameters(MULTI), generation, &m.cluster, &hardware, &m.groups, false).unwrap()
}

fn live(spec: NodeAllocationRequestSpec, status: NodeAllocationRequestStatus) -> NodeAllocationRequest {
    let mut out = NodeAllocationRequest::new(REQUEST, spec);
    out.status = Some(status);
    out
}

fn status(list: &[(&str, &str, &str, &str)], observed: i64) -> NodeAllocationRequestStatus {
    NodeAllocationRequestStatus {
        conditions: list.iter().map(|(t, s, r, m)| raw_condition(t, s, r, m)).collect(),
        observed_config_transaction_id: observed,
        ..NodeAllocationRequestStatus::default()
    }
}

#[test]
fn s02_072_what_the_allocation_asks_for() {
    let spec = spec(4);
    assert_eq!((spec.cluster_id.as_str(), spec.site.as_str()), ("edge7", "site-north"));
    assert_eq!(spec.config_transaction_id, 4);
    assert_eq!(spec.hardware_provisioning_timeout.as_deref(), Some("1h30m0s"));
    let sizes: Vec<(&str, i64)> =
        spec.node_group.iter().map(|g| (g.node_group_data.name.as_str(), g.size)).collect();
    assert_eq!(sizes, [("master", 3), ("worker", 1)]);
    assert!(!spec.cluster_provisioned);
}

#[test]
fn sizes_go_by_group_name_and_nodes_without_a_role_are_masters() {
    let (mut m, mut hardware) = merged(MULTI);
    hardware.groups.push(NodeGroupData {
        name: "extra".to_owned(),
        role: NodeRole::Worker,
        ..Default::default()
    });
    m.groups.of_host.insert("w0.edge7".to_owned(), "extra".to_owned());
    m.cluster["nodes"][0].as_object_mut().unwrap().remove("role");
    let spec = nar::build(&parameters(MULTI), 1, &m.cluster, &hardware, &m.groups, true).unwrap();
    assert_eq!(spec.node_group.iter().map(|g| g.size).collect::<Vec<_>>(), [3, 0, 1]);
    assert!(spec.skip_cleanup);
}

#[rstest]
#[case(json!({"oCloudSiteId": "s"}), "failed to get nodeClusterName from templateParameters: the key does not exist")]
#[case(json!({"nodeClusterName": 5, "oCloudSiteId": "s"}), "nodeClusterName is not a string")]
#[case(json!({"nodeClusterName": "c", "oCloudSiteId": []}), "oCloudSiteId is not a string")]
fn malformed_parameters(#[case] p: Value, #[case] expected: &str) {
    let (m, hardware) = merged(MULTI);
    let e = nar::build(&p, 1, &m.cluster, &hardware, &m.groups, false).unwrap_err();
    assert_eq!(e.message, expected);
    let e = nar::build(&parameters(MULTI), 1, &json!({}), &hardware, &m.groups, false).unwrap_err();
    assert_eq!(e.message, "spec.nodes not found in cluster instance");
}

#[test]
fn s02_073_transaction_alone_is_no_change() {
    let live = live(spec(1), status(&[("Provisioned", "True", "Completed", "")], 1));
    let mut full = live;
    full.status.as_mut().unwrap().properties =
        Some(NodeProperties { node_names: ["a", "b", "c", "d"].map(str::to_owned).to_vec() });
    assert_eq!(nar::reconcile(Some(&full), spec(7), 7, false), Change::Keep);
}

#[test]
fn s02_074_another_profile_takes_the_generation() {
    let live = live(spec(1), status(&[], 1));
    let mut wanted = spec(5);
    wanted.node_group[0].node_group_data.hw_profile = Some("p2".to_owned());
    let Change::Update(new) = nar::reconcile(Some(&live), wanted, 5, false) else { panic!() };
    assert_eq!(new.config_transaction_id, 5);
}

#[test]
fn transaction_never_repeats() {
    // B-17: a swap took 6 while the generation was 5; the edit with generation 6 must take 7.
    let mut old = spec(6);
    old.cluster_provisioned = true;
    let live = live(old, status(&[], 6));
    let mut wanted = spec(6);
    wanted.node_group[0].size = 4;
    let Change::Update(new) = nar::reconcile(Some(&live), wanted, 6, false) else { panic!() };
    assert_eq!(new.config_transaction_id, 7);
    assert!(new.cluster_provisioned, "never taken back");
}

#[test]
fn swap_and_flags() {
    let done = status(&[("Provisioned", "True", "Completed", "")], 1);
    let mut swap = live(spec(1), done.clone());
    swap.status.as_mut().unwrap().properties = Some(NodeProperties { node_names: vec!["a".to_owned()] });
    let Change::Update(new) = nar::reconcile(Some(&swap), spec(1), 1, false) else { panic!() };
    assert_eq!(new.config_transaction_id, 2);

    let mut full = live(spec(1), done);
    full.status.as_mut().unwrap().properties =
        Some(NodeProperties { node_names: ["a", "b", "c", "d"].map(str::to_owned).to_vec() });
    let mut wanted = spec(1);
    wanted.skip_cleanup = true;
    let Change::Update(new) = nar::reconcile(Some(&full), wanted, 9, true) else { panic!() };
    assert_eq!((new.config_transaction_id, new.skip_cleanup, new.cluster_provisioned), (1, true, true));
    assert!(
        matches!(nar::reconcile(None, spec(3), 3, false), Change::Create(s) if s.config_transaction_id == 3)
    );
}

#[rstest]
#[case::s02_075_nothing_yet(&[], "False", "InProgress", "Hardware provisioning is in progress", false, false)]
#[case::s02_076_failed(
    &[("Provisioned", "False", "Failed", "X")],
    "False", "Failed", "Hardware provisioning failed: X", false, true
)]
#[case::s02_077_timed_out(
    &[("Provisioned", "False", "TimedOut", "Hardware provisioning timed out")],
    "False", "TimedOut", "Hardware provisioning failed: Hardware provisioning timed out", false, true
)]
#[case::s02_080_old_status_counts(
    &[("Provisioned", "True", "Completed", "Created")],
    "True", "Completed", "Hardware provisioning completed: Created", true, false
)]
#[case::no_message(&[("Provisioned", "True", "Completed", "")], "True", "Completed", "Hardware provisioning completed", true, false)]
#[case::in_progress(
    &[("Provisioned", "False", "InProgress", "Handling creation")],
    "False", "InProgress", "Hardware provisioning is in progress: Handling creation", false, false
)]
#[case::s02_093_bad_input(
    &[("Provisioned", "False", "InvalidUserInput", "bad")],
    "False", "Failed", "Hardware provisioning failed: bad", false, true
)]
#[case::unknown_status(
    &[("Provisioned", "Unknown", "Odd", "raw")],
    "False", "InProgress", "Hardware provisioning is in progress: raw", false, false
)]
#[case::odd_reason(
    &[("Provisioned", "False", "ConfigurationUpdatePending", "m")],
    "False", "Unknown", "Hardware provisioning is in progress: m", false, false
)]
fn provisioned(
    #[case] list: &[(&str, &str, &str, &str)],
    #[case] state: &str,
    #[case] reason: &str,
    #[case] text: &str,
    #[case] done: bool,
    #[case] failed: bool,
) {
    let mapped = nar::provisioned(Some(&status(list, 0)));
    let c = &mapped.condition;
    assert_eq!((c.status, c.reason.as_str(), c.message.as_str()), (state, reason, text));
    assert_eq!((mapped.done, mapped.failed), (done, failed));
}

#[rstest]
#[case::s02_078_old_failure("False", "Failed")]
#[case::s02_078_old_success("True", "ConfigurationApplied")]
fn state_of_an_older_transaction_is_not_read(#[case] state: &str, #[case] reason: &str) {
    let old = status(&[("Configured", state, reason, "m")], 1);
    assert_eq!(nar::configured(2, Some(&old)), Configured::Stale);
    // s02_079
    let current = status(&[("Configured", state, reason, "m")], 2);
    assert!(matches!(nar::configured(2, Some(&current)), Configured::Current(_)));
    assert!(matches!(nar::configured(0, Some(&old)), Configured::Current(_)));
}

#[test]
fn s02_079_state_of_this_transaction_is_read() {
    let current = status(
        &[("Configured", "True", "ConfigurationApplied", "Configuration has been applied successfully")],
        2,
    );
    let Configured::Current(mapped) = nar::configured(2, Some(&current)) else { panic!() };
    assert_eq!(
        mapped.condition.message,
        "Hardware configuring completed: Configuration has been applied successfully"
    );
    assert_eq!(mapped.condition.reason, "Completed");
}

#[test]
fn s02_081_never_configured_is_absent() {
    assert_eq!(nar::configured(2, Some(&status(&[], 1))), Configured::Absent);
    assert_eq!(nar::configured(2, None), Configured::Absent);
}

#[test]
fn s02_082_configuring() {
    let list =
        [("Configured", "False", "ConfigurationUpdateRequested", "Configuration update in progress (x)")];
    let Configured::Current(mapped) = nar::configured(3, Some(&status(&list, 3))) else { panic!() };
    assert_eq!(mapped.condition.reason, "InProgress");
    assert_eq!(
        mapped.condition.message,
        "Hardware configuring is in progress: Configuration update in progress (x)"
    );
    assert!(!mapped.done && !mapped.failed);
}

#[test]
fn s02_107b_not_caught_up_until_the_transaction_is_observed() {
    let old = status(&[("Provisioned", "True", "Completed", "Created")], 1);
    assert!(nar::caught_up(1, &old) && nar::caught_up(0, &old));
    assert!(!nar::caught_up(2, &old));
    // Meanwhile the request is pending, never fulfilled.
    let facts = phase::Facts { generation: 2, pending: true, fulfilled_before: true, ..Default::default() };
    assert_eq!(phase::derive(&[], &facts).details, phase::PENDING);
}

fn fill(input: &str, allocated: &[AllocatedNode], map: &BTreeMap<String, String>) -> (Value, nodes::Applied) {
    let (m, hardware) = merged(input);
    let owner = super::super::resources::Owner { name: REQUEST.to_owned(), uid: "u".to_owned() };
    let mut spec = super::super::render::render(&m.cluster, "edge7", &owner, false).unwrap()["spec"].clone();
    let applied = nodes::apply(&mut spec, &m.cluster, &m.groups, &hardware, allocated, map);
    (spec, applied)
}

const TWO: &str = "
clusterName: edge7
nodeGroups:
- name: master
  nodes: [{hostName: m0}, {hostName: m1}]
";

#[test]
fn s02_083_nodes_are_given_in_name_order() {
    let (spec, applied) =
        fill(TWO, &[allocated("b", "master", 2), allocated("a", "master", 1)], &BTreeMap::new());
    assert_eq!(applied.result, Ok(()));
    let expected = BTreeMap::from([("a".to_owned(), "m0".to_owned()), ("b".to_owned(), "m1".to_owned())]);
    assert_eq!(applied.host_map, expected);
    let node = &spec["nodes"][1];
    assert_eq!(node["bmcAddress"], "redfish://198.51.100.2/1");
    assert_eq!(node["bmcCredentialsName"], json!({"name": "host-2-bmc"}));
    assert_eq!(node["bootMACAddress"], "02:00:5e:00:02:01");
    assert_eq!(node["hostRef"], json!({"name": "host-2", "namespace": "racks"}));
    assert_eq!(
        node["nodeNetwork"]["interfaces"],
        json!([{"name": "eno1", "macAddress": "02:00:5e:00:02:01"}, {"name": "eno2", "macAddress": "02:00:5e:00:02:02"}])
    );
    let c = nodes::condition(&applied.result, false);
    assert_eq!(c.message, "Node configuration has been applied to the rendered ClusterInstance");
}

#[test]
fn s02_084_hosts_keep_their_node() {
    let map = BTreeMap::from([("a".to_owned(), "m1".to_owned()), ("b".to_owned(), "m0".to_owned())]);
    let (_, applied) = fill(TWO, &[allocated("a", "master", 1), allocated("b", "master", 2)], &map);
    assert_eq!(applied.host_map, map);
}

#[test]
fn s02_085_a_new_host_gets_a_free_node() {
    let map = BTreeMap::from([("a".to_owned(), "m1".to_owned())]);
    let (_, applied) = fill(TWO, &[allocated("a", "master", 1), allocated("b", "master", 2)], &map);
    assert_eq!(applied.host_map.get("b").map(String::as_str), Some("m0"));
    assert_eq!(applied.host_map.get("a").map(String::as_str), Some("m1"));
}

#[test]
fn s02_086_too_few_nodes_during_the_installation() {
    let (_, applied) =
        fill(TWO, &[allocated("a", "master", 1), allocated("w", "worker", 2)], &BTreeMap::new());
    let c = nodes::condition(&applied.result, false);
    assert_eq!((c.status, c.reason.as_str()), ("False", "NotApplied"));
    assert_eq!(
        c.message,
        "Failed to apply node configuration to the rendered ClusterInstance: failed to find matches for the following \
         nodes: Index: 1, Host Name: m1"
    );
    assert_eq!(applied.host_map.get("a").map(String::as_str), Some("m0"), "kept");
}

#[test]
fn s02_087_too_few_nodes_after_the_installation() {
    let (_, applied) = fill(TWO, &[], &BTreeMap::new());
    let c = nodes::condition(&applied.result, true);
    assert_eq!(
        (c.reason.as_str(), c.message.as_str()),
        ("InProgress", "Waiting for hardware allocation for new nodes")
    );
}

#[test]
fn s02_088_node_without_bmc() {
    for credentials in [None, Some(String::new())] {
        let mut node = allocated("a", "master", 1);
        node.status.as_mut().unwrap().bmc = Some(Bmc { address: None, credentials_name: credentials });
        let (_, applied) = fill(ONE_NODE, &[node], &BTreeMap::new());
        assert_eq!(applied.result.unwrap_err().message, "allocatedNode a does not have BMC details");
    }
    let mut bare = allocated("a", "master", 1);
    bare.status = None;
    let (_, applied) = fill(ONE_NODE, &[bare], &BTreeMap::new());
    assert!(applied.result.is_err());
}

#[test]
fn s02_089_node_without_host_gets_no_reference() {
    let mut node = allocated("a", "master", 1);
    node.spec.hw_mgr_node_ns = None;
    let (spec, applied) = fill(ONE_NODE, &[node], &BTreeMap::new());
    assert_eq!(applied.result, Ok(()));
    assert!(spec["nodes"][0].get("hostRef").is_none());
}

#[test]
fn s02_090_no_boot_interface() {
    let mut node = allocated("a", "master", 1);
    node.status.as_mut().unwrap().interfaces.remove(0);
    let (_, applied) = fill(ONE_NODE, &[node], &BTreeMap::new());
    assert_eq!(
        applied.result.unwrap_err().message,
        "failed to get boot MAC for node 'm0.edge7': no boot interface found; missing interface with label \
         \"boot-interface\""
    );
}

#[test]
fn an_interface_without_address_is_named() {
    let mut node = allocated("a", "master", 1);
    node.status.as_mut().unwrap().interfaces.remove(1);
    let (_, applied) = fill(ONE_NODE, &[node], &BTreeMap::new());
    assert_eq!(
        applied.result.unwrap_err().message,
        "mac address not assigned for interface eno2, node name m0.edge7"
    );
}

#[test]
fn labels_of_another_group_do_not_win() {
    // B-30: eno1 is the boot interface of masters and a fronthaul interface of workers.
    let defaults = "
nodeGroups:
- {name: worker, role: worker, nodeNetwork: {interfaces: [{name: eno1, label: fronthaul}, {name: eno2, label: boot-interface}]}}
- {name: master, role: master, nodeNetwork: {interfaces: [{name: eno1, label: boot-interface}]}}
";
    let input =
        "{nodeGroups: [{name: worker, nodes: [{hostName: w}]}, {name: master, nodes: [{hostName: m}]}]}";
    let m = merge::merge_cluster(y(defaults), y(input)).unwrap();
    let (_, hardware) = merged(MULTI);
    let mut spec = m.cluster.clone();
    let nodes = [allocated("a", "master", 1), allocated("b", "worker", 2)];
    let applied = nodes::apply(&mut spec, &m.cluster, &m.groups, &hardware, &nodes, &BTreeMap::new());
    assert_eq!(applied.result, Ok(()));
    assert_eq!(spec["nodes"][0]["nodeNetwork"]["interfaces"][0]["macAddress"], "02:00:5e:00:02:02");
    assert_eq!(spec["nodes"][1]["nodeNetwork"]["interfaces"][0]["macAddress"], "02:00:5e:00:01:01");
}

#[test]
fn s02_091_no_nodes_no_statuses() {
    assert_eq!(nar::infrastructure(&[], &BTreeMap::from([("a".to_owned(), "h".to_owned())]), &[]), []);
}

#[test]
fn s02_092_name_of_the_node_until_the_host_is_known() {
    let mut done = allocated("b", "master", 1);
    done.status.as_mut().unwrap().conditions = vec![raw_condition("Provisioned", "True", "Completed", "")];
    let mut failed = allocated("a", "master", 2);
    failed.status.as_mut().unwrap().conditions = vec![raw_condition("Provisioned", "False", "Failed", "")];
    let nodes = [done, failed, allocated("c", "master", 3)];
    let map = BTreeMap::from([("b".to_owned(), "host-b".to_owned())]);
    let waiting = ["host-d".to_owned()];
    let rows: Vec<(String, String, ResourceProvisioningPhase)> = nar::infrastructure(&nodes, &map, &waiting)
        .into_iter()
        .map(|s| (s.resource_id, s.resource_name, s.resource_provisioning_phase))
        .collect();
    let row = |id: &str, name: &str, phase| (id.to_owned(), name.to_owned(), phase);
    assert_eq!(
        rows,
        [
            row("", "host-d", ResourceProvisioningPhase::AwaitingFreeResources),
            row("a", "a", ResourceProvisioningPhase::Failed),
            row("b", "host-b", ResourceProvisioningPhase::Provisioned),
            row("c", "c", ResourceProvisioningPhase::Processing),
        ]
    );
}

#[test]
fn hosts_without_a_node_wait_for_free_resources() {
    let cluster = json!({"nodes": [{"hostName": "a"}, {"hostName": "b"}, 5]});
    let map = BTreeMap::from([("x".to_owned(), "a".to_owned())]);
    let text = "not enough free resources matching nodegroup=master criteria: freenodes=0, required=1";
    let waits = status(&[("Provisioned", "False", "InProgress", text)], 0);
    assert_eq!(nar::waiting_hosts(Some(&waits), &cluster, &map), ["b"]);
    let other = status(&[("Provisioned", "False", "InProgress", "Handling creation")], 0);
    assert!(nar::waiting_hosts(Some(&other), &cluster, &map).is_empty());
}
