use manifests::clcm::NodeRole::{Master, Worker};
use manifests::clcm::{AllocatedNode, NodeAllocationRequest, NodeGroup};
use manifests::metal3::ProvisioningState;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::hardware::fixtures::{Host, at, group, request};
use crate::hardware::world::World;

const SHORT: &str = "not enough free resources matching nodegroup=master criteria: freenodes=0, required=1";

fn world(groups: Vec<NodeGroup>, hosts: &[Host]) -> World {
    let mut world = World::new();
    let mut nar = request("r", 0, groups);
    nar.metadata.finalizers = None;
    world.put(&nar);
    for host in hosts {
        world.host(host);
    }
    world
}

fn single(hosts: &[Host]) -> World {
    world(vec![group("master", Master, 1, &[])], hosts)
}

fn host(name: &str) -> Host {
    Host::new("racks", name)
}

fn edit(world: &mut World, patch: &serde_json::Value) {
    world.edit::<NodeAllocationRequest>("oran-o2ims", "r", patch);
}

fn node_names(world: &World) -> Vec<String> {
    world.nodes().iter().map(|n| n.metadata.name.clone().unwrap()).collect()
}

#[test]
fn from_request_to_created() {
    let mut world = single(&[host("h1")]);
    world.run_planner();
    assert_eq!(world.run_requests(), 2);
    assert_eq!(world.conditions("r"), ["Provisioned False/InProgress: Handling creation"]);
    let nar = world.nar("r");
    assert_eq!(
        nar.metadata.finalizers.as_deref(),
        Some(&["clcm.openshift.io/nodeallocationrequest-finalizer".to_owned()][..])
    );
    let status = nar.status.clone().unwrap();
    assert_eq!(status.hardware_operation_start_time.unwrap().0, at(0));
    assert_eq!(status.observed_generation, Some(1));
    assert!(world.nodes().is_empty());
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    let status = world.nar("r").status.clone().unwrap();
    assert_eq!(status.node_names(), ["r-c-racks-h1"]);
    assert_eq!((status.observed_config_transaction_id, status.hardware_operation_start_time), (0, None));
    assert_eq!(
        world.node_conditions("r-c-racks-h1"),
        ["Provisioned True/Completed: Hardware provisioning completed"]
    );
    let node = &world.nodes()[0];
    let owner = &node.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (owner.name.as_str(), owner.uid.as_str(), owner.block_owner_deletion),
        ("r", "uid-r", Some(true))
    );
    let host = world.bmh("h1");
    assert_eq!(host.label("clcm.openshift.io/allocated-node"), Some("r-c-racks-h1"));
    assert_eq!(host.annotation("clcm.openshift.io/origNetworkData"), Some(""));
    assert_eq!(world.pass(), 0);
    assert_eq!(world.wake, Wake::OnChange);
}

/// The writes of one single-node request, so that a new one does not slip in.
#[test]
fn six_writes_per_single_node_request() {
    let mut world = single(&[host("h1")]);
    let mut writes = 0;
    loop {
        match world.pass() {
            0 => break,
            n => writes += n,
        }
    }
    assert!(writes <= 7, "{writes}: {:#?}", world.log);
    assert_eq!(world.log.iter().filter(|l| l.contains("BareMetalHost")).count(), 1);
}

#[test]
fn s04_001_shortage_waits_until_the_time_out_and_goes_on_when_a_host_appears() {
    let mut world = single(&[]);
    world.settle();
    let text = format!(
        "Provisioned False/InProgress: {SHORT}; there are no hosts; waits for hosts until {}",
        at(5400)
    );
    assert_eq!(world.conditions("r"), [text]);
    assert!(awaits_hosts(world.nar("r").status.as_ref().unwrap()));
    assert_eq!(world.wake, Wake::At(at(5400)));
    world.after(5399);
    assert!(world.conditions("r")[0].contains("InProgress"));
    world.after(5400);
    assert_eq!(world.conditions("r"), ["Provisioned False/TimedOut: Hardware provisioning timed out"]);
    assert_eq!(world.nar("r").status.as_ref().unwrap().hardware_operation_start_time, None);
    assert_eq!(world.wake, Wake::OnChange);
    world.after(9000);
    world.host(&host("h1"));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_025_waits_for_all_hosts_before_it_takes_any() {
    let mut world = world(vec![group("master", Master, 3, &[])], &[host("h1"), host("h2")]);
    world.settle();
    assert!(world.conditions("r")[0].contains("freenodes=2, required=3"));
    assert!(world.nodes().is_empty());
    assert_eq!(world.bmh("h1").label("clcm.openshift.io/allocated"), None);
    world.host(&host("h3"));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert_eq!(node_names(&world), ["r-c-racks-h1", "r-c-racks-h2", "r-c-racks-h3"]);
}

/// A partial claim (one host was lost to somebody else in between) is given back when time is up.
#[test]
fn s04_025_a_partial_claim_is_given_back_at_the_time_out() {
    let mut world = world(vec![group("master", Master, 2, &[])], &[host("h1"), host("h2")]);
    world.run_requests();
    let planned = world.plan();
    world.step(&planned.steps[0]).unwrap();
    world.delete::<manifests::metal3::BareMetalHost>("racks", "h2");
    world.settle();
    assert_eq!(world.bmh("h1").label("clcm.openshift.io/allocated"), Some("true"));
    assert!(world.conditions("r")[0].contains("freenodes=1, required=2"), "{:?}", world.conditions("r"));
    world.after(5400);
    assert_eq!(world.conditions("r"), ["Provisioned False/TimedOut: Hardware provisioning timed out"]);
    assert_eq!(world.bmh("h1").label("clcm.openshift.io/allocated"), None);
    assert_eq!(world.bmh("h1").annotation("clcm.openshift.io/origNetworkData"), None);
}

#[test]
fn s04_027_the_last_host_goes_to_one_request_and_the_other_says_why() {
    let mut world = single(&[host("h1")]);
    let mut second = request("s", 5, vec![group("master", Master, 1, &[])]);
    second.metadata.finalizers = None;
    world.put(&second);
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert!(
        world.conditions("s")[0]
            .starts_with(&format!("Provisioned False/InProgress: {SHORT}; other hosts are allocated")),
        "{:?}",
        world.conditions("s")
    );
    world.delete::<NodeAllocationRequest>("oran-o2ims", "r");
    world.settle();
    assert_eq!(world.conditions("s"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_028_a_node_without_a_complete_claim_is_completed() {
    let mut world = single(&[host("h1"), host("h2")]);
    world.settle();
    // What upstream leaves when it dies between its writes.
    world.edit_host("h1", &json!({"metadata": {"labels": {"clcm.openshift.io/allocated": null}}}));
    world.edit::<AllocatedNode>(
        "oran-o2ims",
        "r-c-racks-h1",
        &json!({"status": {"conditions": [], "bmc": null}}),
    );
    world.edit::<NodeAllocationRequest>("oran-o2ims", "r", &json!({"status": {"conditions": []}}));
    world.put(&request("s", 1, vec![group("master", Master, 2, &[])]));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert_eq!(world.bmh("h1").label("clcm.openshift.io/allocated"), Some("true"));
    assert!(world.conditions("s")[0].contains("freenodes=1, required=2"));
}

#[rstest]
#[case::s04_055_zero("0s", "invalid hardwareProvisioningTimeout \"0s\": it must be greater than zero")]
#[case("abc", "invalid hardwareProvisioningTimeout \"abc\": time: invalid duration \"abc\"")]
fn s04_055_bad_timeouts(#[case] timeout: &str, #[case] text: &str) {
    let mut world = single(&[host("h1")]);
    edit(&mut world, &json!({"spec": {"hardwareProvisioningTimeout": timeout}}));
    world.settle();
    assert_eq!(world.conditions("r"), [format!("Provisioned False/InvalidUserInput: {text}")]);
    assert!(world.nodes().is_empty());
    edit(&mut world, &json!({"spec": {"hardwareProvisioningTimeout": "2h"}}));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_008_bad_criteria_are_invalid_input_until_they_are_changed() {
    let mut world =
        world(vec![group("control", Master, 1, &[("hardwaredata/num_threads;gte;lt", "8")])], &[host("h1")]);
    world.settle();
    assert_eq!(
        world.conditions("r"),
        [
            "Provisioned False/InvalidUserInput: Creation request failed: unable to fetch BMHs for nodegroup=control: \
             failed to apply secondary filter: failed to evaluate criteria: criteria=hardwaredata/num_threads;gte;lt, \
             checkIntWithQualifiers failed: supports at most one qualifier"
        ]
    );
    world.after(9000);
    assert!(world.conditions("r")[0].contains("InvalidUserInput"));
    edit(
        &mut world,
        &json!({"spec": {"configTransactionId": 2, "nodeGroup": [{"size": 1, "nodeGroupData": {"name": "control", "role": "master"}}]}}),
    );
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    let status = world.nar("r").status.clone().unwrap();
    assert_eq!((status.observed_generation, status.observed_config_transaction_id), (Some(2), 2));
}

#[test]
fn s04_056_the_deadline_itself_is_too_late_and_a_new_generation_restarts_the_clock() {
    let mut world = single(&[]);
    edit(&mut world, &json!({"spec": {"hardwareProvisioningTimeout": "20s"}}));
    world.settle();
    world.after(20);
    assert_eq!(world.conditions("r"), ["Provisioned False/TimedOut: Hardware provisioning timed out"]);
    edit(&mut world, &json!({"spec": {"site": "site-b", "configTransactionId": 2}}));
    world.settle();
    assert!(world.conditions("r")[0].starts_with("Provisioned False/InProgress: not enough free"));
    assert_eq!(world.wake, Wake::At(at(40)));
}

#[test]
fn s04_078_scale_out() {
    let groups = vec![group("master", Master, 1, &[]), group("worker", Worker, 0, &[])];
    let mut world = world(groups, &[host("h1"), host("h2")]);
    world.settle();
    world.state("h1", "provisioned");
    world.clusters.insert("r-c".to_owned());
    edit(&mut world, &json!({"spec": {"configTransactionId": 2, "clusterProvisioned": true}}));
    world.settle();
    assert_eq!(world.nar("r").status.as_ref().unwrap().observed_config_transaction_id, 2);
    world.now = at(100);
    let two = json!([
        {"size": 1, "nodeGroupData": {"name": "master", "role": "master"}},
        {"size": 1, "nodeGroupData": {"name": "worker", "role": "worker"}},
    ]);
    edit(&mut world, &json!({"spec": {"configTransactionId": 3, "nodeGroup": two}}));
    world.run_requests();
    assert_eq!(
        world.conditions("r"),
        ["Provisioned False/InProgress: Allocating additional nodes for scale-out"]
    );
    let status = world.nar("r").status.clone().unwrap();
    assert_eq!((status.observed_generation, status.observed_config_transaction_id), (Some(2), 2));
    assert_eq!(status.hardware_operation_start_time.unwrap().0, at(100));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    let status = world.nar("r").status.clone().unwrap();
    assert_eq!(status.node_names(), ["r-c-racks-h1", "r-c-racks-h2"]);
    assert_eq!((status.observed_generation, status.observed_config_transaction_id), (Some(3), 3));
    assert_eq!(status.conditions[0].observed_generation, None);
}

#[test]
fn s04_079_a_scale_out_without_hosts_can_be_undone() {
    let mut world = single(&[host("h1")]);
    world.settle();
    world.clusters.insert("r-c".to_owned());
    let size = |n: i64| json!({"spec": {"nodeGroup": [{"size": n, "nodeGroupData": {"name": "master", "role": "master"}}]}});
    edit(&mut world, &size(2));
    world.settle();
    assert!(
        world.conditions("r")[0].starts_with(&format!("Provisioned False/InProgress: {SHORT}")),
        "{:?}",
        world.conditions("r")
    );
    world.after(5400);
    assert_eq!(world.conditions("r"), ["Provisioned False/TimedOut: Hardware provisioning timed out"]);
    assert_eq!(node_names(&world), ["r-c-racks-h1"]);
    // The host still comes, without another edit.
    world.host(&host("h2"));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    edit(&mut world, &size(3));
    world.settle();
    edit(&mut world, &size(2));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert_eq!(
        world.nar("r").status.as_ref().unwrap().observed_generation,
        world.nar("r").metadata.generation
    );
}

#[test]
fn s04_085_a_swap_allocates_one_new_host() {
    let mut world = single(&[host("h1"), host("h2")]);
    world.settle();
    world.clusters.insert("r-c".to_owned());
    edit(
        &mut world,
        &json!({"metadata": {"annotations": {"clcm.openshift.io/scale-in-nodes": "r-c-racks-h1"}}}),
    );
    world.delete::<AllocatedNode>("oran-o2ims", "r-c-racks-h1");
    world.settle();
    assert!(world.nodes().is_empty());
    assert!(world.nar("r").status.as_ref().unwrap().node_names().is_empty());
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    world.state("h1", "deprovisioning");
    edit(&mut world, &json!({"spec": {"configTransactionId": 2}}));
    world.settle();
    assert_eq!(node_names(&world), ["r-c-racks-h2"]);
    assert_eq!(world.nar("r").status.as_ref().unwrap().observed_config_transaction_id, 2);
}

#[test]
fn s04_087_and_088_skip_cleanup_travels_to_the_nodes() {
    let mut world = single(&[host("h1")]);
    world.settle();
    for skip in [true, false] {
        edit(&mut world, &json!({"spec": {"skipCleanup": skip}}));
        world.settle();
        assert_eq!(world.nodes()[0].spec.skip_cleanup, skip);
    }
}

#[test]
fn s04_089_deletion_completes_without_the_garbage_collector() {
    let mut world = single(&[host("h1")]);
    world.settle();
    world.edit_host(
        "h1",
        &json!({"spec": {"online": true, "customDeploy": {"method": "start_assisted_install"}}}),
    );
    world.state("h1", "provisioned");
    world.clusters.insert("r-c".to_owned());
    world.delete::<NodeAllocationRequest>("oran-o2ims", "r");
    world.run_requests();
    assert_eq!(
        world.conditions("r")[1],
        "Deprovisioned False/InProgress: Waiting for the release of AllocatedNode r-c-racks-h1"
    );
    world.settle();
    assert!(world.all::<NodeAllocationRequest>().is_empty());
    assert!(world.nodes().is_empty());
    let host = world.bmh("h1");
    assert_eq!((host.label("clcm.openshift.io/allocated"), host.spec.online), (None, false));
    assert_eq!(host.spec.custom_deploy, None);
}

#[test]
fn a_request_that_is_deleted_before_it_has_nodes_gives_its_claims_back() {
    let mut world = world(vec![group("master", Master, 2, &[])], &[host("h1"), host("h2")]);
    world.run_requests();
    world.run_planner();
    assert_eq!(world.bmh("h1").label("clcm.openshift.io/allocated"), Some("true"));
    world.delete::<NodeAllocationRequest>("oran-o2ims", "r");
    world.settle();
    assert!(world.all::<NodeAllocationRequest>().is_empty());
    assert_eq!(world.bmh("h1").label("clcm.openshift.io/allocated"), None);
}

/// A hub that comes back from a backup: no status, other uids, nodes partly lost (DESIGN section 5).
#[test]
fn restore_rebuilds_nodes_from_labels_and_claims_nothing_new() {
    let groups = vec![group("master", Master, 1, &[("t", "m")]), group("worker", Worker, 1, &[("t", "w")])];
    let label = "resourceselector.clcm.openshift.io/t";
    let hosts = [host("h1").label(label, "m"), host("h2").label(label, "w"), host("h3").label(label, "w")];
    let mut world = world(groups, &hosts);
    world.settle();
    for name in ["h1", "h2"] {
        world.state(name, "provisioned");
    }
    world.clusters.insert("r-c".to_owned());
    edit(&mut world, &json!({"status": null, "metadata": {"uid": "uid-after-restore"}}));
    world.edit::<AllocatedNode>("oran-o2ims", "r-c-racks-h1", &json!({"status": null}));
    world.objects.remove(&("AllocatedNode".to_owned(), "oran-o2ims".to_owned(), "r-c-racks-h2".to_owned()));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert_eq!(node_names(&world), ["r-c-racks-h1", "r-c-racks-h2"]);
    assert_eq!(world.nodes()[1].spec.group_name, "worker");
    let owned = |n: &AllocatedNode| {
        n.metadata.owner_references.iter().flatten().any(|o| o.uid == "uid-after-restore")
    };
    assert!(world.nodes().iter().all(|n| owned(n)));
    assert_eq!(world.bmh("h3").label("clcm.openshift.io/allocated"), None);
    // Labels lost as well: wait, and say so.
    edit(&mut world, &json!({"status": null}));
    world.objects.remove(&("AllocatedNode".to_owned(), "oran-o2ims".to_owned(), "r-c-racks-h2".to_owned()));
    world.edit_host("h2", &json!({"metadata": {"labels": {"clcm.openshift.io/allocated": null, "clcm.openshift.io/allocated-node": null}}}));
    world.settle();
    assert!(
        world.conditions("r")[0].starts_with("Provisioned False/InProgress: cluster r-c exists, but 1 hosts of nodegroup=worker are not allocated to it"),
        "{:?}",
        world.conditions("r")
    );
    assert_eq!(world.bmh("h3").label("clcm.openshift.io/allocated"), None);
}

/// The garbage collector deletes nodes whose owner has another uid; their hosts run the cluster.
#[test]
fn a_node_that_is_deleted_under_a_running_cluster_comes_back_without_a_release() {
    let mut world = single(&[host("h1")]);
    world.settle();
    world.state("h1", "provisioned");
    world.edit_host("h1", &json!({"spec": {"online": true}}));
    world.clusters.insert("r-c".to_owned());
    world.delete::<AllocatedNode>("oran-o2ims", "r-c-racks-h1");
    world.settle();
    assert_eq!(node_names(&world), ["r-c-racks-h1"]);
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    let host = world.bmh("h1");
    assert_eq!((host.spec.online, host.state()), (true, ProvisioningState::Provisioned));
}

#[test]
fn hostnames_arrive_once_the_cluster_is_up() {
    let mut world = single(&[host("h1")]);
    world.hostnames.insert("r-c-racks-h1".to_owned(), "cp1.example.org".to_owned());
    world.settle();
    assert_eq!(world.nodes()[0].status.as_ref().unwrap().hostname, None);
    edit(&mut world, &json!({"spec": {"clusterProvisioned": true}}));
    world.settle();
    assert_eq!(world.nodes()[0].status.as_ref().unwrap().hostname.as_deref(), Some("cp1.example.org"));
}
