//! The simulators of this binary, and the objects that its tests make.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::lab::{self, Lab, apply, wait};
use tests::sim::metal3::{self, Metal3};
use tests::sim::siteconfig::{self, Control, Event, SiteConfig};
use tests::sim::{self, Handle, policy};
use tokio::sync::{Mutex, OnceCell};

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// One set of simulators for all tests of this binary.
pub(crate) struct Sims {
    pub(crate) client: Client,
    pub(crate) control: Control,
    pub(crate) verdicts: policy::Control,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    _handles: Vec<Handle>,
}

static SIMS: OnceCell<Sims> = OnceCell::const_new();

pub(crate) async fn sims() -> Result<&'static Sims> {
    SIMS.get_or_try_init(|| async {
        let lab = Lab::shared().await?;
        let simulator = lab.hub().simulator().await?;
        // Published CRDs instead of ours: shows that the simulators write what those accept.
        if let Some(folder) = std::env::var_os("UPSTREAM_CRDS") {
            apply::crds(&simulator, apply::folder(folder.as_ref())?).await?;
        }
        sim::prepare_hub(&simulator).await?;
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let events = Arc::new(Mutex::new(Vec::new()));
        let log = events.clone();
        tokio::spawn(async move {
            while let Some(event) = receiver.recv().await {
                log.lock().await.push(event);
            }
        });
        let (control, verdicts) = (Control::default(), policy::Control::default());
        let options = siteconfig::Options {
            control: control.clone(),
            events: Some(sender),
            times: times(),
            ..Default::default()
        };
        let governance =
            policy::Options { needs_available: false, control: verdicts.clone(), ..Default::default() };
        let handles = vec![
            Metal3::start(&simulator, metal3::Options::default()),
            SiteConfig::start(&simulator, options),
            policy::Governance::start(&simulator, governance),
        ];
        Ok(Sims { client: lab.hub().client(), control, verdicts, events, _handles: handles })
    })
    .await
}

/// Fast, and impatient with objects that do not go.
pub(crate) fn times() -> siteconfig::Times {
    siteconfig::Times { give_up: Duration::from_secs(5), ..siteconfig::Times::fast() }
}

pub(crate) fn api(client: &Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let (api_version, plural) = match kind {
        "Namespace" => ("v1", "namespaces"),
        "Secret" => ("v1", "secrets"),
        "ConfigMap" => ("v1", "configmaps"),
        "Node" => ("v1", "nodes"),
        "BareMetalHost" => ("metal3.io/v1alpha1", "baremetalhosts"),
        "HardwareData" => ("metal3.io/v1alpha1", "hardwaredata"),
        "HostFirmwareSettings" => ("metal3.io/v1alpha1", "hostfirmwaresettings"),
        "HostFirmwareComponents" => ("metal3.io/v1alpha1", "hostfirmwarecomponents"),
        "FirmwareSchema" => ("metal3.io/v1alpha1", "firmwareschemas"),
        "HostUpdatePolicy" => ("metal3.io/v1alpha1", "hostupdatepolicies"),
        "PreprovisioningImage" => ("metal3.io/v1alpha1", "preprovisioningimages"),
        "DataImage" => ("metal3.io/v1alpha1", "dataimages"),
        "ClusterInstance" => ("siteconfig.open-cluster-management.io/v1alpha1", "clusterinstances"),
        "ClusterImageSet" => ("hive.openshift.io/v1", "clusterimagesets"),
        "ClusterDeployment" => ("hive.openshift.io/v1", "clusterdeployments"),
        "AgentClusterInstall" => ("extensions.hive.openshift.io/v1beta1", "agentclusterinstalls"),
        "Agent" => ("agent-install.openshift.io/v1beta1", "agents"),
        "InfraEnv" => ("agent-install.openshift.io/v1beta1", "infraenvs"),
        "ManagedCluster" => ("cluster.open-cluster-management.io/v1", "managedclusters"),
        "Placement" => ("cluster.open-cluster-management.io/v1beta1", "placements"),
        "Policy" => ("policy.open-cluster-management.io/v1", "policies"),
        "PlacementBinding" => ("policy.open-cluster-management.io/v1", "placementbindings"),
        "ClusterVersion" => ("config.openshift.io/v1", "clusterversions"),
        "ClusterOperator" => ("config.openshift.io/v1", "clusteroperators"),
        "MachineConfigPool" => ("machineconfiguration.openshift.io/v1", "machineconfigpools"),
        other => panic!("unknown kind {other}"),
    };
    let resource = lab::dynamic(api_version, kind, plural);
    if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), namespace, &resource)
    }
}

pub(crate) fn typed(client: &Client, object: &Value) -> (Api<DynamicObject>, Value) {
    let kind = object["kind"].as_str().unwrap_or_default();
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let api = api(client, kind, namespace);
    let mut object = object.clone();
    let url = api.resource_url().trim_start_matches("/apis/").trim_start_matches("/api/").to_owned();
    let end = url.find("/namespaces/").unwrap_or_else(|| url.rfind('/').unwrap_or(url.len()));
    let version = &url[..end];
    object["apiVersion"] = json!(if kind == "Namespace" { "v1" } else { version });
    (api, object)
}

pub(crate) async fn create(client: &Client, object: Value) -> Result<DynamicObject> {
    let (api, object) = typed(client, &object);
    let object = apply::object(object)?;
    Ok(api.create(&PostParams::default(), &object).await?)
}

pub(crate) async fn merge(api: &Api<DynamicObject>, name: &str, patch: Value) -> Result<DynamicObject> {
    Ok(api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
}

pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Ok(accepted) => format!("accepted: {accepted:?}"),
        Err(error) => format!("{error:#}"),
    }
}

pub(crate) fn state(host: &DynamicObject) -> &str {
    host.data["status"]["provisioning"]["state"].as_str().unwrap_or_default()
}

pub(crate) async fn until_state(
    hosts: &Api<DynamicObject>,
    name: &str,
    wanted: &str,
) -> Result<DynamicObject> {
    wait::until(hosts, name, LIMIT, &format!("state is {wanted}"), |h| {
        state(h) == wanted && h.data["status"]["operationalStatus"] == "OK"
    })
    .await
}

pub(crate) async fn namespace(client: &Client, name: &str) -> Result<()> {
    create(client, json!({"kind": "Namespace", "metadata": {"name": name}})).await?;
    Ok(())
}

pub(crate) async fn bmc_secret(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let data = json!({"username": "root", "password": "calvin"});
    create(
        client,
        json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "stringData": data}),
    )
    .await?;
    Ok(())
}

pub(crate) fn host(namespace: &str, name: &str, mac: &str) -> Value {
    json!({"kind": "BareMetalHost", "metadata": {"namespace": namespace, "name": name}, "spec": {
        "online": false, "bootMACAddress": mac,
        "bmc": {"address": "idrac-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1", "credentialsName": format!("{name}-bmc")},
    }})
}

pub(crate) async fn available_host(
    client: &Client,
    namespace: &str,
    name: &str,
    mac: &str,
) -> Result<Api<DynamicObject>> {
    bmc_secret(client, namespace, &format!("{name}-bmc")).await?;
    create(client, host(namespace, name, mac)).await?;
    let hosts = api(client, "BareMetalHost", namespace);
    until_state(&hosts, name, "available").await?;
    Ok(hosts)
}

pub(crate) async fn site(client: &Client, cluster: &str, hosts: usize) -> Result<()> {
    let racks = format!("{cluster}-racks");
    for name in [cluster, &racks] {
        namespace(client, name).await?;
    }
    for at in 0..hosts {
        available_host(client, &racks, &format!("h{at}"), &format!("02:00:00:0{at}:cc:01")).await?;
    }
    Ok(())
}

pub(crate) async fn prerequisites(client: &Client, cluster: &str) -> Result<()> {
    let racks = format!("{cluster}-racks");
    create(
        client,
        json!({"kind": "ClusterImageSet", "metadata": {"name": format!("{cluster}-set")},
        "spec": {"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64"}}),
    )
    .await?;
    for namespace in [cluster, &racks] {
        create(
            client,
            json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": "pull"},
            "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}),
        )
        .await?;
    }
    for name in ["ai-cluster", "ai-node", "extra"] {
        create(client, json!({"kind": "ConfigMap", "metadata": {"namespace": cluster, "name": name}, "data": {"a": "b"}}))
            .await?;
    }
    Ok(())
}

pub(crate) fn node(cluster: &str, at: usize, role: &str) -> Value {
    json!({
        "hostName": format!("n{at}.{cluster}.test"), "role": role, "bootMACAddress": format!("02:00:00:0{at}:cc:01"),
        "bmcAddress": "idrac-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1",
        "bmcCredentialsName": {"name": format!("h{at}-bmc")}, "ironicInspect": "disabled",
        "hostRef": {"name": format!("h{at}"), "namespace": format!("{cluster}-racks")},
        "templateRefs": [{"name": "ai-node", "namespace": cluster}],
        "nodeNetwork": {"interfaces": [{"name": "eno1", "macAddress": format!("02:00:00:0{at}:cc:01")}], "config": {"interfaces": []}},
    })
}

pub(crate) fn instance(cluster: &str, nodes: &[Value]) -> Value {
    json!({"kind": "ClusterInstance", "metadata": {"namespace": cluster, "name": cluster}, "spec": {
        "clusterName": cluster, "baseDomain": "test", "clusterImageSetNameRef": format!("{cluster}-set"),
        "pullSecretRef": {"name": "pull"}, "extraManifestsRefs": [{"name": "extra"}],
        "templateRefs": [{"name": "ai-cluster", "namespace": cluster}],
        "extraLabels": {"ManagedCluster": {"site": "east", "name": "overridden"}},
        "extraAnnotations": {"ManagedCluster": {"import.open-cluster-management.io/disable-auto-import": "true"}},
        "nodes": nodes,
    }})
}

/// Waits until condition `Provisioned` has the reason.
pub(crate) async fn until_reason(
    instances: &Api<DynamicObject>,
    cluster: &str,
    reason: &str,
) -> Result<DynamicObject> {
    wait::until(instances, cluster, LIMIT, &format!("Provisioned is {reason}"), |i| {
        condition(i, "Provisioned").is_some_and(|c| c["reason"] == reason)
    })
    .await
}

pub(crate) fn condition<'a>(object: &'a DynamicObject, type_: &str) -> Option<&'a Value> {
    object.data["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == type_)
}

/// The event, which may have happened already.
pub(crate) async fn event(sims: &Sims, wanted: impl Fn(&Event) -> bool) -> Result<Event> {
    let found = async {
        loop {
            if let Some(event) = sims.events.lock().await.iter().find(|e| wanted(e)) {
                return event.clone();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, found).await.context("no such event")
}
