//! Boot MAC and NIC labels of a host (spec/04 6.3, 6.4).

use manifests::clcm::Interface;
use manifests::meta::labels;
use manifests::metal3::Nic;

use super::HostView;

/// Why the boot NIC of a host is not known; the user must change the host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BootError {
    #[error("bareMetalHost.status.hardwareDetails should not be nil")]
    NoHardware,
    #[error("boot interface label '{key}' not found on BMH '{host}'", key = labels::BOOT_INTERFACE)]
    NoLabel { host: String },
    #[error("no NIC found matching boot interface label value '{value}' on BMH '{host}'")]
    NoNic { value: String, host: String },
    #[error(
        "bootMACAddress '{set}' does not match boot interface label '{key}' which points to MAC '{found}' on BMH '{host}'",
        key = labels::BOOT_INTERFACE
    )]
    Mismatch { set: String, found: String, host: String },
}

/// The MAC that has to be set; `None` when the host has it.
pub(super) fn missing_mac(view: &HostView) -> Result<Option<String>, BootError> {
    let hardware = view.hardware().ok_or(BootError::NoHardware)?;
    let host = view.key().name;
    let label = view.host.label(labels::BOOT_INTERFACE);
    let Some(value) = label else {
        return if view.host.boot_mac().is_some() { Ok(None) } else { Err(BootError::NoLabel { host }) };
    };
    let Some(nic) = hardware.nics.iter().find(|nic| !nic.mac.is_empty() && is_named(nic, value)) else {
        return Err(BootError::NoNic { value: value.to_owned(), host });
    };
    match view.host.boot_mac() {
        None => Ok(Some(nic.mac.to_string())),
        Some(set) if set.eq_ignore_ascii_case(&nic.mac) => Ok(None),
        Some(set) => Err(BootError::Mismatch { set: set.to_owned(), found: nic.mac.to_string(), host }),
    }
}

/// The NICs of a host with their labels. The boot label wins over others, NICs without a valid MAC are left out, a NIC
/// that is listed once per address family appears once (B14).
pub(super) fn interfaces(view: &HostView) -> Vec<Interface> {
    let Some(hardware) = view.hardware() else { return Vec::new() };
    let mut out: Vec<Interface> = Vec::new();
    for nic in hardware.nics.iter().filter(|nic| is_mac(&nic.mac)) {
        let seen = out.iter().any(|i| i.name == *nic.name && i.mac_address.eq_ignore_ascii_case(&nic.mac));
        if !seen {
            out.push(Interface {
                name: nic.name.to_string(),
                label: label_of(view, nic),
                mac_address: nic.mac.to_string(),
            });
        }
    }
    out
}

fn label_of(view: &HostView, nic: &Nic) -> String {
    if view.host.boot_mac().is_some_and(|mac| mac.eq_ignore_ascii_case(&nic.mac)) {
        return labels::BOOT_INTERFACE_NAME.to_owned();
    }
    view.host
        .metadata
        .labels
        .iter()
        .flatten()
        .filter(|(key, value)| key.as_str() != labels::BOOT_INTERFACE && is_named(nic, value))
        .find_map(|(key, _)| key.strip_prefix(labels::INTERFACE_LABEL_PREFIX))
        .unwrap_or_default()
        .to_owned()
}

/// Labels name a NIC by its device name, or by its MAC with `-` for `:`.
fn is_named(nic: &Nic, value: &str) -> bool {
    *nic.name == *value || (!nic.mac.is_empty() && nic.mac.replace(':', "-").eq_ignore_ascii_case(value))
}

fn is_mac(text: &str) -> bool {
    text.len() == 17
        && text.bytes().enumerate().all(|(i, b)| if i % 3 == 2 { b == b':' } else { b.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::hardware::fixtures::{Host, nic};

    const BOOT: &str = "interfacelabel.clcm.openshift.io/boot-interface";

    fn host() -> Host {
        Host::new("racks", "b").nics(vec![nic("eno1", "02:00:5e:00:00:01"), nic("eno2", "02:00:5e:00:00:02")])
    }

    #[rstest]
    #[case::s04_031_neither(host().boot(None), Err("boot interface label 'interfacelabel.clcm.openshift.io/boot-interface' not found on BMH 'b'"))]
    #[case::label_alone(host().boot(None).label(BOOT, "eno2"), Ok(Some("02:00:5e:00:00:02")))]
    #[case::s04_032_hyphenated_upper_case(host().boot(None).label(BOOT, "02-00-5E-00-00-01"), Ok(Some("02:00:5e:00:00:01")))]
    #[case::mac_alone(host().boot(Some("02:00:5e:00:00:09")), Ok(None))]
    #[case::both_agree(host().boot(Some("02:00:5E:00:00:01")).label(BOOT, "eno1"), Ok(None))]
    #[case::s04_033_mismatch(host().boot(Some("02:00:5e:00:00:01")).label(BOOT, "eno2"), Err("bootMACAddress '02:00:5e:00:00:01' does not match boot interface label 'interfacelabel.clcm.openshift.io/boot-interface' which points to MAC '02:00:5e:00:00:02' on BMH 'b'"))]
    #[case::no_such_nic(host().label(BOOT, "eno7"), Err("no NIC found matching boot interface label value 'eno7' on BMH 'b'"))]
    #[case::not_inspected(host().no_data(), Err("bareMetalHost.status.hardwareDetails should not be nil"))]
    fn boot_mac(#[case] host: Host, #[case] expected: Result<Option<&str>, &str>) {
        let got = missing_mac(&host.view()).map_err(|e| e.to_string());
        assert_eq!(got, expected.map(|m| m.map(str::to_owned)).map_err(str::to_owned));
    }

    #[test]
    fn s04_034_the_boot_label_wins_and_other_labels_are_stable() {
        let view = host()
            .boot(Some("02:00:5E:00:00:01"))
            .label(BOOT, "eno1")
            .label("interfacelabel.clcm.openshift.io/data-1", "eno1")
            .label("interfacelabel.clcm.openshift.io/zeta", "eno2")
            .label("interfacelabel.clcm.openshift.io/alpha", "02-00-5e-00-00-02")
            .view();
        let labels: Vec<_> = interfaces(&view).into_iter().map(|i| (i.name, i.label)).collect();
        assert_eq!(labels, [("eno1".into(), "boot-interface".into()), ("eno2".into(), "alpha".into())]);
    }

    #[test]
    fn s04_035_nics_without_a_valid_mac_are_left_out_and_doubles_collapse() {
        let view = Host::new("racks", "b")
            .nics(vec![
                nic("eno1", "02:00:5e:00:00:01"),
                nic("eno1", "02:00:5E:00:00:01"),
                nic("eno3", ""),
                nic("eno4", "zz:00:5e:00:00:01"),
            ])
            .view();
        assert_eq!(interfaces(&view).len(), 1);
    }
}
