//! Everything that one ProvisioningRequest needs, under names of its own: hosts, pool, template, policies, request.
//!
//! ```text
//!   <cluster>-site    Location, OCloudSite (operator namespace)      <cluster>-racks   BareMetalHosts, BMC Secrets
//!   <cluster>-pool    ResourcePool         (operator namespace)      <cluster>-tpl     ClusterTemplate, its ConfigMaps
//!   <cluster>-profile HardwareProfile      (operator namespace)      ztp-<cluster>-tpl Policies
//! ```
//!
//! All objects are plain JSON, so that a test can change what it wants to be different before it applies them.

use manifests::meta::{annotations, labels, names};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::lab::hub::OPERATOR_NAMESPACE;
use crate::sim::policy;

/// OpenShift release of the image set in `data/git/hub`.
const RELEASE: &str = "4.20.3";
const IMAGE_SET: &str = "img-4-20-3";
const VERSION: &str = "v4-20-3-1";
/// Name of the template's pull secret.
pub const PULL_SECRET: &str = "pull-secret";
/// Name of the template's ConfigMap with extra manifests.
pub const EXTRA_MANIFESTS: &str = "extra-manifests";
/// Name of the ConfigMap with defaults of the ClusterInstance.
pub const CLUSTER_DEFAULTS: &str = "clusterinstance-defaults";
/// Name of the ConfigMap with defaults of the policies.
pub const POLICY_DEFAULTS: &str = "policytemplate-defaults";
/// Name of the root policy.
pub const POLICY: &str = "v1-cpu";

/// How template and request list the nodes (spec/02 6.4 B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Groups with common settings.
    #[default]
    NodeGroups,
    /// One entry per node, merged by position.
    Nodes,
}

/// See the module. The fields may be changed before the first object is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixture {
    /// Name of the cluster, beginning of all other names; at most 20 characters.
    pub cluster: String,
    /// How nodes are listed.
    pub layout: Layout,
    /// Number of control-plane nodes.
    pub masters: usize,
    /// Number of workers.
    pub workers: usize,
    /// Hosts beyond those that the cluster needs.
    pub spare: usize,
}

impl Fixture {
    /// A cluster of one node, with exactly one host.
    pub fn single(cluster: &str) -> Self {
        Fixture { cluster: cluster.to_owned(), layout: Layout::default(), masters: 1, workers: 0, spare: 0 }
    }

    /// Three masters and two workers, with exactly five hosts.
    pub fn multi(cluster: &str) -> Self {
        Fixture { masters: 3, workers: 2, ..Fixture::single(cluster) }
    }

    /// The same with another layout.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Self {
        Fixture { layout, ..self }
    }

    /// The same with hosts that the cluster does not need.
    #[must_use]
    pub fn spare(self, spare: usize) -> Self {
        Fixture { spare, ..self }
    }

    /// Name of the ProvisioningRequest: a UUID that follows from the cluster's name.
    pub fn request_name(&self) -> String {
        Uuid::new_v5(&Uuid::NAMESPACE_DNS, self.cluster.as_bytes()).to_string()
    }

    /// Name of Location and OCloudSite.
    pub fn site(&self) -> String {
        format!("{}-site", self.cluster)
    }

    /// Name of the ResourcePool.
    pub fn pool(&self) -> String {
        format!("{}-pool", self.cluster)
    }

    /// Name of the HardwareProfile.
    pub fn profile(&self) -> String {
        format!("{}-profile", self.cluster)
    }

    /// Namespace of the hosts.
    pub fn racks(&self) -> String {
        format!("{}-racks", self.cluster)
    }

    /// Namespace of the template.
    pub fn template_namespace(&self) -> String {
        format!("{}-tpl", self.cluster)
    }

    /// `metadata.name` of the template.
    pub fn template_name(&self) -> String {
        names::template(&self.cluster, VERSION)
    }

    /// Namespace of the root policies.
    pub fn policy_namespace(&self) -> String {
        names::policy_namespace(&self.template_namespace())
    }

    /// The root policy as the policy simulator names it ([`policy::Control::verdict`]).
    pub fn policy(&self) -> String {
        format!("{}.{POLICY}", self.policy_namespace())
    }

    /// Names of the hosts, in order.
    pub fn hosts(&self) -> Vec<String> {
        (0..self.masters + self.workers + self.spare).map(|i| format!("host-{i}")).collect()
    }

    /// Host names of the nodes with their roles, masters first.
    pub fn nodes(&self) -> Vec<(String, &'static str)> {
        let name = |kind: &str, i: usize| format!("{kind}{i}.{}.example.org", self.cluster);
        let masters = (0..self.masters).map(|i| (name("m", i), "master"));
        masters.chain((0..self.workers).map(|i| (name("w", i), "worker"))).collect()
    }

    /// Everything but the request, in no special order.
    pub fn world(&self) -> Vec<Value> {
        let mut all = self.site_objects();
        all.extend(self.host_objects());
        all.extend(self.template());
        all.extend(self.policies());
        all
    }

    /// Location, OCloudSite, ResourcePool, HardwareProfile, and the namespace of the hosts.
    pub fn site_objects(&self) -> Vec<Value> {
        let inventory = "ocloud.openshift.io/v1alpha1";
        vec![
            namespace(&self.racks()),
            json!({"apiVersion": inventory, "kind": "Location", "metadata": ours(&self.site()),
                "spec": {"description": "A place", "coordinate": {"latitude": "53.5", "longitude": "9.9"}}}),
            json!({"apiVersion": inventory, "kind": "OCloudSite", "metadata": ours(&self.site()),
                "spec": {"globalLocationName": self.site(), "description": "A room"}}),
            json!({"apiVersion": inventory, "kind": "ResourcePool", "metadata": ours(&self.pool()),
                "spec": {"oCloudSiteName": self.site(), "description": "Servers"}}),
            json!({"apiVersion": "clcm.openshift.io/v1alpha1", "kind": "HardwareProfile",
                "metadata": ours(&self.profile()), "spec": {"bios": {}}}),
        ]
    }

    /// The hosts and the Secrets of their BMCs.
    pub fn host_objects(&self) -> Vec<Value> {
        (0..self.hosts().len()).flat_map(|i| self.host(i)).collect()
    }

    /// Secret and BareMetalHost number `i`.
    pub fn host(&self, i: usize) -> [Value; 2] {
        let name = format!("host-{i}");
        let secret = format!("{name}-bmc");
        [
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": self.at_racks(&secret), "type": "Opaque",
                "stringData": {"username": "root", "password": "only-for-the-lab"}}),
            json!({
                "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
                "metadata": {
                    "name": name, "namespace": self.racks(),
                    "labels": {
                        labels::RESOURCE_POOL: self.pool(),
                        format!("{}model", labels::RESOURCE_SELECTOR_PREFIX): "type-a",
                        labels::BOOT_INTERFACE: "eno1",
                        format!("{}fronthaul", labels::INTERFACE_LABEL_PREFIX): "ens5f0",
                    },
                },
                "spec": {
                    "online": false, "bootMACAddress": self.mac(i),
                    "bmc": {
                        "address": format!("redfish-virtualmedia+https://192.0.2.1/redfish/v1/Systems/{}-{i}", self.cluster),
                        "credentialsName": secret, "disableCertificateVerification": true,
                    },
                },
            }),
        ]
    }

    /// MAC address of the boot interface of host `i`: follows from cluster and number.
    pub fn mac(&self, i: usize) -> String {
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{}/{i}", self.cluster).as_bytes());
        let bytes = id.as_bytes().iter().take(5).map(|byte| format!(":{byte:02x}"));
        format!("02{}", bytes.collect::<String>())
    }

    /// The template with its namespace, ConfigMaps and pull secret; the ClusterTemplate is the last.
    pub fn template(&self) -> Vec<Value> {
        let at = self.template_namespace();
        let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": at}, "data": data});
        vec![
            namespace(&at),
            self.pull_secret(),
            map(
                EXTRA_MANIFESTS,
                json!({"50-mount.yaml": "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n"}),
            ),
            map(
                CLUSTER_DEFAULTS,
                json!({"clusterInstallationTimeout": "60m",
                    "clusterinstance-defaults": self.cluster_defaults().to_string()}),
            ),
            map(
                POLICY_DEFAULTS,
                json!({"clusterConfigurationTimeout": "30m",
                    "policytemplate-defaults": "cpu-isolated: \"2-31\"\ncpu-reserved: \"0-1\"\n"}),
            ),
            self.cluster_template(),
        ]
    }

    /// The pull secret of the template.
    pub fn pull_secret(&self) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": PULL_SECRET, "namespace": self.template_namespace()},
            "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{\"auths\":{}}"}})
    }

    /// Content of the defaults of the ClusterInstance.
    pub fn cluster_defaults(&self) -> Value {
        let mut out = json!({
            "clusterType": if self.masters == 1 { "SNO" } else { "HighlyAvailable" },
            "baseDomain": "example.org",
            "clusterImageSetNameRef": IMAGE_SET,
            "pullSecretRef": {"name": PULL_SECRET},
            "extraManifestsRefs": [{"name": EXTRA_MANIFESTS}],
            "extraLabels": {"ManagedCluster": {"cluster-version": "v4-20-3", "test-cluster": self.cluster}},
            "templateRefs": [{"name": "ai-cluster-templates-v1", "namespace": "open-cluster-management"}],
            "machineNetwork": [{"cidr": "198.51.100.0/24"}],
        });
        let groups = self.groups();
        let part = match self.layout {
            Layout::NodeGroups => {
                let group = |(role, _): &(&str, usize)| with(node_defaults(role), "name", json!(role));
                groups.iter().map(group).collect()
            }
            Layout::Nodes => self.nodes().iter().map(|(_, role)| node_defaults(role)).collect::<Vec<_>>(),
        };
        put(&mut out, self.list(), json!(part));
        out
    }

    /// The ClusterTemplate.
    pub fn cluster_template(&self) -> Value {
        let groups: Vec<Value> = self
            .groups()
            .iter()
            .map(|(role, _)| {
                json!({"name": role, "role": role, "hwProfile": self.profile(), "resourcePoolId": self.pool(),
                    "resourceSelector": {"model": "type-a", "hardwaredata/num_threads;gte": "32"}})
            })
            .collect();
        json!({
            "apiVersion": "clcm.openshift.io/v1alpha1", "kind": "ClusterTemplate",
            "metadata": {"name": self.template_name(), "namespace": self.template_namespace()},
            "spec": {
                "name": self.cluster, "version": VERSION, "release": RELEASE, "description": "A test's template",
                "templateDefaults": {
                    "clusterInstanceDefaults": CLUSTER_DEFAULTS,
                    "policyTemplateDefaults": POLICY_DEFAULTS,
                    "hwMgmtDefaults": {"hardwareProvisioningTimeout": "60m", "nodeGroupData": groups},
                },
                "templateParameterSchema": self.schema(),
            },
        })
    }

    fn schema(&self) -> Value {
        let text = json!({"type": "string"});
        let labels = json!({"type": "object", "additionalProperties":
            {"type": "object", "additionalProperties": text}});
        let interfaces = json!({"type": "array", "items": {"type": "object", "required": ["name"], "properties": {
            "name": text, "label": text,
            "addresses": {"type": "object", "properties": {"ipv4": {"type": "array", "items": text}}},
        }}});
        let network = json!({"type": "object", "properties":
            {"interfaces": interfaces, "config": {"type": "object"}}});
        let node = json!({"type": "object", "required": ["hostName"], "properties":
            {"hostName": text, "nodeNetwork": network, "extraLabels": labels}});
        let nodes = json!({"type": "array", "items": node});
        let list = match self.layout {
            Layout::Nodes => nodes,
            Layout::NodeGroups => {
                json!({"type": "array", "items": {"type": "object", "required": ["name", "nodes"],
                "properties": {"name": text, "nodes": nodes, "extraLabels": labels}}})
            }
        };
        let vips = json!({"type": "array", "maxItems": 2, "items": text});
        let cluster = json!({"type": "object", "required": ["clusterName", self.list()], "properties": {
            "clusterName": text, "extraLabels": labels, "apiVIPs": vips, "ingressVIPs": vips, self.list(): list,
        }});
        json!({
            "type": "object",
            "required": ["nodeClusterName", "oCloudSiteId", "policyTemplateParameters", "clusterInstanceParameters"],
            "properties": {
                "nodeClusterName": text, "oCloudSiteId": text,
                "policyTemplateParameters": {"type": "object", "properties":
                    {"cpu-isolated": text, "cpu-reserved": text}},
                "hwMgmtParameters": {"type": "object", "properties": {
                    "hardwareProvisioningTimeout": text,
                    "nodeGroupData": {"type": "array", "items": {"type": "object", "required": ["name"], "properties":
                        {"name": text, "hwProfile": text}}},
                }},
                "clusterInstanceParameters": cluster,
            },
        })
    }

    /// One enforced root policy for the template, with placement and binding.
    pub fn policies(&self) -> Vec<Value> {
        let at = self.policy_namespace();
        let meta = |name: &str| json!({"name": name, "namespace": at});
        let cluster = "cluster.open-cluster-management.io";
        let group = "policy.open-cluster-management.io";
        let rule = json!({
            "apiVersion": format!("{group}/v1"), "kind": "ConfigurationPolicy", "metadata": {"name": POLICY},
            "spec": {
                "remediationAction": "enforce", "severity": "low",
                "object-templates": [{"complianceType": "musthave", "objectDefinition": {
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "cpu", "namespace": "default"},
                    "data": {"isolated":
                        "{{hub fromConfigMap \"\" (printf \"%s-pg\" .ManagedClusterName) \"cpu-isolated\" hub}}"},
                }}],
            },
        });
        vec![
            namespace(&at),
            json!({"apiVersion": format!("{cluster}/v1beta2"), "kind": "ManagedClusterSetBinding",
                "metadata": meta("global"), "spec": {"clusterSet": "global"}}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "Policy",
                "metadata": {"name": POLICY, "namespace": at,
                    "annotations": {annotations::TEMPLATES: self.template_name()}},
                "spec": {"disabled": false, "remediationAction": "enforce",
                    "policy-templates": [{"objectDefinition": rule}]}}),
            json!({"apiVersion": format!("{cluster}/v1beta1"), "kind": "Placement", "metadata": meta("all"),
                "spec": {"clusterSets": ["global"], "predicates": [{"requiredClusterSelector":
                    {"labelSelector": {"matchLabels": {"test-cluster": self.cluster}}}}]}}),
            json!({"apiVersion": format!("{group}/v1"), "kind": "PlacementBinding", "metadata": meta("all"),
                "placementRef": {"apiGroup": cluster, "kind": "Placement", "name": "all"},
                "subjects": [{"apiGroup": group, "kind": "Policy", "name": POLICY}]}),
        ]
    }

    /// The ProvisioningRequest.
    pub fn request(&self) -> Value {
        json!({
            "apiVersion": "clcm.openshift.io/v1alpha1", "kind": "ProvisioningRequest",
            "metadata": {"name": self.request_name()},
            "spec": {
                "name": self.cluster, "description": "A test's request",
                "templateName": self.cluster, "templateVersion": VERSION,
                "templateParameters": {
                    "nodeClusterName": self.cluster, "oCloudSiteId": self.site(),
                    "policyTemplateParameters": {"cpu-isolated": "4-31"},
                    "clusterInstanceParameters": self.cluster_parameters(),
                },
            },
        })
    }

    /// A request for another cluster from the same template, pool and site.
    pub fn sibling(&self, cluster: &str) -> Value {
        let name = Fixture::single(cluster).request_name();
        let mut request = self.request();
        for (pointer, value) in [
            ("/metadata/name", name.as_str()),
            ("/spec/templateParameters/nodeClusterName", cluster),
            ("/spec/templateParameters/clusterInstanceParameters/clusterName", cluster),
        ] {
            if let Some(place) = request.pointer_mut(pointer) {
                *place = json!(value);
            }
        }
        request
    }

    /// `clusterInstanceParameters` of the request.
    pub fn cluster_parameters(&self) -> Value {
        let mut out = json!({"clusterName": self.cluster});
        if self.masters > 1 {
            put(&mut out, "apiVIPs", json!(["198.51.100.5"]));
            put(&mut out, "ingressVIPs", json!(["198.51.100.6"]));
        }
        let nodes: Vec<(&str, Value)> =
            self.nodes().iter().zip(20..).map(|((name, role), ip)| (*role, self.node(name, ip))).collect();
        let list = match self.layout {
            Layout::Nodes => nodes.into_iter().map(|(_, node)| node).collect(),
            Layout::NodeGroups => {
                let of = |role: &str| -> Vec<Value> {
                    nodes.iter().filter(|(r, _)| *r == role).map(|(_, n)| n.clone()).collect()
                };
                self.groups()
                    .iter()
                    .map(|(role, _)| json!({"name": role, "nodes": of(role)}))
                    .collect::<Vec<_>>()
            }
        };
        put(&mut out, self.list(), json!(list));
        out
    }

    fn node(&self, name: &str, ip: u8) -> Value {
        let ip = format!("198.51.100.{ip}");
        let network = match self.layout {
            Layout::NodeGroups => {
                json!({"interfaces": [{"name": "eno1", "addresses": {"ipv4": [format!("{ip}/24")]}}]})
            }
            // Flat nodes have no shorthand for addresses.
            Layout::Nodes => {
                json!({"config": {"interfaces": [{"name": "eno1", "type": "ethernet", "state": "up",
                "ipv4": {"enabled": true, "address": [{"ip": ip, "prefix-length": 24}]}}]}})
            }
        };
        json!({"hostName": name, "nodeNetwork": network})
    }

    /// Roles that have nodes, with their numbers.
    fn groups(&self) -> Vec<(&'static str, usize)> {
        [("master", self.masters), ("worker", self.workers)].into_iter().filter(|(_, n)| *n > 0).collect()
    }

    fn list(&self) -> &'static str {
        match self.layout {
            Layout::NodeGroups => "nodeGroups",
            Layout::Nodes => "nodes",
        }
    }

    fn at_racks(&self, name: &str) -> Value {
        json!({"name": name, "namespace": self.racks()})
    }
}

/// Tells the policy simulator what the policy of this fixture says of its cluster.
pub fn judge(control: &policy::Control, fixture: &Fixture, verdict: policy::Verdict) {
    control.verdict(&fixture.policy(), &fixture.cluster, verdict);
}

fn node_defaults(role: &str) -> Value {
    json!({
        "role": role, "bootMode": "UEFI", "automatedCleaningMode": "disabled",
        "templateRefs": [{"name": "ai-node-templates-v1", "namespace": "open-cluster-management"}],
        "nodeNetwork": {
            "interfaces": [
                {"name": "eno1", "label": labels::BOOT_INTERFACE_NAME},
                {"name": "ens5f0", "label": "fronthaul"},
            ],
            "config": {"interfaces": [{"name": "eno1", "type": "ethernet", "state": "up",
                "ipv4": {"enabled": true}}]},
        },
    })
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn ours(name: &str) -> Value {
    json!({"name": name, "namespace": OPERATOR_NAMESPACE})
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    put(&mut object, key, value);
    object
}

fn put(object: &mut Value, key: &str, value: Value) {
    object.as_object_mut().unwrap_or(&mut Map::new()).insert(key.to_owned(), value);
}
