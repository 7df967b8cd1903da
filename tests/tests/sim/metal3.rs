//! Hosts.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use tests::lab::{self, wait};

use super::kit::{
    LIMIT, api, available_host, bmc_secret, create, host, merge, namespace, refusal, sims, state, until_state,
};

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
                    o["spec"]["bootMACAddress"] = Value::Null;
                }),
                "BMC driver redfish requires a BootMACAddress value",
            ),
            (
                with(&|o| {
                    o["spec"]["bootMACAddress"] = Value::Null;
                    o["spec"]["inspectionMode"] = json!("disabled");
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
                    o["metadata"]["annotations"] = json!({"reboot.metal3.io/x": "{\"mode\":\"gentle\"}"});
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
                o["spec"]["bootMACAddress"] = Value::Null;
            }),
            with(&|o| {
                o["metadata"]["name"] = json!("g2");
                o["spec"]["bmc"]["address"] = json!("192.0.2.1");
            }),
            with(&|o| {
                o["metadata"]["name"] = json!("g3");
                o["spec"]["bmc"]["address"] = json!("ilo5-redfish+http://192.0.2.1/x");
            }),
            with(&|o| {
                o["metadata"]["name"] = json!("g4");
                o["metadata"]["annotations"] =
                    json!({"reboot.metal3.io": "{\"mode\":\"hard\",\"force\":true}"});
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
