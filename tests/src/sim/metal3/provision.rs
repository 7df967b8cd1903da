//! Preparing, available, provisioning, provisioned, deprovisioning.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::value::{at, flag, items, put, remove, text};
use super::firmware::Firmware;
use super::pass::{Next, Pass, Progress, Stage};

/// After so many failed attempts BMO gives up until the image changes (flag `-max-provisioning-retries`).
const ATTEMPTS: i64 = 5;

impl Pass<'_> {
    pub(super) async fn preparing(&mut self, firmware: &Firmware) -> Next {
        if !firmware.is_ready() {
            return Ok(firmware.again.or(Some(self.times().firmware)));
        }
        let stage = Stage {
            name: "preparing",
            error_type: "preparation error",
            message: "Clean step bios.apply_configuration failed: the BMC did not complete the job",
            lasts: self.lasts("preparing", self.times().prepare),
            status: "OK",
        };
        if let Progress::Wait(left) = self.go_through(&stage).await? {
            return Ok(left);
        }
        if let Some(missing) = firmware.unknown_component() {
            let message = format!("Clean step firmware.update failed: no component {missing} on this host");
            return self.keep_failing("preparation error", &message).await;
        }
        self.flash(firmware, true, true).await?;
        let hints = self.root_device_hints();
        self.set("provisioning/rootDeviceHints", hints);
        if let Value::Object(raid) = at(&self.host, "/spec/raid") {
            let raid = Value::Object(raid.clone());
            self.set("provisioning/raid", raid);
        }
        self.enter("available").await
    }

    /// An error of the host itself, not of a knob: again and again with the usual pauses.
    pub(super) async fn keep_failing(&mut self, error_type: &str, message: &str) -> Next {
        self.fail(error_type, message).await?;
        Ok(Some(self.times().retry))
    }

    pub(super) async fn available(&mut self, firmware: &Firmware) -> Next {
        if flag(&self.host, "/spec/externallyProvisioned") {
            if let Some(left) = self.left("adopt", self.times().notice) {
                return Ok(Some(left));
            }
            return self.enter("externally provisioned").await;
        }
        if self.wants_inspection() {
            return self.start_inspection().await;
        }
        let hints = self.root_device_hints();
        if firmware.is_dirty() || at(&self.host, "/status/provisioning/rootDeviceHints") != &hints {
            if let Some(left) = self.left("prepare again", self.times().notice) {
                return Ok(Some(left));
            }
            return self.enter("preparing").await;
        }
        if self.is_online() && self.has_something_new_to_deploy() && !self.has_given_up() {
            self.sync_image().await?;
            let boot_mode = self.boot_mode();
            self.set("provisioning/bootMode", json!(boot_mode));
            if let Value::Object(image) = at(&self.host, "/spec/image") {
                let image = Value::Object(image.clone());
                self.set("lastAttemptedImage", image);
            }
            self.history("provision", "start");
            return self.enter("provisioning").await;
        }
        self.follow_power().await
    }

    /// Limit of attempts reached with this very image.
    fn has_given_up(&self) -> bool {
        self.provisioning_failures() >= ATTEMPTS
            && text(&self.host, "/status/lastAttemptedImage/url") == text(&self.host, "/spec/image/url")
    }

    fn has_something_new_to_deploy(&self) -> bool {
        ["image/url", "customDeploy/method"].into_iter().any(|field| {
            let wanted = text(&self.host, &format!("/spec/{field}"));
            !wanted.is_empty() && wanted != text(&self.host, &format!("/status/provisioning/{field}"))
        })
    }

    /// What was deployed is no longer wanted.
    fn must_deprovision(&self) -> bool {
        ["image/url", "customDeploy/method"].into_iter().any(|field| {
            let deployed = text(&self.host, &format!("/status/provisioning/{field}"));
            !deployed.is_empty() && deployed != text(&self.host, &format!("/spec/{field}"))
        })
    }

    fn deployed(&self) -> [(&'static str, Value); 2] {
        ["image", "customDeploy"].map(|field| (field, at(&self.host, &format!("/spec/{field}")).clone()))
    }

    pub(super) async fn provisioning(&mut self) -> Next {
        if !self.has_something_new_to_deploy() {
            return self.start_deprovisioning().await;
        }
        let failures = self.provisioning_failures();
        let stage = Stage {
            name: "provisioning",
            error_type: "provisioning error",
            message: "Image provisioning failed: Deploy step deploy.deploy failed: the agent did not come back",
            lasts: self.lasts("provisioning", self.times().provision),
            status: "OK",
        };
        let failed_before = self.is_in_error(stage.error_type);
        if let Progress::Wait(left) = self.go_through(&stage).await? {
            let fails_now = self.is_in_error(stage.error_type);
            if !failed_before && fails_now {
                self.set("provisioningFailCount", json!(failures + 1));
                self.save().await?;
            }
            if failed_before && !fails_now {
                // The failed attempt is cleaned up before the next one.
                return self.start_deprovisioning().await;
            }
            return Ok(left);
        }
        for (field, value) in self.deployed() {
            if value.is_object() {
                self.set(&format!("provisioning/{field}"), value);
            }
        }
        self.set("provisioningFailCount", json!(0));
        self.set("poweredOn", json!(true));
        self.history("provision", "end");
        self.enter("provisioned").await
    }

    pub(super) async fn provisioned(&mut self, firmware: &Firmware) -> Next {
        if self.must_deprovision() {
            if let Some(left) = self.left("deprovision", self.times().notice) {
                return Ok(Some(left));
            }
            return self.start_deprovisioning().await;
        }
        self.run_host(firmware).await
    }

    pub(super) async fn externally_provisioned(&mut self, firmware: &Firmware) -> Next {
        if !flag(&self.host, "/spec/externallyProvisioned") {
            let is_known =
                !items(&self.host, "/status/hardware/nics").is_empty() || self.is_inspection_disabled();
            return if is_known { self.enter("preparing").await } else { self.start_inspection().await };
        }
        self.run_host(firmware).await
    }

    pub(super) async fn start_deprovisioning(&mut self) -> Next {
        self.history("deprovision", "start");
        self.enter("deprovisioning").await
    }

    pub(super) fn deprovisioning_lasts(&self) -> Duration {
        let cleans = text(&self.host, "/spec/automatedCleaningMode") != "disabled";
        let cleaning = if cleans { self.times().clean } else { Duration::ZERO };
        self.lasts("deprovisioning", self.times().deprovision + cleaning)
    }

    pub(super) async fn deprovisioning(&mut self) -> Next {
        if let Some(left) = self.left("deprovisioning", self.deprovisioning_lasts()) {
            return Ok(Some(left));
        }
        self.forget_deployed();
        self.enter("available").await
    }

    pub(super) fn forget_deployed(&mut self) {
        put(&mut self.host, "status/provisioning/image", json!({"url": ""}));
        remove(&mut self.host, "/status/provisioning/customDeploy");
        self.set("poweredOn", json!(false));
        self.history("deprovision", "end");
    }
}
