//! Condition `Validation` of a HardwareProfile (spec/01 1.4). Upstream finds these mistakes only when a host gets the
//! profile.

use jiff::Timestamp;
use manifests::clcm::conditions::{HardwareCondition, HardwareReason};
use manifests::clcm::{Firmware, HardwareProfile, HardwareProfileSpec, HardwareProfileStatus};
use manifests::meta::condition::{self, Next};

use crate::plan::Plan;

/// What is wrong with a profile, in the order BIOS, BMC, NICs; the texts are those of the use of the profile. A url
/// without a version is fine.
pub fn problems(spec: &HardwareProfileSpec) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(spec.bios_firmware.as_ref().and_then(|f| problem("BIOS", "", f)));
    out.extend(spec.bmc_firmware.as_ref().and_then(|f| problem("BMC", "", f)));
    for (i, firmware) in spec.nic_firmware.iter().enumerate() {
        out.extend(problem("NIC", &format!(" for NIC at index {i}"), firmware));
    }
    out
}

fn problem(what: &str, place: &str, firmware: &Firmware) -> Option<String> {
    let version = firmware.version.as_deref().filter(|v| !v.is_empty())?;
    let url = firmware.url.as_deref().unwrap_or_default();
    if url.is_empty() {
        let comma = if place.is_empty() { " for" } else { "," };
        return Some(format!("missing {what} firmware URL{place}{comma} version: {version}"));
    }
    (!is_absolute(url)).then(|| format!("invalid {what} firmware URL{place}: {url}"))
}

/// A URL with scheme and host.
fn is_absolute(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let mut letters = scheme.chars();
    let scheme_ok = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    scheme_ok
        && !host.is_empty()
        && !host.starts_with(':')
        && !url.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Condition `Validation`, from the creation of the profile on.
pub fn decide_profile(profile: &HardwareProfile, now: Timestamp) -> Plan<HardwareProfileStatus> {
    if profile.metadata.deletion_timestamp.is_some() {
        return Plan::default();
    }
    let problems = problems(&profile.spec);
    let next = if problems.is_empty() {
        Next::yes(HardwareCondition::Validation, HardwareReason::Completed, "The hardware profile is valid")
    } else {
        Next::no(HardwareCondition::Validation, HardwareReason::InvalidUserInput, problems.join("; "))
    };
    let mut status = profile.status.clone().unwrap_or_default();
    condition::set(&mut status.conditions, next.at(profile.metadata.generation), now);
    status.observed_generation = profile.metadata.generation;
    Plan { status: Some(status), ..Plan::default() }
}
