//! Schema of a ClusterInstance's spec (spec/02 9.1 and 9.2). Only the CRD for the lab is made from these types; the
//! product keeps the spec as text.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::meta::{schema, words};

type ByKind = BTreeMap<String, BTreeMap<String, String>>;

macro_rules! schema_type {
    ($(#[$meta:meta])* $name:ident { $($body:tt)* }) => {
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        $(#[$meta])*
        #[serde(rename_all = "camelCase")]
        #[expect(missing_docs, reason = "spec/02 9.1 and 9.2 say what the fields mean")]
        pub struct $name { $($body)* }
    };
}

schema_type! {
    /// Cluster level.
    Spec {
        pub cluster_name: String,
        pub pull_secret_ref: Name,
        pub cluster_image_set_name_ref: String,
        pub base_domain: String,
        pub ssh_public_key: Option<String>,
        #[serde(rename = "apiVIPs")]
        #[schemars(length(max = 2))]
        pub api_vips: Option<Vec<String>>,
        #[serde(rename = "ingressVIPs")]
        #[schemars(length(max = 2))]
        pub ingress_vips: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "no")]
        pub hold_installation: Option<bool>,
        #[serde(rename = "additionalNTPSources")]
        pub additional_ntp_sources: Option<Vec<String>>,
        pub machine_network: Option<Vec<Network>>,
        pub cluster_network: Option<Vec<ClusterNetwork>>,
        pub service_network: Option<Vec<Network>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "network_type")]
        pub network_type: Option<String>,
        pub platform_type: Option<PlatformType>,
        pub extra_annotations: Option<ByKind>,
        pub extra_labels: Option<ByKind>,
        pub install_config_overrides: Option<String>,
        pub ignition_config_override: Option<String>,
        pub disk_encryption: Option<DiskEncryption>,
        pub proxy: Option<Proxy>,
        pub extra_manifests_refs: Option<Vec<Name>>,
        pub suppressed_manifests: Option<Vec<String>>,
        pub prune_manifests: Option<Vec<Resource>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "cpu_partitioning")]
        pub cpu_partitioning_mode: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "cpu_architecture")]
        pub cpu_architecture: Option<String>,
        pub cluster_type: Option<ClusterType>,
        pub template_refs: Vec<TemplateRef>,
        pub ca_bundle_ref: Option<Name>,
        pub nodes: Vec<Node>,
        pub reinstall: Option<Reinstall>,
    }
}

schema_type! {
    /// One node.
    Node {
        pub host_name: String,
        pub bmc_address: String,
        pub bmc_credentials_name: CredentialsName,
        #[serde(rename = "bootMACAddress")]
        #[schemars(regex(pattern = "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}"))]
        pub boot_mac_address: String,
        pub template_refs: Vec<TemplateRef>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "role")]
        pub role: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "boot_mode")]
        pub boot_mode: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "cleaning_mode")]
        pub automated_cleaning_mode: Option<String>,
        pub root_device_hints: Option<RootDeviceHints>,
        pub node_network: Option<NodeNetwork>,
        pub node_labels: Option<BTreeMap<String, String>>,
        pub host_ref: Option<HostRef>,
        pub cpu_architecture: Option<NodeArchitecture>,
        pub installer_args: Option<String>,
        pub ignition_config_override: Option<String>,
        pub extra_annotations: Option<ByKind>,
        pub extra_labels: Option<ByKind>,
        pub suppressed_manifests: Option<Vec<String>>,
        pub prune_manifests: Option<Vec<Resource>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "ironic_inspect")]
        pub ironic_inspect: Option<String>,
    }
}

schema_type! {
    /// An object in the same namespace.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    Name {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "empty_text")]
        pub name: Option<String>,
    }
}

schema_type! {
    /// A Secret with username and password.
    CredentialsName {
        pub name: String,
    }
}

schema_type! {
    /// A network.
    Network {
        pub cidr: String,
    }
}

schema_type! {
    /// A network that is cut into parts.
    ClusterNetwork {
        pub cidr: String,
        pub host_prefix: Option<i32>,
    }
}

schema_type! {
    /// Encryption of disks.
    DiskEncryption {
        #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "disk_encryption_type")]
        pub type_: Option<String>,
        pub tang: Option<Vec<Tang>>,
    }
}

schema_type! {
    /// A Tang server.
    Tang {
        pub url: Option<String>,
        pub thumbprint: Option<String>,
    }
}

schema_type! {
    /// Proxies.
    Proxy {
        pub http_proxy: Option<String>,
        pub https_proxy: Option<String>,
        pub no_proxy: Option<String>,
    }
}

schema_type! {
    /// A kind of object.
    Resource {
        pub api_version: String,
        pub kind: String,
    }
}

schema_type! {
    /// A ConfigMap with templates.
    TemplateRef {
        #[schemars(length(min = 1))]
        pub name: String,
        #[schemars(length(min = 1))]
        pub namespace: String,
    }
}

schema_type! {
    /// A BareMetalHost in another namespace.
    HostRef {
        #[schemars(length(min = 1))]
        pub name: String,
        #[schemars(length(min = 1))]
        pub namespace: String,
    }
}

schema_type! {
    /// A wish to install again.
    Reinstall {
        pub generation: String,
        #[schemars(schema_with = "preservation_mode", required)]
        pub preservation_mode: Option<String>,
    }
}

schema_type! {
    /// Network of a node.
    NodeNetwork {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "schema::any_object")]
        pub config: Option<serde_json::Value>,
        #[schemars(length(min = 1))]
        pub interfaces: Option<Vec<NodeInterface>>,
    }
}

schema_type! {
    /// NIC of a node.
    NodeInterface {
        pub name: String,
        #[schemars(regex(pattern = "^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$"))]
        pub mac_address: String,
    }
}

schema_type! {
    /// Which disk to install on.
    RootDeviceHints {
        pub device_name: Option<String>,
        pub hctl: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "not_negative")]
        pub min_size_gigabytes: Option<i64>,
        pub model: Option<String>,
        pub rotational: Option<bool>,
        pub serial_number: Option<String>,
        pub vendor: Option<String>,
        pub wwn: Option<String>,
        pub wwn_vendor_extension: Option<String>,
        pub wwn_with_extension: Option<String>,
    }
}

words! {
    /// Platform of a cluster.
    PlatformType {
        /// As the installer chooses.
        Unset = "",
        /// Bare metal.
        BareMetal = "BareMetal",
        /// None.
        None = "None",
        /// vSphere.
        VSphere = "VSphere",
        /// Nutanix.
        Nutanix = "Nutanix",
        /// External.
        External = "External",
    }
}

words! {
    /// Shape of a cluster.
    ClusterType {
        /// One node.
        Sno = "SNO",
        /// Several control-plane nodes.
        HighlyAvailable = "HighlyAvailable",
        /// Control plane elsewhere.
        HostedControlPlane = "HostedControlPlane",
        /// Two control-plane nodes and an arbiter.
        HighlyAvailableArbiter = "HighlyAvailableArbiter",
    }
}

words! {
    /// Architecture of a node.
    NodeArchitecture {
        /// x86.
        X8664 = "x86_64",
        /// Arm.
        Aarch64 = "aarch64",
    }
}

fn no(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "boolean", "default": false})
}

fn empty_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "default": ""})
}

fn not_negative(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0})
}

fn network_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["OpenShiftSDN", "OVNKubernetes"], "default": "OVNKubernetes"})
}

fn cpu_partitioning(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["None", "AllNodes"], "default": "None"})
}

fn cpu_architecture(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["x86_64", "aarch64", "multi"], "default": "x86_64"})
}

fn disk_encryption_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "default": "none"})
}

fn preservation_mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["None", "All", "ClusterIdentity"], "default": "None"})
}

fn role(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["master", "worker", "arbiter"], "default": "master"})
}

fn boot_mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["UEFI", "UEFISecureBoot", "legacy"], "default": "UEFI"})
}

fn cleaning_mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["metadata", "disabled"], "default": "disabled"})
}

fn ironic_inspect(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["", "disabled"], "default": ""})
}
