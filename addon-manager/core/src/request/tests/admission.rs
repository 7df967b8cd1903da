//! spec/02 19.1.

use manifests::clcm::{
    Extensions, NodeAllocationRequestStatus, ProvisioningPhase, ProvisioningRequestStatus, ProvisioningStatus,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::admission::{DELETE_WARNING, PREVENT_DELETION, create, delete, update};
use super::super::diff::{self, ALLOWED_AFTER_INSTALL};
use super::super::names::{Taken, check_uuid};
use super::*;
use RequestCondition::{ClusterProvisioned, HardwareConfigured, HardwareProvisioned, UpgradeCompleted};

const NOT_THERE: &str = "a valid ClusterTemplate (edge.v1) does not exist in any namespace";
const HW_OVER: &str = "hardware provisioning has timed out or failed. Spec changes are not allowed. Please delete and \
                       recreate the ProvisioningRequest to retry";
const DURING: &str = "updates to spec.TemplateParameters.ClusterInstanceParameters are disallowed during cluster \
                      installation, detected changes in fields: ";
const AFTER: &str = "only extraLabels/extraAnnotations and node scaling changes in \
                     spec.TemplateParameters.ClusterInstanceParameters are allowed after cluster installation is \
                     completed, detected changes in immutable fields: ";
const UPGRADING: &str = "node scaling is not supported while a cluster upgrade is in progress or incomplete";

fn created(p: &Value) -> String {
    let template = Ct::new().prepare();
    match create(&request(p), &world(Some(&template))) {
        Ok(warnings) => {
            assert!(warnings.is_empty());
            String::new()
        }
        Err(text) => text,
    }
}

/// Update from `MULTI` to `cluster` with these conditions.
fn updated(
    list: &[(RequestCondition, &'static str, RequestReason, &str)],
    cluster: &Value,
) -> Result<Vec<String>, String> {
    let template = Ct::new().prepare();
    let old = request(&parameters(MULTI));
    let mut p = parameters(MULTI);
    p["clusterInstanceParameters"] = cluster.clone();
    let mut new = request(&p);
    new.status = Some(ProvisioningRequestStatus { conditions: conditions(list), ..Default::default() });
    update(&old, &new, &world(Some(&template)))
}

const COMPLETED: &[(RequestCondition, &str, RequestReason, &str)] =
    &[(ClusterProvisioned, "True", RequestReason::Completed, "")];
const IN_PROGRESS: &[(RequestCondition, &str, RequestReason, &str)] =
    &[(ClusterProvisioned, "False", RequestReason::InProgress, "")];

fn edit(pointer: &str, value: Value) -> Value {
    let mut cluster = y(MULTI);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match cluster.pointer_mut(parent).unwrap() {
        Value::Object(map) => {
            map.insert(key.to_owned(), value);
        }
        Value::Array(list) => match key.parse::<usize>() {
            Ok(i) if i < list.len() => list[i] = value,
            _ => list.push(value),
        },
        _ => panic!("{pointer}"),
    }
    cluster
}

fn without(pointer: &str) -> Value {
    let mut cluster = y(MULTI);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match cluster.pointer_mut(parent).unwrap() {
        Value::Object(map) => {
            map.remove(key);
        }
        Value::Array(list) => {
            list.remove(key.parse().unwrap());
        }
        _ => panic!("{pointer}"),
    }
    cluster
}

#[test]
fn s02_001_name_is_a_uuid() {
    let mut bad = request(&parameters(ONE_NODE));
    bad.metadata.name = Some("my-request".to_owned());
    let template = Ct::new().prepare();
    assert_eq!(
        create(&bad, &world(Some(&template))),
        Err("metadata.name must be a valid UUID: invalid UUID length: 10".to_owned())
    );
    for good in [REQUEST, "5e1f00010a0b4c0d8e0f000000000001", "urn:uuid:5e1f0001-0a0b-4c0d-8e0f-000000000001"]
    {
        assert_eq!(check_uuid(good), Ok(()), "{good}");
    }
    assert_eq!(check_uuid("5e1f0001_0a0b-4c0d-8e0f-000000000001"), Err("invalid UUID format".to_owned()));
    assert_eq!(check_uuid("zz1f00010a0b4c0d8e0f000000000001"), Err("invalid UUID format".to_owned()));
}

#[test]
fn s02_002_template_is_missing() {
    assert_eq!(create(&request(&parameters(ONE_NODE)), &world(None)), Err(NOT_THERE.to_owned()));
}

#[rstest]
#[case::s02_010_unknown(
    json!([{"name": "g", "hwProfile": "ghost"}]),
    "hardwareProfile \"ghost\" referenced by nodeGroup \"g\" does not exist"
)]
#[case::s02_011_no_profile(json!([{"name": "g"}]), "")]
#[case::s02_011_empty(json!([{"name": "g", "hwProfile": ""}]), "")]
fn profiles_named_by_the_request_exist(#[case] groups: Value, #[case] expected: &str) {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({ "nodeGroupData": groups });
    assert_eq!(created(&p), expected);
}

#[test]
fn s02_011_odd_shapes_pass_the_profile_check() {
    for odd in [json!("ghost"), json!(["ghost", {"hwProfile": 9}]), json!({})] {
        let mut p = parameters(ONE_NODE);
        p["hwMgmtParameters"] = json!({ "nodeGroupData": odd });
        assert_eq!(created(&p), "");
    }
    assert_eq!(created(&parameters(ONE_NODE)), "");
}

#[test]
fn s02_012_admission_leaves_an_undefined_parameter_to_the_reconciler() {
    let template = Ct::new().without_property("hwMgmtParameters").prepare();
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({});
    assert_eq!(create(&request(&p), &world(Some(&template))), Ok(vec![]));
}

#[rstest]
#[case::s02_013_metadata_only(RequestReason::TimedOut, false, Ok(vec![]))]
#[case::s02_014_timed_out(RequestReason::TimedOut, true, Err(HW_OVER.to_owned()))]
#[case::s02_014_failed(RequestReason::Failed, true, Err(HW_OVER.to_owned()))]
#[case::in_progress(RequestReason::InProgress, true, Ok(vec![]))]
fn failed_hardware(
    #[case] reason: RequestReason,
    #[case] edit_spec: bool,
    #[case] expected: Result<Vec<String>, String>,
) {
    let template = Ct::new().prepare();
    let old = request(&parameters(MULTI));
    let mut new = old.clone();
    new.metadata.labels = Some(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
    if edit_spec {
        new.spec.description = Some("x".to_owned());
    }
    new.status = Some(ProvisioningRequestStatus {
        conditions: conditions(&[(HardwareProvisioned, "False", reason, "")]),
        ..Default::default()
    });
    assert_eq!(update(&old, &new, &world(Some(&template))), expected);
}

#[test]
fn s02_093_bad_hardware_input_can_be_repaired_by_an_edit() {
    let template = Ct::new().prepare();
    let old = request(&parameters(MULTI));
    let mut new = old.clone();
    new.spec.description = Some("x".to_owned());
    new.status = Some(ProvisioningRequestStatus {
        conditions: conditions(&[(HardwareProvisioned, "False", RequestReason::Failed, "")]),
        ..Default::default()
    });
    let allocation = NodeAllocationRequestStatus {
        conditions: vec![raw_condition("Provisioned", "False", "InvalidUserInput", "bad selector")],
        ..Default::default()
    };
    let mut world = world(Some(&template));
    world.allocation = Some(&allocation);
    assert_eq!(update(&old, &new, &world), Ok(vec![]));
}

#[rstest]
#[case::s02_015_domain(edit("/baseDomain", json!("x")), "baseDomain")]
#[case::s02_015_annotations(edit("/extraAnnotations", json!({"A": {"b": "c"}})), "extraAnnotations")]
#[case::s02_015_add_node(edit("/nodeGroups/1/nodes/9", json!({"hostName": "w1"})), "nodeGroups.1.nodes.1")]
#[case::s02_015_remove_node(without("/nodeGroups/1/nodes/0"), "nodeGroups.1.nodes.0")]
fn during_the_installation_nothing_of_the_cluster_changes(#[case] cluster: Value, #[case] paths: &str) {
    assert_eq!(updated(IN_PROGRESS, &cluster), Err(format!("{DURING}{paths}")));
}

#[rstest]
#[case::s02_016_cluster(edit("/extraLabels", json!({"A": {"b": "c"}})))]
#[case::s02_016_group(edit("/nodeGroups/0/extraAnnotations", json!({"A": {"b": "c"}})))]
#[case::s02_016_node(edit("/nodeGroups/0/nodes/0/extraLabels", json!({"A": {"b": "c"}})))]
#[case::s02_017_add_worker(edit("/nodeGroups/1/nodes/9", json!({"hostName": "w1"})))]
#[case::s02_017_remove_worker(without("/nodeGroups/1/nodes/0"))]
#[case::s02_017_remove_group(without("/nodeGroups/1"))]
#[case::s02_017_drop_nodes(without("/nodeGroups/1/nodes"))]
#[case::s02_020_rename_in_place(edit("/nodeGroups/1/nodes/0", json!({"hostName": "w9", "bootMode": "UEFI"})))]
fn allowed_after_the_installation(#[case] cluster: Value) {
    assert_eq!(updated(COMPLETED, &cluster), Ok(vec![]));
}

#[test]
fn s02_018_labels_and_scaling_in_one_edit() {
    let mut cluster = edit("/nodeGroups/1/nodes/9", json!({"hostName": "w1"}));
    cluster["extraLabels"] = json!({"A": {"b": "c"}});
    cluster["extraAnnotations"] = json!({"A": {"b": "c"}});
    assert_eq!(updated(COMPLETED, &cluster), Ok(vec![]));
}

#[rstest]
#[case::s02_019_domain(edit("/baseDomain", json!("x")), "baseDomain")]
#[case::role(edit("/nodeGroups/0/role", json!("worker")), "nodeGroups.0.role")]
#[case::node_field(edit("/nodeGroups/0/nodes/1/bootMode", json!("legacy")), "nodeGroups.0.nodes.1.bootMode")]
#[case::group_renamed(edit("/nodeGroups/0/name", json!("control")), "nodeGroups.0.name")]
fn refused_after_the_installation(#[case] cluster: Value, #[case] paths: &str) {
    // The template would refuse other groups; admission does not merge.
    assert_eq!(updated(COMPLETED, &cluster), Err(format!("{AFTER}{paths}")));
}

#[test]
fn s02_020_swap_is_reported_once() {
    let new = edit("/nodeGroups/1/nodes/0", json!({"hostName": "w9", "bootMode": "UEFI"}));
    let sorted = diff::classify(&diff::diff(&y(MULTI), &new), &[], ALLOWED_AFTER_INSTALL);
    assert_eq!(sorted.scaling, ["nodeGroups.1.nodes.0"]);
    assert!(sorted.immutable.is_empty());
}

#[test]
fn an_edit_cannot_hide_behind_a_new_node_at_the_head() {
    // B-13: by index the old node would be compared with the new one, and its change counted as scaling.
    let mut cluster = y(MULTI);
    cluster["nodeGroups"][1]["nodes"] =
        json!([{"hostName": "w1"}, {"hostName": "w0.edge7", "bootMode": "legacy"}]);
    assert_eq!(updated(COMPLETED, &cluster), Err(format!("{AFTER}nodeGroups.1.nodes.1.bootMode")));
    let mut swapped = y(MULTI);
    swapped["nodeGroups"].as_array_mut().unwrap().reverse();
    swapped["nodeGroups"][0]["role"] = json!("infra");
    assert_eq!(updated(COMPLETED, &swapped), Err(format!("{AFTER}nodeGroups.0.role")));
}

#[rstest]
#[case::s02_021_add(json!({"nodes": [{"hostName": "a"}, {"hostName": "b"}]}), "nodes.1")]
#[case::s02_021_remove(json!({"nodes": []}), "nodes.0")]
#[case::s02_021_rename(json!({"nodes": [{"hostName": "z"}]}), "nodes.0.hostName")]
fn flat_nodes_do_not_scale(#[case] new: Value, #[case] path: &str) {
    let sorted =
        diff::classify(&diff::diff(&json!({"nodes": [{"hostName": "a"}]}), &new), &[], ALLOWED_AFTER_INSTALL);
    assert_eq!(sorted.immutable, [path]);
    assert!(sorted.scaling.is_empty());
}

#[rstest]
#[case::s02_022_failed("False", RequestReason::Failed)]
#[case::s02_022_in_progress("False", RequestReason::InProgress)]
fn no_scaling_during_an_upgrade(#[case] status: &'static str, #[case] reason: RequestReason) {
    let list = [COMPLETED[0], (UpgradeCompleted, status, reason, "")];
    let cluster = edit("/nodeGroups/1/nodes/9", json!({"hostName": "w1"}));
    assert_eq!(updated(&list, &cluster), Err(UPGRADING.to_owned()));
    assert_eq!(updated(&list, &edit("/extraLabels", json!({"A": {"b": "c"}}))), Ok(vec![]));
}

#[rstest]
#[case::s02_023_unknown("Unknown", RequestReason::Unknown, false)]
#[case::s02_023_failed("False", RequestReason::Failed, true)]
#[case::timed_out("False", RequestReason::TimedOut, true)]
fn everything_may_change_without_a_running_installation(
    #[case] status: &'static str,
    #[case] reason: RequestReason,
    #[case] warns: bool,
) {
    let result = updated(&[(ClusterProvisioned, status, reason, "")], &edit("/baseDomain", json!("x")));
    assert_eq!(result.map(|w| !w.is_empty()), Ok(warns));
}

#[test]
fn s02_024_template_may_change() {
    let template = Ct::new().prepare();
    let old = request(&parameters(MULTI));
    for list in [COMPLETED, &[(ClusterProvisioned, "False", RequestReason::Failed, "")]] {
        let mut new = old.clone();
        new.spec.template_version = "v2".to_owned();
        new.status = Some(ProvisioningRequestStatus { conditions: conditions(list), ..Default::default() });
        assert_eq!(update(&old, &new, &world(Some(&template))), Ok(vec![]));
        assert_eq!(
            update(&old, &new, &world(None)),
            Err("a valid ClusterTemplate (edge.v2) does not exist in any namespace".to_owned())
        );
    }
}

#[test]
fn site_and_node_cluster_are_frozen_once_hosts_are_taken() {
    let template = Ct::new().prepare();
    let old = request(&parameters(MULTI));
    let mut p = parameters(MULTI);
    p["oCloudSiteId"] = json!("site-south");
    let mut new = request(&p);
    assert_eq!(update(&old, &new, &world(Some(&template))), Ok(vec![]));
    new.status = Some(ProvisioningRequestStatus {
        extensions: Some(Extensions {
            allocated_node_host_map: BTreeMap::from([("an".to_owned(), "h".to_owned())]),
            ..Default::default()
        }),
        ..Default::default()
    });
    assert_eq!(
        update(&old, &new, &world(Some(&template))),
        Err("spec.templateParameters.oCloudSiteId cannot be changed after hardware has been allocated"
            .to_owned())
    );
}

#[test]
fn metadata_can_be_edited_without_a_template_and_while_deleting_everything() {
    let old = request(&parameters(MULTI));
    let mut new = old.clone();
    new.metadata.annotations =
        Some(BTreeMap::from([("clcm.openshift.io/skip-cleanup".to_owned(), String::new())]));
    assert_eq!(update(&old, &new, &world(None)), Ok(vec![]));
    new.spec.template_name = "gone".to_owned();
    assert!(update(&old, &new, &world(None)).is_err());
    new.metadata.deletion_timestamp = Some(Time(at(0)));
    assert_eq!(update(&old, &new, &world(None)), Ok(vec![]));
}

fn stored(phase: ProvisioningPhase, details: &str, list: Vec<Condition>) -> ProvisioningRequest {
    let mut out = request(&parameters(MULTI));
    out.status = Some(ProvisioningRequestStatus {
        conditions: list,
        provisioning_status: Some(ProvisioningStatus {
            provisioning_phase: Some(phase),
            provisioning_details: Some(details.to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    });
    out
}

#[test]
fn s02_025_no_deletion_while_hardware_is_configured() {
    let refused =
        Err("deleting a ProvisioningRequest is disallowed while post-install hardware configuration is in \
                       progress"
            .to_owned());
    let configuring = conditions(&[(
        HardwareConfigured,
        "False",
        RequestReason::InProgress,
        "Hardware configuring is in progress: x",
    )]);
    let phase = ProvisioningPhase::Progressing;
    assert_eq!(delete(&stored(phase, "Hardware configuring is in progress: x", configuring)), refused);
    assert_eq!(delete(&stored(phase, "Hardware configuring is in progress", vec![])), refused);
}

#[test]
fn s02_026_other_deletions_warn() {
    let allowed = Ok(vec![DELETE_WARNING.to_owned()]);
    assert_eq!(delete(&request(&parameters(MULTI))), allowed);
    let failed = conditions(&[(HardwareConfigured, "False", RequestReason::Failed, "")]);
    assert_eq!(
        delete(&stored(ProvisioningPhase::Failed, "Hardware configuring is in progress", failed)),
        allowed
    );
    let mut protected = request(&parameters(MULTI));
    protected.metadata.annotations = Some(BTreeMap::from([(PREVENT_DELETION.to_owned(), String::new())]));
    assert!(delete(&protected).unwrap_err().contains(PREVENT_DELETION));
}

const UP: &str = "spec.templateParameters.upgradeParameters: ";

#[rstest]
#[case::s02_027_release(
    json!({"clusterVersion": {"desiredUpdate": {"version": "4.20.9"}}}),
    "the clusterVersion desiredUpdate.version (4.20.9) does not match the ClusterTemplate spec.release (4.20.3)"
)]
#[case::nested_shape(
    json!({"clusterVersion": {"cvSpec": {"desiredUpdate": {"version": "4.20.9"}}}}),
    "the clusterVersion desiredUpdate.version (4.20.9) does not match the ClusterTemplate spec.release (4.20.3)"
)]
#[case::s02_028_no_semver(
    json!({"intermediateVersion": "abc"}),
    "intermediateVersion \"abc\" is not valid semver: abc is not in dotted-tri format"
)]
#[case::s02_028_two_below(
    json!({"intermediateVersion": "4.18.1"}),
    "intermediateVersion 4.18.1 must be exactly one minor version below ClusterTemplate's spec.release version 4.20.3"
)]
#[case::major(
    json!({"intermediateVersion": "3.19.1"}),
    "intermediateVersion major version (3) must equal ClusterTemplate's spec.release major version (4)"
)]
#[case::s02_029_zero(
    json!({"clusterUpgradeTimeout": "0s"}),
    "invalid clusterUpgradeTimeout \"0s\" in upgradeParameters: must be a positive duration"
)]
#[case::s02_029_no_duration(
    json!({"clusterUpgradeTimeout": "xyz"}),
    "invalid clusterUpgradeTimeout \"xyz\" in upgradeParameters: time: invalid duration \"xyz\""
)]
#[case::s02_029_nested(
    json!({"clusterVersion": {"clusterUpgradeTimeout": "0s"}}),
    "invalid clusterUpgradeTimeout \"0s\" in upgradeParameters: must be a positive duration"
)]
fn upgrade_input(#[case] upgrade: Value, #[case] expected: &str) {
    let mut p = parameters(ONE_NODE);
    p["upgradeParameters"] = upgrade;
    assert_eq!(created(&p), format!("{UP}{expected}"));
}

#[test]
fn good_upgrade_input_passes() {
    let mut p = parameters(ONE_NODE);
    p["upgradeParameters"] = json!({"clusterVersion": {"desiredUpdate": {"version": "4.20.3"}},
        "clusterUpgradeTimeout": "4h", "intermediateVersion": "4.19.7"});
    assert_eq!(created(&p), "");
}

#[test]
fn s02_030_order_of_equal_nodes_is_no_change() {
    let mut cluster = y(MULTI);
    cluster["nodeGroups"][0]["nodes"].as_array_mut().unwrap().reverse();
    cluster["nodeGroups"].as_array_mut().unwrap().reverse();
    assert_eq!(diff::diff(&y(MULTI), &cluster), []);
    assert_eq!(updated(IN_PROGRESS, &cluster), Ok(vec![]));
}

#[test]
fn s02_031_same_printed_value_is_no_change() {
    assert_eq!(diff::diff(&json!({"serial": 1}), &json!({"serial": "1"})), []);
    assert_eq!(diff::diff(&json!({"serial": 1}), &json!({"serial": 1.0})), []);
    assert_eq!(diff::diff(&json!({"serial": true}), &json!({"serial": "true"})), []);
    assert_eq!(diff::diff(&json!({"serial": [1]}), &json!({"serial": {"a": 1}})).len(), 1);
}

#[test]
fn null_is_a_change() {
    // B-13: upstream skips updates with a null side, so two updates changed anything.
    let kinds = |a: Value, b: Value| diff::diff(&a, &b).into_iter().map(|c| c.kind).collect::<Vec<_>>();
    assert_eq!(kinds(json!({"a": 1}), json!({"a": null})), [diff::Kind::Delete]);
    assert_eq!(kinds(json!({"a": null}), json!({"a": 1})), [diff::Kind::Create]);
    assert_eq!(kinds(json!({"a": null}), json!({"a": null})), []);
}

#[test]
fn cluster_name_and_names_of_others_are_checked() {
    let template = Ct::new().prepare();
    let namespace = |_: &str| Some(ClusterNamespace::default());
    let mut world = world(Some(&template));
    world.namespace = &namespace;
    assert_eq!(
        create(&request(&parameters(ONE_NODE)), &world),
        Err(format!(
            "clusterInstanceParameters.clusterName: namespace \"edge7\" already exists and is not owned by \
             ProvisioningRequest \"{REQUEST}\""
        ))
    );
    let mut p = parameters(ONE_NODE);
    p["clusterInstanceParameters"]["clusterName"] = json!("");
    assert_eq!(created(&p), "");
    let others = [Taken::of(&request(&parameters(ONE_NODE)))];
    assert_eq!(others[0].cluster.as_deref(), Some("edge7"));
    let mut second = request(&parameters(ONE_NODE));
    second.metadata.name = Some("5e1f0001-0a0b-4c0d-8e0f-000000000002".to_owned());
    let mut world = super::world(Some(&template));
    world.others = &others;
    assert_eq!(
        create(&second, &world),
        Err(format!(
            "spec.templateParameters: clusterName \"edge7\" is already used by ProvisioningRequest \"{REQUEST}\""
        ))
    );
    // One that slipped through can still be edited.
    let mut edited = second.clone();
    edited.spec.description = Some("x".to_owned());
    assert_eq!(update(&second, &edited, &world), Ok(vec![]));
    p["clusterInstanceParameters"]["clusterName"] = json!("ztp-x");
    assert_eq!(
        created(&p),
        "clusterInstanceParameters.clusterName: clusterName \"ztp-x\" targets a reserved namespace (prefix \"ztp-\")"
    );
}
