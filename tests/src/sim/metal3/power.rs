//! Power, reboots, and firmware updates of a running host.

use serde_json::json;

use super::super::kinds::UPDATE_POLICY;
use super::super::store::Result;
use super::super::value::{entries, items, text};
use super::firmware::Firmware;
use super::pass::{Next, Pass, Progress, Stage};

const REBOOT: &str = "reboot.metal3.io";

impl Pass<'_> {
    /// Annotations that keep a running host off: `(without client, with client)`.
    fn reboots(&self) -> (bool, bool) {
        let keys: Vec<&str> =
            entries(&self.host, "/metadata/annotations").into_iter().map(|(k, _)| k).collect();
        let with_client = format!("{REBOOT}/");
        (keys.contains(&REBOOT), keys.iter().any(|k| k.starts_with(&with_client)))
    }

    /// Power follows `spec.online`.
    pub(super) async fn follow_power(&mut self) -> Next {
        let wanted = self.is_online();
        self.switch(wanted).await
    }

    async fn switch(&mut self, on: bool) -> Next {
        if self.is_powered_on() == on && !self.is_in_error("power management error") {
            return Ok(None);
        }
        let stage = Stage {
            name: "power",
            error_type: "power management error",
            message: "Failed to change power state: the BMC does not answer",
            lasts: self.lasts("power", self.times().power),
            status: "OK",
        };
        if let Progress::Wait(left) = self.go_through(&stage).await? {
            return Ok(left);
        }
        self.set("poweredOn", json!(on));
        self.set("errorCount", json!(0));
        self.clear_error("OK");
        self.save().await?;
        Ok(None)
    }

    /// A provisioned or externally provisioned host: power, reboots, servicing.
    pub(super) async fn run_host(&mut self, firmware: &Firmware) -> Next {
        let (plain, held) = self.reboots();
        if !self.is_online() {
            if plain {
                self.annotate(&json!({REBOOT: null})).await?;
                return Ok(None);
            }
            return self.switch(false).await;
        }
        if (plain || held) && self.is_powered_on() {
            return self.switch(false).await;
        }
        if plain {
            self.annotate(&json!({REBOOT: null})).await?;
            return Ok(None);
        }
        if held {
            return Ok(None);
        }
        if !self.is_powered_on() {
            let is_servicing = self.operational() == "servicing" || self.is_in_error(SERVICING);
            let due = self.due_for_service(firmware).await?;
            if is_servicing || due.0 || due.1 {
                return self.service(firmware, due, is_servicing).await;
            }
        }
        self.switch(true).await
    }

    /// Which of BIOS settings and firmware a reboot shall update.
    async fn due_for_service(&self, firmware: &Firmware) -> Result<(bool, bool)> {
        let Some(policy) = self.store().get(UPDATE_POLICY, &self.key.0, &self.key.1).await? else {
            return Ok((false, false));
        };
        if items(&policy, "/metadata/ownerReferences").is_empty() {
            let patch = json!({"metadata": {"ownerReferences": [self.owner(true)]}});
            self.store().merge(UPDATE_POLICY, &self.key.0, &self.key.1, &patch).await?;
        }
        let on_reboot = |field: &str| text(&policy, &format!("/spec/{field}")) == "onReboot";
        Ok((
            on_reboot("firmwareSettings") && firmware.is_settings_dirty(),
            on_reboot("firmwareUpdates") && firmware.is_components_dirty(),
        ))
    }

    async fn service(&mut self, firmware: &Firmware, due: (bool, bool), is_servicing: bool) -> Next {
        if !is_servicing {
            self.set("operationalStatus", json!("servicing"));
            self.save().await?;
            return Ok(None);
        }
        if firmware.has_no_wish() {
            self.set("errorCount", json!(0));
            self.clear_error("OK");
            self.save().await?;
            return Ok(None);
        }
        let stage = Stage {
            name: "servicing",
            error_type: SERVICING,
            message: "Service step firmware.update failed: the update task ended with an exception",
            lasts: self.lasts("servicing", self.times().service),
            status: "servicing",
        };
        let had_error = self.is_in_error(SERVICING);
        if let Progress::Wait(left) = self.go_through(&stage).await? {
            if !had_error && self.is_in_error(SERVICING) {
                self.forget_updates(firmware).await?;
            }
            return Ok(left);
        }
        if let Some(missing) = firmware.unknown_component() {
            let message = format!("Service step firmware.update failed: no component {missing} on this host");
            return self.keep_failing(SERVICING, &message).await;
        }
        self.flash(firmware, due.0, due.1).await?;
        self.set("errorCount", json!(0));
        self.clear_error("OK");
        self.save().await?;
        Ok(None)
    }
}

const SERVICING: &str = "servicing error";
