#![expect(clippy::needless_pass_by_value, reason = "builders read better without references")]

use manifests::clcm::NodeRole::Master;
use manifests::clcm::{AllocatedNode, NodeAllocationRequest};
use manifests::metal3::{BareMetalHost, HostUpdatePolicy, PreprovisioningImage};
use serde_json::{Value, json};

use crate::hardware::fixtures::{Host, group, request};
use crate::hardware::world::World;

const NODE: &str = "r-c-racks-h1";

/// One request with one host, allocated; `host` changes it before.
fn allocated(host: Host) -> World {
    let mut world = World::new();
    world.put(&request("r", 0, vec![group("master", Master, 1, &[])]));
    world.host(&host);
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    world
}

fn host() -> Host {
    Host::new("racks", "h1")
}

/// What the installer does to the host.
fn install(world: &mut World) {
    world.edit_host(
        "h1",
        &json!({
            "metadata": {"labels": {"infraenvs.agent-install.openshift.io": "r-c", "siteconfig.open-cluster-management.io/owned-by": "r-c_r-c"}},
            "spec": {"online": true, "customDeploy": {"method": "start_assisted_install"}, "image": {"url": "http://x"},
                     "automatedCleaningMode": "disabled", "preprovisioningNetworkDataName": "r-c-net"},
        }),
    );
    world.state("h1", "provisioned");
    world.clusters.insert("r-c".to_owned());
}

fn remove(world: &mut World) {
    world.delete::<NodeAllocationRequest>("oran-o2ims", "r");
    world.settle();
}

fn is_gone(world: &World) -> bool {
    world.nodes().is_empty() && world.all::<NodeAllocationRequest>().is_empty()
}

fn raw(world: &World) -> Value {
    serde_json::to_value(&*world.get::<BareMetalHost>("racks", "h1").unwrap()).unwrap()
}

#[test]
fn s04_086_a_released_host_is_clean_and_off() {
    let mut world =
        allocated(host().with(|h| h.spec.preprovisioning_network_data_name = Some("user-net".into())));
    install(&mut world);
    remove(&mut world);
    assert!(is_gone(&world));
    let host = raw(&world);
    assert_eq!(host["metadata"]["labels"], json!({"resources.clcm.openshift.io/resourcePoolName": "pool-a"}));
    assert_eq!(host["metadata"]["annotations"], json!({}));
    let spec = &host["spec"];
    assert_eq!(
        (&spec["online"], &spec["customDeploy"], &spec["image"]),
        (&json!(false), &Value::Null, &Value::Null)
    );
    assert_eq!(spec["automatedCleaningMode"], "metadata");
    assert_eq!(spec["preprovisioningNetworkDataName"], "user-net");
    // Once the operator has cleaned it, the next request gets it.
    world.state("h1", "available");
    world.clusters.clear();
    world.put(&request("s", 9, vec![group("master", Master, 1, &[])]));
    world.settle();
    assert_eq!(world.conditions("s"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_095_an_empty_original_network_data_name_is_restored() {
    let mut world = allocated(host());
    install(&mut world);
    remove(&mut world);
    assert_eq!(raw(&world)["spec"]["preprovisioningNetworkDataName"], "");
}

#[test]
fn s04_087_skip_cleanup_leaves_the_host_running() {
    let mut world = allocated(host());
    install(&mut world);
    world.edit::<NodeAllocationRequest>("oran-o2ims", "r", &json!({"spec": {"skipCleanup": true}}));
    remove(&mut world);
    assert!(is_gone(&world));
    let host = raw(&world);
    assert_eq!(host["spec"]["online"], true);
    assert_eq!(host["spec"]["customDeploy"]["method"], "start_assisted_install");
    assert_eq!(host["spec"]["automatedCleaningMode"], "disabled");
    assert_eq!(host["metadata"]["labels"], json!({"resources.clcm.openshift.io/resourcePoolName": "pool-a"}));
    world.clusters.clear();
    world.put(&request("s", 9, vec![group("master", Master, 1, &[])]));
    world.settle();
    assert!(world.conditions("s")[0].contains("other hosts are not available"));
}

#[test]
fn s04_088_skip_cleanup_taken_back_cleans() {
    let mut world = allocated(host());
    install(&mut world);
    for skip in [true, false] {
        world.edit::<NodeAllocationRequest>("oran-o2ims", "r", &json!({"spec": {"skipCleanup": skip}}));
        world.settle();
    }
    remove(&mut world);
    assert_eq!(raw(&world)["spec"]["online"], false);
}

#[test]
fn s04_090_a_host_that_is_gone_holds_nothing_up() {
    let mut world = allocated(host());
    world.delete::<BareMetalHost>("racks", "h1");
    world.delete::<AllocatedNode>("oran-o2ims", NODE);
    remove(&mut world);
    assert!(is_gone(&world));
}

#[test]
fn s04_091_image_with_and_without() {
    let mut world = allocated(host());
    install(&mut world);
    let mut image = PreprovisioningImage::default();
    image.metadata.name = Some("h1".to_owned());
    image.metadata.namespace = Some("racks".to_owned());
    image.metadata.finalizers = Some(vec![
        "a/b".to_owned(),
        "preprovisioningimage.agent-install.openshift.io/ai-deprovision".to_owned(),
    ]);
    image.metadata.labels =
        Some([("infraenvs.agent-install.openshift.io".to_owned(), "r-c".to_owned())].into());
    world.put(&image);
    remove(&mut world);
    assert!(is_gone(&world));
    let image = world.get::<PreprovisioningImage>("racks", "h1").unwrap();
    assert_eq!(image.metadata.finalizers.as_deref(), Some(&["a/b".to_owned()][..]));
    assert_eq!(image.label("infraenvs.agent-install.openshift.io"), None);
}

#[test]
fn s04_092_a_preparing_host_is_not_powered_off() {
    let mut world = allocated(host());
    world.edit_host("h1", &json!({"spec": {"online": true}}));
    world.state("h1", "preparing");
    world.edit::<AllocatedNode>(
        "oran-o2ims",
        NODE,
        &json!({"status": {"conditions": [{"type": "Provisioned", "status": "False", "reason": "InProgress",
            "message": "Hardware configuration in progress", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}),
    );
    remove(&mut world);
    assert!(world.bmh("h1").spec.online);
    assert_eq!(world.bmh("h1").annotation("clcm.openshift.io/deallocation-complete"), Some("true"));
    assert_eq!(
        world.node_conditions(NODE)[1],
        "Deprovisioned False/InProgress: Waiting for BareMetalHost racks/h1, which is preparing, to become available before \
         it is powered off"
    );
    // Nobody else gets it meanwhile.
    world.put(&request("s", 9, vec![group("master", Master, 1, &[])]));
    world.state("h1", "available");
    world.run_planner();
    assert!(world.plan().steps.is_empty());
    world.settle();
    assert!(world.nodes().iter().all(|n| n.spec.node_allocation_request == "s"));
    assert_eq!(world.conditions("s"), ["Provisioned True/Completed: Created"]);
    assert!(!world.bmh("h1").spec.online);
}

#[test]
fn s04_093_an_image_based_host_is_marked() {
    let mut world = allocated(host());
    install(&mut world);
    world.edit_host("h1", &json!({"spec": {"externallyProvisioned": true}}));
    world.state("h1", "externally provisioned");
    remove(&mut world);
    let host = world.bmh("h1");
    assert!(
        host.annotation("clcm.openshift.io/ibi-warning")
            .unwrap()
            .starts_with("Warning - this node was used for IBI")
    );
    assert!(host.spec.externally_provisioned);
    world.put(&request("s", 9, vec![group("master", Master, 1, &[])]));
    world.settle();
    assert!(world.conditions("s")[0].contains("to be deleted after an image-based install"));
}

#[test]
fn a_paused_host_is_not_written_and_the_node_says_so() {
    let mut world = allocated(host());
    install(&mut world);
    world.edit_host("h1", &json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}}));
    let before = raw(&world);
    remove(&mut world);
    assert_eq!(raw(&world), before);
    assert!(world.node_conditions(NODE)[1].contains("is paused; remove the annotation"));
    world.edit_host("h1", &json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": null}}}));
    world.settle();
    assert!(is_gone(&world));
}

#[test]
fn a_host_that_is_somebody_elses_by_now_is_left_alone() {
    let mut world = allocated(host());
    world.edit_host("h1", &json!({"metadata": {"labels": {"clcm.openshift.io/allocated-node": "other"}}}));
    let mut other = AllocatedNode::new("other", manifests::clcm::AllocatedNodeSpec::default());
    other.metadata.namespace = Some("oran-o2ims".to_owned());
    other.metadata.finalizers = Some(vec!["clcm.openshift.io/allocatednode-finalizer".to_owned()]);
    world.put(&other);
    let before = raw(&world);
    remove(&mut world);
    assert!(world.all::<NodeAllocationRequest>().is_empty());
    assert_eq!(raw(&world), before);
}

#[test]
fn only_our_own_update_policy_goes() {
    for (annotation, stays) in [("addon.clcm.openshift.io/applied-hash", false), ("by-user", true)] {
        let mut world = allocated(host());
        let mut policy = HostUpdatePolicy::default();
        policy.metadata.name = Some("h1".to_owned());
        policy.metadata.namespace = Some("racks".to_owned());
        policy.metadata.annotations = Some([(annotation.to_owned(), "x".to_owned())].into());
        world.put(&policy);
        remove(&mut world);
        assert_eq!(world.get::<HostUpdatePolicy>("racks", "h1").is_some(), stays);
    }
}
