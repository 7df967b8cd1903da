//! `spec.templateDefaults.hwMgmtDefaults` (spec/01 4.4).

use std::collections::BTreeSet;

use manifests::clcm::HwMgmtDefaults;
use manifests::meta::GoDuration;

use super::go::quote;

/// All messages, in the order of the groups. `profiles` are the `HardwareProfiles` that exist.
pub(super) fn check(defaults: &HwMgmtDefaults, profiles: &BTreeSet<String>) -> Vec<String> {
    let mut out = Vec::new();
    let groups = &defaults.node_group_data;
    for (i, group) in groups.iter().enumerate() {
        let before = groups.get(..i).unwrap_or_default();
        if before.iter().any(|g| g.name == group.name) {
            out.push(format!("duplicate nodeGroupData name {} in hwMgmtDefaults", quote(&group.name)));
        }
        if let Some(first) = before.iter().find(|g| g.role == group.role) {
            out.push(format!(
                "duplicate role {} in hwMgmtDefaults for groups {} and {}",
                quote(group.role.as_str()),
                quote(&first.name),
                quote(&group.name)
            ));
        }
        if let Some(profile) = group.hw_profile.as_ref().filter(|p| !p.is_empty() && !profiles.contains(*p)) {
            out.push(format!(
                "HardwareProfile {} referenced by nodeGroup {} does not exist",
                quote(profile),
                quote(&group.name)
            ));
        }
    }
    if let Some(text) = &defaults.hardware_provisioning_timeout {
        match GoDuration::parse(text) {
            Ok(limit) if limit.is_positive() => {}
            Ok(limit) => out.push(format!(
                "hardwareProvisioningTimeout {} must be a positive duration",
                quote(&limit.to_string())
            )),
            // Upstream cannot decode such an object at all; ours names the field (spec/01 1.2).
            Err(e) => {
                out.push(format!("hardwareProvisioningTimeout {} is not a valid duration: {e}", quote(text)));
            }
        }
    }
    out
}
