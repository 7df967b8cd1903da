use manifests::clcm::NodeRole::{Master, Worker};
use manifests::clcm::{AllocatedNode, HardwareProfile, NodeAllocationRequest};
use manifests::metal3::{FirmwareSchema, HostFirmwareComponents, HostFirmwareSettings};
use serde_json::{Value, json};

use crate::hardware::fixtures::{Host, at, group, request};
use crate::hardware::world::World;
use crate::plan::Wake;

const NODE: &str = "r-c-racks-h1";

fn typed<K: serde::de::DeserializeOwned>(kind: &str, namespace: &str, name: &str, rest: &Value) -> K {
    let group = if kind == "HardwareProfile" { "clcm.openshift.io" } else { "metal3.io" };
    let mut object = json!({"apiVersion": format!("{group}/v1alpha1"), "kind": kind, "metadata": {"name": name, "namespace": namespace, "generation": 1}});
    json_patch::merge(&mut object, rest);
    serde_json::from_value(object).unwrap()
}

fn profile(world: &mut World, name: &str, spec: &Value) {
    world.put(&typed::<HardwareProfile>("HardwareProfile", "oran-o2ims", name, &json!({"spec": spec})));
}

/// A host with BIOS settings and components, and a request for it with profile `p`.
fn world(spec: &Value) -> World {
    let mut world = bare(spec);
    world.put(&typed::<FirmwareSchema>(
        "FirmwareSchema",
        "racks",
        "schema-h1",
        &json!({"spec": {"schema": {
            "TurboMode": {"attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"]},
            "FanFloor": {"attribute_type": "Integer", "lower_bound": 0, "upper_bound": 100},
        }}}),
    ));
    world.put(&typed::<HostFirmwareSettings>("HostFirmwareSettings", "racks", "h1", &json!({
        "spec": {"settings": {"Old": "x"}},
        "status": {"schema": {"name": "schema-h1", "namespace": "racks"}, "settings": {"TurboMode": "Disabled", "FanFloor": "20"},
                   "conditions": [change("False")]},
    })));
    world.put(&typed::<HostFirmwareComponents>("HostFirmwareComponents", "racks", "h1", &json!({
        "spec": {"updates": []},
        "status": {"components": [
            {"component": "bios", "currentVersion": "1.0.0"}, {"component": "bmc", "currentVersion": "5.1"}, {"component": "nic:1", "currentVersion": "22.0.1"},
        ], "conditions": [change("False")]},
    })));
    world
}

fn bare(spec: &Value) -> World {
    let mut world = World::new();
    let mut master = group("master", Master, 1, &[]);
    master.node_group_data.hw_profile = Some("p".to_owned());
    world.put(&request("r", 0, vec![master]));
    world.host(&Host::new("racks", "h1"));
    if !spec.is_null() {
        profile(&mut world, "p", spec);
    }
    world
}

fn change(status: &str) -> Value {
    json!({"type": "ChangeDetected", "status": status, "reason": "Success", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn bios() -> Value {
    json!({"bios": {"attributes": {"TurboMode": "Enabled", "FanFloor": 35}}})
}

fn apply_settings(world: &mut World) {
    world.edit::<HostFirmwareSettings>(
        "racks",
        "h1",
        &json!({"status": {"settings": {"TurboMode": "Enabled", "FanFloor": "35"}}}),
    );
}

fn hfs(world: &World) -> Value {
    serde_json::to_value(&*world.get::<HostFirmwareSettings>("racks", "h1").unwrap()).unwrap()
}

fn hfc(world: &World) -> Value {
    serde_json::to_value(&*world.get::<HostFirmwareComponents>("racks", "h1").unwrap()).unwrap()
}

#[test]
fn s04_036_a_missing_profile_is_named_and_found_later() {
    let mut world = bare(&Value::Null);
    world.settle();
    let text = "unable to find HardwareProfile CR (p): HardwareProfile.clcm.openshift.io \"p\" not found";
    assert_eq!(world.node_conditions(NODE), [format!("Provisioned False/Failed: {text}")]);
    assert_eq!(
        world.conditions("r"),
        [format!(
            "Provisioned False/Failed: failed to allocate BMHs to NodeAllocationRequest r: bmh h1, error: {text}"
        )]
    );
    assert!(world.nar("r").status.as_ref().unwrap().node_names().is_empty());
    profile(&mut world, "p", &json!({"bios": {}}));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_042_equal_versions_need_nothing() {
    let mut world = world(
        &json!({"bios": {"attributes": {"FanFloor": 20}}, "biosFirmware": {"version": "v1.0.0", "url": "https://fw/x"}}),
    );
    world.settle();
    assert_eq!(world.node_conditions(NODE), ["Provisioned True/Completed: Hardware provisioning completed"]);
    assert!(
        !world.log.iter().any(|l| l.contains("HostFirmware") || l.contains("update-needed")),
        "{:#?}",
        world.log
    );
    assert_eq!(world.nodes()[0].status.as_ref().unwrap().hw_profile.as_deref(), Some("p"));
}

#[test]
fn s04_048_settings_and_firmware_in_one_preparation() {
    let mut spec = bios();
    json_patch::merge(
        &mut spec,
        &json!({"biosFirmware": {"version": "1.2.0", "url": "https://fw/bios"}, "bmcFirmware": {"version": "5.2", "url": "https://fw/bmc"}}),
    );
    let mut world = world(&spec);
    world.settle();
    let host = world.bmh("h1");
    assert_eq!(host.annotation("clcm.openshift.io/bios-update-needed"), Some("true"));
    assert_eq!(host.annotation("clcm.openshift.io/firmware-update-needed"), Some("true"));
    assert_eq!(hfs(&world)["spec"]["settings"], json!({"TurboMode": "Enabled", "FanFloor": 35}));
    assert_eq!(
        hfc(&world)["spec"]["updates"],
        json!([{"component": "bios", "url": "https://fw/bios"}, {"component": "bmc", "url": "https://fw/bmc"}])
    );
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: Hardware configuration in progress"]
    );
    assert_eq!(
        world.conditions("r"),
        [
            "Provisioned False/InProgress: Spec updated; awaiting configuration application by the hardware manager"
        ]
    );
    // The mark came before the order: whoever dies in between finds it.
    let at = |what: &str| world.log.iter().position(|l| l.contains(what)).unwrap();
    assert!(at("bios-update-needed") < at("merge HostFirmwareSettings"));

    world.state("h1", "preparing");
    world.settle();
    assert_eq!(world.bmh("h1").annotation("clcm.openshift.io/bios-update-needed"), None);
    assert_eq!(
        world.nodes()[0].metadata.annotations.as_ref().unwrap()["clcm.openshift.io/config-in-progress"],
        "bios-settings-update"
    );
    // Available again, but with the old versions.
    world.state("h1", "available");
    world.settle();
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: Hardware configuration in progress"]
    );
    apply_settings(&mut world);
    world.edit::<HostFirmwareComponents>(
        "racks",
        "h1",
        &json!({"status": {"components": [
            {"component": "bios", "currentVersion": "1.2.0"}, {"component": "bmc", "currentVersion": "5.2"},
        ]}}),
    );
    world.settle();
    assert_eq!(world.node_conditions(NODE), ["Provisioned True/Completed: Provisioned"]);
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert!(
        world.nodes()[0]
            .metadata
            .annotations
            .iter()
            .flatten()
            .all(|(k, _)| !k.contains("config-in-progress"))
    );
}

#[test]
fn s04_049_a_preparation_that_nobody_saw_is_enough() {
    let mut world = world(&bios());
    world.settle();
    apply_settings(&mut world);
    world.settle();
    assert_eq!(world.node_conditions(NODE), ["Provisioned True/Completed: Provisioned"]);
    assert_eq!(world.bmh("h1").annotation("clcm.openshift.io/bios-update-needed"), None);
}

#[test]
fn a_change_that_the_operator_has_not_confirmed_is_not_done() {
    let mut world = world(&bios());
    world.settle();
    apply_settings(&mut world);
    world.edit::<HostFirmwareSettings>("racks", "h1", &json!({"status": {"conditions": [change("True")]}}));
    world.settle();
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: Hardware configuration in progress"]
    );
    world.edit::<HostFirmwareSettings>("racks", "h1", &json!({"status": {"conditions": [change("False")]}}));
    world.settle();
    assert_eq!(world.node_conditions(NODE), ["Provisioned True/Completed: Provisioned"]);
}

fn fail(world: &mut World, error: Option<&str>) {
    let status = if error.is_some() { "error" } else { "OK" };
    world.edit_host("h1", &json!({"status": {"operationalStatus": status, "errorType": error, "errorMessage": error.unwrap_or("")}}));
    world.settle();
}

#[test]
fn s04_050_a_short_error_is_tolerated() {
    let mut world = world(&bios());
    world.settle();
    fail(&mut world, Some("preparation error"));
    assert_eq!(
        world.bmh("h1").annotation("clcm.openshift.io/bmh-error-timestamp"),
        Some(at(0).to_string().as_str())
    );
    assert_eq!(world.wake, Wake::At(at(300)));
    world.after(299);
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: Hardware configuration in progress"]
    );
    fail(&mut world, None);
    assert_eq!(world.bmh("h1").annotation("clcm.openshift.io/bmh-error-timestamp"), None);
    apply_settings(&mut world);
    world.settle();
    assert_eq!(world.node_conditions(NODE), ["Provisioned True/Completed: Provisioned"]);
}

#[test]
fn s04_051_a_lasting_error_fails_and_recovers() {
    let mut world = world(&bios());
    world.settle();
    fail(&mut world, Some("preparation error"));
    world.after(360);
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/Failed: BMH in error state: preparation error"]
    );
    assert_eq!(
        world.conditions("r"),
        [
            "Provisioned False/Failed: failed to allocate BMHs to NodeAllocationRequest r: bmh h1, error: BMH in error state: preparation error"
        ]
    );
    let host = world.bmh("h1");
    assert!(
        ["bios-update-needed", "bmh-error-timestamp"]
            .iter()
            .all(|k| host.annotation(&format!("clcm.openshift.io/{k}")).is_none())
    );
    world.after(9000);
    fail(&mut world, None);
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: Hardware configuration in progress"]
    );
    apply_settings(&mut world);
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_052_a_garbled_stamp_is_set_anew() {
    let mut world = world(&bios());
    world.settle();
    world.edit_host(
        "h1",
        &json!({"metadata": {"annotations": {"clcm.openshift.io/bmh-error-timestamp": "garbage"}}}),
    );
    fail(&mut world, Some("preparation error"));
    assert_eq!(
        world.bmh("h1").annotation("clcm.openshift.io/bmh-error-timestamp"),
        Some(at(0).to_string().as_str())
    );
}

#[test]
fn s04_053_old_versions_until_the_time_out_and_a_late_success_counts() {
    let mut world = world(&bios());
    world.settle();
    world.after(5400);
    assert_eq!(world.conditions("r"), ["Provisioned False/TimedOut: Hardware provisioning timed out"]);
    assert_eq!(world.nodes().len(), 1, "the host is kept: it is being worked on");
    apply_settings(&mut world);
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_076_another_version_than_the_wanted_one_fails_with_both() {
    let mut world =
        world(&json!({"bios": {}, "biosFirmware": {"version": "2.3.5", "url": "https://fw/bios-2.3.5"}}));
    world.settle();
    let generation = hfc(&world)["metadata"]["generation"].clone();
    let mut done = change("False");
    done["observedGeneration"] = generation;
    done["lastTransitionTime"] = json!(at(100).to_string());
    let status = |version: &str| {
        json!({"status": {
            "components": [{"component": "bios", "currentVersion": version}],
            "updates": [{"component": "bios", "url": "https://fw/bios-2.3.5"}],
            "conditions": [done],
        }})
    };
    world.edit::<HostFirmwareComponents>("racks", "h1", &status("2.3.5-1"));
    world.after(200);
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: Hardware configuration in progress"]
    );
    assert_eq!(world.wake, Wake::At(at(400)));
    world.after(400);
    assert_eq!(
        world.node_conditions(NODE),
        [
            "Provisioned False/Failed: HardwareProfile p is applied, but BareMetalHost racks/h1 reports other values: bios \
          firmware is \"2.3.5-1\", wanted \"2.3.5\""
        ]
    );
    assert!(world.conditions("r")[0].starts_with("Provisioned False/Failed"));
    world.edit::<HostFirmwareComponents>("racks", "h1", &status("2.3.5"));
    world.settle();
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
}

#[test]
fn s04_054_settings_alone_do_not_need_components() {
    let mut world = bare(&bios());
    world.settle();
    assert_eq!(hfs(&world)["spec"]["settings"], json!({"TurboMode": "Enabled", "FanFloor": 35}));
    assert!(world.get::<HostFirmwareComponents>("racks", "h1").is_none());
    assert_eq!(
        world.node_conditions(NODE),
        ["Provisioned False/InProgress: HostFirmwareSettings of host h1 reports no schema yet"]
    );
}

#[test]
fn s04_038_invalid_settings_stay_invalid_until_the_host_or_the_profile_changes() {
    let mut world = world(&json!({"bios": {"attributes": {"Foo": 1}}}));
    world.settle();
    let text = "invalid BIOS settings: [setting Foo is not in the Status field]";
    assert_eq!(world.node_conditions(NODE), [format!("Provisioned False/InvalidUserInput: {text}")]);
    assert_eq!(
        world.conditions("r"),
        [format!(
            "Provisioned False/InvalidUserInput: failed to allocate BMHs to NodeAllocationRequest r: bmh h1, error: failed to process hw profile for node ({NODE}): {text}"
        )]
    );
    assert_eq!(world.pass(), 0);
    assert_eq!(world.nodes()[0].status.as_ref().unwrap().bmc, None);
}

#[test]
fn s04_031_and_033_boot_nic_problems_are_named_and_repaired() {
    let mut world = World::new();
    world.put(&request("r", 0, vec![group("master", Master, 1, &[])]));
    world.host(&Host::new("racks", "h1").boot(None));
    world.settle();
    let text = "failed to set bootMACAddress from interface label for BMH (h1): boot interface label \
                'interfacelabel.clcm.openshift.io/boot-interface' not found on BMH 'h1'";
    assert_eq!(world.node_conditions(NODE), [format!("Provisioned False/Failed: {text}")]);
    assert_eq!(
        world.conditions("r"),
        [format!(
            "Provisioned False/Failed: failed to allocate BMHs to NodeAllocationRequest r: bmh h1, error: {text}"
        )]
    );
    world.edit_host("h1", &json!({"metadata": {"labels": {"interfacelabel.clcm.openshift.io/boot-interface": "02-00-5E-00-00-02"}}}));
    world.settle();
    assert_eq!(world.bmh("h1").boot_mac(), Some("02:00:5e:00:00:02"));
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    let interfaces = world.nodes()[0].status.clone().unwrap().interfaces;
    assert_eq!(interfaces[1].label, "boot-interface");
}

#[test]
fn a_paused_host_is_not_written() {
    let mut world = bare(&bios());
    world.run_planner();
    world.run_requests();
    world.run_planner();
    world.run_requests();
    assert_eq!(world.nodes().len(), 1);
    world.edit_host("h1", &json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}}));
    let before = world.bmh("h1");
    world.settle();
    assert_eq!(world.bmh("h1"), before);
    assert!(world.node_conditions(NODE)[0].contains("BareMetalHost racks/h1 is paused"));
}

fn day_two(world: &mut World, profile: Option<&str>) {
    world.edit::<NodeAllocationRequest>(
        "oran-o2ims",
        "r",
        &json!({"spec": {"configTransactionId": 2, "nodeGroup": [
            {"size": 1, "nodeGroupData": {"name": "master", "role": "master", "hwProfile": profile}},
        ]}}),
    );
    world.settle();
}

fn installed() -> World {
    let mut world = world(&json!({"bios": {"attributes": {"FanFloor": 20}}}));
    world.settle();
    world.state("h1", "provisioned");
    world.clusters.insert("r-c".to_owned());
    world
}

#[test]
fn s04_061_a_new_profile_that_the_host_meets_is_acknowledged() {
    let mut world = installed();
    profile(&mut world, "q", &json!({"bios": {"attributes": {"TurboMode": "Disabled"}}}));
    day_two(&mut world, Some("q"));
    assert_eq!(
        world.conditions("r"),
        [
            "Provisioned True/Completed: Created",
            "Configured True/ConfigurationApplied: Configuration has been applied successfully"
        ]
    );
    let node = &world.nodes()[0];
    assert_eq!(
        (node.spec.hw_profile.as_str(), node.status.as_ref().unwrap().hw_profile.as_deref()),
        ("q", Some("q"))
    );
    let status = world.nar("r").status.clone().unwrap();
    assert_eq!((status.observed_generation, status.observed_config_transaction_id), (Some(2), 2));
    assert_eq!(world.pass(), 0);
}

#[test]
fn a_new_profile_that_would_change_a_running_host_is_refused_with_the_differences() {
    let mut world = installed();
    profile(&mut world, "q", &bios());
    day_two(&mut world, Some("q"));
    let text = &world.conditions("r")[1];
    assert!(text.starts_with("Configured False/Failed: Configuration update failed (AllocatedNode r-c-racks-h1: HardwareProfile q needs changes on BareMetalHost racks/h1"), "{text}");
    assert!(text.contains("BIOS setting FanFloor is \"20\", wanted \"35\"; BIOS setting TurboMode is \"Disabled\", wanted \"Enabled\""), "{text}");
    assert_eq!(hfs(&world)["spec"]["settings"], json!({"Old": "x"}));
    assert_eq!(world.nar("r").status.as_ref().unwrap().observed_config_transaction_id, 2);
    // Back to the old one.
    day_two(&mut world, Some("p"));
    assert!(
        world.conditions("r")[1].starts_with("Configured True/ConfigurationApplied"),
        "{:?}",
        world.conditions("r")
    );
}

#[test]
fn s04_077_a_profile_that_is_taken_out_changes_nothing() {
    let mut world = installed();
    day_two(&mut world, None);
    assert_eq!(world.conditions("r"), ["Provisioned True/Completed: Created"]);
    assert_eq!(world.nodes()[0].spec.hw_profile, "p");
    assert_eq!(world.nar("r").status.as_ref().unwrap().observed_config_transaction_id, 2);
}

/// A node that comes back from a backup does not flash a host that runs a cluster.
#[test]
fn nothing_is_flashed_on_a_host_that_runs() {
    let mut world = world(&json!({"bios": {"attributes": {"FanFloor": 20}}}));
    world.settle();
    world.state("h1", "provisioned");
    world.edit::<AllocatedNode>("oran-o2ims", NODE, &json!({"status": null}));
    world.edit::<HostFirmwareSettings>("racks", "h1", &json!({"status": {"settings": {"FanFloor": "99"}}}));
    let log = world.log.len();
    world.settle();
    assert_eq!(world.node_conditions(NODE), ["Provisioned True/Completed: Hardware provisioning completed"]);
    assert!(!world.log[log..].iter().any(|l| l.contains("HostFirmware") || l.contains("BareMetalHost")));
}

#[test]
fn groups_are_summed_up_masters_first() {
    let mut world = World::new();
    let mut groups = vec![group("worker", Worker, 2, &[]), group("control", Master, 1, &[])];
    for g in &mut groups {
        g.node_group_data.hw_profile = Some("p".to_owned());
    }
    world.put(&request("r", 0, groups));
    profile(&mut world, "p", &json!({"bios": {}}));
    for name in ["h1", "h2", "h3"] {
        world.host(&Host::new("racks", name));
    }
    world.settle();
    for name in ["h1", "h2", "h3"] {
        world.state(name, "provisioned");
    }
    let both = |q: &str| {
        json!({"spec": {"nodeGroup": [
            {"size": 2, "nodeGroupData": {"name": "worker", "role": "worker", "hwProfile": q}},
            {"size": 1, "nodeGroupData": {"name": "control", "role": "master", "hwProfile": "p"}},
        ]}})
    };
    world.edit::<NodeAllocationRequest>("oran-o2ims", "r", &both("missing"));
    world.settle();
    assert_eq!(
        world.conditions("r")[1],
        "Configured False/Failed: Configuration update failed (group control: 1/1 completed, group worker: 2/2 failed)"
    );
}
