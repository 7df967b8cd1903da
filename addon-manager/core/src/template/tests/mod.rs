//! One table per section of spec/01 4; the recorded cases are replayed in `tests/golden`.

mod defaults_rows;
mod life;
mod schema_rows;
mod upgrade_rows;

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use manifests::clcm::{ClusterTemplate, ClusterTemplateStatus};
use manifests::openshift::ClusterImageSet;
use serde_json::{Value, json};

use super::*;
use crate::plan::Plan;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn typed<K: serde::de::DeserializeOwned>(value: &Value) -> K {
    serde_json::from_value(value.clone()).unwrap()
}

/// A template with everything around it; valid as it comes from `case()`.
struct Case {
    template: Value,
    cluster_map: Option<Value>,
    policy_map: Option<Value>,
    /// Content of key clusterinstance-defaults, put into the ConfigMap when it is not null.
    cluster: Value,
    profiles: BTreeSet<String>,
    image_set: Option<Value>,
    definition: Option<Value>,
    twins: Vec<Twin>,
    fault: Option<Fault>,
}

fn map(name: &str, data: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "resourceVersion": "7"}, "data": data})
}

fn case() -> Case {
    Case {
        template: json!({
            "apiVersion": "clcm.openshift.io/v1alpha1",
            "kind": "ClusterTemplate",
            "metadata": {
                "name": "edge.v1", "namespace": "ns", "generation": 4, "resourceVersion": "3",
                "creationTimestamp": "2026-01-01T00:00:10Z",
            },
            "spec": {
                "name": "edge", "version": "v1", "release": "4.20.3",
                "templateId": "5d0c3d2e-90b1-5c11-8a55-000000000001",
                "templateDefaults": {
                    "clusterInstanceDefaults": "ci",
                    "policyTemplateDefaults": "policy",
                    "hwMgmtDefaults": {
                        "hardwareProvisioningTimeout": "75m",
                        "nodeGroupData": [
                            {"name": "master", "role": "master", "hwProfile": "profile-a"},
                            {"name": "worker", "role": "worker"},
                        ],
                    },
                },
                "templateParameterSchema": {
                    "type": "object",
                    "required": [
                        "nodeClusterName", "oCloudSiteId", "policyTemplateParameters", "clusterInstanceParameters",
                    ],
                    "properties": {
                        "nodeClusterName": {"type": "string"},
                        "oCloudSiteId": {"type": "string"},
                        "policyTemplateParameters": {"type": "object", "properties": {"cpu": {"type": "string"}}},
                        "clusterInstanceParameters": {
                            "type": "object",
                            "properties": {"clusterName": {"type": "string"}, "nodeGroups": {"type": "array"}},
                        },
                    },
                },
            },
        }),
        cluster_map: Some(map("ci", &json!({}))),
        policy_map: Some(map("policy", &json!({"policytemplate-defaults": "cpu: \"0-3\"\n"}))),
        cluster: json!({
            "clusterType": "SNO",
            "clusterImageSetNameRef": "img",
            "nodeGroups": [
                {"name": "master", "role": "master", "nodeNetwork": {"interfaces": [{"name": "eno1", "label": "boot-interface"}]}},
            ],
        }),
        profiles: BTreeSet::from(["profile-a".to_owned()]),
        image_set: Some(json!({
            "metadata": {"name": "img"},
            "spec": {"releaseImage": "registry.example.org/ocp/release:4.20.3-x86_64"},
        })),
        definition: Some(json!({
            "type": "object",
            "required": ["clusterName", "nodes"],
            "properties": {
                "clusterType": {"type": "string", "enum": ["SNO", "HighlyAvailable"]},
                "clusterImageSetNameRef": {"type": "string"},
                "clusterName": {"type": "string"},
                "nodes": {"type": "array", "items": {
                    "type": "object",
                    "required": ["hostName"],
                    "properties": {
                        "role": {"type": "string"},
                        "hostName": {"type": "string"},
                        "nodeNetwork": {"type": "object", "properties": {
                            "interfaces": {"type": "array", "items": {
                                "type": "object",
                                "required": ["macAddress"],
                                "properties": {"name": {"type": "string"}, "macAddress": {"type": "string"}},
                            }},
                        }},
                    },
                }},
            },
        })),
        twins: Vec::new(),
        fault: None,
    }
}

impl Case {
    fn spec(&mut self) -> &mut Value {
        &mut self.template["spec"]
    }

    fn defaults(&mut self) -> &mut Value {
        &mut self.template["spec"]["templateDefaults"]
    }

    fn schema(&mut self) -> &mut Value {
        &mut self.template["spec"]["templateParameterSchema"]
    }

    fn property(&mut self, name: &str) -> &mut Value {
        &mut self.template["spec"]["templateParameterSchema"]["properties"][name]
    }

    fn cluster_text(&mut self, text: &str) {
        self.cluster = Value::Null;
        self.cluster_map.as_mut().unwrap()["data"]["clusterinstance-defaults"] = json!(text);
    }

    fn with<T>(&self, read: impl FnOnce(&Seen<'_>) -> T) -> T {
        let template: ClusterTemplate = typed(&self.template);
        let mut cluster = self.cluster_map.clone();
        if let Some(map) = cluster.as_mut().filter(|_| !self.cluster.is_null()) {
            map["data"]["clusterinstance-defaults"] = json!(self.cluster.to_string());
        }
        let cluster: Option<ConfigMap> = cluster.as_ref().map(typed);
        let policy: Option<ConfigMap> = self.policy_map.as_ref().map(typed);
        let image_set: Option<ClusterImageSet> = self.image_set.as_ref().map(typed);
        read(&Seen {
            template: &template,
            twins: self.twins.clone(),
            cluster_instance_defaults: cluster.as_ref(),
            policy_template_defaults: policy.as_ref(),
            profiles: self.profiles.clone(),
            image_set: image_set.as_ref(),
            cluster_instance_schema: self.definition.as_ref(),
            hub: "hub",
            fault: self.fault.as_ref(),
        })
    }

    fn plan(&self) -> Plan<ClusterTemplateStatus> {
        self.with(|seen| decide(seen, at(100)))
    }

    /// The message of the condition; empty when the template is valid.
    fn message(&self) -> String {
        let status = self.plan().status.unwrap();
        let [c] = status.conditions.as_slice() else { panic!("{status:?}") };
        assert_eq!(c.type_, "ClusterTemplateValidated");
        assert_eq!(c.observed_generation, Some(4));
        if c.status == "True" {
            assert_eq!((c.reason.as_str(), c.message.as_str()), ("Completed", SUCCEEDED));
            return String::new();
        }
        assert_eq!((c.status.as_str(), c.reason.as_str()), ("False", "Failed"));
        c.message.clone()
    }
}

/// How a row changes the valid case.
type Change = fn(&mut Case);

fn message(change: Change) -> String {
    let mut case = case();
    change(&mut case);
    case.message()
}
