//! spec/02 19.2: hardware data of a request.

use manifests::clcm::HwMgmtDefaults;
use rstest::rstest;
use serde_json::json;

use super::*;

const HW: &str = "failed to validate hwMgmt input: ";

#[rstest]
#[case::s02_051_missing(
    "{}",
    "nodeGroupData is required: provide it via hwMgmtDefaults in the ClusterTemplate or hwMgmtParameters in the \
     ProvisioningRequest"
)]
#[case::s02_051_empty(
    "{nodeGroupData: []}",
    "nodeGroupData must not be empty: provide at least one node group via hwMgmtDefaults or hwMgmtParameters"
)]
#[case::no_role("{nodeGroupData: [{name: a}]}", "no role specified for nodeGroup \"a\"")]
#[case::bad_role(
    "{nodeGroupData: [{name: a, role: boss}]}",
    "invalid role \"boss\" for nodeGroup \"a\": must be 'master' or 'worker'"
)]
#[case::no_profile(
    "{nodeGroupData: [{name: a, role: master, hwProfile: ghost}]}",
    "HardwareProfile \"ghost\" referenced by nodeGroup \"a\" does not exist"
)]
fn hardware_without_defaults(#[case] input: &str, #[case] expected: &str) {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = y(input);
    let ct = Ct::new().hardware(None);
    let result = check_in(&ct, &p, &|_| None, &|name| name != "ghost");
    assert_eq!(message(result), format!("{HW}{expected}"));
}

#[test]
fn s02_052_groups_of_the_request_are_appended() {
    let only_master = HwMgmtDefaults {
        hardware_provisioning_timeout: None,
        node_group_data: vec![NodeGroupData { name: "master".to_owned(), ..NodeGroupData::default() }],
    };
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({"nodeGroupData": [{"name": "extra-worker", "role": "worker"}]});
    let hardware = check(&Ct::new().hardware(Some(only_master)), &p).unwrap().hardware;
    let names: Vec<&str> = hardware.groups.iter().map(|g| g.name.as_str()).collect();
    assert_eq!(names, ["master", "extra-worker"]);
}

#[test]
fn s02_053_second_group_of_a_role_needs_a_node_group_of_its_name() {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({"nodeGroupData": [{"name": "extra", "role": "worker"}]});
    assert_eq!(
        message(check(&Ct::new(), &p)),
        format!("{HW}duplicate role \"worker\" in nodeGroupData for groups \"worker\" and \"extra\"")
    );
    let two = format!("{DEFAULTS}- name: extra\n  role: worker\n  nodeNetwork: *net\n");
    let hardware = check(&Ct::new().defaults(&two), &p).unwrap().hardware;
    assert_eq!(hardware.group_of(Some("extra"), "worker").unwrap().name, "extra");
    assert_eq!(hardware.group_of(Some("worker"), "worker").unwrap().name, "worker");
    assert_eq!(hardware.group_of(None, "worker").unwrap().name, "worker");
    assert_eq!(hardware.group_of(Some("elsewhere"), "master").unwrap().name, "master");
    assert!(hardware.group_of(Some("elsewhere"), "arbiter").is_none());
}

#[rstest]
#[case::s02_054_zero("0s", Err("hardwareProvisioningTimeout \"0s\" must be a positive duration"))]
#[case::s02_054_negative("-5m", Err("hardwareProvisioningTimeout \"-5m\" must be a positive duration"))]
#[case::no_duration(
    "soon",
    Err("hardwareProvisioningTimeout \"soon\" is not a valid duration: time: invalid duration \"soon\"")
)]
#[case::s02_054_request_wins("2h", Ok("2h0m0s"))]
fn hardware_timeout(#[case] text: &str, #[case] expected: Result<&str, &str>) {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({"hardwareProvisioningTimeout": text});
    let mut defaults = Ct::new().object.spec.template_defaults.hw_mgmt_defaults.unwrap();
    defaults.hardware_provisioning_timeout = Some("3h".to_owned());
    let ct = Ct::new().hardware(Some(defaults));
    match (check(&ct, &p), expected) {
        (Ok(v), Ok(text)) => assert_eq!(v.hardware.timeout.to_string(), text),
        (result, Err(text)) => assert_eq!(message(result), format!("{HW}{text}")),
        (Err(e), Ok(_)) => panic!("{e}"),
    }
    assert_eq!(check(&ct, &parameters(ONE_NODE)).unwrap().hardware.timeout.to_string(), "3h0m0s");
    assert_eq!(check(&Ct::new(), &parameters(ONE_NODE)).unwrap().hardware.timeout.to_string(), "1h30m0s");
}
