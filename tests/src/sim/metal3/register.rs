//! From a new host to a registered one: BMC credentials, and the objects that exist for every registered host.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::kinds::{FIRMWARE_COMPONENTS, FIRMWARE_SETTINGS, SECRET};
use super::super::store::Result;
use super::super::value::{annotation, at, flag, items, label, number, put, text};
use super::ENVIRONMENT;
use super::pass::{Next, Pass, Progress, Stage};

/// Keeps the BMC Secret as long as the host exists.
pub(super) const SECRET_FINALIZER: &str = "baremetalhost.metal3.io/secret";
const REGISTRATION: &str = "registration error";

impl Pass<'_> {
    pub(super) fn has_bmc(&self) -> bool {
        !text(&self.host, "/spec/bmc/address").is_empty()
            || !text(&self.host, "/spec/bmc/credentialsName").is_empty()
    }

    pub(super) async fn unmanaged(&mut self) -> Next {
        if self.state() == "unmanaged" {
            return Ok(None);
        }
        if let Some(left) = self.left("accept", self.times().accept) {
            return Ok(Some(left));
        }
        self.set("provisioning/state", json!("unmanaged"));
        self.set("operationalStatus", json!("discovered"));
        self.save().await?;
        Ok(None)
    }

    pub(super) async fn accept(&mut self) -> Next {
        if let Some(left) = self.left("accept", self.times().accept) {
            return Ok(Some(left));
        }
        self.set("poweredOn", json!(false));
        self.set("provisioning/ID", json!(""));
        self.history("register", "start");
        self.enter("registering").await
    }

    /// Checks the BMC Secret and takes hold of it. `Some` ends the pass.
    pub(super) async fn credentials(&mut self) -> Result<Option<Option<Duration>>> {
        let (namespace, name) =
            (self.key.0.clone(), text(&self.host, "/spec/bmc/credentialsName").to_owned());
        let Some(secret) = self.store().get(SECRET, &namespace, &name).await? else {
            let message = format!("The BMC secret {namespace}/{name} does not exist");
            self.refuse(&message).await?;
            return Ok(Some(Some(self.times().look_again)));
        };
        let secret = self.hold(secret).await?;
        let missing =
            ["username", "password"].into_iter().find(|k| text(&secret, &format!("/data/{k}")).is_empty());
        if let Some(missing) = missing {
            self.refuse(&format!("Missing BMC connection detail '{missing}' in credentials")).await?;
            return Ok(Some(None));
        }
        let used = json!({
            "credentials": {"name": name, "namespace": namespace},
            "credentialsVersion": text(&secret, "/metadata/resourceVersion"),
        });
        if self.state() == "registering" {
            if at(&self.host, "/status/triedCredentials") == &used {
                return Ok(None);
            }
            self.set("triedCredentials", used);
            if !self.is_told_registration_fails() {
                self.clear_error("OK");
            }
            self.save().await?;
            return Ok(Some(None));
        }
        let is_known = at(&self.host, "/status/goodCredentials") == &used;
        if is_known && !self.is_in_error(REGISTRATION) {
            return Ok(None);
        }
        self.set("triedCredentials", used.clone());
        self.set("goodCredentials", used);
        if self.is_in_error(REGISTRATION) {
            self.set("errorCount", json!(0));
            self.clear_error("OK");
        }
        self.save().await?;
        Ok(Some(None))
    }

    fn is_told_registration_fails(&self) -> bool {
        self.is_in_error(REGISTRATION) && text(&self.host, "/status/errorMessage") == FAILED
    }

    /// Label, finalizer and owner of the BMC Secret.
    async fn hold(&self, secret: Value) -> Result<Value> {
        let owner = self.owner(false);
        let uid = text(&owner, "/uid").to_owned();
        let is_owned = items(&secret, "/metadata/ownerReferences").iter().any(|o| text(o, "/uid") == uid);
        let is_held = super::super::value::has_finalizer(&secret, SECRET_FINALIZER);
        if is_owned && is_held && label(&secret, ENVIRONMENT.0) == Some(ENVIRONMENT.1) {
            return Ok(secret);
        }
        let mut owners = items(&secret, "/metadata/ownerReferences").to_vec();
        if !is_owned {
            owners.push(owner);
        }
        let mut finalizers = items(&secret, "/metadata/finalizers").to_vec();
        if !is_held {
            finalizers.push(json!(SECRET_FINALIZER));
        }
        let patch = json!({"metadata": {
            "resourceVersion": text(&secret, "/metadata/resourceVersion"),
            "labels": {ENVIRONMENT.0: ENVIRONMENT.1}, "ownerReferences": owners, "finalizers": finalizers,
        }});
        self.store().merge(SECRET, &self.key.0, super::super::value::name(&secret), &patch).await
    }

    /// A registration error, written once.
    async fn refuse(&mut self, message: &str) -> Result<()> {
        if self.is_in_error(REGISTRATION) && text(&self.host, "/status/errorMessage") == message {
            return Ok(());
        }
        self.fail(REGISTRATION, message).await
    }

    pub(super) async fn registering(&mut self) -> Next {
        let stage = Stage {
            name: "registration",
            error_type: REGISTRATION,
            message: FAILED,
            lasts: self.lasts("registering", self.times().register),
            status: "OK",
        };
        if let Progress::Wait(left) = self.go_through(&stage).await? {
            return Ok(left);
        }
        self.make_firmware_objects().await?;
        self.sync_image().await?;
        if text(&self.host, "/status/provisioning/ID").is_empty() {
            let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{}/{}", self.key.0, self.key.1).as_bytes());
            self.set("provisioning/ID", json!(id));
        }
        let used = at(&self.host, "/status/triedCredentials").clone();
        self.set("goodCredentials", used);
        self.set("hardwareProfile", json!("unknown"));
        let boot_mode = self.boot_mode();
        self.set("provisioning/bootMode", json!(boot_mode));
        let hints = self.root_device_hints();
        self.set("provisioning/rootDeviceHints", hints);
        self.history("register", "end");
        if flag(&self.host, "/spec/externallyProvisioned") {
            let online = self.is_online();
            self.set("poweredOn", json!(online));
            return self.enter("externally provisioned").await;
        }
        if self.is_inspection_disabled() {
            return self.enter("preparing").await;
        }
        self.start_inspection().await
    }

    pub(super) fn boot_mode(&self) -> String {
        match text(&self.host, "/spec/bootMode") {
            "" => "UEFI".to_owned(),
            mode => mode.to_owned(),
        }
    }

    /// The hints in force: the host's own, else the first disk.
    pub(super) fn root_device_hints(&self) -> Value {
        match at(&self.host, "/spec/rootDeviceHints") {
            Value::Object(hints) if !hints.is_empty() => Value::Object(hints.clone()),
            _ => json!({"deviceName": "/dev/sda"}),
        }
    }

    pub(super) fn is_inspection_disabled(&self) -> bool {
        annotation(&self.host, "inspect.metal3.io") == Some("disabled")
            || text(&self.host, "/spec/inspectionMode") == "disabled"
    }

    /// `HostFirmwareSettings`, and `HostFirmwareComponents` when the BMC reports any.
    async fn make_firmware_objects(&self) -> Result<()> {
        let metadata = json!({
            "namespace": self.key.0, "name": self.key.1, "ownerReferences": [self.owner(true)],
        });
        let object = |kind: super::super::kinds::Kind, spec: Value| json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata, "spec": spec});
        let settings = object(FIRMWARE_SETTINGS, json!({"settings": {}}));
        self.store().create(FIRMWARE_SETTINGS, &settings).await?;
        if !self.profile().components.is_empty() {
            let components = object(FIRMWARE_COMPONENTS, json!({"updates": []}));
            self.store().create(FIRMWARE_COMPONENTS, &components).await?;
        }
        Ok(())
    }

    /// Attaches or detaches as the annotation asks. `Some` ends the pass.
    pub(super) async fn attach_or_detach(&mut self) -> Result<Option<Option<Duration>>> {
        let wanted = annotation(&self.host, DETACHED);
        let is_detached = self.operational() == "detached";
        let is_allowed = matches!(self.state(), "provisioned" | "externally provisioned" | "available")
            || wanted.is_some_and(|w| flag(&serde_json::from_str(w).unwrap_or_default(), "/force"));
        match (wanted.is_some(), is_detached) {
            (true, true) => Ok(Some(None)),
            (true, false) if is_allowed => {
                if let Some(left) = self.left("detach", self.times().notice) {
                    return Ok(Some(Some(left)));
                }
                self.set("errorCount", json!(0));
                self.clear_error("detached");
                self.save().await?;
                Ok(Some(None))
            }
            (false, true) => {
                if let Some(left) = self.left("attach", self.times().notice) {
                    return Ok(Some(Some(left)));
                }
                self.clear_error("OK");
                self.save().await?;
                Ok(Some(None))
            }
            _ => Ok(None),
        }
    }

    /// Whether the deletion must wait because a detached host asks for it.
    pub(super) fn is_deletion_delayed(&self) -> bool {
        let arguments = annotation(&self.host, DETACHED).unwrap_or_default();
        text(&serde_json::from_str(arguments).unwrap_or_default(), "/deleteAction") == "delay"
    }

    /// The number of failed attempts to provision.
    pub(super) fn provisioning_failures(&self) -> i64 {
        number(&self.host, "/status/provisioningFailCount")
    }

    pub(super) fn set_metadata_owner(&self, object: &mut Value) {
        put(object, "metadata/ownerReferences", json!([self.owner(true)]));
    }
}

/// metal3 lets go of the host while this annotation is there.
pub(super) const DETACHED: &str = "baremetalhost.metal3.io/detached";
const FAILED: &str = "Failed to get power state for node: Unable to connect to the BMC: connection timed out";
