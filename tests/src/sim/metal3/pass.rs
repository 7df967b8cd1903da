//! One look at one host: the order of things, and the tools that every step uses.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::engine::lock;
use super::super::kinds::HOST;
use super::super::knobs;
use super::super::profile::Profile;
use super::super::store::{Result, Store};
use super::super::value::{
    Key, annotation, annotation_lists, at, duration, flag, is_deleting, now, number, put, remove, text,
};
use super::{FINALIZER, Simulator, Times};

/// Restores the status of a host that was moved from another hub.
const STATUS_ANNOTATION: &str = "baremetalhost.metal3.io/status";

/// What a pass says: `Some` is when to look again without a change.
pub(super) type Next = Result<Option<Duration>>;

/// A thing that takes time and can fail.
pub(super) struct Stage {
    /// Name in [`knobs::FAIL`].
    pub(super) name: &'static str,
    pub(super) error_type: &'static str,
    pub(super) message: &'static str,
    pub(super) lasts: Duration,
    /// `operationalStatus` while it runs.
    pub(super) status: &'static str,
}

pub(super) enum Progress {
    /// Not yet: look again then; `None` when the pass has written something.
    Wait(Option<Duration>),
    Done,
}

pub(super) struct Pass<'a> {
    pub(super) sim: &'a Simulator,
    pub(super) key: &'a Key,
    pub(super) host: Value,
}

impl<'a> Pass<'a> {
    pub(super) fn new(sim: &'a Simulator, key: &'a Key, host: Value) -> Self {
        Pass { sim, key, host }
    }

    pub(super) async fn run(mut self) -> Next {
        if self.restore_status().await? {
            return Ok(None);
        }
        if is_deleting(&self.host) {
            return self.delete().await;
        }
        if self.store().add_finalizer(HOST, &self.host, FINALIZER).await? {
            return Ok(None);
        }
        if let Some(next) = self.attach_or_detach().await? {
            return Ok(next);
        }
        if self.take_hardware_details().await? {
            return Ok(None);
        }
        if !self.has_bmc() {
            return self.unmanaged().await;
        }
        if matches!(self.state(), "" | "unmanaged") {
            return self.accept().await;
        }
        if let Some(next) = self.credentials().await? {
            return Ok(next);
        }
        let firmware = self.watch_firmware().await?;
        let next = match self.state() {
            "registering" => self.registering().await,
            "inspecting" => self.inspecting().await,
            "preparing" => self.preparing(&firmware).await,
            "available" => self.available(&firmware).await,
            "provisioning" => self.provisioning().await,
            "provisioned" => self.provisioned(&firmware).await,
            "externally provisioned" => self.externally_provisioned(&firmware).await,
            "deprovisioning" => self.deprovisioning().await,
            _ => Ok(None),
        }?;
        Ok(soonest(next, firmware.again))
    }

    pub(super) fn store(&self) -> &Store {
        &self.sim.store
    }

    pub(super) fn times(&self) -> &Times {
        &self.sim.options.times
    }

    pub(super) fn profile(&self) -> Profile {
        Profile::of(&self.host, &self.sim.options.profiles)
    }

    pub(super) fn state(&self) -> &str {
        text(&self.host, "/status/provisioning/state")
    }

    pub(super) fn operational(&self) -> &str {
        text(&self.host, "/status/operationalStatus")
    }

    pub(super) fn is_online(&self) -> bool {
        flag(&self.host, "/spec/online")
    }

    pub(super) fn is_powered_on(&self) -> bool {
        flag(&self.host, "/status/poweredOn")
    }

    pub(super) fn set(&mut self, path: &str, value: Value) {
        put(&mut self.host, &format!("status/{path}"), value);
    }

    /// Writes the status; the watch wakes us then.
    pub(super) async fn save(&mut self) -> Result<()> {
        for (path, default) in [
            ("errorCount", json!(0)),
            ("errorMessage", json!("")),
            ("operationalStatus", json!("OK")),
            ("poweredOn", json!(false)),
            ("provisioningFailCount", json!(0)),
            ("provisioning/ID", json!("")),
            ("provisioning/state", json!("")),
        ] {
            if at(&self.host, &format!("/status/{path}")).is_null() {
                self.set(path, default);
            }
        }
        self.set("lastUpdated", json!(now()));
        self.host = self.sim.store.put_status(HOST, &self.host).await?;
        Ok(())
    }

    /// Another state, without an error.
    pub(super) async fn enter(&mut self, state: &str) -> Next {
        self.set("provisioning/state", json!(state));
        self.set("errorCount", json!(0));
        self.clear_error("OK");
        self.save().await?;
        Ok(None)
    }

    pub(super) fn clear_error(&mut self, operational: &str) {
        self.set("operationalStatus", json!(operational));
        self.set("errorMessage", json!(""));
        remove(&mut self.host, "/status/errorType");
    }

    pub(super) fn set_error(&mut self, error_type: &str, message: &str) {
        let count = number(&self.host, "/status/errorCount") + 1;
        self.set("operationalStatus", json!("error"));
        self.set("errorType", json!(error_type));
        self.set("errorMessage", json!(message));
        self.set("errorCount", json!(count));
    }

    pub(super) fn is_in_error(&self, error_type: &str) -> bool {
        self.operational() == "error" && text(&self.host, "/status/errorType") == error_type
    }

    /// Start or end of an operation in `operationHistory`.
    pub(super) fn history(&mut self, operation: &str, moment: &str) {
        self.set(&format!("operationHistory/{operation}/{moment}"), json!(now()));
        if moment == "start" {
            self.set(&format!("operationHistory/{operation}/end"), Value::Null);
        }
    }

    /// What is left of a phase that began when it was first asked for.
    pub(super) fn left(&self, phase: &str, lasts: Duration) -> Option<Duration> {
        self.sim.phases.left(self.key, phase, lasts)
    }

    /// How long something lasts: the host's annotation, else the given time.
    pub(super) fn lasts(&self, state: &str, default: Duration) -> Duration {
        annotation(&self.host, &format!("{}{state}", knobs::DELAY)).and_then(duration).unwrap_or(default)
    }

    fn is_told_to_fail(&self, stage: &'static str) -> bool {
        let mut failures = lock(&self.sim.failures);
        if !annotation_lists(&self.host, knobs::FAIL, stage) {
            failures.remove(&(self.key.clone(), stage));
            return false;
        }
        let limit = annotation(&self.host, knobs::FAIL_COUNT).and_then(|n| n.trim().parse::<u32>().ok());
        let failed = failures.get(&(self.key.clone(), stage)).copied().unwrap_or_default();
        limit.is_none_or(|limit| failed < limit)
    }

    /// Goes through a stage: waits, fails when told to, waits again and starts over.
    pub(super) async fn go_through(&mut self, stage: &Stage) -> Result<Progress> {
        let fails = self.is_told_to_fail(stage.name);
        let count = number(&self.host, "/status/errorCount");
        if self.is_in_error(stage.error_type) {
            let factor = 1_u32 << count.clamp(1, 9).unsigned_abs().saturating_sub(1);
            let pause = self.times().retry.saturating_mul(factor);
            // Once the knob is gone there is no reason to wait; an error of the host's own keeps its pauses.
            let is_own = text(&self.host, "/status/errorMessage") != stage.message;
            if (fails || is_own)
                && let Some(left) = self.left(&format!("{} retry {count}", stage.name), pause)
            {
                return Ok(Progress::Wait(Some(left)));
            }
            self.clear_error(stage.status);
            self.save().await?;
            return Ok(Progress::Wait(None));
        }
        if let Some(left) = self.left(&format!("{} {count}", stage.name), stage.lasts) {
            return Ok(Progress::Wait(Some(left)));
        }
        if fails {
            *lock(&self.sim.failures).entry((self.key.clone(), stage.name)).or_default() += 1;
            self.fail(stage.error_type, stage.message).await?;
            return Ok(Progress::Wait(None));
        }
        Ok(Progress::Done)
    }

    pub(super) async fn fail(&mut self, error_type: &str, message: &str) -> Result<()> {
        self.set_error(error_type, message);
        self.save().await
    }

    /// Changes metadata of the host; `null` removes.
    pub(super) async fn annotate(&self, annotations: &Value) -> Result<()> {
        let patch = json!({"metadata": {"annotations": annotations}});
        self.store().merge(HOST, &self.key.0, &self.key.1, &patch).await?;
        Ok(())
    }

    /// An owner reference to the host, for objects in its namespace.
    pub(super) fn owner(&self, is_controller: bool) -> Value {
        let mut owner = json!({
            "apiVersion": HOST.api_version(), "kind": HOST.kind,
            "name": self.key.1, "uid": text(&self.host, "/metadata/uid"),
        });
        if is_controller {
            put(&mut owner, "controller", json!(true));
            put(&mut owner, "blockOwnerDeletion", json!(true));
        }
        owner
    }

    async fn restore_status(&mut self) -> Result<bool> {
        let Some(saved) = annotation(&self.host, STATUS_ANNOTATION) else { return Ok(false) };
        if at(&self.host, "/status").is_null()
            && let Ok(status @ Value::Object(_)) = serde_json::from_str::<Value>(saved)
        {
            put(&mut self.host, "status", status);
            self.save().await?;
        }
        self.annotate(&json!({STATUS_ANNOTATION: null})).await?;
        Ok(true)
    }
}

/// The earlier of two times to look again.
pub(super) fn soonest(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
