#![expect(clippy::needless_pass_by_value, reason = "builders read better without references")]

use manifests::clcm::HardwareProfileSpec;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn profile(spec: Value) -> HardwareProfileSpec {
    let mut whole = json!({"bios": {}});
    json_patch::merge(&mut whole, &spec);
    serde_json::from_value(whole).unwrap()
}

fn object<K: serde::de::DeserializeOwned>(kind: &str, rest: &Value) -> K {
    let mut object = json!({"apiVersion": "metal3.io/v1alpha1", "kind": kind, "metadata": {"name": "h1", "namespace": "racks", "generation": 1}});
    json_patch::merge(&mut object, rest);
    serde_json::from_value(object).unwrap()
}

fn settings(spec: Value) -> HostFirmwareSettings {
    object(
        "HostFirmwareSettings",
        &json!({
            "spec": {"settings": spec},
            "status": {"schema": {"name": "s", "namespace": "racks"}, "settings": {
                "TurboMode": "Enabled", "FanFloor": "120", "SerialNo": "S1", "AssetTag": "A", "SetupPassword": "", "Quiet": "false", "Odd": "x",
            }},
        }),
    )
}

fn schema() -> FirmwareSchema {
    object(
        "FirmwareSchema",
        &json!({"spec": {"schema": {
            "TurboMode": {"attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"]},
            "FanFloor": {"attribute_type": "Integer", "lower_bound": 0, "upper_bound": 120},
            "SerialNo": {"attribute_type": "String", "read_only": true},
            "AssetTag": {"attribute_type": "String", "min_length": 1, "max_length": 8},
            "SetupPassword": {"attribute_type": "Password"},
            "Secret": {"attribute_type": "Password"},
            "Quiet": {"attribute_type": "Boolean"},
            "Odd": {"attribute_type": "Blob"},
        }}}),
    )
}

fn components(list: &[(&str, &str)], updates: Value) -> HostFirmwareComponents {
    let list: Vec<Value> = list.iter().map(|(c, v)| json!({"component": c, "currentVersion": v})).collect();
    object("HostFirmwareComponents", &json!({"spec": {"updates": updates}, "status": {"components": list}}))
}

fn with_settings(spec: Value, asked: Value) -> Verdict {
    let (settings, schema) = (settings(asked), schema());
    let reported = Reported { settings: Some(&settings), schema: Some(&schema), components: None };
    compare(&profile(json!({"bios": {"attributes": spec}})), &reported)
}

fn with_components(spec: Value, list: &[(&str, &str)], asked: Value) -> Verdict {
    let components = components(list, asked);
    compare(&profile(spec), &Reported { components: Some(&components), ..Reported::default() })
}

#[rstest]
#[case::s04_038(json!({"NoSuch": "x"}), "setting NoSuch is not in the Status field")]
#[case::s04_039_read_only(json!({"SerialNo": "new"}), "Setting SerialNo is invalid, it is ReadOnly")]
#[case::s04_039_enumeration(json!({"TurboMode": "Maybe"}), "Setting TurboMode is invalid, unknown enumeration value - Maybe")]
#[case::s04_039_low(json!({"FanFloor": -1}), "Setting FanFloor is invalid, integer -1 is below minimum value 0")]
#[case::s04_039_high(json!({"FanFloor": 121}), "Setting FanFloor is invalid, integer 121 is above maximum value 120")]
#[case::s04_039_no_number(json!({"FanFloor": "many"}), "Setting FanFloor is invalid, String many entered while integer expected")]
#[case::s04_039_long(json!({"AssetTag": "123456789"}), "Setting AssetTag is invalid, string 123456789 length is above maximum length 8")]
#[case::s04_039_short(json!({"AssetTag": ""}), "Setting AssetTag is invalid, string  length is below minimum length 1")]
#[case::s04_039_password(json!({"SetupPassword": "pw"}), "Setting SetupPassword is invalid, Password fields can't be set")]
#[case::s04_039_boolean(json!({"Quiet": "perhaps"}), "Setting Quiet is invalid, perhaps is not a boolean")]
#[case(json!({"Odd": "y"}), "Setting Odd is invalid, unexpected attribute type Blob")]
#[case::s04_041_case(json!({"TurboMode": "enabled"}), "Setting TurboMode is invalid, unknown enumeration value - enabled")]
#[case::sorted(json!({"TurboMode": "x", "FanFloor": -1}), "Setting FanFloor is invalid, integer -1 is below minimum value 0 Setting TurboMode is invalid, unknown enumeration value - x")]
fn s04_039_invalid_settings(#[case] spec: Value, #[case] text: &str) {
    assert_eq!(with_settings(spec, json!({})), Verdict::Invalid(format!("invalid BIOS settings: [{text}]")));
}

#[test]
fn s04_040_a_number_and_its_text_are_equal() {
    assert_eq!(with_settings(json!({"FanFloor": 120}), json!({})), Verdict::Met);
}

#[test]
fn settings_are_asked_for_once() {
    let Verdict::Differs { settings: Some(wanted), updates: None } =
        with_settings(json!({"FanFloor": 35}), json!({"Old": 1}))
    else {
        panic!("differs")
    };
    assert_eq!(serde_json::to_value(&wanted).unwrap(), json!({"FanFloor": 35}));
    assert_eq!(
        with_settings(json!({"FanFloor": 35}), json!({"FanFloor": 35})),
        Verdict::Differs { settings: None, updates: None }
    );
    // What was asked for counts when it reads alike.
    assert_eq!(with_settings(json!({"AssetTag": " a "}), json!({"AssetTag": " a "})), Verdict::Met);
}

#[rstest]
#[case::s04_044(json!({"biosFirmware": {"version": "2.3.5"}}), "missing BIOS firmware URL for version: 2.3.5")]
#[case(json!({"bmcFirmware": {"version": "2.3.5"}}), "missing BMC firmware URL for version: 2.3.5")]
#[case(json!({"nicFirmware": [{"version": "9"}]}), "missing NIC firmware URL for NIC at index 0, version: 9")]
#[case::s04_045(json!({"bmcFirmware": {"version": "9", "url": "not-a-url"}}), "invalid BMC firmware URL: not-a-url")]
#[case(json!({"biosFirmware": {"version": "9", "url": "https:///x"}}), "invalid BIOS firmware URL: https:///x")]
#[case::url_alone(json!({"biosFirmware": {"url": "https://fw/x"}}), "missing BIOS firmware version for URL: https://fw/x")]
#[case::s04_046(json!({"bmcFirmware": {"version": "9", "url": "https://fw/x"}}), "BMC firmware update requested but BMC component not found in HostFirmwareComponents")]
#[case::s04_022(json!({"nicFirmware": [{"version": "9", "url": "https://fw/x"}]}), "NIC firmware update requested but no NIC components found in HostFirmwareComponents")]
fn invalid_firmware(#[case] spec: Value, #[case] text: &str) {
    assert_eq!(with_components(spec, &[("bios", "1")], json!([])), Verdict::Invalid(text.to_owned()));
}

#[test]
fn s04_047_more_nics_wanted_than_there_are() {
    let spec = json!({"nicFirmware": [{"version": "9", "url": "https://fw/a"}, {"version": "10", "url": "https://fw/b"}]});
    assert_eq!(
        with_components(spec, &[("nic:1", "1")], json!([])),
        Verdict::Invalid("NIC firmware update requested for 2 NICs but only 1 NIC components found in HostFirmwareComponents".to_owned())
    );
}

#[rstest]
#[case::s04_043_v("v2.3.5", "2.3.5", true)]
#[case("2.3.5", " V2.3.5 ", true)]
#[case("vendor-1", "endor-1", false)]
#[case("2.3.5", "2.3.4", false)]
fn s04_043_versions(#[case] wanted: &str, #[case] real: &str, #[case] equal: bool) {
    let spec = json!({"biosFirmware": {"version": wanted, "url": "https://fw/x"}});
    assert_eq!(with_components(spec, &[("bios", real)], json!([])) == Verdict::Met, equal);
}

fn update(component: &str, url: &str) -> FirmwareUpdate {
    FirmwareUpdate { component: component.into(), url: url.into() }
}

#[test]
fn only_what_differs_is_flashed_and_a_half_done_order_is_not_repeated() {
    let spec = || json!({"biosFirmware": {"version": "2", "url": "https://fw/bios"}, "bmcFirmware": {"version": "5", "url": "https://fw/bmc"}});
    let both = json!([{"component": "bios", "url": "https://fw/bios"}, {"component": "bmc", "url": "https://fw/bmc"}]);
    assert_eq!(
        with_components(spec(), &[("bios", "2"), ("bmc", "4")], json!([])),
        Verdict::Differs { settings: None, updates: Some(vec![update("bmc", "https://fw/bmc")]) }
    );
    assert_eq!(
        with_components(spec(), &[("bios", "2"), ("bmc", "4")], both.clone()),
        Verdict::Differs { settings: None, updates: None }
    );
    assert_eq!(with_components(spec(), &[("bios", "2"), ("bmc", "5")], both), Verdict::Met);
}

#[test]
fn each_nic_entry_gets_its_own_card() {
    let spec = json!({"nicFirmware": [{"version": "9", "url": "https://fw/a"}, {"version": "10", "url": "https://fw/b"}]});
    assert_eq!(
        with_components(spec, &[("nic:1", "1"), ("nic:2", "9"), ("nic:3", "1")], json!([])),
        Verdict::Differs { settings: None, updates: Some(vec![update("nic:1", "https://fw/b")]) }
    );
}

#[test]
fn without_components_the_nics_are_left_out_and_without_firmware_the_object_too() {
    let spec = profile(
        json!({"biosFirmware": {"version": "2", "url": "https://fw/b"}, "nicFirmware": [{"version": "9", "url": "https://fw/n"}]}),
    );
    assert_eq!(
        compare(&spec, &Reported::default()),
        Verdict::Differs { settings: None, updates: Some(vec![update("bios", "https://fw/b")]) }
    );
    assert_eq!(compare(&profile(json!({})), &Reported::default()), Verdict::Met);
}
