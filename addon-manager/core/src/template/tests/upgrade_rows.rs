//! Section 4.8, scenario 5.

use rstest::rstest;

use super::*;

fn version(c: &mut Case, defaults: Value) {
    c.defaults()["upgradeDefaults"] = defaults;
    *c.property("upgradeParameters") = json!({
        "type": "object",
        "properties": {"clusterVersion": {"type": "object", "properties": {"channel": {"type": "string"}}}},
    });
}

fn image(c: &mut Case, defaults: Value) {
    c.defaults()["upgradeDefaults"] = defaults;
    *c.property("upgradeParameters") =
        json!({"type": "object", "properties": {"imageBasedGroupUpgrade": {"type": "object"}}});
}

#[rstest]
#[case::no_parameters(|c: &mut Case| c.defaults()["upgradeDefaults"] = json!({"clusterVersion": {}}),
    "Error validating the upgradeParameters schema: templateParameterSchema must define \"upgradeParameters\" when \
     upgradeDefaults is set;templateParameterSchema must define \"upgradeParameters\" when upgradeDefaults is set")]
#[case::no_properties(|c: &mut Case| {
        version(c, json!({"clusterVersion": {}}));
        *c.property("upgradeParameters") = json!({"type": "object"});
    },
    "Error validating the upgradeParameters schema: \"upgradeParameters\" schema must have a properties section;\
     \"upgradeParameters\" schema must have a properties section")]
#[case::both(|c: &mut Case| version(c, json!({"clusterVersion": {}, "imageBasedGroupUpgrade": {}})),
    "upgradeDefaults contains both \"clusterVersion\" and \"imageBasedGroupUpgrade\" keys; only one upgrade type is \
     allowed")]
#[case::other_type(|c: &mut Case| version(c, json!({"imageBasedGroupUpgrade": {}})),
    "upgradeDefaults defines \"imageBasedGroupUpgrade\", but upgradeParameters schema does not include a matching \
     \"imageBasedGroupUpgrade\" definition")]
#[case::schema(|c: &mut Case| version(c, json!({"clusterVersion": {"channel": 1}})),
    "upgradeDefaults does not conform to the upgradeParameters schema: invalid input: clusterVersion.channel: Invalid \
     type. Expected: string, given: integer")]
#[case::no_map(|c: &mut Case| version(c, json!("upgrade-defaults")),
    "upgradeDefaults is not a map: json: cannot unmarshal string into Go value of type map[string]interface {}")]
#[case::empty(|c: &mut Case| version(c, json!({})), "")]
#[case::unrelated(|c: &mut Case| version(c, json!({"note": 1})), "")]
#[case::image_based(|c: &mut Case| image(c, json!({"imageBasedGroupUpgrade": {
        "ibuSpec": {"seedImageRef": {"image": "r/seed:1", "version": "4.20.3"}},
        "plan": [{"actions": ["Prep"], "rolloutStrategy": {"maxConcurrency": 1, "timeout": 20}}]}})), "")]
#[case::image_based_release(|c: &mut Case| image(c, json!({"imageBasedGroupUpgrade": {
        "ibuSpec": {"seedImageRef": {"version": "4.20.9"}}}})),
    "The ClusterTemplate spec.release (4.20.3) does not match the seedImageRef version (4.20.9) from the upgrade \
     defaults")]
#[case::image_based_no_version(|c: &mut Case| image(c, json!({"imageBasedGroupUpgrade": {"ibuSpec": {}}})), "")]
#[case::image_based_undecodable(|c: &mut Case| image(c, json!({"imageBasedGroupUpgrade": {"ibuSpec": "none"}})),
    "failed to get IBGU from upgradeDefaults: failed to unmarshal IBGU spec, unexpected data structure: json: cannot \
     unmarshal string into Go struct field ImageBasedGroupUpgradeSpec.ibuSpec of type v1.ImageBasedUpgradeSpec")]
#[case::flat(|c: &mut Case| version(c, json!({"clusterUpgradeTimeout": "5h", "intermediateVersion": "4.19.7",
        "clusterVersion": {"channel": "eus-4.20", "desiredUpdate": {"version": "4.20.3"}}})), "")]
#[case::nested(|c: &mut Case| version(c, json!({"clusterVersion": {"clusterUpgradeTimeout": "5h", "intermediateVersion": "4.19.7",
        "cvSpec": {"channel": "eus-4.20", "desiredUpdate": {"version": "4.20.3"}}}})), "")]
fn s01_005_upgrade_defaults(#[case] change: Change, #[case] wanted: &str) {
    assert_eq!(message(change), wanted);
}

#[rstest]
#[case::release(json!({"clusterVersion": {"desiredUpdate": {"version": "4.20.9"}}}),
    "the clusterVersion desiredUpdate.version (4.20.9) does not match the ClusterTemplate spec.release (4.20.3)")]
#[case::nested_release(json!({"clusterVersion": {"cvSpec": {"desiredUpdate": {"version": "4.20.9"}}}}),
    "the clusterVersion desiredUpdate.version (4.20.9) does not match the ClusterTemplate spec.release (4.20.3)")]
#[case::empty_version(json!({"clusterVersion": {"desiredUpdate": {"version": ""}}}), "")]
#[case::no_map(json!({"clusterVersion": "x"}), "upgradeDefaults \"clusterVersion\" value must be an object")]
#[case::timeout(json!({"clusterUpgradeTimeout": "3 h"}),
    "invalid clusterUpgradeTimeout \"3 h\" in upgradeDefaults: time: unknown unit \" h\" in duration \"3 h\"")]
#[case::zero(json!({"clusterUpgradeTimeout": "0"}),
    "invalid clusterUpgradeTimeout \"0\" in upgradeDefaults: must be a positive duration")]
#[case::nested_timeout(json!({"clusterVersion": {"clusterUpgradeTimeout": "-2h"}}),
    "invalid clusterUpgradeTimeout \"-2h\" in upgradeDefaults: must be a positive duration")]
#[case::number(json!({"clusterUpgradeTimeout": 5, "intermediateVersion": 4}), "")]
#[case::intermediate(json!({"intermediateVersion": "4.19.20"}), "")]
#[case::intermediate_rc(json!({"intermediateVersion": "4.19.0-rc.1"}), "")]
#[case::intermediate_text(json!({"intermediateVersion": "abc"}),
    "intermediateVersion \"abc\" is not valid semver: abc is not in dotted-tri format")]
#[case::intermediate_major(json!({"intermediateVersion": "3.19.1"}),
    "intermediateVersion major version (3) must equal ClusterTemplate's spec.release major version (4)")]
#[case::intermediate_same(json!({"intermediateVersion": "4.20.1"}),
    "intermediateVersion 4.20.1 must be exactly one minor version below ClusterTemplate's spec.release version 4.20.3")]
#[case::intermediate_two(json!({"intermediateVersion": "4.18.1"}),
    "intermediateVersion 4.18.1 must be exactly one minor version below ClusterTemplate's spec.release version 4.20.3")]
#[case::twice_equal(json!({"clusterUpgradeTimeout": "4h", "clusterVersion": {"clusterUpgradeTimeout": "4h"}}), "")]
#[case::twice(json!({"clusterUpgradeTimeout": "4h", "clusterVersion": {"clusterUpgradeTimeout": "5h"}}),
    "upgradeDefaults: \"clusterUpgradeTimeout\" is given both under clusterVersion and beside it with different values")]
#[case::twice_inside(json!({"clusterVersion": {"channel": "a", "cvSpec": {"channel": "b"}}}),
    "upgradeDefaults: \"channel\" is given both under clusterVersion and beside it with different values")]
fn s01_005_cluster_version(#[case] data: Value, #[case] wanted: &str) {
    let found = upgrade::check_cluster_version(&data, "upgradeDefaults", "4.20.3").err();
    assert_eq!(found.unwrap_or_default(), wanted);
}

/// Scenarios 27 to 29 of spec/02: the same rules for requests.
#[rstest]
#[case::s02_027(json!({"clusterVersion": {"desiredUpdate": {"version": "4.20.4"}}}), "does not match the ClusterTemplate spec.release")]
#[case::s02_028_text(json!({"intermediateVersion": "abc"}), "is not valid semver")]
#[case::s02_028_two(json!({"intermediateVersion": "4.18.0"}), "must be exactly one minor version below")]
#[case::s02_029_zero(json!({"clusterUpgradeTimeout": "0s"}), "in upgradeParameters: must be a positive duration")]
#[case::s02_029_text(json!({"clusterUpgradeTimeout": "xyz"}), "invalid clusterUpgradeTimeout \"xyz\" in upgradeParameters")]
fn requests_share_the_rules(#[case] data: Value, #[case] wanted: &str) {
    let text = upgrade::check_cluster_version(&data, "upgradeParameters", "4.20.3").unwrap_err();
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn a_release_that_is_no_version_stops_the_comparison() {
    assert_eq!(
        upgrade::check_cluster_version(&json!({"intermediateVersion": "4.19.7"}), "upgradeDefaults", "v4.20.3"),
        Err("cannot validate intermediateVersion: ClusterTemplate's spec.release \"v4.20.3\" is not valid semver: \
             strconv.ParseInt: parsing \"v4\": invalid syntax"
            .to_owned())
    );
}

#[test]
fn both_shapes_become_the_flat_one() {
    let flat = json!({
        "clusterUpgradeTimeout": "5h", "intermediateVersion": "4.19.7",
        "clusterVersion": {"channel": "eus-4.20", "upstream": "https://a", "desiredUpdate": {"version": "4.20.3"}},
    });
    let nested = json!({"clusterVersion": {
        "clusterUpgradeTimeout": "5h", "intermediateVersion": "4.19.7",
        "cvSpec": {"channel": "eus-4.20", "upstream": "https://a", "desiredUpdate": {"version": "4.20.3"}},
    }});
    assert_eq!(upgrade::normalize(&nested, "x").unwrap(), flat);
    assert_eq!(upgrade::normalize(&flat, "x").unwrap(), flat);
    let image = json!({"imageBasedGroupUpgrade": {}});
    assert_eq!(upgrade::normalize(&image, "x").unwrap(), image);
}
