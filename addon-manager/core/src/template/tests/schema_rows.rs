//! Sections 4.1 to 4.3.

use rstest::rstest;

use super::*;

#[rstest]
#[case::valid(|_: &mut Case| {}, "")]
#[case::format(|c: &mut Case| c.spec()["version"] = json!("v2"),
    "failed to validate ClusterTemplate name edge.v1, should be in the format <spec.name>.<spec.version>: edge.v2")]
#[case::older_twins(|c: &mut Case| c.twins = vec![twin("z", 5), twin("a", 9), twin("young", 11)],
    "failed to validate ClusterTemplate name edge.v1, a identical name already exists in namespaces: a,z")]
#[case::younger_twins(|c: &mut Case| c.twins = vec![twin("z", 11)], "")]
#[case::same_age_valid(|c: &mut Case| c.twins = vec![Twin { valid: true, ..twin("z", 10) }],
    "failed to validate ClusterTemplate name edge.v1, a identical name already exists in namespaces: z")]
#[case::same_age(|c: &mut Case| c.twins = vec![twin("z", 10)], "")]
#[case::bad_id(|c: &mut Case| c.spec()["templateId"] = json!("x2"), "failed to validate templateID, invalid UUID:x2")]
#[case::hex_id(|c: &mut Case| c.spec()["templateId"] = json!("5d0c3d2e90b15c118a55000000000001"), "")]
fn name_and_id(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

fn twin(namespace: &str, second: i64) -> Twin {
    let created =
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_secs(second);
    Twin { namespace: namespace.to_owned(), created, valid: false }
}

const NO_PROPERTIES: &str = "non compliant Main Schema, missing 'properties' section: %!w(<nil>)";
const NO_MAP: &str = "could not cast 'properties' section of schema as map[string]any: %!w(<nil>)";

/// 4.3 a and b; the ConfigMap check adds its own message where clusterInstanceParameters cannot be taken out.
#[rstest]
#[case(|c: &mut Case| *c.schema() = json!({}), NO_PROPERTIES)]
#[case(|c: &mut Case| c.schema()["properties"] = json!([]), NO_MAP)]
#[case(|c: &mut Case| c.schema()["properties"] = json!(null), NO_MAP)]
fn schemas_without_properties(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(
        message(change),
        format!(
            "error extracting subschema at key nodeClusterName: {wanted};failed to extract \
             \"clusterInstanceParameters\" schema for defaults validation: {wanted}"
        )
    );
}

#[test]
fn an_empty_schema_is_reported() {
    assert_eq!(
        parameters::check("edge.v1", &Value::Null, true, false),
        Err("templateParameterSchema is present but empty:".to_owned())
    );
}

#[rstest]
#[case::sub_string(|c: &mut Case| *c.property("oCloudSiteId") = json!("string"),
    "error extracting subschema at key oCloudSiteId: subSchema 'oCloudSiteId' is not a valid map: %!w(<nil>)")]
#[case::sub_bool(|c: &mut Case| *c.property("nodeClusterName") = json!(true),
    "error extracting subschema at key nodeClusterName: subSchema 'nodeClusterName' is not a valid map: %!w(<nil>)")]
#[case::no_required(|c: &mut Case| { c.schema().as_object_mut().unwrap().remove("required"); },
    "error unmarshalling required subschema: could not extract the 'required' section of schema: parent schema does not \
     contain key 'required': %!w(<nil>)")]
#[case::required_map(|c: &mut Case| c.schema()["required"] = json!({}),
    "error unmarshalling required subschema: could not cast 'required' section as []any")]
#[case::required_items(|c: &mut Case| c.schema()["required"] = json!(["a", 1]),
    "error unmarshalling required subschema: could not cast 'required' section item as a string")]
#[case::missing(|c: &mut Case| { c.schema()["properties"].as_object_mut().unwrap().remove("oCloudSiteId"); },
    "failed to validate ClusterTemplate: edge.v1. The following mandatory fields are missing: oCloudSiteId.")]
#[case::types(|c: &mut Case| {
        *c.property("nodeClusterName") = json!({"type": "integer"});
        *c.property("oCloudSiteId") = json!({});
    },
    "failed to validate ClusterTemplate: edge.v1. The following entries are present but have a unexpected type: \
     nodeClusterName (expected = string actual= integer),oCloudSiteId (expected = string actual= none).")]
#[case::odd_types(|c: &mut Case| {
        *c.property("nodeClusterName") = json!({"type": 7});
        *c.property("oCloudSiteId") = json!({"type": null});
        c.property("policyTemplateParameters")["type"] = json!(["string", "null"]);
    },
    "failed to validate ClusterTemplate: edge.v1. The following entries are present but have a unexpected type: \
     nodeClusterName (expected = string actual= %!s(float64=7)),oCloudSiteId (expected = string actual= %!s(<nil>)),\
     policyTemplateParameters (expected = object actual= [string null]).")]
#[case::not_required(|c: &mut Case| c.schema()["required"] = json!(["nodeClusterName", "clusterInstanceParameters"]),
    "failed to validate ClusterTemplate: edge.v1. The following entries are missing in the required section of the \
     template: oCloudSiteId,policyTemplateParameters")]
#[case::missing_before_type(|c: &mut Case| {
        *c.property("nodeClusterName") = json!({});
        c.schema()["properties"].as_object_mut().unwrap().remove("oCloudSiteId");
        c.schema()["required"] = json!([]);
    },
    "failed to validate ClusterTemplate: edge.v1. The following mandatory fields are missing: oCloudSiteId.")]
#[case::type_before_required(|c: &mut Case| {
        *c.property("nodeClusterName") = json!({"type": "number"});
        c.schema()["required"] = json!([]);
    },
    "failed to validate ClusterTemplate: edge.v1. The following entries are present but have a unexpected type: \
     nodeClusterName (expected = string actual= number).")]
fn mandatory_properties(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

#[rstest]
#[case(|c: &mut Case| { c.property("clusterInstanceParameters").as_object_mut().unwrap().remove("properties"); },
    "\"clusterInstanceParameters\" schema must have a properties section",
    ";\"clusterInstanceParameters\" schema must have a properties section")]
#[case(|c: &mut Case| c.property("clusterInstanceParameters")["properties"]["nodes"] = json!({}),
    "\"clusterInstanceParameters\" schema must not define both \"nodes\" and \"nodeGroups\"; choose exactly one", "")]
#[case(|c: &mut Case| c.property("clusterInstanceParameters")["properties"] = json!({}),
    "\"clusterInstanceParameters\" schema must define either \"nodes\" or \"nodeGroups\"",
    ";clusterinstance-defaults defines \"nodeGroups\", but clusterInstanceParameters schema does not include a matching \
     \"nodeGroups\" definition")]
fn cluster_instance_parameters(#[case] change: Change, #[case] wanted: &str, #[case] second: &str) {
    assert_eq!(
        message(change),
        format!("Error validating the clusterInstanceParameters schema: {wanted}{second}")
    );
}

#[rstest]
#[case(|c: &mut Case| *c.property("policyTemplateParameters") = json!({"type": "object"}),
    "unexpected policyTemplateParameters structure, no properties present")]
#[case(|c: &mut Case| c.property("policyTemplateParameters")["properties"] = json!([]),
    "unexpected policyTemplateParameters properties structure")]
#[case(|c: &mut Case| c.property("policyTemplateParameters")["properties"]["cpu"] = json!("x"),
    "unexpected policyTemplateParameters structure for the cpu property")]
#[case(|c: &mut Case| c.property("policyTemplateParameters")["properties"]["cpu"] = json!({}),
    "unexpected policyTemplateParameters structure: expected subproperty \"type\" missing")]
#[case(|c: &mut Case| c.property("policyTemplateParameters")["properties"]["cpu"] = json!({"type": ["string"]}),
    "unexpected policyTemplateParameters structure: expected the subproperty \"type\" to be string")]
#[case(|c: &mut Case| c.property("policyTemplateParameters")["properties"]["cpu"] = json!({"type": "integer"}),
    "expected type string for the cpu property")]
fn policy_parameters(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), format!("Error validating the policyTemplateParameters schema: {wanted}"));
}

#[test]
fn empty_policy_properties_pass() {
    assert_eq!(message(|c| c.property("policyTemplateParameters")["properties"] = json!({})), "");
}

const NO_HARDWARE: &str = "ClusterTemplate must define hardware provisioning via hwMgmtDefaults.nodeGroupData or expose \
                           hwMgmtParameters in templateParameterSchema";

#[rstest]
#[case(|c: &mut Case| { c.defaults().as_object_mut().unwrap().remove("hwMgmtDefaults"); }, NO_HARDWARE)]
#[case(|c: &mut Case| c.defaults()["hwMgmtDefaults"]["nodeGroupData"] = json!([]), NO_HARDWARE)]
#[case(|c: &mut Case| {
        c.defaults().as_object_mut().unwrap().remove("hwMgmtDefaults");
        *c.property("hwMgmtParameters") = json!("anything");
    }, "")]
fn hardware_is_defined(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

#[rstest]
#[case::no_map(|c: &mut Case| *c.property("upgradeParameters") = json!(1),
    "failed to extract \"upgradeParameters\" schema: subSchema 'upgradeParameters' is not a valid map: %!w(<nil>)")]
#[case::no_type(|c: &mut Case| *c.property("upgradeParameters") = json!({"properties": {}}),
    "\"upgradeParameters\" must have type \"object\"")]
#[case::no_properties(|c: &mut Case| *c.property("upgradeParameters") = json!({"type": "object"}),
    "\"upgradeParameters\" schema must have a properties section")]
#[case::both(|c: &mut Case| *c.property("upgradeParameters") = json!({"type": "object", "properties": {
        "clusterVersion": {"type": "object"}, "imageBasedGroupUpgrade": {"type": "object"}}}),
    "\"upgradeParameters\" schema must not define both \"clusterVersion\" and \"imageBasedGroupUpgrade\"; choose exactly \
     one upgrade type")]
#[case::neither(|c: &mut Case| {
        *c.property("upgradeParameters") = json!({"type": "object", "properties": {}});
        c.defaults()["upgradeDefaults"] = json!({});
    },
    "\"upgradeParameters\" schema must define either \"clusterVersion\" or \"imageBasedGroupUpgrade\" when \
     upgradeDefaults is set")]
#[case::kind_no_map(|c: &mut Case| *c.property("upgradeParameters") = json!({"type": "object", "properties": {"clusterVersion": "x"}}),
    "upgradeParameters.clusterVersion must be an object schema")]
#[case::kind_no_type(|c: &mut Case| *c.property("upgradeParameters") = json!({"type": "object", "properties": {
        "imageBasedGroupUpgrade": {}}}),
    "upgradeParameters.imageBasedGroupUpgrade must have type \"object\"")]
#[case::empty_defaults_count(|c: &mut Case| c.defaults()["upgradeDefaults"] = json!({}),
    "templateParameterSchema must define \"upgradeParameters\" when upgradeDefaults is set")]
fn upgrade_parameters(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), format!("Error validating the upgradeParameters schema: {wanted}"));
}

#[test]
fn upgrade_parameters_without_a_type_are_fine_without_defaults() {
    assert_eq!(
        message(|c| *c.property("upgradeParameters") = json!({"type": "object", "properties": {}})),
        ""
    );
}
