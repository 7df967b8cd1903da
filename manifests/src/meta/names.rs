//! Names that are agreed between objects.

use uuid::Uuid;

/// Environment variable with the operator namespace.
pub const OPERATOR_NAMESPACE_ENV: &str = "OCLOUD_MANAGER_NAMESPACE";
/// The operator namespace when the variable is not set.
pub const OPERATOR_NAMESPACE: &str = "oran-o2ims";
/// The one Inventory that is acted on (spec/01 6.1).
pub const INVENTORY: &str = "default";
/// The one FirmwareCatalog (spec/01 6.2).
pub const FIRMWARE_CATALOG: &str = "firmware-catalog";
/// Field manager of the ClusterInstance (DESIGN section 3).
pub const CLUSTER_INSTANCE_MANAGER: &str = "provisioning-request-reconciler";

/// Keys of the defaults ConfigMaps (spec/02 section 22).
pub mod config_map_key {
    /// ClusterInstance defaults, a YAML mapping.
    pub const CLUSTER_INSTANCE_DEFAULTS: &str = "clusterinstance-defaults";
    /// Policy defaults, a YAML mapping.
    pub const POLICY_TEMPLATE_DEFAULTS: &str = "policytemplate-defaults";
    /// Go duration.
    pub const INSTALLATION_TIMEOUT: &str = "clusterInstallationTimeout";
    /// Go duration.
    pub const CONFIGURATION_TIMEOUT: &str = "clusterConfigurationTimeout";
}

/// Keys of `spec.templateParameters` and of the template's defaults (spec/02 1.1 and section 22).
pub mod parameter {
    /// Name of the node cluster, a string.
    pub const NODE_CLUSTER_NAME: &str = "nodeClusterName";
    /// Site, a string.
    pub const O_CLOUD_SITE_ID: &str = "oCloudSiteId";
    /// Input of the ClusterInstance.
    pub const CLUSTER_INSTANCE: &str = "clusterInstanceParameters";
    /// Input of policies.
    pub const POLICY_TEMPLATE: &str = "policyTemplateParameters";
    /// Input of hardware management.
    pub const HW_MGMT: &str = "hwMgmtParameters";
    /// Input of upgrades.
    pub const UPGRADE: &str = "upgradeParameters";
    /// Go duration in hardware defaults and input.
    pub const HARDWARE_PROVISIONING_TIMEOUT: &str = "hardwareProvisioningTimeout";
    /// Node groups in hardware defaults and input.
    pub const NODE_GROUP_DATA: &str = "nodeGroupData";
    /// Go duration in upgrade defaults.
    pub const CLUSTER_UPGRADE_TIMEOUT: &str = "clusterUpgradeTimeout";
    /// EUS step in upgrade defaults.
    pub const INTERMEDIATE_VERSION: &str = "intermediateVersion";
    /// ClusterVersion upgrade.
    pub const CLUSTER_VERSION: &str = "clusterVersion";
    /// Image-based upgrade.
    pub const IMAGE_BASED_GROUP_UPGRADE: &str = "imageBasedGroupUpgrade";
}

/// Default time-outs (spec/02 section 22) as Go durations in nanoseconds.
pub mod timeout {
    use crate::meta::GoDuration;

    /// Hardware provisioning: 90 minutes.
    pub const HARDWARE: GoDuration = GoDuration::minutes(90);
    /// Cluster installation: 90 minutes.
    pub const INSTALLATION: GoDuration = GoDuration::minutes(90);
    /// Cluster configuration: 30 minutes.
    pub const CONFIGURATION: GoDuration = GoDuration::minutes(30);
    /// Upgrade: 4 hours.
    pub const UPGRADE: GoDuration = GoDuration::minutes(4 * 60);
    /// Upgrade over an intermediate release: 8 hours.
    pub const EUS_UPGRADE: GoDuration = GoDuration::minutes(8 * 60);
}

/// `metadata.name` of the ClusterTemplate with this base name and version.
pub fn template(name: &str, version: &str) -> String {
    format!("{name}.{version}")
}

/// The namespace of the root policies of templates in `template_namespace`.
pub fn policy_namespace(template_namespace: &str) -> String {
    format!("ztp-{template_namespace}")
}

/// The ConfigMap with the policy parameters of a cluster.
pub fn policy_config_map(cluster: &str) -> String {
    format!("{cluster}-pg")
}

/// Name of the AllocatedNode for a host (spec/01 1.7, spec/04 B1).
///
/// `<cluster>-<host namespace>-<host>`, lower case, other characters as `-`, runs of `-` as one, none at the ends. The
/// name is also a label value, so beyond 63 characters (or when nothing is left) it is cut and ends in ten hex digits
/// of a UUID v5 over the full identity.
pub fn allocated_node(cluster: &str, host_namespace: &str, host: &str) -> String {
    const LABEL_VALUE: usize = 63;
    const HASH: usize = 10;
    let mut name = String::new();
    for c in format!("{cluster}-{host_namespace}-{host}").to_lowercase().chars() {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        if c != '-' || !(name.is_empty() || name.ends_with('-')) {
            name.push(c);
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    if !name.is_empty() && name.len() <= LABEL_VALUE {
        return name;
    }
    let space = Uuid::new_v5(&Uuid::nil(), cluster.as_bytes());
    let mut hash = Uuid::new_v5(&space, format!("{host_namespace}/{host}").as_bytes()).simple().to_string();
    hash.truncate(HASH);
    if name.is_empty() {
        return hash;
    }
    name.truncate(LABEL_VALUE - HASH - 1);
    format!("{}-{hash}", name.trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_names_are_legal_label_values() {
        assert_eq!(allocated_node("Edge_7", "pool.a", "host--3-"), "edge-7-pool-a-host-3");
        assert_eq!(allocated_node("edge7", "ns", "h"), "edge7-ns-h");
        let long = allocated_node(&"c".repeat(50), "hosts", &"h".repeat(63));
        assert_eq!(long.len(), 63);
        assert_ne!(long, allocated_node(&"c".repeat(50), "hosts", &"h".repeat(62)));
        assert_eq!(long, allocated_node(&"c".repeat(50), "hosts", &"h".repeat(63)));
        let odd = allocated_node("--", "__", "..");
        assert!(odd.len() == 10 && odd.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
