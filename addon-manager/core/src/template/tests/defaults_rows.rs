//! Sections 4.4 to 4.7.

use rstest::rstest;

use super::*;

fn group(c: &mut Case, i: usize) -> &mut Value {
    &mut c.defaults()["hwMgmtDefaults"]["nodeGroupData"][i]
}

#[rstest]
#[case::name(|c: &mut Case| group(c, 1)["name"] = json!("master"), "duplicate nodeGroupData name \"master\" in hwMgmtDefaults")]
#[case::role(|c: &mut Case| group(c, 1)["role"] = json!("master"),
    "duplicate role \"master\" in hwMgmtDefaults for groups \"master\" and \"worker\"")]
#[case::profile(|c: &mut Case| c.profiles.clear(),
    "HardwareProfile \"profile-a\" referenced by nodeGroup \"master\" does not exist")]
#[case::no_profile(|c: &mut Case| { c.profiles.clear(); group(c, 0)["hwProfile"] = json!(""); }, "")]
#[case::zero(|c: &mut Case| c.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!("0s"),
    "hardwareProvisioningTimeout \"0s\" must be a positive duration")]
#[case::negative(|c: &mut Case| c.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!("-90m"),
    "hardwareProvisioningTimeout \"-1h30m0s\" must be a positive duration")]
#[case::odd_spelling(|c: &mut Case| c.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!("0.5h30m"), "")]
#[case::no_duration(|c: &mut Case| c.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!("90"),
    "hardwareProvisioningTimeout \"90\" is not a valid duration: time: missing unit in duration \"90\"")]
#[case::several(|c: &mut Case| {
        c.profiles.clear();
        group(c, 1)["role"] = json!("master");
        group(c, 1)["hwProfile"] = json!("b");
        c.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!("0");
    },
    "HardwareProfile \"profile-a\" referenced by nodeGroup \"master\" does not exist;duplicate role \"master\" in \
     hwMgmtDefaults for groups \"master\" and \"worker\";HardwareProfile \"b\" referenced by nodeGroup \"worker\" does not \
     exist;hardwareProvisioningTimeout \"0s\" must be a positive duration")]
fn hardware(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

/// Scenario 54 of spec/02, the template's side.
#[rstest]
#[case("0s", "0s")]
#[case("-5m", "-5m0s")]
fn s02_054_hardware_timeouts_are_positive(#[case] value: &str, #[case] printed: &str) {
    let mut case = case();
    case.defaults()["hwMgmtDefaults"]["hardwareProvisioningTimeout"] = json!(value);
    assert_eq!(
        case.message(),
        format!("hardwareProvisioningTimeout \"{printed}\" must be a positive duration")
    );
}

fn timeout(c: &mut Case, value: &str) {
    c.cluster_map.as_mut().unwrap()["data"]["clusterInstallationTimeout"] = json!(value);
}

#[rstest]
#[case::missing(|c: &mut Case| c.cluster_map = None,
    "failed to get ConfigmapReference: the ConfigMap 'ci' is not found in the namespace 'ns'")]
#[case::no_key(|c: &mut Case| c.cluster = json!(null), "the ConfigMap 'ci' does not contain a field named 'clusterinstance-defaults'")]
#[case::broken(|c: &mut Case| c.cluster_text("a: 1\nb: c: d\n"),
    "the value of key clusterinstance-defaults from ConfigMap ci is not in a valid YAML string: error converting YAML to \
     JSON: yaml: line 2: mapping values are not allowed in this context")]
#[case::list(|c: &mut Case| c.cluster_text("- a\n"),
    "the value of key clusterinstance-defaults from ConfigMap ci is not in a valid YAML string: error unmarshaling JSON: \
     while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}")]
#[case::empty(|c: &mut Case| c.cluster_text(""), "clusterinstance-defaults must define either \"nodes\" or \"nodeGroups\";\
    clusterImageSetNameRef not found in ClusterInstanceDefaults ConfigMap ci")]
#[case::timeout(|c: &mut Case| timeout(c, "2 hours"),
    "failed to validate timeout config: the value of key clusterInstallationTimeout from ConfigMap ci is not a valid \
     duration string: time: unknown unit \" hours\" in duration \"2 hours\"")]
#[case::zero_timeout(|c: &mut Case| timeout(c, "0"), "")]
#[case::negative_timeout(|c: &mut Case| timeout(c, "-5m"), "")]
#[case::immutable(|c: &mut Case| c.cluster_map.as_mut().unwrap()["immutable"] = json!(false),
    "It is not allowed to set Immutable to false in the ConfigMap ci")]
#[case::timeout_before_immutable(|c: &mut Case| {
        timeout(c, "x");
        c.cluster_map.as_mut().unwrap()["immutable"] = json!(false);
    },
    "failed to validate timeout config: the value of key clusterInstallationTimeout from ConfigMap ci is not a valid \
     duration string: time: invalid duration \"x\"")]
fn config_map(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

/// Scenario 57 of spec/02: a bad time-out makes the template invalid, zero and negative ones do not.
#[test]
fn s02_057_installation_timeout() {
    let wrong = "failed to validate timeout config: the value of key clusterInstallationTimeout from ConfigMap ci is not a \
                 valid duration string: time: invalid duration \"abc\"";
    for (value, wanted) in [("abc", wrong), ("0s", ""), ("-1m", "")] {
        let mut case = case();
        timeout(&mut case, value);
        assert_eq!(case.message(), wanted);
    }
}

fn entry(c: &mut Case) -> &mut Value {
    &mut c.cluster["nodeGroups"][0]
}

#[rstest]
#[case::both(|c: &mut Case| c.cluster["nodes"] = json!([]),
    "clusterinstance-defaults must not define both \"nodes\" and \"nodeGroups\"")]
#[case::neither(|c: &mut Case| { c.cluster.as_object_mut().unwrap().remove("nodeGroups"); },
    "clusterinstance-defaults must define either \"nodes\" or \"nodeGroups\"")]
#[case::not_exposed(|c: &mut Case| c.property("clusterInstanceParameters")["properties"] = json!({"nodes": {}}),
    "clusterinstance-defaults defines \"nodeGroups\", but clusterInstanceParameters schema does not include a matching \
     \"nodeGroups\" definition")]
fn layout(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

#[rstest]
#[case::string(|c: &mut Case| *entry(c) = json!("x"), "unexpected: invalid nodeGroups data structure")]
#[case::no_network(|c: &mut Case| { entry(c).as_object_mut().unwrap().remove("nodeNetwork"); },
    "failed to extract the interfaces from the node map")]
#[case::no_interfaces(|c: &mut Case| entry(c)["nodeNetwork"]["interfaces"] = json!([]),
    "failed to extract the interfaces from the node map")]
#[case::no_label(|c: &mut Case| entry(c)["nodeNetwork"]["interfaces"] = json!([{"name": "eno1"}]),
    "'label' is missing for interface: eno1")]
#[case::no_name(|c: &mut Case| entry(c)["nodeNetwork"]["interfaces"] = json!([{}]), "'label' is missing for interface: %!s(<nil>)")]
#[case::empty_label(|c: &mut Case| entry(c)["nodeNetwork"]["interfaces"] = json!([{"name": "ens2f0", "label": ""}]),
    "'label' is empty for interface: ens2f0")]
#[case::mapping(|c: &mut Case| c.cluster["nodeGroups"] = json!({}), "\"nodeGroups\" must be an array")]
#[case::nested(|c: &mut Case| entry(c)["nodes"] = json!([]),
    "nodeGroups[0] must omit \"nodes\"; per-host identity belongs only in the ProvisioningRequest")]
#[case::name(|c: &mut Case| entry(c)["name"] = json!(7), "nodeGroups[0].name must be a non-empty string")]
#[case::empty_name(|c: &mut Case| entry(c)["name"] = json!(""), "nodeGroups[0].name must be a non-empty string")]
#[case::twice(|c: &mut Case| { let e = entry(c).clone(); c.cluster["nodeGroups"] = json!([e, e]); },
    "duplicate nodeGroups name \"master\"")]
#[case::unknown_group(|c: &mut Case| entry(c)["name"] = json!("storage"),
    "nodeGroups name \"storage\" does not match any hardware node group in the nodeGroupData")]
#[case::no_crd(|c: &mut Case| c.definition = None,
    "failed to obtain the clusterinstances.siteconfig.open-cluster-management.io CRD: \
     customresourcedefinitions.apiextensions.k8s.io \"clusterinstances.siteconfig.open-cluster-management.io\" not found")]
#[case::unknown_key(|c: &mut Case| c.cluster["baseDomian"] = json!("x"),
    "the ConfigMap does not match the ClusterInstance schema: invalid input: (root): Additional property baseDomian is \
     not allowed")]
#[case::deep(|c: &mut Case| { entry(c)["bootmode"] = json!("x"); c.cluster["clusterType"] = json!("MNO"); },
    "the ConfigMap does not match the ClusterInstance schema: invalid input: clusterType: clusterType must be one of the \
     following: \"SNO\", \"HighlyAvailable\"; nodeGroups.0: Additional property bootmode is not allowed")]
#[case::null(|c: &mut Case| c.cluster["clusterName"] = json!(null),
    "the ConfigMap does not match the ClusterInstance schema: invalid input: clusterName: Invalid type. Expected: string, \
     given: null")]
fn content(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), format!("failed to validate the default ConfigMap: {wanted}"));
}

#[rstest]
#[case::number_label(|c: &mut Case| entry(c)["nodeNetwork"]["interfaces"] = json!([{"name": "eno1", "label": 1}]), "")]
#[case::no_groups(|c: &mut Case| c.cluster["nodeGroups"] = json!([]), "")]
#[case::no_hardware_groups(|c: &mut Case| {
        entry(c)["name"] = json!("storage");
        c.defaults()["hwMgmtDefaults"]["nodeGroupData"] = json!([]);
        *c.property("hwMgmtParameters") = json!({});
    }, "")]
#[case::flat(|c: &mut Case| {
        let mut node = entry(c).clone();
        node.as_object_mut().unwrap().remove("name");
        c.cluster.as_object_mut().unwrap().remove("nodeGroups");
        c.cluster["nodes"] = json!([node]);
        c.property("clusterInstanceParameters")["properties"] = json!({"nodes": {}});
    }, "")]
#[case::flat_mapping(|c: &mut Case| {
        c.cluster.as_object_mut().unwrap().remove("nodeGroups");
        c.cluster["nodes"] = json!({});
        c.property("clusterInstanceParameters")["properties"] = json!({"nodes": {}});
    },
    "failed to validate the default ConfigMap: the ConfigMap does not match the ClusterInstance schema: invalid input: \
     nodes: Invalid type. Expected: array, given: object")]
fn tolerated(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

fn image(c: &mut Case, image: &str) {
    c.image_set.as_mut().unwrap()["spec"]["releaseImage"] = json!(image);
}

fn tag(c: &mut Case, tag: &str) {
    c.image_set.as_mut().unwrap()["metadata"]["labels"] = json!({"releaseTag": tag});
}

const OTHER: &str = "ClusterImageSet img version (4.20.4) does not match ClusterTemplate release version (4.20.3): versions \
                     do not match exactly: ClusterImageSet version 4.20.4 != ClusterTemplate version 4.20.3";
const UNTAGGED: &str = "could not extract version from ClusterImageSet img: no releaseTag label and release image r/release \
                        has no parseable tag";

/// Scenario 4.
#[rstest]
#[case::s01_004_mismatch(|c: &mut Case| image(c, "r/release:4.20.4"), OTHER)]
#[case::s01_004_label_wins(|c: &mut Case| tag(c, "v4.20.4-x86_64"), OTHER)]
#[case::s01_004_label(|c: &mut Case| { tag(c, "4.20.3"); image(c, "r/release@sha256:aa"); }, "")]
#[case::s01_004_useless_label(|c: &mut Case| tag(c, "latest"), "")]
#[case::s01_004_untagged(|c: &mut Case| image(c, "r/release"), UNTAGGED)]
#[case::s01_004_missing(|c: &mut Case| c.image_set = None,
    "ClusterImageSet img referenced in ClusterInstanceDefaults ConfigMap ci does not exist")]
#[case::s01_004_other_one(|c: &mut Case| c.image_set.as_mut().unwrap()["metadata"]["name"] = json!("img2"),
    "ClusterImageSet img referenced in ClusterInstanceDefaults ConfigMap ci does not exist")]
#[case::s01_004_rc(|c: &mut Case| { image(c, "r/release:4.20.0-rc.2-x86_64"); c.spec()["release"] = json!("4.20.0"); },
    "ClusterImageSet img version (4.20.0-rc.2) does not match ClusterTemplate release version (4.20.0): versions do not \
     match exactly: ClusterImageSet version 4.20.0-rc.2 != ClusterTemplate version 4.20.0")]
#[case::s01_004_ec(|c: &mut Case| { image(c, "r/release:4.20.0-ec.3-x86_64"); c.spec()["release"] = json!("4.20.0-ec.3"); }, "")]
#[case::s01_004_metadata(|c: &mut Case| c.spec()["release"] = json!("4.20.3+build.1"), "")]
#[case::s01_004_leading_v(|c: &mut Case| c.spec()["release"] = json!("v4.20.3"),
    "spec.release \"v4.20.3\" is not a valid semantic version: strconv.ParseInt: parsing \"v4\": invalid syntax")]
#[case::s01_004_leading_zero(|c: &mut Case| c.spec()["release"] = json!("4.20.03"), "")]
#[case::s01_004_empty_release(|c: &mut Case| c.spec()["release"] = json!(""),
    "ClusterImageSet img version (4.20.3) does not match ClusterTemplate release version (): failed to parse \
     ClusterTemplate release version '' as semver:  is not in dotted-tri format")]
#[case::s01_004_no_name(|c: &mut Case| { c.cluster.as_object_mut().unwrap().remove("clusterImageSetNameRef"); },
    "clusterImageSetNameRef not found in ClusterInstanceDefaults ConfigMap ci")]
#[case::s01_004_skip(|c: &mut Case| {
        c.image_set = None;
        c.template["metadata"]["annotations"] = json!({"clcm.openshift.io/skip-clusterimageset-validation": "TRUE"});
    }, "")]
#[case::s01_004_no_skip(|c: &mut Case| {
        image(c, "r/release");
        c.template["metadata"]["annotations"] = json!({"clcm.openshift.io/skip-clusterimageset-validation": "yes"});
    }, UNTAGGED)]
fn image_set(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

#[test]
fn the_name_of_the_image_set_is_a_string() {
    assert_eq!(
        message(|c| c.cluster["clusterImageSetNameRef"] = json!(4.5)),
        "failed to validate the default ConfigMap: the ConfigMap does not match the ClusterInstance schema: invalid \
         input: clusterImageSetNameRef: Invalid type. Expected: string, given: number;clusterImageSetNameRef in \
         ClusterInstanceDefaults ConfigMap ci is not a string: float64"
    );
}

fn policy(c: &mut Case) -> &mut Value {
    c.policy_map.as_mut().unwrap()
}

#[rstest]
#[case::missing(|c: &mut Case| c.policy_map = None,
    "failed to get ConfigmapReference: the ConfigMap 'policy' is not found in the namespace 'ns'")]
#[case::no_key(|c: &mut Case| policy(c)["data"] = json!({}),
    "the ConfigMap 'policy' does not contain a field named 'policytemplate-defaults'")]
#[case::list(|c: &mut Case| policy(c)["data"]["policytemplate-defaults"] = json!("[]"),
    "the value of key policytemplate-defaults from ConfigMap policy is not in a valid YAML string: error unmarshaling \
     JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}")]
#[case::timeout(|c: &mut Case| policy(c)["data"]["clusterConfigurationTimeout"] = json!("1d"),
    "failed to validate timeout config: the value of key clusterConfigurationTimeout from ConfigMap policy is not a valid \
     duration string: time: unknown unit \"d\" in duration \"1d\"")]
#[case::other_timeout(|c: &mut Case| policy(c)["data"]["clusterInstallationTimeout"] = json!("nonsense"), "")]
#[case::immutable(|c: &mut Case| policy(c)["immutable"] = json!(false),
    "It is not allowed to set Immutable to false in the ConfigMap policy")]
#[case::free(|c: &mut Case| policy(c)["data"]["policytemplate-defaults"] = json!("cpu: 4\nundeclared: {deep: [1]}\n"), "")]
#[case::empty(|c: &mut Case| policy(c)["data"]["policytemplate-defaults"] = json!(""), "")]
#[case::release(|c: &mut Case| {
        c.spec()["release"] = json!("4.20");
        c.template["metadata"]["annotations"] = json!({"clcm.openshift.io/skip-clusterimageset-validation": "true"});
    },
    "spec.release \"4.20\" is not a valid semantic version: 4.20 is not in dotted-tri format")]
fn policy_config_map_and_release(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}
