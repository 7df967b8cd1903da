//! Scenarios of spec/02 section 19 that the pure pieces decide, by stage.

mod admission;
mod golden;
mod hardware;
mod hardware_input;
mod input;
mod installation;
mod properties;
mod rendering;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use manifests::clcm::conditions::{RequestCondition, RequestReason, TemplateCondition};
use manifests::clcm::{
    AllocatedNode, AllocatedNodeSpec, AllocatedNodeStatus, Bmc, ClusterTemplate, ClusterTemplateSpec,
    ClusterTemplateStatus, HwMgmtDefaults, Interface, NodeGroupData, NodeRole, ProvisioningRequest,
    ProvisioningRequestSpec, TemplateDefaults,
};
use manifests::meta::condition::{Next, set};
use manifests::meta::{FreeForm, yaml};
use serde_json::{Value, json};

use super::names::ClusterNamespace;
use super::template::Template;
use super::validate::{Input, Validated, validate};
use super::{InputError, admission as adm};

pub(super) const REQUEST: &str = "5e1f0001-0a0b-4c0d-8e0f-000000000001";

pub(super) fn y(text: &str) -> Value {
    yaml::parse(text).unwrap()
}

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A list with these conditions, set at second 0.
pub(super) fn conditions(list: &[(RequestCondition, &'static str, RequestReason, &str)]) -> Vec<Condition> {
    let mut out = Vec::new();
    for (type_, status, reason, message) in list {
        set(&mut out, Next::new(type_, status, reason, *message), at(0));
    }
    out
}

pub(super) fn raw_condition(type_: &str, status: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: Time(at(0)),
        observed_generation: None,
    }
}

pub(super) const DEFAULTS: &str = "
clusterType: HighlyAvailable
baseDomain: fjord.test
pullSecretRef: {name: hub-pull}
extraManifestsRefs: [{name: day0-extras}]
additionalNTPSources: [ntp1.fjord.test, ntp2.fjord.test]
extraLabels: {ManagedCluster: {cluster-version: v4-20, profile: du}}
nodeGroups:
- name: master
  role: master
  nodeNetwork: &net
    interfaces:
    - {name: eno1, label: boot-interface}
    - {name: eno2, label: fronthaul}
    config: {interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true}}]}
- name: worker
  role: worker
  nodeNetwork: *net
";

const SCHEMA: &str = "
type: object
required: [nodeClusterName, oCloudSiteId, policyTemplateParameters, clusterInstanceParameters]
properties:
  nodeClusterName: {type: string}
  oCloudSiteId: {type: string}
  policyTemplateParameters:
    type: object
    properties: {cpu-isolated: {type: string}, ptp: {type: string}}
  hwMgmtParameters:
    type: object
    properties:
      hardwareProvisioningTimeout: {type: string}
      nodeGroupData:
        type: array
        items: {type: object, required: [name], properties: {name: {type: string}, role: {type: string}, hwProfile: {type: string}}}
  upgradeParameters:
    type: object
    properties:
      clusterVersion: {type: object}
      clusterUpgradeTimeout: {type: string}
      intermediateVersion: {type: string}
  clusterInstanceParameters:
    type: object
    required: [clusterName]
    properties:
      clusterName: {type: string}
      baseDomain: {type: string}
      additionalNTPSources: {type: array, items: {type: string}}
      proxy: {}
      serial: {}
      extraLabels: &labels {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}
      extraAnnotations: *labels
      diskEncryption: {type: object, required: [type], properties: {type: {type: string}}}
      nodes:
        type: array
        items:
          type: object
          required: [hostName]
          properties: {hostName: {type: string}, extraLabels: *labels, bootMode: {type: string}, nodeNetwork: {type: object}}
      nodeGroups:
        type: array
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            role: {type: string}
            extraLabels: *labels
            extraAnnotations: *labels
            nodeNetwork: {type: object}
            nodes:
              type: array
              items:
                type: object
                required: [hostName]
                properties: {hostName: {type: string}, extraLabels: *labels, extraAnnotations: *labels, bootMode: {type: string}, nodeNetwork: {type: object}}
";

/// Builds a template and what the reconciler makes of it.
#[derive(Clone)]
pub(super) struct Ct {
    pub(super) object: ClusterTemplate,
    pub(super) cluster: BTreeMap<String, String>,
    pub(super) policy: BTreeMap<String, String>,
}

impl Ct {
    pub(super) fn new() -> Self {
        let group =
            |name: &str, role| NodeGroupData { name: name.to_owned(), role, ..NodeGroupData::default() };
        let mut object = ClusterTemplate::new(
            "edge.v1",
            ClusterTemplateSpec {
                name: "edge".to_owned(),
                version: "v1".to_owned(),
                release: "4.20.3".to_owned(),
                template_id: Some("7e3a0001-2222-4333-9444-000000000001".to_owned()),
                template_defaults: TemplateDefaults {
                    cluster_instance_defaults: "ci-defaults".to_owned(),
                    policy_template_defaults: "policy-defaults".to_owned(),
                    hw_mgmt_defaults: Some(HwMgmtDefaults {
                        hardware_provisioning_timeout: None,
                        node_group_data: vec![
                            group("master", NodeRole::Master),
                            group("worker", NodeRole::Worker),
                        ],
                    }),
                    upgrade_defaults: None,
                },
                template_parameter_schema: FreeForm::from_value(&y(SCHEMA)),
                ..ClusterTemplateSpec::default()
            },
        );
        object.metadata.namespace = Some("edge-tpl".to_owned());
        let mut status = ClusterTemplateStatus::default();
        set(&mut status.conditions, Next::yes(TemplateCondition::Validated, "Completed", ""), at(0));
        object.status = Some(status);
        Ct {
            object,
            cluster: BTreeMap::from([("clusterinstance-defaults".to_owned(), DEFAULTS.to_owned())]),
            policy: BTreeMap::from([(
                "policytemplate-defaults".to_owned(),
                "cpu-isolated: 4-31\nptp: '24'\n".to_owned(),
            )]),
        }
    }

    /// With these ClusterInstance defaults.
    pub(super) fn defaults(mut self, text: &str) -> Self {
        self.cluster.insert("clusterinstance-defaults".to_owned(), text.to_owned());
        self
    }

    pub(super) fn timeout(mut self, text: &str) -> Self {
        self.cluster.insert("clusterInstallationTimeout".to_owned(), text.to_owned());
        self
    }

    pub(super) fn hardware(mut self, defaults: Option<HwMgmtDefaults>) -> Self {
        self.object.spec.template_defaults.hw_mgmt_defaults = defaults;
        self
    }

    pub(super) fn without_property(mut self, key: &str) -> Self {
        let mut schema = self.object.spec.template_parameter_schema.value();
        schema["properties"].as_object_mut().unwrap().remove(key);
        self.object.spec.template_parameter_schema = FreeForm::from_value(&schema);
        self
    }

    pub(super) fn prepare(&self) -> Template {
        Template::prepare(&self.object, Some(&self.cluster), Some(&self.policy))
    }
}

/// Parameters of a request with this cluster input.
pub(super) fn parameters(cluster: &str) -> Value {
    json!({
        "nodeClusterName": "edge7",
        "oCloudSiteId": "site-north",
        "policyTemplateParameters": {},
        "clusterInstanceParameters": y(cluster),
    })
}

/// One master with an address.
pub(super) const ONE_NODE: &str = "
clusterName: edge7
nodeGroups:
- name: master
  nodes:
  - {hostName: m0.edge7, nodeNetwork: {interfaces: [{name: eno1, addresses: {ipv4: [192.0.2.10/24]}}]}}
";

/// Three masters and one worker.
pub(super) const MULTI: &str = "
clusterName: edge7
nodeGroups:
- name: master
  nodes: [{hostName: m0.edge7}, {hostName: m1.edge7}, {hostName: m2.edge7}]
- name: worker
  nodes: [{hostName: w0.edge7}]
";

pub(super) fn check(ct: &Ct, parameters: &Value) -> Result<Validated, InputError> {
    check_in(ct, parameters, &|_| None, &|_| true)
}

pub(super) fn check_in(
    ct: &Ct,
    parameters: &Value,
    namespace: &dyn Fn(&str) -> Option<ClusterNamespace>,
    profile_exists: &dyn Fn(&str) -> bool,
) -> Result<Validated, InputError> {
    let template = ct.prepare();
    validate(&Input {
        request: REQUEST,
        template_name: "edge.v1",
        template: Some(&template),
        parameters,
        operator_namespace: "oran-o2ims",
        profile_exists,
        namespace,
        others: &[],
    })
}

pub(super) fn message(result: Result<Validated, InputError>) -> String {
    match result {
        Ok(_) => String::new(),
        Err(e) => {
            assert!(e.is_input(), "{e}");
            e.message
        }
    }
}

pub(super) fn request(parameters: &Value) -> ProvisioningRequest {
    let mut out = ProvisioningRequest::new(
        REQUEST,
        ProvisioningRequestSpec {
            template_name: "edge".to_owned(),
            template_version: "v1".to_owned(),
            template_parameters: FreeForm::from_value(parameters),
            ..ProvisioningRequestSpec::default()
        },
    );
    out.metadata.generation = Some(1);
    out.metadata.uid = Some("u-1".to_owned());
    out
}

pub(super) fn world(template: Option<&Template>) -> adm::World<'_> {
    adm::World {
        template,
        profile_exists: &|name| name != "ghost",
        operator_namespace: "oran-o2ims",
        namespace: &|_| None,
        others: &[],
        allocation: None,
    }
}

/// An allocated node with two labelled interfaces.
pub(super) fn allocated(name: &str, group: &str, last: u8) -> AllocatedNode {
    let nic = |name: &str, label: &str, port: u8| Interface {
        name: name.to_owned(),
        label: label.to_owned(),
        mac_address: format!("02:00:5e:00:{last:02x}:{port:02x}"),
    };
    AllocatedNode {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: AllocatedNodeSpec {
            node_allocation_request: REQUEST.to_owned(),
            group_name: group.to_owned(),
            hw_mgr_node_id: Some(format!("host-{last}")),
            hw_mgr_node_ns: Some("racks".to_owned()),
            ..AllocatedNodeSpec::default()
        },
        status: Some(AllocatedNodeStatus {
            bmc: Some(Bmc {
                address: Some(format!("redfish://198.51.100.{last}/1")),
                credentials_name: Some(format!("host-{last}-bmc")),
            }),
            interfaces: vec![nic("eno1", "boot-interface", 1), nic("eno2", "fronthaul", 2)],
            ..AllocatedNodeStatus::default()
        }),
    }
}
