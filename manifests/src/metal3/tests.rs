use serde_json::json;

use super::*;

fn sample() -> serde_json::Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {"name": "edge-1", "namespace": "racks", "labels": {"a": "b"}},
        "spec": {
            "online": false,
            "architecture": "x86_64",
            "bmc": {"address": "redfish+https://192.0.2.1/redfish/v1/Systems/1", "credentialsName": "edge-1-bmc",
                    "disableCertificateVerification": true},
            "bootMACAddress": "02:00:5e:01:01:01",
            "automatedCleaningMode": "metadata",
            "rootDeviceHints": {"deviceName": "/dev/sda"},
            "consumerRef": {"kind": "Machine", "name": "m", "namespace": "n", "uid": "u"}
        },
        "status": {
            "operationalStatus": "error", "errorType": "preparation error", "errorCount": 2, "errorMessage": "boom",
            "poweredOn": true, "provisioning": {"ID": "x", "state": "externally provisioned", "image": {"url": ""}},
            "hardware": {"ramMebibytes": 1024, "nics": []}
        }
    })
}

#[test]
fn reads_a_full_host_and_keeps_what_we_use() {
    let host: BareMetalHost = serde_json::from_value(sample()).unwrap();
    assert_eq!(host.state(), ProvisioningState::ExternallyProvisioned);
    assert!(host.state().is_provisioned());
    assert_eq!(host.operational_status(), OperationalStatus::Error);
    let status = host.status.as_ref().unwrap();
    assert_eq!(status.error_type, Some(ErrorType::Preparation));
    assert_eq!(&*status.error_message, "boom");
    assert_eq!(host.boot_mac(), Some("02:00:5e:01:01:01"));
    assert_eq!(host.spec.automated_cleaning_mode, Some(CleaningMode::Metadata));
    assert_eq!(host.spec.consumer_ref.as_ref().unwrap().name.as_deref(), Some("m"));
}

#[test]
fn unknown_states_do_not_make_a_host_unreadable() {
    for (field, value) in [
        ("/status/provisioning/state", "match profile"),
        ("/status/operationalStatus", "levitating"),
        ("/status/errorType", "detach error"),
    ] {
        let mut json = sample();
        *json.pointer_mut(field).unwrap() = json!(value);
        serde_json::from_value::<BareMetalHost>(json).unwrap_or_else(|e| panic!("{field}: {e}"));
    }
    let bare: BareMetalHost = serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "x"}, "spec": {}
    }))
    .unwrap();
    assert_eq!(bare.state(), ProvisioningState::None);
}

#[test]
fn state_texts_round_trip() {
    use ProvisioningState::{
        Available, Deleting, Deprovisioning, ExternallyProvisioned, Inspecting, None,
        PoweringOffBeforeDelete, Preparing, Provisioned, Provisioning, Registering, Unmanaged,
    };
    for state in [
        None,
        Unmanaged,
        Registering,
        Inspecting,
        Preparing,
        Available,
        Provisioning,
        Provisioned,
        ExternallyProvisioned,
        Deprovisioning,
        PoweringOffBeforeDelete,
        Deleting,
    ] {
        assert_eq!(serde_json::to_value(state).unwrap(), json!(state.as_str()));
        assert_eq!(serde_json::from_value::<ProvisioningState>(json!(state.as_str())).unwrap(), state);
    }
    for error in ["servicing error", "power management error", "provisioned registration error"] {
        assert_eq!(serde_json::from_value::<ErrorType>(json!(error)).unwrap().as_str(), error);
    }
}

#[test]
fn reads_hardware_settings_components_and_schema() {
    let data: HardwareData = serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData", "metadata": {"name": "edge-1"},
        "spec": {"hardware": {
            "cpu": {"arch": "x86_64", "count": 64, "clockMegahertz": 2400.5, "flags": ["a"]},
            "nics": [{"name": "eno1", "mac": "02:00:5e:01:01:01", "speedGbps": 25, "vlans": [{"id": 3}]}],
            "storage": [{"name": "/dev/sda", "alternateNames": ["/dev/by-path/x"], "type": "NVME", "sizeBytes": 960_197_124_096_i64}],
            "systemVendor": {"manufacturer": "Fjordware"}
        }}
    }))
    .unwrap();
    let hardware = data.spec.hardware.unwrap();
    assert_eq!((hardware.cpu.count, hardware.nics[0].speed_gbps), (64, 25));
    assert_eq!(hardware.storage[0].size_bytes, 960_197_124_096);
    assert_eq!(&*hardware.storage[0].kind, "NVME");

    let settings: HostFirmwareSettings = serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "HostFirmwareSettings", "metadata": {"name": "edge-1"},
        "spec": {"settings": {"A": 1, "B": "x"}},
        "status": {"schema": {"name": "s", "namespace": "racks"}, "settings": {"A": "0"}, "lastUpdated": "2026-01-01T00:00:00Z"}
    }))
    .unwrap();
    assert_eq!(settings.spec.settings.len(), 2);

    let schema: FirmwareSchema = serde_json::from_value(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "FirmwareSchema", "metadata": {"name": "s"},
        "spec": {"schema": {"A": {"attribute_type": "Integer", "lower_bound": 0, "upper_bound": 10, "unique": true},
                            "B": {"attribute_type": "Blob"}, "C": {}}}
    }))
    .unwrap();
    assert_eq!(schema.spec.schema["A"].attribute_type, Some(AttributeType::Integer));
    assert_eq!(schema.spec.schema["B"].attribute_type, Some(AttributeType::Other("Blob".into())));
    assert_eq!(schema.spec.schema["C"].attribute_type, None);
}

#[test]
fn an_empty_update_list_is_written() {
    let components = HostFirmwareComponents::new("edge-1", HostFirmwareComponentsSpec::default());
    assert_eq!(serde_json::to_value(&components).unwrap()["spec"], json!({"updates": []}));
    let settings = HostFirmwareSettings::new("edge-1", HostFirmwareSettingsSpec::default());
    assert_eq!(serde_json::to_value(&settings).unwrap()["spec"], json!({"settings": {}}));
}

#[test]
fn crds_carry_names_columns_and_required_fields() {
    let all = crds();
    let names: Vec<_> = all.iter().filter_map(|c| c.metadata.name.clone()).collect();
    assert_eq!(
        names,
        [
            "baremetalhosts.metal3.io",
            "dataimages.metal3.io",
            "firmwareschemas.metal3.io",
            "hardwaredata.metal3.io",
            "hostfirmwarecomponents.metal3.io",
            "hostfirmwaresettings.metal3.io",
            "hostupdatepolicies.metal3.io",
            "preprovisioningimages.metal3.io",
        ]
    );
    let host = serde_json::to_value(&all[0]).unwrap();
    let version = &host["spec"]["versions"][0];
    assert_eq!(version["additionalPrinterColumns"][1]["jsonPath"], ".status.provisioning.state");
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["required"], json!(["online"]));
    assert_eq!(spec["x-kubernetes-preserve-unknown-fields"], true);
    let with_status: Vec<_> = all.iter().map(|c| c.spec.versions[0].subresources.is_some()).collect();
    assert_eq!(with_status, [true, true, false, false, true, true, false, true]);
}
