//! Short builders for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use manifests::clcm::{NodeAllocationRequest, NodeAllocationRequestSpec, NodeGroup, NodeGroupData, NodeRole};
use manifests::meta::{finalizers, labels};
use manifests::metal3::{
    BareMetalHost, BmcDetails, HardwareData, HardwareDetails, Nic, OperationalStatus, ProvisioningState,
};

use super::{HostView, Pool, Pools, Site};

/// Seconds after the first moment of the tests.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + seconds).unwrap()
}

pub(super) fn nic(name: &str, mac: &str) -> Nic {
    Nic { name: name.into(), mac: mac.into(), model: "0x8086 0x159b".into(), speed_gbps: 25 }
}

/// A free, inspected host of pool `pool-a` with two NICs.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) host: BareMetalHost,
    pub(super) data: Option<HardwareDetails>,
}

impl Host {
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        let mut host = BareMetalHost::default();
        host.metadata.namespace = Some(namespace.to_owned());
        host.metadata.name = Some(name.to_owned());
        host.metadata.uid = Some(format!("uid-{namespace}-{name}"));
        host.metadata.resource_version = Some("1".to_owned());
        host.spec.bmc = Some(BmcDetails {
            address: format!("redfish+https://{name}.example.org/redfish/v1/Systems/1").into(),
            credentials_name: format!("{name}-bmc").into(),
        });
        host.spec.boot_mac_address = Some("02:00:5e:00:00:01".into());
        let status = host.status.get_or_insert_default();
        status.operational_status = OperationalStatus::Ok;
        status.provisioning.state = ProvisioningState::Available;
        let mut data = HardwareDetails {
            ram_mebibytes: 131_072,
            nics: vec![nic("eno1", "02:00:5e:00:00:01"), nic("eno2", "02:00:5e:00:00:02")],
            ..HardwareDetails::default()
        };
        data.cpu.arch = "x86_64".into();
        data.cpu.model = "Intel(R) Xeon(R) Gold".into();
        data.cpu.count = 64;
        data.system_vendor.manufacturer = "HPE".into();
        Host { host, data: Some(data) }.label(labels::RESOURCE_POOL, "pool-a")
    }

    pub(super) fn label(mut self, key: &str, value: &str) -> Self {
        self.host.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    pub(super) fn no_label(mut self, key: &str) -> Self {
        self.host.metadata.labels.get_or_insert_default().remove(key);
        self
    }

    pub(super) fn note(mut self, key: &str, value: &str) -> Self {
        self.host.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    pub(super) fn state(mut self, state: ProvisioningState) -> Self {
        self.host.status.get_or_insert_default().provisioning.state = state;
        self
    }

    pub(super) fn boot(mut self, mac: Option<&str>) -> Self {
        self.host.spec.boot_mac_address = mac.map(Into::into);
        self
    }

    pub(super) fn nics(mut self, nics: Vec<Nic>) -> Self {
        self.data.get_or_insert_default().nics = nics;
        self
    }

    pub(super) fn no_data(mut self) -> Self {
        self.data = None;
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut BareMetalHost)) -> Self {
        change(&mut self.host);
        self
    }

    pub(super) fn hardware(mut self, change: impl FnOnce(&mut HardwareDetails)) -> Self {
        change(self.data.get_or_insert_default());
        self
    }

    pub(super) fn view(&self) -> HostView {
        let data = self.data.clone().map(|hardware| {
            let mut data = HardwareData::default();
            data.metadata.namespace.clone_from(&self.host.metadata.namespace);
            data.metadata.name.clone_from(&self.host.metadata.name);
            data.spec.hardware = Some(hardware);
            Arc::new(data)
        });
        HostView { host: Arc::new(self.host.clone()), data }
    }
}

pub(super) fn host(namespace: &str, name: &str) -> BareMetalHost {
    Host::new(namespace, name).host
}

/// Pools `pool-a` and `pool-b` at sites `site-a` and `site-b`.
pub(super) fn pools() -> Pools {
    let pool = |letter: &str| {
        let site = Site { name: format!("site-{letter}"), uid: Some(format!("uid-site-{letter}")) };
        (format!("pool-{letter}"), Pool { uid: format!("uid-pool-{letter}"), site })
    };
    Pools(BTreeMap::from([pool("a"), pool("b")]))
}

pub(super) fn group(name: &str, role: NodeRole, size: i64, selector: &[(&str, &str)]) -> NodeGroup {
    NodeGroup {
        node_group_data: NodeGroupData {
            name: name.to_owned(),
            role,
            resource_selector: selector.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..NodeGroupData::default()
        },
        size,
    }
}

/// A request of generation 1 for site `site-a` and cluster `<name>-c`, with its finalizer.
pub(super) fn request(name: &str, created: i64, groups: Vec<NodeGroup>) -> NodeAllocationRequest {
    let mut request = NodeAllocationRequest::new(
        name,
        NodeAllocationRequestSpec {
            cluster_id: format!("{name}-c"),
            site: "site-a".to_owned(),
            node_group: groups,
            config_transaction_id: 1,
            ..NodeAllocationRequestSpec::default()
        },
    );
    request.metadata.namespace = Some("oran-o2ims".to_owned());
    request.metadata.uid = Some(format!("uid-{name}"));
    request.metadata.generation = Some(1);
    request.metadata.resource_version = Some("1".to_owned());
    request.metadata.creation_timestamp = Some(Time(at(created)));
    request.metadata.finalizers = Some(vec![finalizers::NODE_ALLOCATION_REQUEST.to_owned()]);
    request
}
