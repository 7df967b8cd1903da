//! CRDs of these kinds for a hub without the baremetal-operator: the lab, and development clusters. Real hubs bring
//! their own, so they are not in the chart.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::schema::{
    MAC, Schema, boolean, conditions, date_time, default_to, double, int_or_string, int64, integer, list,
    map, object, one_of, pattern, string,
};

/// The CRDs of the eight kinds, by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        host(),
        Kind::new("DataImage", "dataimages").status(data_image_status()).crd(object([("url*", string())])),
        Kind::new("FirmwareSchema", "firmwareschemas").crd(firmware_schema()),
        hardware_data(),
        Kind::new("HostFirmwareComponents", "hostfirmwarecomponents")
            .status(components_status())
            .crd(object([("updates*", updates())])),
        Kind::new("HostFirmwareSettings", "hostfirmwaresettings")
            .short(&["hfs"])
            .status(settings_status())
            .crd(object([("settings*", map(int_or_string()))])),
        Kind::new("HostUpdatePolicy", "hostupdatepolicies").crd(object([
            ("firmwareSettings", one_of(&["onPreparing", "onReboot"])),
            ("firmwareUpdates", one_of(&["onPreparing", "onReboot"])),
        ])),
        preprovisioning_image(),
    ]
}

struct Kind {
    name: &'static str,
    plural: &'static str,
    short: Option<Vec<String>>,
    columns: Vec<CustomResourceColumnDefinition>,
    status: Option<Schema>,
}

impl Kind {
    fn new(name: &'static str, plural: &'static str) -> Self {
        Kind { name, plural, short: None, columns: Vec::new(), status: None }
    }

    fn short(mut self, names: &[&str]) -> Self {
        self.short = Some(names.iter().map(|n| (*n).to_owned()).collect());
        self
    }

    fn column(mut self, name: &str, type_: &str, path: &str, priority: Option<i32>) -> Self {
        self.columns.push(CustomResourceColumnDefinition {
            name: name.to_owned(),
            type_: type_.to_owned(),
            json_path: path.to_owned(),
            priority,
            ..CustomResourceColumnDefinition::default()
        });
        self
    }

    fn status(mut self, schema: Schema) -> Self {
        self.status = Some(schema);
        self
    }

    fn crd(self, spec: Schema) -> CustomResourceDefinition {
        let subresources = self.status.is_some().then(|| CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(json!({}))),
            scale: None,
        });
        let mut root = object([
            ("apiVersion", string()),
            ("kind", string()),
            ("metadata", Schema { type_: Some("object".to_owned()), ..Schema::default() }),
            ("spec", spec),
        ]);
        root.x_kubernetes_preserve_unknown_fields = None;
        if let (Some(properties), Some(status)) = (root.properties.as_mut(), self.status) {
            properties.insert("status".to_owned(), status);
        }
        CustomResourceDefinition {
            metadata: ObjectMeta {
                name: Some(format!("{}.metal3.io", self.plural)),
                ..ObjectMeta::default()
            },
            spec: CustomResourceDefinitionSpec {
                group: "metal3.io".to_owned(),
                names: CustomResourceDefinitionNames {
                    kind: self.name.to_owned(),
                    list_kind: Some(format!("{}List", self.name)),
                    plural: self.plural.to_owned(),
                    singular: Some(self.name.to_lowercase()),
                    short_names: self.short,
                    categories: None,
                },
                scope: "Namespaced".to_owned(),
                versions: vec![CustomResourceDefinitionVersion {
                    name: "v1alpha1".to_owned(),
                    served: true,
                    storage: true,
                    subresources,
                    additional_printer_columns: (!self.columns.is_empty()).then_some(self.columns),
                    schema: Some(CustomResourceValidation { open_api_v3_schema: Some(root) }),
                    ..CustomResourceDefinitionVersion::default()
                }],
                ..CustomResourceDefinitionSpec::default()
            },
            status: None,
        }
    }
}

fn host() -> CustomResourceDefinition {
    Kind::new("BareMetalHost", "baremetalhosts")
        .short(&["bmh", "bmhost"])
        .column("Status", "string", ".status.operationalStatus", Some(1))
        .column("State", "string", ".status.provisioning.state", None)
        .column("Consumer", "string", ".spec.consumerRef.name", None)
        .column("BMC", "string", ".spec.bmc.address", Some(1))
        .column("Online", "string", ".spec.online", None)
        .column("Error", "string", ".status.errorType", None)
        .column("Age", "date", ".metadata.creationTimestamp", None)
        .status(host_status())
        .crd(host_spec())
}

fn host_spec() -> Schema {
    object([
        ("online*", boolean()),
        (
            "bmc",
            object([
                ("address*", string()),
                ("credentialsName*", string()),
                ("disableCertificateVerification", boolean()),
            ]),
        ),
        ("bootMACAddress", pattern(MAC)),
        ("bootMode", one_of(&["UEFI", "UEFISecureBoot", "legacy"])),
        ("image", image()),
        ("customDeploy", object([("method*", string())])),
        ("preprovisioningNetworkDataName", string()),
        ("externallyProvisioned", boolean()),
        ("automatedCleaningMode", default_to(one_of(&["metadata", "disabled"]), json!("metadata"))),
        ("consumerRef", object([("kind", string()), ("name", string()), ("namespace", string())])),
        ("architecture", string()),
        ("disablePowerOff", boolean()),
        ("inspectionMode", one_of(&["disabled", "agent", "fast"])),
        ("userData", secret()),
        ("networkData", secret()),
        ("metaData", secret()),
    ])
}

fn secret() -> Schema {
    object([("name", string()), ("namespace", string())])
}

fn image() -> Schema {
    object([
        ("url*", string()),
        ("checksum", string()),
        ("checksumType", one_of(&["md5", "sha256", "sha512", "auto"])),
        ("format", one_of(&["raw", "qcow2", "vdi", "vmdk", "live-iso"])),
        ("ociAuthSecretName", string()),
    ])
}

fn host_status() -> Schema {
    let credentials = || {
        object([
            ("credentials", object([("name", string()), ("namespace", string())])),
            ("credentialsVersion", string()),
        ])
    };
    let operation = || {
        let moment = || Schema { nullable: Some(true), ..date_time() };
        object([("start", moment()), ("end", moment())])
    };
    object([
        (
            "operationalStatus*",
            one_of(&["", "OK", "discovered", "error", "delayed", "detached", "servicing"]),
        ),
        (
            "errorType",
            one_of(&[
                "provisioned registration error",
                "registration error",
                "inspection error",
                "preparation error",
                "provisioning error",
                "power management error",
                "servicing error",
            ]),
        ),
        ("errorMessage*", string()),
        ("errorCount*", default_to(integer(), json!(0))),
        ("provisioningFailCount*", default_to(integer(), json!(0))),
        ("poweredOn*", boolean()),
        ("lastUpdated", date_time()),
        ("hardware", hardware()),
        ("hardwareProfile", string()),
        ("goodCredentials", credentials()),
        ("triedCredentials", credentials()),
        (
            "operationHistory",
            object([
                ("register", operation()),
                ("inspect", operation()),
                ("provision", operation()),
                ("deprovision", operation()),
            ]),
        ),
        (
            "provisioning*",
            object([
                ("state*", string()),
                ("ID*", string()),
                ("bootMode", one_of(&["UEFI", "UEFISecureBoot", "legacy"])),
                ("image", image()),
                ("customDeploy", object([("method*", string())])),
            ]),
        ),
        ("conditions", Schema { max_items: Some(32), ..conditions() }),
    ])
}

fn hardware() -> Schema {
    object([
        (
            "systemVendor",
            object([("manufacturer", string()), ("productName", string()), ("serialNumber", string())]),
        ),
        (
            "firmware",
            object([("bios", object([("date", string()), ("vendor", string()), ("version", string())]))]),
        ),
        ("ramMebibytes", integer()),
        ("hostname", string()),
        (
            "nics",
            list(object([
                ("name", string()),
                ("model", string()),
                ("mac", pattern(MAC)),
                ("ip", string()),
                ("speedGbps", integer()),
                ("pxe", boolean()),
                ("pciAddress", string()),
            ])),
        ),
        (
            "storage",
            list(object([
                ("name", string()),
                ("alternateNames", list(string())),
                ("rotational", boolean()),
                ("type", one_of(&["HDD", "SSD", "NVME"])),
                ("sizeBytes", int64()),
                ("vendor", string()),
                ("model", string()),
                ("serialNumber", string()),
                ("wwn", string()),
                ("hctl", string()),
            ])),
        ),
        (
            "cpu",
            object([
                ("arch", string()),
                ("model", string()),
                ("clockMegahertz", double()),
                ("flags", list(string())),
                ("count", integer()),
            ]),
        ),
    ])
}

fn hardware_data() -> CustomResourceDefinition {
    Kind::new("HardwareData", "hardwaredata")
        .short(&["hd"])
        .column("Age", "date", ".metadata.creationTimestamp", None)
        .crd(object([("hardware", hardware())]))
}

fn data_image_status() -> Schema {
    object([
        ("attachedImage", object([("url*", string())])),
        ("error", object([("count*", integer()), ("message*", string())])),
        ("lastReconciled", date_time()),
    ])
}

fn firmware_schema() -> Schema {
    object([
        ("hardwareVendor", string()),
        ("hardwareModel", string()),
        (
            "schema*",
            map(object([
                ("attribute_type", one_of(&["Enumeration", "String", "Integer", "Boolean", "Password"])),
                ("allowable_values", list(string())),
                ("lower_bound", integer()),
                ("upper_bound", integer()),
                ("min_length", integer()),
                ("max_length", integer()),
                ("read_only", boolean()),
                ("unique", boolean()),
            ])),
        ),
    ])
}

fn updates() -> Schema {
    list(object([("component*", string()), ("url*", string())]))
}

fn components_status() -> Schema {
    object([
        ("updates", updates()),
        (
            "components",
            list(object([
                ("component*", string()),
                ("initialVersion*", string()),
                ("currentVersion", string()),
                ("lastVersionFlashed", string()),
                ("updatedAt", date_time()),
            ])),
        ),
        ("lastUpdated", date_time()),
        ("conditions", conditions()),
    ])
}

fn settings_status() -> Schema {
    object([
        ("schema", object([("name*", string()), ("namespace*", string())])),
        ("settings*", map(string())),
        ("lastUpdated", date_time()),
        ("conditions", conditions()),
    ])
}

fn preprovisioning_image() -> CustomResourceDefinition {
    let path = |field: &str| format!(".status.conditions[?(@.type=='Ready')].{field}");
    Kind::new("PreprovisioningImage", "preprovisioningimages")
        .short(&["ppimg"])
        .column("Ready", "string", &path("status"), None)
        .column("Reason", "string", &path("reason"), None)
        .status(object([
            ("imageUrl", string()),
            ("format", one_of(&["iso", "initrd"])),
            ("architecture", string()),
            ("networkData", object([("name", string()), ("version", string())])),
            ("conditions", conditions()),
        ]))
        .crd(object([
            ("networkDataName", string()),
            ("architecture", string()),
            ("acceptFormats", list(one_of(&["iso", "initrd"]))),
        ]))
}
