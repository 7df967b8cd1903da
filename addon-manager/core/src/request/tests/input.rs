//! spec/02 19.1 (what the reconciler sees of it) and 19.2.

use manifests::meta::GoDuration;
use rstest::rstest;
use serde_json::{Value, json};

use crate::template::find_valid;

use super::super::names::{self, ClusterNamespace, Taken};
use super::super::{merge, stage, validate};
use super::*;

fn with_flat() -> Ct {
    Ct::new().defaults(
        "{baseDomain: fjord.test, nodes: [{role: master, extraLabels: {BareMetalHost: {a: tpl}}, bootMode: UEFI}]}",
    )
}

#[test]
fn s02_002_s02_107d_missing_template_is_named_and_stays_failed() {
    let none = validate::validate(&validate::Input {
        request: REQUEST,
        template_name: "edge.v9",
        template: None,
        parameters: &parameters(ONE_NODE),
        operator_namespace: "oran-o2ims",
        profile_exists: &|_| true,
        namespace: &|_| None,
        others: &[],
    });
    let condition = stage::validated(&none);
    assert_eq!(
        condition.message,
        format!(
            "Failed to validate the ProvisioningRequest: failed to get the ClusterTemplate for ProvisioningRequest \
             {REQUEST}: a valid ClusterTemplate (edge.v9) does not exist in any namespace "
        )
    );
    assert_eq!((condition.status, condition.reason.as_str()), ("False", "Failed"));
}

#[test]
fn s02_003_only_valid_templates_count_and_the_oldest_wins() {
    let valid = Ct::new().object;
    let mut invalid = valid.clone();
    set(
        &mut invalid.status.as_mut().unwrap().conditions,
        Next::no(TemplateCondition::Validated, "Failed", ""),
        at(1),
    );
    assert!(find_valid([&invalid], "edge.v1").is_err());
    assert!(find_valid([&valid], "edge.v2").is_err());
    let mut older = valid.clone();
    older.metadata.namespace = Some("zz-older".to_owned());
    older.metadata.creation_timestamp = Some(Time(at(-100)));
    let mut newer = valid.clone();
    newer.metadata.creation_timestamp = Some(Time(at(0)));
    let found = find_valid([&newer, &invalid, &older], "edge.v1").unwrap();
    assert_eq!(found.metadata.namespace.as_deref(), Some("zz-older"));
}

const IN_CLUSTER: &str = "failed to validate ClusterInstance input: the provided clusterInstanceParameters does not \
                          match the schema from ClusterTemplate (edge.v1): \
                          spec.templateParameters.clusterInstanceParameters does not match the schema defined in \
                          ClusterTemplate (edge.v1) spec.templateParameterSchema.clusterInstanceParameters: ";

#[rstest]
#[case::s02_004_required("{clusterName: a, nodes: [{}]}", "invalid input: nodes.0: hostName is required")]
#[case::s02_005_type(
    "{clusterName: a, nodes: [], extraLabels: {ManagedCluster: [x]}}",
    "invalid input: extraLabels.ManagedCluster: Invalid type. Expected: object, given: array"
)]
#[case::s02_006_unknown(
    "{clusterName: a, nodes: [], clusterType: SNO}",
    "invalid input: (root): Additional property clusterType is not allowed"
)]
fn cluster_input_is_checked_against_its_schema(#[case] input: &str, #[case] expected: &str) {
    assert_eq!(message(check(&Ct::new(), &parameters(input))), format!("{IN_CLUSTER}{expected}"));
}

#[test]
fn s02_007_optional_object_with_required_children_may_be_absent() {
    assert!(check(&Ct::new(), &parameters(ONE_NODE)).is_ok());
}

#[test]
fn s02_008_role_of_a_group_comes_from_the_defaults() {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({"nodeGroupData": [{"name": "master", "hwProfile": "p1"}]});
    let hardware = check(&Ct::new(), &p).unwrap().hardware;
    assert_eq!(hardware.groups[0].role, NodeRole::Master);
    assert_eq!(hardware.groups[0].hw_profile.as_deref(), Some("p1"));
}

#[test]
fn s02_009_hardware_input_of_a_wrong_type() {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!("x");
    assert_eq!(
        message(check(&Ct::new(), &p)),
        "spec.templateParameters does not match the schema defined in ClusterTemplate (edge.v1) \
         spec.templateParameterSchema: invalid input: hwMgmtParameters: Invalid type. Expected: object, given: string"
    );
}

#[test]
fn s02_012_hardware_input_that_the_template_does_not_define() {
    let mut p = parameters(ONE_NODE);
    p["hwMgmtParameters"] = json!({});
    assert_eq!(
        message(check(&Ct::new().without_property("hwMgmtParameters"), &p)),
        "failed to validate hwMgmt input: templateParameters.hwMgmtParameters is not defined in ClusterTemplate \
         \"edge.v1\" spec.templateParameterSchema"
    );
}

#[test]
fn s02_032_labels_of_the_template_win_and_new_ones_are_added() {
    let input = "{clusterName: a, nodeGroups: [{name: master, nodes: [{hostName: h}]}], extraLabels: {ManagedCluster: \
                 {cluster-version: v9, mine: x}, Other: {o: x}}}";
    let cluster = check(&Ct::new(), &parameters(input)).unwrap().cluster;
    assert_eq!(
        cluster["extraLabels"],
        json!({"ManagedCluster": {"cluster-version": "v4-20", "profile": "du", "mine": "x"}, "Other": {"o": "x"}})
    );
}

#[test]
fn s02_033_more_flat_nodes_than_in_the_defaults() {
    let input = "{clusterName: a, nodes: [{hostName: h1, extraLabels: {BareMetalHost: {a: pr, b: pr}}}, \
                 {hostName: h2, extraLabels: {BareMetalHost: {a: pr}}}]}";
    let nodes = check(&with_flat(), &parameters(input)).unwrap().cluster["nodes"].clone();
    assert_eq!(nodes[0]["extraLabels"], json!({"BareMetalHost": {"a": "tpl", "b": "pr"}}));
    assert_eq!(nodes[0]["bootMode"], "UEFI");
    assert_eq!(nodes[1], json!({"hostName": "h2", "extraLabels": {"BareMetalHost": {"a": "pr"}}}));
}

#[test]
fn s02_034_labels_of_a_group_win_over_group_and_nodes() {
    let ct = Ct::new().defaults(
        "nodeGroups: [{name: master, extraLabels: {B: {g: tpl, k: tpl}}, nodeNetwork: {interfaces: []}}]",
    );
    let input = "{clusterName: a, nodeGroups: [{name: master, extraLabels: {B: {g: pr, p: pr}}, nodes: [{hostName: h, \
                 extraLabels: {B: {k: node, own: node}}}]}]}";
    let cluster = check(&ct, &parameters(input)).unwrap().cluster;
    assert_eq!(
        cluster["nodes"][0]["extraLabels"],
        json!({"B": {"g": "tpl", "k": "tpl", "p": "pr", "own": "node"}})
    );
}

#[test]
fn labels_that_are_no_object_are_an_input_error() {
    let mut input = y("{extraLabels: x}");
    let defaults = y("{extraLabels: {A: {b: c}}}");
    let e =
        merge::override_labels(input.as_object_mut().unwrap(), defaults.as_object().unwrap()).unwrap_err();
    assert_eq!(
        e.message,
        "type mismatch for field extraLabels: (from ProvisioningRequest: string, from default Configmap: \
         map[string]interface {})"
    );
}

#[rstest]
#[case::s02_035_one_side("{nodeGroups: [], a: 1}", "{nodes: []}")]
#[case::s02_035_both_keys("{nodeGroups: [], nodes: []}", "{nodeGroups: []}")]
#[case::s02_035_none("{a: 1}", "{a: 2}")]
fn formats_must_agree(#[case] defaults: &str, #[case] input: &str) {
    assert_eq!(
        merge::merge_cluster(y(defaults), y(input)).unwrap_err().message,
        "ProvisioningRequest clusterInstanceParameters and ClusterTemplate defaults must both use \"nodeGroups\" or \
         both use \"nodes\""
    );
}

const MERGE: &str = "failed to merge data for clusterInstanceParameters: ";
const OVER: &str = "failed to merge data for clusterInstanceParameters: failed to merge ProvisioningRequest \
                    clusterTemplateInput over ClusterTemplate defaults: error merging slices for key: nodeGroups: ";

#[rstest]
#[case::s02_036_unknown_group(
    "{nodeGroups: [{name: storage, nodes: []}]}",
    OVER,
    r#"name "storage" at path "nodeGroups" in source does not match any destination entry"#
)]
#[case::s02_037_group_twice(
    "{nodeGroups: [{name: master}, {name: master}]}",
    OVER,
    r#"duplicate name "master" at path "nodeGroups" in source"#
)]
#[case::group_is_no_map(
    "{nodeGroups: [x]}",
    OVER,
    r#"source element at path "nodeGroups" index 0 is not a map"#
)]
#[case::group_without_name(
    "{nodeGroups: [{}]}",
    OVER,
    r#"source element at path "nodeGroups" index 0 missing "name" field"#
)]
#[case::s02_039_no_node_at_all(
    "{nodeGroups: [{name: master, nodes: []}]}",
    MERGE,
    "at least one node is required across nodeGroups in clusterInstanceParameters"
)]
#[case::s02_041_group_interface(
    "{nodeGroups: [{name: master, nodeNetwork: {interfaces: [{name: eth99}]}, nodes: [{hostName: h}]}]}",
    OVER,
    "error merging maps at slice index: 0: error merging maps for key: nodeNetwork: error merging slices for key: \
     interfaces: name \"eth99\" at path \"nodeGroups[].nodeNetwork.interfaces\" in source does not match any \
     destination entry"
)]
#[case::s02_042_host_interface(
    "{nodeGroups: [{name: master, nodes: [{hostName: h, nodeNetwork: {interfaces: [{name: eno9}]}}]}]}",
    MERGE,
    "failed to merge node[0] onto node group \"master\": error merging maps for key: nodeNetwork: error merging slices \
     for key: interfaces: name \"eno9\" at path \"nodeNetwork.interfaces\" in source does not match any destination \
     entry"
)]
#[case::s02_044_no_nmstate_entry(
    "{nodeGroups: [{name: master, nodes: [{hostName: h, nodeNetwork: {interfaces: [{name: eno2, addresses: {ipv4: [192.0.2.1/24]}}]}}]}]}",
    MERGE,
    "node group \"master\" node[0]: interface \"eno2\" has addresses but no matching entry in \
     nodeNetwork.config.interfaces"
)]
#[case::s02_044_no_prefix(
    "{nodeGroups: [{name: master, nodes: [{hostName: h, nodeNetwork: {interfaces: [{name: eno1, addresses: {ipv4: [1.2.3.4]}}]}}]}]}",
    MERGE,
    "node group \"master\" node[0]: interface \"eno1\" addresses.ipv4 \"1.2.3.4\": not a valid CIDR (expected \
     <address>/<prefix>)"
)]
#[case::s02_044_prefix(
    "{nodeGroups: [{name: master, nodes: [{hostName: h, nodeNetwork: {interfaces: [{name: eno1, addresses: {ipv6: ['::1/24.0']}}]}}]}]}",
    MERGE,
    "node group \"master\" node[0]: interface \"eno1\" addresses.ipv6 \"::1/24.0\": invalid prefix length \"24.0\""
)]
#[case::prefix_with_sign(
    "{nodeGroups: [{name: master, nodes: [{hostName: h, nodeNetwork: {interfaces: [{name: eno1, addresses: {ipv4: [1.2.3.4/+24]}}]}}]}]}",
    MERGE,
    "node group \"master\" node[0]: interface \"eno1\" addresses.ipv4 \"1.2.3.4/+24\": invalid prefix length \"+24\""
)]
#[case::nodes_is_no_list(
    "{nodeGroups: [{name: master, nodes: x}]}",
    MERGE,
    "node group \"master\" nodes must be an array"
)]
#[case::node_is_no_map(
    "{nodeGroups: [{name: master, nodes: [x]}]}",
    MERGE,
    "node group \"master\" node[0] is not an object"
)]
#[case::host_name_is_no_string(
    "{nodeGroups: [{name: master, nodes: [{hostName: 5}]}]}",
    MERGE,
    "nodes[0].hostName is not a string"
)]
#[case::host_name_twice(
    "{nodeGroups: [{name: master, nodes: [{hostName: h}, {hostName: h}]}]}",
    MERGE,
    "hostName \"h\" is used by more than one node"
)]
fn merge_errors(#[case] input: &str, #[case] prefix: &str, #[case] expected: &str) {
    let e = merge::merge_cluster(y(DEFAULTS), y(input)).unwrap_err();
    assert_eq!(e.message, format!("{prefix}{expected}"));
}

#[test]
fn node_groups_of_a_wrong_type_or_absent() {
    let e = merge::merge_cluster(y("{nodeGroups: x}"), y("{nodeGroups: y}")).unwrap_err();
    assert_eq!(e.message, format!("{MERGE}\"nodeGroups\" must be an array"));
    let e = merge::merge_cluster(y("[]"), y("{}")).unwrap_err();
    assert_eq!(e.message, "the clusterinstance-defaults of the ClusterTemplate must be an object");
}

#[test]
fn s02_038_groups_without_nodes_contribute_none() {
    let merged = merge::merge_cluster(y(DEFAULTS), y(ONE_NODE)).unwrap();
    assert_eq!(merged.cluster["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(merged.groups.names, Some(vec!["master".to_owned(), "worker".to_owned()]));
    assert_eq!(merged.groups.of("m0.edge7"), Some("master"));
    assert!(merged.cluster.get("nodeGroups").is_none());
}

#[test]
fn s02_040_empty_group_list_expands_to_no_node() {
    let merged = merge::merge_cluster(y("{nodeGroups: [], a: 1}"), y("{nodeGroups: []}")).unwrap();
    assert_eq!(merged.cluster, json!({"a": 1, "nodes": []}));
}

#[test]
fn s02_043_same_interface_twice_merges_addresses_by_index() {
    let input = "{nodeGroups: [{name: master, nodes: [{hostName: h, nodeNetwork: {interfaces: [{name: eno1, addresses: \
                 {ipv4: [192.0.2.1/24, 192.0.2.2/24]}}, {name: eno1, addresses: {ipv4: [192.0.2.3/25]}}]}}]}]}";
    let merged = merge::merge_cluster(y(DEFAULTS), y(input)).unwrap();
    let network = &merged.cluster["nodes"][0]["nodeNetwork"];
    assert_eq!(
        network["config"]["interfaces"][0]["ipv4"],
        json!({"enabled": true, "address": [
            {"ip": "192.0.2.3", "prefix-length": 25}, {"ip": "192.0.2.2", "prefix-length": 24}
        ]})
    );
    assert_eq!(
        network["interfaces"],
        json!([{"name": "eno1", "label": "boot-interface"}, {"name": "eno2", "label": "fronthaul"}])
    );
}

#[test]
fn s02_045_shorter_list_keeps_the_tail_and_is_reported() {
    let input = "{additionalNTPSources: [pr], nodeGroups: [{name: master, nodes: [{hostName: h}]}]}";
    let merged = merge::merge_cluster(y(DEFAULTS), y(input)).unwrap();
    assert_eq!(merged.cluster["additionalNTPSources"], json!(["pr", "ntp2.fjord.test"]));
    assert_eq!(merged.warnings, ["additionalNTPSources: 1 of the 2 default elements are given"]);
}

#[test]
fn s02_046_null_replaces_a_map() {
    let mut defaults = y(DEFAULTS);
    defaults["proxy"] = json!({"httpProxy": "x"});
    let input = "{proxy: null, nodeGroups: [{name: master, nodes: [{hostName: h}]}]}";
    assert_eq!(merge::merge_cluster(defaults, y(input)).unwrap().cluster["proxy"], Value::Null);
}

#[rstest]
#[case::s02_047_missing("", "clusterName is required and must be a non-empty string")]
#[case::s02_047_format(
    "My_Cluster",
    "invalid clusterName format: clusterName \"My_Cluster\" is not a valid DNS-1123 label: a lowercase RFC 1123 label \
     must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character \
     (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)]
#[case::dots(
    "a.b",
    "invalid clusterName format: clusterName \"a.b\" is not a valid DNS-1123 label: must not contain dots"
)]
#[case::s02_047_kube(
    "kube-x",
    "reserved clusterName: clusterName \"kube-x\" targets a reserved namespace (prefix \"kube-\")"
)]
#[case::s02_047_ztp(
    "ztp-a",
    "reserved clusterName: clusterName \"ztp-a\" targets a reserved namespace (prefix \"ztp-\")"
)]
#[case::s02_047_operator(
    "oran-o2ims",
    "reserved clusterName: clusterName \"oran-o2ims\" targets a reserved namespace (prefix \"oran-o2ims\")"
)]
#[case::default(
    "default",
    "reserved clusterName: clusterName \"default\" targets a reserved namespace (prefix \"default\")"
)]
fn cluster_names_that_are_refused(#[case] name: &str, #[case] expected: &str) {
    let mut p = parameters(ONE_NODE);
    p["clusterInstanceParameters"]["clusterName"] = json!(name);
    assert_eq!(message(check(&Ct::new(), &p)), format!("failed to validate clusterName: {expected}"));
}

#[rstest]
#[case::s02_048_prefix_of_a_word("default-team")]
#[case::s02_048_inside("my-openshift-cluster")]
fn cluster_names_that_are_fine(#[case] name: &str) {
    let mut p = parameters(ONE_NODE);
    p["clusterInstanceParameters"]["clusterName"] = json!(name);
    assert_eq!(check(&Ct::new(), &p).unwrap().cluster_name, name);
}

#[rstest]
#[case::s02_049_other_request(Some("other"))]
#[case::s02_049_no_label(None)]
fn namespace_of_somebody_else(#[case] owner: Option<&str>) {
    let namespace = |_: &str| Some(ClusterNamespace { owner: owner.map(str::to_owned), terminating: false });
    assert_eq!(
        message(check_in(&Ct::new(), &parameters(ONE_NODE), &namespace, &|_| true)),
        format!(
            "failed to validate clusterName: clusterName ownership check failed: namespace \"edge7\" already exists \
             and is not owned by ProvisioningRequest \"{REQUEST}\""
        )
    );
}

#[test]
fn s02_050_own_namespace_is_fine() {
    let namespace = |_: &str| Some(ClusterNamespace { owner: Some(REQUEST.to_owned()), terminating: false });
    assert!(check_in(&Ct::new(), &parameters(ONE_NODE), &namespace, &|_| true).is_ok());
}

#[test]
fn names_of_other_requests_are_taken() {
    let others = [Taken {
        request: "r2".to_owned(),
        cluster: Some("c".to_owned()),
        node_cluster: Some("n".to_owned()),
    }];
    assert_eq!(
        names::check_unique(Some("c"), None, "r1", &others).unwrap_err().message,
        "clusterName \"c\" is already used by ProvisioningRequest \"r2\""
    );
    assert_eq!(
        names::check_unique(Some("d"), Some("n"), "r1", &others).unwrap_err().message,
        "nodeClusterName \"n\" is already used by ProvisioningRequest \"r2\""
    );
    assert!(names::check_unique(Some("c"), Some("n"), "r2", &others).is_ok());
    assert!(names::check_unique(Some("d"), Some("m"), "r1", &others).is_ok());
}

#[test]
fn s02_055_policy_input_must_be_there() {
    let mut p = parameters(ONE_NODE);
    p.as_object_mut().unwrap().remove("policyTemplateParameters");
    assert_eq!(
        message(check(&Ct::new(), &p)),
        "spec.templateParameters does not match the schema defined in ClusterTemplate (edge.v1) \
         spec.templateParameterSchema: invalid input: (root): policyTemplateParameters is required"
    );
}

#[test]
fn policy_is_merged_then_checked() {
    let mut p = parameters(ONE_NODE);
    p["policyTemplateParameters"] = json!({"ptp": "25", "free": "x"});
    let policy = check(&Ct::new(), &p).unwrap().policy;
    assert_eq!(Value::Object(policy), json!({"cpu-isolated": "4-31", "ptp": "25", "free": "x"}));
    p["policyTemplateParameters"] = json!({"ptp": 25});
    assert_eq!(
        message(check(&Ct::new(), &p)),
        "failed to validate PolicyTemplate input: spec.templateParameters.policyTemplateParameters does not match the \
         schema defined in ClusterTemplate (edge.v1) spec.templateParameterSchema.policyTemplateParameters: invalid \
         input: ptp: Invalid type. Expected: string, given: integer"
    );
    let mut ct = Ct::new();
    ct.policy.insert("policytemplate-defaults".to_owned(), "{}".to_owned());
    assert_eq!(
        message(check(&ct, &parameters(ONE_NODE))),
        "failed to validate PolicyTemplate input: failed to merge data for policyTemplateParameters: expected \
         clusterTemplateInput data not provided in either ProvisioningRequest or Configmap"
    );
}

#[rstest]
#[case::s02_057_no_duration(
    "abc",
    Err(
        "failed to load timeouts: the value of key clusterInstallationTimeout from ConfigMap ci-defaults is not a valid \
         duration string: time: invalid duration \"abc\""
    )
)]
#[case::s02_057_negative(
    "-1m",
    Err(
        "failed to load timeouts: the value of key clusterInstallationTimeout from ConfigMap ci-defaults must be a \
         positive duration"
    )
)]
#[case::s02_057_zero_is_the_default("0s", Ok(90))]
#[case::given("3h", Ok(180))]
fn install_timeout(#[case] text: &str, #[case] expected: Result<u32, &str>) {
    match (check(&Ct::new().timeout(text), &parameters(ONE_NODE)), expected) {
        (Ok(v), Ok(minutes)) => {
            assert_eq!(v.install_timeout, GoDuration::minutes(minutes));
            assert_eq!(v.configuration_timeout, GoDuration::minutes(30));
        }
        (result, Err(text)) => assert_eq!(message(result), text),
        (Err(e), Ok(_)) => panic!("{e}"),
    }
}

#[test]
fn missing_config_map_is_named() {
    let template = Template::prepare(&Ct::new().object, None, None);
    let result = validate::validate(&validate::Input {
        request: REQUEST,
        template_name: "edge.v1",
        template: Some(&template),
        parameters: &parameters(ONE_NODE),
        operator_namespace: "oran-o2ims",
        profile_exists: &|_| true,
        namespace: &|_| None,
        others: &[],
    });
    assert_eq!(
        message(result),
        "failed to load timeouts: the ConfigMap 'ci-defaults' is not found in the namespace 'edge-tpl'"
    );
}
