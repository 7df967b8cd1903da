//! The simulators against a real API server: they do what the real operators do, and refuse what those refuse.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tests::lab::{self, Lab, apply, wait};
use tests::sim::metal3::{self, Metal3};
use tests::sim::siteconfig::{self, Control, Event, Outcome, SiteConfig};
use tests::sim::{self, Handle, openshift, policy};
use tokio::sync::{Mutex, OnceCell};

const LIMIT: Duration = Duration::from_secs(20);

/// One set of simulators for all tests of this binary.
struct Sims {
    client: Client,
    control: Control,
    verdicts: policy::Control,
    events: Arc<Mutex<Vec<Event>>>,
    _handles: Vec<Handle>,
}

static SIMS: OnceCell<Sims> = OnceCell::const_new();

async fn sims() -> Result<&'static Sims> {
    SIMS.get_or_try_init(|| async {
        let lab = Lab::shared().await?;
        let simulator = lab.hub().simulator().await?;
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
        let options =
            siteconfig::Options { control: control.clone(), events: Some(sender), ..Default::default() };
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

fn api(client: &Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
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

fn typed(client: &Client, object: &Value) -> (Api<DynamicObject>, Value) {
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

async fn create(client: &Client, object: Value) -> Result<DynamicObject> {
    let (api, object) = typed(client, &object);
    let object = apply::object(object)?;
    Ok(api.create(&PostParams::default(), &object).await?)
}

async fn merge(api: &Api<DynamicObject>, name: &str, patch: Value) -> Result<DynamicObject> {
    Ok(api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
}

fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Ok(accepted) => format!("accepted: {accepted:?}"),
        Err(error) => format!("{error:#}"),
    }
}

fn state(host: &DynamicObject) -> &str {
    host.data["status"]["provisioning"]["state"].as_str().unwrap_or_default()
}

async fn until_state(hosts: &Api<DynamicObject>, name: &str, wanted: &str) -> Result<DynamicObject> {
    wait::until(hosts, name, LIMIT, &format!("state is {wanted}"), |h| {
        state(h) == wanted && h.data["status"]["operationalStatus"] == "OK"
    })
    .await
}

async fn namespace(client: &Client, name: &str) -> Result<()> {
    create(client, json!({"kind": "Namespace", "metadata": {"name": name}})).await?;
    Ok(())
}

async fn bmc_secret(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let data = json!({"username": "root", "password": "calvin"});
    create(
        client,
        json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "stringData": data}),
    )
    .await?;
    Ok(())
}

fn host(namespace: &str, name: &str, mac: &str) -> Value {
    json!({"kind": "BareMetalHost", "metadata": {"namespace": namespace, "name": name}, "spec": {
        "online": false, "bootMACAddress": mac,
        "bmc": {"address": "idrac-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1", "credentialsName": format!("{name}-bmc")},
    }})
}

async fn available_host(
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

#[test]
fn a_host_goes_from_creation_to_available_provisioned_and_away() -> Result<()> {
    lab::run(async {
        let client = &sims().await?.client;
        namespace(client, "life").await?;
        create(client, host("life", "h1", "02:00:00:00:aa:01")).await?;
        let hosts = api(client, "BareMetalHost", "life");
        let seen = wait::until(&hosts, "h1", LIMIT, "it lacks its secret", |h| {
            h.data["status"]["errorType"] == "registration error"
        })
        .await?;
        ensure!(seen.data["status"]["errorMessage"] == "The BMC secret life/h1-bmc does not exist");
        bmc_secret(client, "life", "h1-bmc").await?;
        let seen = until_state(&hosts, "h1", "available").await?;
        let status = &seen.data["status"];
        ensure!(status["hardware"]["cpu"]["count"] == 64, "{status}");
        ensure!(
            status["hardware"]["nics"][0]["name"] == "eno1"
                && status["hardware"]["nics"][0]["mac"] == "02:00:00:00:aa:01"
        );
        ensure!(
            status["poweredOn"] == false && status["errorMessage"] == "" && status.get("errorType").is_none()
        );
        let data = api(client, "HardwareData", "life").get("h1").await?;
        ensure!(data.data["spec"]["hardware"] == status["hardware"]);
        ensure!(seen.data["spec"]["architecture"] == "x86_64");
        let secret = api(client, "Secret", "life").get("h1-bmc").await?;
        ensure!(secret.labels()["environment.metal3.io"] == "baremetal");
        ensure!(secret.finalizers() == ["baremetalhost.metal3.io/secret"]);
        ensure!(
            status["goodCredentials"]["credentialsVersion"] == secret.resource_version().unwrap_or_default()
        );
        let components = api(client, "HostFirmwareComponents", "life");
        let components = wait::until(&components, "h1", LIMIT, "it lists components", |c| {
            c.data["status"]["components"].as_array().is_some_and(|list| list.len() == 3)
        });
        components.await?;
        wait::condition(&api(client, "PreprovisioningImage", "life"), "h1", LIMIT, "Ready", "True").await?;
        wait::condition(&api(client, "HostFirmwareSettings", "life"), "h1", LIMIT, "ChangeDetected", "False")
            .await?;

        merge(
            &hosts,
            "h1",
            json!({"spec": {"online": true, "customDeploy": {"method": "start_assisted_install"}}}),
        )
        .await?;
        let seen = until_state(&hosts, "h1", "provisioned").await?;
        ensure!(seen.data["status"]["poweredOn"] == true);
        ensure!(seen.data["status"]["provisioning"]["customDeploy"]["method"] == "start_assisted_install");
        merge(&hosts, "h1", json!({"spec": {"online": false, "customDeploy": null}})).await?;
        let seen = until_state(&hosts, "h1", "available").await?;
        ensure!(seen.data["status"]["provisioning"].get("customDeploy").is_none());
        ensure!(seen.data["status"]["poweredOn"] == false);

        hosts.delete("h1", &DeleteParams::default()).await?;
        wait::gone(&hosts, "h1", LIMIT).await?;
        wait::gone(&api(client, "HardwareData", "life"), "h1", LIMIT).await?;
        wait::gone(&api(client, "PreprovisioningImage", "life"), "h1", LIMIT).await?;
        Ok(())
    })
}

#[test]
fn a_host_fails_as_told_and_recovers() -> Result<()> {
    lab::run(async {
        let client = &sims().await?.client;
        namespace(client, "errors").await?;
        for (name, stage, error) in [
            ("e1", "registration", "registration error"),
            ("e2", "inspecting", "inspection error"),
            ("e3", "preparing", "preparation error"),
        ] {
            bmc_secret(client, "errors", &format!("{name}-bmc")).await?;
            let mut object = host("errors", name, "02:00:00:00:ee:01");
            object["metadata"]["annotations"] =
                json!({"sim.ocloud.dev/fail": stage, "sim.ocloud.dev/fail-count": "2"});
            create(client, object).await?;
            let hosts = api(client, "BareMetalHost", "errors");
            wait::until(&hosts, name, LIMIT, "second error", |h| {
                h.data["status"]["errorType"] == error && h.data["status"]["errorCount"] == 2
            })
            .await?;
            let seen = until_state(&hosts, name, "available").await?;
            ensure!(seen.data["status"]["errorCount"] == 0);
        }
        let hosts = api(client, "BareMetalHost", "errors");
        let fail = |what: Value| json!({"metadata": {"annotations": {"sim.ocloud.dev/fail": what}}});
        merge(&hosts, "e1", fail(json!("provisioning"))).await?;
        merge(&hosts, "e1", json!({"spec": {"online": true, "customDeploy": {"method": "x"}}})).await?;
        wait::until(&hosts, "e1", LIMIT, "a failed attempt", |h| {
            h.data["status"]["errorType"] == "provisioning error"
                && h.data["status"]["provisioningFailCount"] == 1
        })
        .await?;
        merge(&hosts, "e1", fail(Value::Null)).await?;
        let seen = until_state(&hosts, "e1", "provisioned").await?;
        ensure!(seen.data["status"]["provisioningFailCount"] == 0);
        merge(&hosts, "e1", fail(json!("power"))).await?;
        merge(&hosts, "e1", json!({"spec": {"online": false}})).await?;
        wait::until(&hosts, "e1", LIMIT, "a power error", |h| {
            h.data["status"]["errorType"] == "power management error"
        })
        .await?;
        merge(&hosts, "e1", fail(Value::Null)).await?;
        wait::until(&hosts, "e1", LIMIT, "it is off", |h| {
            h.data["status"]["poweredOn"] == false && h.data["status"]["operationalStatus"] == "OK"
        })
        .await?;
        Ok(())
    })
}

#[test]
fn firmware_is_updated_before_and_after_installation() -> Result<()> {
    lab::run(async {
        let client = &sims().await?.client;
        namespace(client, "firmware").await?;
        let hosts = available_host(client, "firmware", "f1", "02:00:00:00:ff:01").await?;
        let (settings, components) = (
            api(client, "HostFirmwareSettings", "firmware"),
            api(client, "HostFirmwareComponents", "firmware"),
        );
        wait::condition(&settings, "f1", LIMIT, "Valid", "True").await?;
        merge(&settings, "f1", json!({"spec": {"settings": {"LogicalProc": "Disabled"}}})).await?;
        let update = json!([{"component": "bios", "url": "https://files.test/bios_2.6.3.bin"}]);
        merge(&components, "f1", json!({"spec": {"updates": update}})).await?;
        wait::until(&components, "f1", LIMIT, "the BIOS is new", |c| {
            c.data["status"]["updates"] == update
                && c.data["status"]["components"][0]["currentVersion"] == "2.6.3"
        })
        .await?;
        wait::until(&settings, "f1", LIMIT, "the setting is new", |s| {
            s.data["status"]["settings"]["LogicalProc"] == "Disabled"
        })
        .await?;
        until_state(&hosts, "f1", "available").await?;

        merge(&settings, "f1", json!({"spec": {"settings": {"LogicalProc": "Sometimes"}}})).await?;
        let seen = wait::condition(&settings, "f1", LIMIT, "Valid", "False").await?;
        ensure!(seen.data["status"]["conditions"].to_string().contains("Invalid BIOS setting"));
        merge(&settings, "f1", json!({"spec": {"settings": {"LogicalProc": "Disabled"}}})).await?;
        wait::condition(&settings, "f1", LIMIT, "Valid", "True").await?;

        merge(&hosts, "f1", json!({"spec": {"online": true, "customDeploy": {"method": "x"}}})).await?;
        until_state(&hosts, "f1", "provisioned").await?;
        create(
            client,
            json!({"kind": "HostUpdatePolicy", "metadata": {"namespace": "firmware", "name": "f1"},
            "spec": {"firmwareUpdates": "onReboot"}}),
        )
        .await?;
        let update = json!([{"component": "bmc", "url": "https://files.test/bmc-7.20.30.50.bin"}]);
        merge(&components, "f1", json!({"spec": {"updates": update}})).await?;
        wait::condition(&components, "f1", LIMIT, "ChangeDetected", "True").await?;
        merge(
            &hosts,
            "f1",
            json!({"metadata": {"annotations": {"reboot.metal3.io": "", "sim.ocloud.dev/fail": "servicing",
            "sim.ocloud.dev/fail-count": "1"}}}),
        )
        .await?;
        wait::until(&hosts, "f1", LIMIT, "servicing", |h| {
            h.data["status"]["operationalStatus"] == "servicing"
        })
        .await?;
        wait::until(&hosts, "f1", LIMIT, "a servicing error", |h| {
            h.data["status"]["errorType"] == "servicing error"
        })
        .await?;
        wait::until(&components, "f1", LIMIT, "the BMC is new", |c| {
            c.data["status"]["components"][1]["currentVersion"] == "7.20.30.50"
        })
        .await?;
        let seen = wait::until(&hosts, "f1", LIMIT, "it runs again", |h| {
            h.data["status"]["poweredOn"] == true && h.data["status"]["operationalStatus"] == "OK"
        })
        .await?;
        ensure!(!seen.annotations().contains_key("reboot.metal3.io"));
        Ok(())
    })
}

#[test]
fn pause_detach_inspect_and_external_provisioning() -> Result<()> {
    lab::run(async {
        let client = &sims().await?.client;
        namespace(client, "modes").await?;
        let hosts = available_host(client, "modes", "m1", "02:00:00:00:dd:01").await?;
        merge(&hosts, "m1", json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}}))
            .await?;
        let paused = merge(&hosts, "m1", json!({"spec": {"online": true}})).await?;
        tokio::time::sleep(Duration::from_millis(400)).await;
        ensure!(
            hosts.get("m1").await?.resource_version() == paused.resource_version(),
            "a paused host is not written"
        );
        merge(&hosts, "m1", json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": null}}}))
            .await?;
        wait::until(&hosts, "m1", LIMIT, "it is on", |h| h.data["status"]["poweredOn"] == true).await?;

        merge(&hosts, "m1", json!({"metadata": {"annotations": {"inspect.metal3.io": ""}}})).await?;
        wait::until(&hosts, "m1", LIMIT, "it is inspected", |h| state(h) == "inspecting").await?;
        until_state(&hosts, "m1", "available").await?;
        merge(&hosts, "m1", json!({"spec": {"externallyProvisioned": true}})).await?;
        until_state(&hosts, "m1", "externally provisioned").await?;
        merge(&hosts, "m1", json!({"metadata": {"annotations": {"baremetalhost.metal3.io/detached": ""}}}))
            .await?;
        wait::until(&hosts, "m1", LIMIT, "detached", |h| h.data["status"]["operationalStatus"] == "detached")
            .await?;
        merge(&hosts, "m1", json!({"metadata": {"annotations": {"baremetalhost.metal3.io/detached": null}}}))
            .await?;
        until_state(&hosts, "m1", "externally provisioned").await?;
        Ok(())
    })
}

#[test]
fn the_api_server_refuses_what_bmo_refuses() -> Result<()> {
    lab::run(async {
        let client = &sims().await?.client;
        namespace(client, "rules").await?;
        let with = |change: &dyn Fn(&mut Value)| {
            let mut object = host("rules", "r0", "02:00:00:00:bb:01");
            change(&mut object);
            object
        };
        let cases: Vec<(Value, &str)> = vec![
            (
                with(&|o| o["spec"]["bmc"]["address"] = json!("telnet://192.0.2.1")),
                "Unknown BMC type 'telnet' for address telnet://192.0.2.1",
            ),
            (with(&|o| o["spec"]["bmc"]["address"] = json!("ipmi+http://192.0.2.1")), "Unknown BMC type"),
            (
                with(&|o| o["metadata"]["name"] = json!("6ba7b810-9dad-11d1-80b4-00c04fd430c8")),
                "cannot be a UUID",
            ),
            (
                with(&|o| {
                    o["spec"]["bmc"]["address"] = json!("redfish://192.0.2.1/x");
                    o["spec"]["bootMACAddress"] = Value::Null
                }),
                "BMC driver redfish requires a BootMACAddress value",
            ),
            (
                with(&|o| {
                    o["spec"]["bootMACAddress"] = Value::Null;
                    o["spec"]["inspectionMode"] = json!("disabled")
                }),
                "requires a BootMACAddress value",
            ),
            (
                with(&|o| o["spec"]["userData"] = json!({"name": "x", "namespace": "default"})),
                "userData: cross-namespace Secret references are not allowed",
            ),
            (with(&|o| o["spec"]["rootDeviceHints"] = json!({"deviceName": "sda"})), "must be a /dev/ path"),
            (
                with(&|o| o["spec"]["rootDeviceHints"] = json!({"deviceName": "/dev/x/sda"})),
                "must be path in /dev/ or /dev/disk/by-path/",
            ),
            (
                with(&|o| o["spec"]["image"] = json!({"url": "https://x.test/a.qcow2"})),
                "checksum is required for normal images",
            ),
            (
                with(&|o| o["spec"]["image"] = json!({"url": "a.qcow2", "checksum": "x"})),
                "image URL a.qcow2 is invalid",
            ),
            (
                with(&|o| o["metadata"]["annotations"] = json!({"inspect.metal3.io": "no"})),
                "invalid value for the inspect.metal3.io annotation",
            ),
            (
                with(&|o| o["metadata"]["annotations"] = json!({"inspect.metal3.io/hardwaredetails": "{}"})),
                "inspection must be disabled",
            ),
            (
                with(&|o| o["metadata"]["annotations"] = json!({"reboot.metal3.io": "now"})),
                "failed to unmarshal",
            ),
            (
                with(&|o| {
                    o["metadata"]["annotations"] = json!({"reboot.metal3.io/x": "{\"mode\":\"gentle\"}"})
                }),
                "invalid mode",
            ),
            (with(&|o| o["spec"]["disablePowerOff"] = json!(true)), "power off disabled"),
        ];
        for (object, expected) in cases {
            let answer = refusal(create(client, object).await);
            ensure!(
                answer.contains(expected) && answer.contains("denied"),
                "expected {expected:?}, got {answer}"
            );
        }
        for good in [
            with(&|o| {
                o["metadata"]["name"] = json!("g1");
                o["spec"]["bootMACAddress"] = Value::Null
            }),
            with(&|o| {
                o["metadata"]["name"] = json!("g2");
                o["spec"]["bmc"]["address"] = json!("192.0.2.1")
            }),
            with(&|o| {
                o["metadata"]["name"] = json!("g3");
                o["spec"]["bmc"]["address"] = json!("ilo5-redfish+http://192.0.2.1/x")
            }),
            with(&|o| {
                o["metadata"]["name"] = json!("g4");
                o["metadata"]["annotations"] =
                    json!({"reboot.metal3.io": "{\"mode\":\"hard\",\"force\":true}"})
            }),
            json!({"kind": "BareMetalHost", "metadata": {"namespace": "rules", "name": "g5"}, "spec": {"online": true}}),
        ] {
            create(client, good.clone()).await.with_context(|| good.to_string())?;
        }
        let hosts = available_host(client, "rules", "r1", "02:00:00:00:bb:02").await?;
        for (patch, expected) in [
            (
                json!({"spec": {"bootMACAddress": "02:00:00:00:bb:03"}}),
                "bootMACAddress can not be changed once it is set",
            ),
            (
                json!({"spec": {"bmc": {"address": "ipmi://192.0.2.77"}}}),
                "BMC address can not be changed if the BMH is not in the Registering state",
            ),
        ] {
            let answer = refusal(merge(&hosts, "r1", patch).await);
            ensure!(answer.contains(expected), "expected {expected:?}, got {answer}");
        }
        merge(&hosts, "r1", json!({"spec": {"bootMACAddress": "02:00:00:00:BB:02"}}))
            .await
            .context("another case")?;
        let answer = refusal(merge(&hosts, "g5", json!({"spec": {"externallyProvisioned": true}})).await);
        ensure!(
            answer.contains("externallyProvisioned can only be enabled when in Available state"),
            "{answer}"
        );
        let components = api(client, "HostFirmwareComponents", "rules");
        let bad = json!({"spec": {"updates": [{"component": "bios", "url": "bios.bin"}]}});
        let answer = refusal(merge(&components, "r1", bad).await);
        ensure!(
            answer.contains("invalid URL \"bios.bin\" in FirmwareUpdate in component \"bios\""),
            "{answer}"
        );
        Ok(())
    })
}

async fn site(client: &Client, cluster: &str, hosts: usize) -> Result<()> {
    let racks = format!("{cluster}-racks");
    for name in [cluster, &racks] {
        namespace(client, name).await?;
    }
    for at in 0..hosts {
        available_host(client, &racks, &format!("h{at}"), &format!("02:00:00:0{at}:cc:01")).await?;
    }
    Ok(())
}

async fn prerequisites(client: &Client, cluster: &str) -> Result<()> {
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

fn node(cluster: &str, at: usize, role: &str) -> Value {
    json!({
        "hostName": format!("n{at}.{cluster}.test"), "role": role, "bootMACAddress": format!("02:00:00:0{at}:cc:01"),
        "bmcAddress": "idrac-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1",
        "bmcCredentialsName": {"name": format!("h{at}-bmc")}, "ironicInspect": "disabled",
        "hostRef": {"name": format!("h{at}"), "namespace": format!("{cluster}-racks")},
        "templateRefs": [{"name": "ai-node", "namespace": cluster}],
        "nodeNetwork": {"interfaces": [{"name": "eno1", "macAddress": format!("02:00:00:0{at}:cc:01")}], "config": {"interfaces": []}},
    })
}

fn instance(cluster: &str, nodes: Vec<Value>) -> Value {
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
async fn until_reason(instances: &Api<DynamicObject>, cluster: &str, reason: &str) -> Result<DynamicObject> {
    wait::until(instances, cluster, LIMIT, &format!("Provisioned is {reason}"), |i| {
        condition(i, "Provisioned").is_some_and(|c| c["reason"] == reason)
    })
    .await
}

fn condition<'a>(object: &'a DynamicObject, type_: &str) -> Option<&'a Value> {
    object.data["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == type_)
}

/// The event, which may have happened already.
async fn event(sims: &Sims, wanted: impl Fn(&Event) -> bool) -> Result<Event> {
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

#[test]
fn a_cluster_is_validated_installed_extended_and_removed() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "harbor");
        site(client, cluster, 2).await?;
        let instances = api(client, "ClusterInstance", cluster);
        create(client, instance(cluster, vec![node(cluster, 0, "master")])).await?;
        let seen = wait::condition(&instances, cluster, LIMIT, "ClusterInstanceValidated", "False").await?;
        let text = condition(&seen, "ClusterInstanceValidated")
            .map(|c| c["message"].to_string())
            .unwrap_or_default();
        ensure!(text.contains("Validation failed: resource validation failed: encountered error validating ClusterImageSetNameRef: harbor-set"), "{text}");
        ensure!(seen.data["status"].get("observedGeneration").is_none());
        prerequisites(client, cluster).await?;

        let seen = until_reason(&instances, cluster, "Completed").await?;
        for (type_, message) in [
            ("ClusterInstanceValidated", "Validation succeeded"),
            ("RenderedTemplates", "Rendered templates successfully"),
            ("RenderedTemplatesValidated", "Rendered templates validation succeeded"),
            ("RenderedTemplatesApplied", "Applied site config manifests"),
            ("Provisioned", "Provisioning completed"),
        ] {
            let condition = condition(&seen, type_).context("condition")?;
            ensure!(condition["status"] == "True" && condition["message"] == message, "{condition}");
        }
        ensure!(seen.finalizers() == ["clusterinstance.siteconfig.open-cluster-management.io/finalizer"]);
        let installed = event(sims, |e| matches!(e, Event::Installed(i) if i.cluster == "harbor")).await?;
        let Event::Installed(installed) = installed else { bail!("not installed") };
        ensure!(
            installed.version == "4.20.1"
                && installed.hosts == [("n0.harbor.test".to_owned(), "master".to_owned())]
        );
        let managed = api(client, "ManagedCluster", "");
        let seen = managed.get(cluster).await?;
        for (label, value) in
            [("site", "east"), ("name", "harbor"), ("vendor", "OpenShift"), ("openshiftVersion", "4.20.1")]
        {
            ensure!(seen.labels().get(label).is_some_and(|v| v == value), "{label}: {:?}", seen.labels());
        }
        ensure!(seen.labels()["clusterID"] == installed.cluster_id);
        ensure!(seen.annotations()["import.open-cluster-management.io/disable-auto-import"] == "true");
        ensure!(seen.data["spec"]["hubAcceptsClient"] == true);
        let agents = api(client, "Agent", "harbor-racks").list(&Default::default()).await?.items;
        ensure!(agents.len() == 1 && agents[0].data["spec"]["hostname"] == "n0.harbor.test");
        ensure!(agents[0].labels()["agent-install.openshift.io/clusterdeployment-namespace"] == "harbor");
        let hosts = api(client, "BareMetalHost", "harbor-racks");
        let seen = until_state(&hosts, "h0", "provisioned").await?;
        ensure!(seen.labels()["siteconfig.open-cluster-management.io/owned-by"] == "harbor_harbor");
        ensure!(seen.data["spec"].get("consumerRef").is_none());

        // Day 2: a worker more, then another image set. AgentClusterInstall must be suppressed for that.
        let nodes = json!({"spec": {"nodes": [node(cluster, 0, "master"), node(cluster, 1, "worker")]}});
        merge(&instances, cluster, nodes).await?;
        event(sims, |e| matches!(e, Event::HostAdded { cluster, .. } if cluster == "harbor")).await?;
        create(client, json!({"kind": "ClusterImageSet", "metadata": {"name": "harbor-next"}, "spec": {"releaseImage": "x:4.20.2-x86_64"}})).await?;
        merge(&instances, cluster, json!({"spec": {"clusterImageSetNameRef": "harbor-next"}})).await?;
        let seen = wait::condition(&instances, cluster, LIMIT, "RenderedTemplatesValidated", "False").await?;
        let text = condition(&seen, "RenderedTemplatesValidated")
            .map(|c| c["message"].to_string())
            .unwrap_or_default();
        ensure!(
            text.contains("Rendered manifests failed dry-run validation, err: ")
                && text.contains("immutable after install started"),
            "{text}"
        );
        merge(&instances, cluster, json!({"spec": {"suppressedManifests": ["AgentClusterInstall"]}})).await?;
        wait::until(&instances, cluster, LIMIT, "it is rendered again", |i| {
            i.data["status"]["observedGeneration"].as_i64() == i.metadata.generation
        })
        .await?;

        // The hardware manager has taken one host back: that one stays, the other goes.
        let mine = json!({"metadata": {"labels": {"siteconfig.open-cluster-management.io/owned-by": null}}});
        merge(&hosts, "h0", mine).await?;
        instances.delete(cluster, &DeleteParams::default()).await?;
        wait::gone(&instances, cluster, LIMIT).await?;
        wait::gone(&managed, cluster, LIMIT).await?;
        wait::gone(&hosts, "h1", LIMIT).await?;
        ensure!(hosts.get_opt("h0").await?.is_some());
        ensure!(api(client, "Agent", "harbor-racks").list(&Default::default()).await?.items.is_empty());
        ensure!(api(client, "InfraEnv", "harbor-racks").list(&Default::default()).await?.items.is_empty());
        Ok(())
    })
}

#[test]
fn an_installation_is_held_hangs_or_fails_as_told() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "reef");
        site(client, cluster, 1).await?;
        prerequisites(client, cluster).await?;
        sims.control.outcome(cluster, Outcome::Hang);
        let mut object = instance(cluster, vec![node(cluster, 0, "master")]);
        object["spec"]["holdInstallation"] = json!(true);
        create(client, object).await?;
        let instances = api(client, "ClusterInstance", cluster);
        until_state(&api(client, "BareMetalHost", "reef-racks"), "h0", "provisioned").await?;
        let seen = until_reason(&instances, cluster, "Unknown").await?;
        ensure!(
            condition(&seen, "Provisioned")
                .is_some_and(|c| c["message"] == "Waiting for provisioning to start")
        );
        merge(&instances, cluster, json!({"spec": {"baseDomain": "other.test", "holdInstallation": false}}))
            .await?;
        let seen = until_reason(&instances, cluster, "InProgress").await?;
        ensure!(condition(&seen, "Provisioned").is_some_and(|c| c["message"] == "Provisioning cluster"));
        let answer = refusal(
            merge(&instances, cluster, json!({"spec": {"extraLabels": {"ManagedCluster": {"a": "b"}}}}))
                .await,
        );
        ensure!(
            answer.contains("spec update not allowed during provisioning or cluster reinstalls"),
            "{answer}"
        );
        let told = |how: &str| json!({"metadata": {"annotations": {"sim.ocloud.dev/install": how}}});
        merge(&instances, cluster, told("fail")).await?;
        let seen = until_reason(&instances, cluster, "Failed").await?;
        ensure!(condition(&seen, "Provisioned").is_some_and(|c| c["message"] == "Provisioning failed"));
        merge(&instances, cluster, told("complete")).await?;
        until_reason(&instances, cluster, "Completed").await?;

        // Paused: nothing happens, not even the deletion.
        let pause = |value: Value| json!({"metadata": {"annotations": {"clusterinstance.siteconfig.open-cluster-management.io/paused": value}}});
        merge(&instances, cluster, pause(json!(""))).await?;
        instances.delete(cluster, &DeleteParams::default()).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        ensure!(instances.get_opt(cluster).await?.is_some());
        merge(&instances, cluster, pause(Value::Null)).await?;
        wait::gone(&instances, cluster, LIMIT).await?;
        event(sims, |e| matches!(e, Event::Removed { cluster } if cluster == "reef")).await?;
        Ok(())
    })
}

/// spec/02 9.3 and scenarios 147 to 151.
#[test]
fn s02_147_s02_148_s02_149_s02_150_s02_151_the_api_server_refuses_what_siteconfig_refuses() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let (client, cluster) = (&sims.client, "fjord");
        site(client, cluster, 2).await?;
        prerequisites(client, cluster).await?;
        let plain = instance(cluster, vec![node(cluster, 0, "master")]);
        let with = |change: &dyn Fn(&mut Value)| {
            let mut object = plain.clone();
            change(&mut object["spec"]);
            object
        };
        for (object, expected) in [
            (
                with(&|s| s["reinstall"] = json!({"generation": "a", "preservationMode": "None"})),
                "reinstall spec cannot be set during initial installation",
            ),
            (
                with(&|s| s["templateRefs"] = json!([])),
                "validation failed: missing cluster-level template reference",
            ),
            (
                with(&|s| s["nodes"][0]["templateRefs"] = json!([])),
                "validation failed: missing node-level template reference for node \"n0.fjord.test\"",
            ),
            (
                with(&|s| s["nodes"][0]["role"] = json!("worker")),
                "at least 1 control-plane agent is required",
            ),
            (
                with(&|s| {
                    s["clusterType"] = json!("SNO");
                    s["nodes"] = json!([node(cluster, 0, "master"), node(cluster, 1, "master")])
                }),
                "must have exactly 1 control-plane agent",
            ),
            (with(&|s| s["clusterType"] = json!("HostedControlPlane")), "must not have control-plane agents"),
            (
                with(&|s| s["installConfigOverrides"] = json!("{bad")),
                "installConfigOverrides is not a valid JSON-formatted string",
            ),
        ] {
            let answer = refusal(create(client, object).await);
            ensure!(
                answer.contains(expected) && answer.contains("denied"),
                "expected {expected:?}, got {answer}"
            );
        }
        sims.control.outcome(cluster, Outcome::HangStart);
        create(client, with(&|s| s["installConfigOverrides"] = json!("{\"a\": [1]}"))).await?;
        let instances = api(client, "ClusterInstance", cluster);
        let refused = async |patch: Value, expected: &str| -> Result<()> {
            let answer = refusal(merge(&instances, cluster, json!({"spec": patch})).await);
            ensure!(answer.contains(expected), "expected {expected:?}, got {answer}");
            Ok(())
        };
        let busy = "spec update not allowed during provisioning or cluster reinstalls";
        refused(json!({"baseDomain": "other"}), busy).await?;
        until_reason(&instances, cluster, "Unknown").await?;
        refused(json!({"extraLabels": {"ManagedCluster": {"a": "b"}}}), busy).await?;
        refused(
            json!({"holdInstallation": true}),
            "holdInstallation can only be set to true during creation",
        )
        .await?;
        sims.control.outcome(cluster, Outcome::Complete);
        merge(&instances, cluster, json!({"metadata": {"annotations": {"note": "go on"}}})).await?;
        until_reason(&instances, cluster, "Completed").await?;
        merge(&instances, cluster, json!({"spec": {"extraLabels": {"ManagedCluster": {"a": "b"}}}})).await?;
        wait::until(&api(client, "ManagedCluster", ""), cluster, LIMIT, "it has the label", |c| {
            c.labels().contains_key("a")
        })
        .await?;
        refused(
            json!({"baseDomain": "other", "sshPublicKey": "k"}),
            "detected unauthorized changes in immutable fields: /baseDomain, /sshPublicKey",
        )
        .await?;
        let mut changed = node(cluster, 0, "master");
        changed["bmcAddress"] = json!("ipmi://192.0.2.5");
        refused(json!({"nodes": [changed]}), "detected unauthorized node modifications: [node n0.fjord.test: unauthorized change to bmcAddress]").await?;
        let mut labelled = node(cluster, 0, "master");
        labelled["extraLabels"] = json!({"BareMetalHost": {"x": "y"}});
        merge(&instances, cluster, json!({"spec": {"nodes": [labelled, node(cluster, 1, "worker")]}}))
            .await?;
        Ok(())
    })
}

#[test]
fn policies_reach_their_clusters_and_are_judged() -> Result<()> {
    lab::run(async {
        let sims = sims().await?;
        let client = &sims.client;
        for name in ["ztp-demo", "pol-a", "pol-b"] {
            namespace(client, name).await?;
        }
        for (name, tier) in [("pol-a", "1"), ("pol-b", "2")] {
            create(
                client,
                json!({"kind": "ManagedCluster", "metadata": {"name": name, "labels": {"demo-tier": tier}},
                "spec": {"hubAcceptsClient": false}}),
            )
            .await?;
        }
        create(client, json!({"kind": "ConfigMap", "metadata": {"namespace": "ztp-demo", "name": "pol-a-pg"}, "data": {"level": "debug"}})).await?;
        create(client, json!({"kind": "Placement", "metadata": {"namespace": "ztp-demo", "name": "one"}, "spec": {"predicates": [
            {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"demo-tier": "1"}}}}]}})).await?;
        create(client, json!({"kind": "PlacementBinding", "metadata": {"namespace": "ztp-demo", "name": "one"},
            "placementRef": {"apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "one"},
            "subjects": [{"apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": "conf"}]})).await?;
        let hub = r#"{{hub fromConfigMap "" (printf "%s-pg" .ManagedClusterName) "level" hub}}-{{hub .ManagedClusterName hub}}"#;
        let root = json!({"kind": "Policy", "metadata": {"namespace": "ztp-demo", "name": "conf",
            "labels": {"team": "ran"}, "annotations": {"clustertemplates.clcm.openshift.io/templates": "demo.v1"}},
            "spec": {"disabled": false, "remediationAction": "enforce", "policy-templates": [{"objectDefinition": {
                "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy", "metadata": {"name": "conf"},
                "spec": {"remediationAction": "inform", "severity": "low", "object-templates": [{"complianceType": "musthave",
                    "objectDefinition": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}, "data": {"level": hub}}}]}}}]}});
        sims.verdicts.verdict("ztp-demo.conf", "pol-a", policy::Verdict::NonCompliant);
        create(client, root).await?;
        let replicas = api(client, "Policy", "pol-a");
        let told = |wanted: &'static str| move |p: &DynamicObject| p.data["status"]["compliant"] == wanted;
        let seen =
            wait::until(&replicas, "ztp-demo.conf", LIMIT, "it is not compliant", told("NonCompliant"))
                .await?;
        ensure!(seen.labels()["policy.open-cluster-management.io/root-policy"] == "ztp-demo.conf");
        ensure!(
            seen.labels()["policy.open-cluster-management.io/cluster-name"] == "pol-a"
                && seen.labels()["team"] == "ran"
        );
        ensure!(seen.annotations()["clustertemplates.clcm.openshift.io/templates"] == "demo.v1");
        ensure!(seen.data["spec"].to_string().contains("debug-pol-a"), "{}", seen.data["spec"]);
        let first = seen.data["status"]["details"][0]["history"][0]["eventName"].clone();
        let roots = api(client, "Policy", "ztp-demo");
        wait::until(&roots, "conf", LIMIT, "the root says so", told("NonCompliant")).await?;
        sims.verdicts.verdict("ztp-demo.conf", "pol-a", policy::Verdict::Compliant);
        let seen =
            wait::until(&replicas, "ztp-demo.conf", LIMIT, "it is compliant", told("Compliant")).await?;
        ensure!(seen.data["status"]["details"][0]["history"][0]["eventName"] != first);
        let seen = wait::until(&roots, "conf", LIMIT, "the root is compliant", told("Compliant")).await?;
        ensure!(
            seen.data["status"]["status"]
                == json!([{"clustername": "pol-a", "clusternamespace": "pol-a", "compliant": "Compliant"}])
        );

        // Another cluster fits now, but has no ConfigMap for the template.
        let clusters = api(client, "ManagedCluster", "");
        merge(&clusters, "pol-b", json!({"metadata": {"labels": {"demo-tier": "1"}}})).await?;
        let others = api(client, "Policy", "pol-b");
        let seen =
            wait::until(&others, "ztp-demo.conf", LIMIT, "it is not compliant", told("NonCompliant")).await?;
        ensure!(
            seen.data["status"]["details"]
                .to_string()
                .contains("NonCompliant; template-error; failed to resolve the template")
        );
        create(client, json!({"kind": "ConfigMap", "metadata": {"namespace": "ztp-demo", "name": "pol-b-pg"}, "data": {"level": "info"}})).await?;
        wait::until(&others, "ztp-demo.conf", LIMIT, "it is compliant", told("Compliant")).await?;
        merge(&clusters, "pol-a", json!({"metadata": {"labels": {"demo-tier": "2"}}})).await?;
        wait::gone(&replicas, "ztp-demo.conf", LIMIT).await?;
        roots.delete("conf", &DeleteParams::default()).await?;
        wait::gone(&others, "ztp-demo.conf", LIMIT).await?;
        Ok(())
    })
}

#[test]
fn a_spoke_looks_like_a_fresh_cluster() -> Result<()> {
    lab::run(async {
        let lab = Lab::shared().await?;
        let spoke = lab.spoke("fresh").await?;
        let client = spoke.client();
        let cluster = openshift::Cluster::new("4.20.1", &["m0", "m1", "m2", "w0"]);
        openshift::seed(&client, &cluster).await?;
        openshift::seed(&client, &cluster).await.context("a second time")?;
        let version = api(&client, "ClusterVersion", "").get("version").await?;
        ensure!(version.data["status"]["history"][0]["version"] == "4.20.1");
        ensure!(
            version.data["status"]["desired"]["version"] == "4.20.1"
                && version.data["status"]["availableUpdates"].is_null()
        );
        ensure!(condition(&version, "Available").is_some_and(|c| c["status"] == "True"));
        let operators = api(&client, "ClusterOperator", "").list(&Default::default()).await?.items;
        ensure!(
            operators.len() > 20
                && operators.iter().all(|o| o.data["status"]["versions"][0]["version"] == "4.20.1")
        );
        let pools = api(&client, "MachineConfigPool", "");
        for (pool, machines) in [("master", 3), ("worker", 1)] {
            let pool = pools.get(pool).await?;
            ensure!(pool.data["status"]["readyMachineCount"] == machines);
        }
        openshift::add_node(&client, "w1", openshift::Role::Worker, "4.20.1").await?;
        let nodes = api(&client, "Node", "").list(&Default::default()).await?.items;
        ensure!(
            nodes.len() == 5
                && nodes.iter().all(|n| condition(n, "Ready").is_some_and(|c| c["status"] == "True"))
        );
        Ok(())
    })
}
