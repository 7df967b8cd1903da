//! Hardware profiles: what a simulated host is made of.
//!
//! A profile is the same for many hosts; MAC addresses, serial numbers and disk names are derived from the host's
//! namespace and name, so that they are unique and the same in every run.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::knobs;
use super::value::{annotation, entries, hex, name, namespace, text};

/// Prefix of labels that name a NIC of the host (spec/04 section 2).
const INTERFACE_LABEL: &str = "interfacelabel.clcm.openshift.io/";

/// What a host is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// `systemVendor.manufacturer`
    pub manufacturer: String,
    /// `systemVendor.productName`
    pub product: String,
    /// `cpu.model`
    pub cpu_model: String,
    /// `cpu.arch`
    pub arch: String,
    /// Logical CPUs.
    pub threads: u32,
    /// Memory in MiB.
    pub ram_mib: u32,
    /// In the order in which inspection reports them; the first is the boot NIC unless something else says which.
    pub nics: Vec<Nic>,
    /// Disks in the order in which inspection reports them.
    pub disks: Vec<Disk>,
    /// BIOS attributes: current value and what the schema says of each.
    pub bios: BTreeMap<String, Attribute>,
    /// Firmware components and their versions: `bios`, `bmc`, `nic:<id>`. None: the BMC reports no components, and
    /// there is no `HostFirmwareComponents` object.
    pub components: BTreeMap<String, String>,
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Kernel name.
    pub name: String,
    /// Vendor and device id as inspection prints it.
    pub model: String,
    /// Gbit per second.
    pub speed: u32,
}

/// A disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// `/dev/...`
    pub name: String,
    /// `HDD`, `SSD` or `NVME`
    pub kind: String,
    /// Size in decimal bytes.
    pub bytes: i64,
}

/// A BIOS attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Current value.
    pub value: String,
    /// Entry of the `FirmwareSchema` (spec/04 section 15), for example
    /// `{"attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"]}`.
    pub schema: Value,
}

impl Attribute {
    /// One of several values.
    pub fn one_of(value: &str, allowed: &[&str]) -> Self {
        Attribute {
            value: value.to_owned(),
            schema: json!({"attribute_type": "Enumeration", "allowable_values": allowed, "read_only": false}),
        }
    }

    /// A number between bounds, both allowed.
    pub fn number(value: i64, lower: i64, upper: i64) -> Self {
        Attribute {
            value: value.to_string(),
            schema: json!({"attribute_type": "Integer", "lower_bound": lower, "upper_bound": upper, "read_only": false}),
        }
    }

    /// A text with at most `longest` bytes.
    pub fn string(value: &str, longest: u32) -> Self {
        Attribute {
            value: value.to_owned(),
            schema: json!({"attribute_type": "String", "min_length": 0, "max_length": longest, "read_only": false}),
        }
    }

    /// The same attribute, but not to be changed.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        super::value::put(&mut self.schema, "read_only", json!(true));
        self
    }
}

impl Profile {
    /// 64 threads, 256 GiB, `eno1` and four 25 Gbit ports, two solid-state disks, firmware components `bios`, `bmc`, `nic:1`.
    pub fn standard() -> Self {
        let mut nics = vec![Nic { name: "eno1".to_owned(), model: "0x14e4 0x165f".to_owned(), speed: 1 }];
        nics.extend((0..4).map(|i| Nic {
            name: format!("ens5f{i}"),
            model: "0x8086 0x159b".to_owned(),
            speed: 25,
        }));
        let settings = ["Enabled", "Disabled"];
        Profile {
            manufacturer: "Dell Inc.".to_owned(),
            product: "PowerEdge XR8620t".to_owned(),
            cpu_model: "Intel(R) Xeon(R) Gold 6433N".to_owned(),
            arch: "x86_64".to_owned(),
            threads: 64,
            ram_mib: 262_144,
            nics,
            disks: (0..2)
                .map(|i| Disk {
                    name: format!("/dev/disk/by-path/pci-0000:0{}:00.0-nvme-1", i + 1),
                    kind: "NVME".to_owned(),
                    bytes: 960_197_124_096,
                })
                .collect(),
            bios: BTreeMap::from([
                ("AcPwrRcvryUserDelay".to_owned(), Attribute::number(60, 60, 600)),
                ("AssetTag".to_owned(), Attribute::string("", 63)),
                ("LogicalProc".to_owned(), Attribute::one_of("Enabled", &settings)),
                ("SriovGlobalEnable".to_owned(), Attribute::one_of("Disabled", &settings)),
                (
                    "SysProfile".to_owned(),
                    Attribute::one_of(
                        "PerfOptimized",
                        &["PerfOptimized", "PerfPerWattOptimizedDapc", "Custom"],
                    ),
                ),
                ("SystemBiosVersion".to_owned(), Attribute::string("2.3.5", 16).read_only()),
                (
                    "SystemPassword".to_owned(),
                    Attribute {
                        value: String::new(),
                        schema: json!({"attribute_type": "Password", "read_only": false}),
                    },
                ),
                (
                    "WorkloadProfile".to_owned(),
                    Attribute::one_of("NotConfigured", &["NotConfigured", "TelcoOptimizedProfile"]),
                ),
            ]),
            components: BTreeMap::from([
                ("bios".to_owned(), "2.3.5".to_owned()),
                ("bmc".to_owned(), "7.10.70.10".to_owned()),
                ("nic:NIC.Integrated.1".to_owned(), "22.5.7".to_owned()),
            ]),
        }
    }

    /// The profiles that [`knobs::PROFILE`] may name unless the options say more: `default`, `dell-r740`,
    /// `hpe-dl110`, `small` (8 threads, 32 GiB, another vendor, no firmware components), `bare` (no NICs, no disks).
    pub fn built_in() -> BTreeMap<String, Profile> {
        let standard = Profile::standard();
        let r740 = Profile {
            product: "PowerEdge R740".to_owned(),
            cpu_model: "Intel(R) Xeon(R) Gold 6230".to_owned(),
            threads: 80,
            ram_mib: 393_216,
            components: BTreeMap::from([
                ("bios".to_owned(), "2.22.2".to_owned()),
                ("bmc".to_owned(), "7.00.00.173".to_owned()),
                ("nic:NIC.Integrated.1".to_owned(), "22.0.6".to_owned()),
            ]),
            ..standard.clone()
        };
        let hpe = Profile {
            manufacturer: "HPE".to_owned(),
            product: "ProLiant DL110 Gen11".to_owned(),
            components: BTreeMap::from([
                ("bios".to_owned(), "U62 v2.20".to_owned()),
                ("bmc".to_owned(), "1.64".to_owned()),
            ]),
            ..standard.clone()
        };
        let small = Profile {
            manufacturer: "QEMU".to_owned(),
            product: "Standard PC (Q35 + ICH9, 2009)".to_owned(),
            cpu_model: "AMD EPYC 7302P".to_owned(),
            threads: 8,
            ram_mib: 32_768,
            nics: vec![Nic { name: "eno1".to_owned(), model: "0x1af4 0x0001".to_owned(), speed: 1 }],
            disks: vec![Disk { name: "/dev/sda".to_owned(), kind: "SSD".to_owned(), bytes: 128_849_018_880 }],
            components: BTreeMap::new(),
            ..standard.clone()
        };
        let bare = Profile { nics: Vec::new(), disks: Vec::new(), ..small.clone() };
        [("default", standard), ("dell-r740", r740), ("hpe-dl110", hpe), ("small", small), ("bare", bare)]
            .into_iter()
            .map(|(name, profile)| (name.to_owned(), profile))
            .collect()
    }

    /// The profile of a host: the named one, else `default`, with the changes that the host's knobs ask for.
    pub(crate) fn of(host: &Value, known: &BTreeMap<String, Profile>) -> Profile {
        let named = annotation(host, knobs::PROFILE).unwrap_or("default");
        let mut profile =
            known.get(named).or_else(|| known.get("default")).cloned().unwrap_or_else(Profile::standard);
        if let Some(threads) = annotation(host, knobs::THREADS).and_then(|t| t.trim().parse().ok()) {
            profile.threads = threads;
        }
        if let Some(names) = annotation(host, knobs::NICS) {
            let model = profile.nics.last().map_or_else(|| "0x8086 0x159b".to_owned(), |n| n.model.clone());
            profile.nics = names
                .split(',')
                .map(str::trim)
                .filter(|n| !n.is_empty())
                .map(|n| Nic { name: n.to_owned(), model: model.clone(), speed: 25 })
                .collect();
        }
        // A NIC that a label of the host names exists, else no repository of hosts would fit the profile.
        for (label, value) in entries(host, "/metadata/labels") {
            let value = value.as_str().unwrap_or_default();
            let is_nic = label.starts_with(INTERFACE_LABEL) && !value.is_empty() && !looks_like_mac(value);
            if is_nic && !profile.nics.iter().any(|n| n.name == value) {
                profile.nics.push(Nic {
                    name: value.to_owned(),
                    model: "0x8086 0x159b".to_owned(),
                    speed: 25,
                });
            }
        }
        profile
    }

    /// Name of the NIC that has `spec.bootMACAddress`.
    fn boot_nic<'a>(&'a self, host: &'a Value) -> &'a str {
        let label = format!("{INTERFACE_LABEL}boot-interface");
        annotation(host, knobs::BOOT_NIC)
            .or_else(|| super::value::label(host, &label).filter(|l| !looks_like_mac(l)))
            .filter(|wanted| self.nics.iter().any(|n| n.name == *wanted))
            .unwrap_or_else(|| self.nics.first().map_or("", |n| n.name.as_str()))
    }

    /// What inspection finds: `HardwareData.spec.hardware` and `BareMetalHost.status.hardware`.
    pub(crate) fn details(&self, host: &Value) -> Value {
        let boot_mac = text(host, "/spec/bootMACAddress");
        let boot_nic = self.boot_nic(host);
        let nics: Vec<Value> = self
            .nics
            .iter()
            .zip(1_u8..)
            .map(|(nic, slot)| {
                let mac = if nic.name == boot_nic && !boot_mac.is_empty() {
                    boot_mac.to_ascii_lowercase()
                } else {
                    mac(host, &nic.name)
                };
                json!({
                    "name": nic.name, "model": nic.model, "mac": mac, "speedGbps": nic.speed,
                    "pxe": nic.name == boot_nic, "pciAddress": format!("0000:{slot:02x}:00.0"),
                })
            })
            .collect();
        let disks: Vec<Value> = self
            .disks
            .iter()
            .map(|disk| {
                json!({
                    "name": disk.name, "type": disk.kind, "rotational": disk.kind == "HDD",
                    "sizeBytes": disk.bytes, "vendor": "Samsung", "model": "PM9A3",
                    "serialNumber": digest(host, &disk.name, 7), "wwn": format!("eui.{}", digest(host, &disk.name, 8)),
                })
            })
            .collect();
        let version = self.components.get("bios").map_or("1.0.0", String::as_str);
        json!({
            "systemVendor": {
                "manufacturer": self.manufacturer, "productName": self.product,
                "serialNumber": digest(host, "serial", 5).to_ascii_uppercase(),
            },
            "firmware": {"bios": {"vendor": self.manufacturer, "version": version, "date": "10/15/2025"}},
            "cpu": {
                "arch": self.arch, "model": self.cpu_model, "clockMegahertz": 2000,
                "count": self.threads, "flags": ["avx512f", "vmx"],
            },
            "ramMebibytes": self.ram_mib, "nics": nics, "storage": disks, "hostname": name(host),
        })
    }
}

/// Whether a label's value is a MAC address (with `-`, as labels must have it).
fn looks_like_mac(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    parts.len() == 6 && parts.iter().all(|p| p.len() == 2 && p.chars().all(|c| c.is_ascii_hexdigit()))
}

/// `bytes` bytes in hex, different for every host and purpose, the same in every run.
fn digest(host: &Value, purpose: &str, bytes: usize) -> String {
    hex(&hash(host, purpose), bytes)
}

fn hash(host: &Value, purpose: &str) -> Vec<u8> {
    Sha256::digest(format!("{}/{}/{purpose}", namespace(host), name(host))).to_vec()
}

/// A locally administered MAC address, unique per host and NIC.
fn mac(host: &Value, nic: &str) -> String {
    let tail: Vec<String> = hash(host, nic).into_iter().take(5).map(|b| format!("{b:02x}")).collect();
    format!("02:{}", tail.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::value::{items, number};
    use std::collections::BTreeSet;

    fn host(name: &str, extra: &Value) -> Value {
        let mut host = json!({"metadata": {"namespace": "racks", "name": name}, "spec": {"bootMACAddress": "AA:00:00:00:00:01"}});
        if let (Some(into), Some(from)) =
            (host.pointer_mut("/metadata").and_then(Value::as_object_mut), extra.as_object())
        {
            into.extend(from.clone());
        }
        host
    }

    #[test]
    fn gives_every_nic_of_every_host_its_own_mac() {
        let mut seen = BTreeSet::new();
        for n in 0..50 {
            let host = host(&format!("host-{n}"), &json!({}));
            for nic in items(&Profile::standard().details(&host), "/nics").iter().skip(1) {
                assert!(seen.insert(text(nic, "/mac").to_owned()));
            }
        }
        assert_eq!(seen.len(), 200);
    }

    #[test]
    fn gives_the_boot_mac_to_the_first_nic_or_the_labelled_one() {
        let known = Profile::built_in();
        let plain = host("a", &json!({}));
        let details = Profile::of(&plain, &known).details(&plain);
        assert_eq!(text(&details, "/nics/0/mac"), "aa:00:00:00:00:01");
        let labelled =
            host("b", &json!({"labels": {"interfacelabel.clcm.openshift.io/boot-interface": "ens3f0"}}));
        let details = Profile::of(&labelled, &known).details(&labelled);
        let nic = items(&details, "/nics").iter().find(|n| text(n, "/name") == "ens3f0").unwrap();
        assert_eq!(text(nic, "/mac"), "aa:00:00:00:00:01");
        let told = host(
            "c",
            &json!({"labels": {"interfacelabel.clcm.openshift.io/boot-interface": "ens3f0"},
            "annotations": {"sim.ocloud.dev/boot-nic": "eno1"}}),
        );
        let details = Profile::of(&told, &known).details(&told);
        assert_eq!(text(&details, "/nics/0/mac"), "aa:00:00:00:00:01");
    }

    #[test]
    fn obeys_the_knobs_of_the_host() {
        let known = Profile::built_in();
        let small = host(
            "a",
            &json!({"annotations": {"sim.ocloud.dev/profile": "small", "sim.ocloud.dev/threads": "16",
            "sim.ocloud.dev/nics": "eth0, eth1"}}),
        );
        let details = Profile::of(&small, &known).details(&small);
        assert_eq!(number(&details, "/cpu/count"), 16);
        assert_eq!(text(&details, "/systemVendor/manufacturer"), "QEMU");
        assert_eq!(items(&details, "/nics").len(), 2);
    }
}
