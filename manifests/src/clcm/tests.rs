use kube::CustomResourceExt;
use rstest::rstest;
use serde_json::{Value, json};

use super::conditions::{HardwareCondition, RequestCondition, RequestReason};
use super::*;
use crate::meta::FreeForm;
use crate::ocloud::{Inventory, Location, OAuthConfig};

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

#[test]
fn required_fields_are_always_written() {
    let nar = NodeAllocationRequest::new("n", NodeAllocationRequestSpec::default());
    let value = serde_json::to_value(nar).unwrap();
    assert_eq!(
        value["spec"],
        json!({"clusterId": "", "site": "", "nodeGroup": [], "configTransactionId": 0})
    );
    assert_eq!(
        serde_json::to_value(NodeAllocationRequestStatus::default()).unwrap(),
        json!({"observedConfigTransactionId": 0})
    );
    let node = AllocatedNode::new("n", AllocatedNodeSpec::default());
    assert_eq!(
        serde_json::to_value(node).unwrap()["spec"],
        json!({"nodeAllocationRequest": "", "groupName": "", "hwProfile": ""})
    );
    let profile = HardwareProfile::new("p", HardwareProfileSpec::default());
    assert_eq!(serde_json::to_value(profile).unwrap()["spec"], json!({"bios": {}}));
}

#[test]
fn empty_optional_parts_are_not_written() {
    assert_eq!(serde_json::to_value(ProvisioningRequestStatus::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(ClusterTemplateStatus::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(AllocatedNodeStatus::default()).unwrap(), json!({}));
    assert_eq!(serde_json::to_value(Extensions::default()).unwrap(), json!({}));
}

/// The published schema does not require `spec`, so one such object must not stop a watch.
#[rstest]
#[case(json!({"metadata": {"name": "x"}}))]
#[case(json!({"metadata": {"name": "x"}, "spec": null}))]
#[case(json!({"metadata": {"name": "x"}, "status": null}))]
fn objects_without_spec_decode(#[case] value: Value) {
    assert_eq!(object::<ClusterTemplate>(value.clone()).spec, ClusterTemplateSpec::default());
    assert_eq!(object::<ProvisioningRequest>(value.clone()).spec, ProvisioningRequestSpec::default());
    assert_eq!(object::<HardwareProfile>(value.clone()).spec, HardwareProfileSpec::default());
    assert_eq!(object::<FirmwareCatalog>(value.clone()).spec, FirmwareCatalogSpec::default());
    assert_eq!(object::<NodeAllocationRequest>(value.clone()).spec, NodeAllocationRequestSpec::default());
    assert_eq!(object::<AllocatedNode>(value.clone()).spec, AllocatedNodeSpec::default());
    assert_eq!(object::<Inventory>(value.clone()).spec, crate::ocloud::InventorySpec::default());
    assert_eq!(object::<Location>(value.clone()).spec, crate::ocloud::LocationSpec::default());
    assert_eq!(object::<crate::ran::ClusterInstance>(value).spec.0, FreeForm::default());
}

#[test]
fn a_wrong_spec_is_still_an_error() {
    let missing = json!({"metadata": {"name": "x"}, "spec": {"templateName": "t"}});
    let text = serde_json::from_value::<ProvisioningRequest>(missing).unwrap_err().to_string();
    assert!(text.contains("templateVersion"), "{text}");
    assert!(serde_json::from_value::<Inventory>(json!({"metadata": {}, "spec": "text"})).is_err());
}

/// spec/02 B-31: status of older releases may hold fields that are gone.
#[test]
fn unknown_fields_are_ignored() {
    let request: ProvisioningRequest = object(json!({
        "metadata": {"name": "x"},
        "spec": {"templateName": "t", "templateVersion": "v1", "templateParameters": {"b": 1, "a": {}}},
        "status": {"extensions": {
            "nodeAllocationRequestRef": {"nodeAllocationRequestID": "x"},
            "clusterDetails": {"name": "c", "ztpStatus": ztp_status::DONE},
        }},
    }));
    assert_eq!(request.spec.template(), "t.v1");
    assert_eq!(request.spec.template_parameters.as_str(), r#"{"a":{},"b":1}"#);
    let details = request.status.unwrap().extensions.unwrap().cluster_details.unwrap();
    assert_eq!((details.name.as_deref(), details.ztp_status.as_deref()), (Some("c"), Some("ZTP Done")));
}

/// spec/01 1.2: a value that is no duration must not stop the watch of all templates.
#[test]
fn a_bad_duration_decodes() {
    let template: ClusterTemplate = object(json!({
        "metadata": {"name": "t.v1"},
        "spec": {
            "name": "t", "version": "v1", "release": "4.20.1",
            "templateDefaults": {
                "clusterInstanceDefaults": "ci", "policyTemplateDefaults": "pt",
                "hwMgmtDefaults": {"hardwareProvisioningTimeout": "soon"},
            },
            "templateParameterSchema": {"type": "object"},
        },
    }));
    let hw = template.spec.template_defaults.hw_mgmt_defaults.unwrap();
    assert_eq!(hw.hardware_provisioning_timeout.as_deref(), Some("soon"));
}

#[test]
fn attribute_values_are_numbers_or_texts() {
    let bios: Bios = object(json!({"attributes": {"a": 120, "b": "Custom", "c": 5_000_000_000_i64}}));
    assert_eq!(bios.attributes["a"], 120.into());
    assert_eq!(bios.attributes["b"], "Custom".into());
    assert_eq!(bios.attributes["c"].to_string(), "5000000000");
    assert!(serde_json::from_value::<Bios>(json!({"attributes": {"a": true}})).is_err());
}

#[test]
fn words_are_the_texts_of_the_wire() {
    assert_eq!(RequestCondition::Validated.as_str(), "ProvisioningRequestValidated");
    assert_eq!(
        RequestReason::parse("PreconditionChecksFailed"),
        Some(RequestReason::PreconditionChecksFailed)
    );
    assert_eq!(RequestReason::parse("completed"), None);
    assert_eq!(serde_json::to_value(ProvisioningPhase::Fulfilled).unwrap(), json!("fulfilled"));
    assert_eq!(
        object::<ResourceProvisioningPhase>(json!("AWAITING_FREE_RESOURCES")),
        ResourceProvisioningPhase::AwaitingFreeResources
    );
    assert_eq!(RequestCondition::ALL.len(), 11);
    assert_eq!(RequestCondition::FATAL.len(), 7);
    assert_eq!(HardwareCondition::Deprovisioned.to_string(), "Deprovisioned");
}

fn template(name: &str, base: &str, version: &str, status: &Value) -> ClusterTemplate {
    object(json!({
        "metadata": {"name": name},
        "spec": {
            "name": base, "version": version, "release": "4.20.1",
            "templateDefaults": {"clusterInstanceDefaults": "ci", "policyTemplateDefaults": "pt"},
            "templateParameterSchema": {"type": "object"},
        },
        "status": status,
    }))
}

fn condition(type_: &str, status: &str) -> Value {
    json!({"conditions": [{
        "type": type_, "status": status, "reason": "Any", "message": "", "lastTransitionTime": "2026-01-05T10:00:00Z",
    }]})
}

/// spec/01 1.2 rule 2 and section 13, 1.
#[test]
fn s01_001_template_name_rule() {
    assert!(template("t.v1", "t", "v1", &Value::Null).validate_cel().is_ok());
    let text = template("t.v1", "t", "v2", &Value::Null).validate_cel().unwrap_err().to_string();
    assert!(text.contains("metadata.name must be in the form of spec.name + '.' + spec.version"), "{text}");
}

/// spec/01 1.2 rule 1: free before the first status and while not valid, frozen otherwise.
#[rstest]
#[case::no_status(Value::Null, true)]
#[case::invalid(condition("ClusterTemplateValidated", "False"), true)]
#[case::valid(condition("ClusterTemplateValidated", "True"), false)]
#[case::unknown(condition("ClusterTemplateValidated", "Unknown"), false)]
#[case::other_condition(condition("Other", "False"), false)]
#[case::status_without_conditions(json!({}), false)]
fn s01_001_template_freeze_rule(#[case] status: Value, #[case] free: bool) {
    let old = template("t.v1", "t", "v1", &status);
    let mut new = template("t.v1", "t", "v1", &status);
    assert!(new.validate_cel_update(&old).is_ok(), "an update without a change");
    new.spec.release = "4.20.2".to_owned();
    let result = new.validate_cel_update(&old);
    assert_eq!(result.is_ok(), free, "{result:?}");
    if let Err(errors) = result {
        let text = errors.to_string();
        assert!(
            text.contains(
                "Spec changes are not allowed for a ClusterTemplate that has passed the validation"
            ),
            "{text}"
        );
    }
}

#[test]
fn s01_001_profile_is_immutable() {
    let old: HardwareProfile = object(json!({"metadata": {"name": "p"}, "spec": {"bios": {}}}));
    let mut new = old.clone();
    assert!(new.validate_cel().is_ok());
    new.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    assert!(new.validate_cel_update(&old).is_ok());
    new.spec.bios.attributes.insert("a".to_owned(), 1.into());
    let text = new.validate_cel_update(&old).unwrap_err().to_string();
    assert!(text.contains("HardwareProfile spec is immutable"), "{text}");
}

#[rstest]
#[case::coordinate(json!({"coordinate": {"latitude": "-90.0", "longitude": "180"}}), None)]
#[case::address(json!({"address": "Main street 1"}), None)]
#[case::civic(json!({"civicAddress": [{"caType": 0, "caValue": "PT"}]}), None)]
#[case::nothing(json!({}), Some("at least one of coordinate, non-empty civicAddress, or non-empty address must be specified"))]
#[case::empty(json!({"address": ""}), Some("at least one of coordinate"))]
#[case::latitude(
    json!({"coordinate": {"latitude": "90.1", "longitude": "0"}}),
    Some("latitude must be between -90.0 and 90.0")
)]
#[case::longitude(
    json!({"coordinate": {"latitude": "0", "longitude": "-180.5"}}),
    Some("longitude must be between -180.0 and 180.0")
)]
fn s01_001_location_rules(#[case] mut spec: Value, #[case] refused: Option<&str>) {
    spec["description"] = json!("");
    let location: Location = object(json!({"metadata": {"name": "l"}, "spec": spec}));
    match (location.validate_cel(), refused) {
        (Ok(()), None) => {}
        (Err(errors), Some(message)) => assert!(errors.to_string().contains(message), "{errors}"),
        (result, _) => panic!("{result:?}, wanted {refused:?}"),
    }
}

#[test]
fn oauth_claims_have_defaults() {
    let oauth: OAuthConfig =
        object(json!({"url": "u", "tokenEndpoint": "t", "clientSecretName": "s", "scopes": ["openid"]}));
    assert_eq!(oauth.username_claim, "preferred_username");
    assert_eq!(oauth.groups_claim, "roles");
    assert_eq!(oauth.client_binding_claim, "has(claims.cnf) ? claims.cnf['x5t#S256'] : []");
}

#[test]
fn names_of_the_crds() {
    assert_eq!(ProvisioningRequest::crd_name(), "provisioningrequests.clcm.openshift.io");
    assert_eq!(ProvisioningRequest::crd().spec.scope, "Cluster");
    assert_eq!(Inventory::crd_name(), "inventories.ocloud.openshift.io");
}
