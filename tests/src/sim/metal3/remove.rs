//! Deletion of a host.

use kube::api::PropagationPolicy;
use serde_json::json;

use super::super::kinds::{FIRMWARE_COMPONENTS, FIRMWARE_SETTINGS, HARDWARE_DATA, HOST, IMAGE, Kind, SECRET};
use super::super::store::Result;
use super::super::value::{has_finalizer, items, text};
use super::FINALIZER;
use super::inspect::{DATA_FINALIZER, IMAGE_FINALIZERS};
use super::pass::{Next, Pass, Progress, Stage};
use super::register::SECRET_FINALIZER;

/// After so many failures to power off, the host is deleted all the same.
const POWER_ATTEMPTS: i64 = 3;

impl Pass<'_> {
    pub(super) async fn delete(&mut self) -> Next {
        if !has_finalizer(&self.host, FINALIZER) {
            return Ok(None);
        }
        if self.operational() == "detached" {
            if self.is_deletion_delayed() {
                return Ok(None);
            }
            return self.let_go().await;
        }
        match self.state() {
            "" | "unmanaged" | "registering" => self.enter("deleting").await,
            "provisioning" | "provisioned" => self.start_deprovisioning().await,
            "deprovisioning" => {
                if let Some(left) = self.left("deprovisioning", self.deprovisioning_lasts()) {
                    return Ok(Some(left));
                }
                self.forget_deployed();
                self.set("poweredOn", json!(true));
                self.enter("powering off before delete").await
            }
            "powering off before delete" => self.power_off_before_delete().await,
            "deleting" => self.let_go().await,
            _ => self.enter("powering off before delete").await,
        }
    }

    async fn power_off_before_delete(&mut self) -> Next {
        let stage = Stage {
            name: "power",
            error_type: "power management error",
            message: "Failed to change power state: the BMC does not answer",
            lasts: self.lasts("power", self.times().power),
            status: "OK",
        };
        let failures = super::super::value::number(&self.host, "/status/errorCount");
        if failures < POWER_ATTEMPTS
            && let Progress::Wait(left) = self.go_through(&stage).await?
        {
            return Ok(left);
        }
        self.set("poweredOn", json!(false));
        self.enter("deleting").await
    }

    /// Frees what hangs on the host, then the host.
    async fn let_go(&mut self) -> Next {
        self.discard(HARDWARE_DATA, &[DATA_FINALIZER]).await?;
        self.discard(IMAGE, &IMAGE_FINALIZERS).await?;
        self.discard(FIRMWARE_SETTINGS, &[]).await?;
        self.discard(FIRMWARE_COMPONENTS, &[]).await?;
        self.release_secret().await?;
        self.store().drop_finalizers(HOST, &self.host, &[FINALIZER]).await?;
        self.sim.forget(self.key);
        Ok(None)
    }

    /// The garbage collector would delete it too, but not every lab runs one.
    async fn discard(&self, kind: Kind, finalizers: &[&str]) -> Result<()> {
        let Some(object) = self.store().get(kind, &self.key.0, &self.key.1).await? else { return Ok(()) };
        self.store().delete(kind, &self.key.0, &self.key.1, PropagationPolicy::Background).await?;
        if items(&object, "/metadata/finalizers").is_empty() {
            return Ok(());
        }
        if let Some(object) = self.store().get(kind, &self.key.0, &self.key.1).await? {
            self.store().drop_finalizers(kind, &object, finalizers).await?;
        }
        Ok(())
    }

    async fn release_secret(&self) -> Result<()> {
        let name = text(&self.host, "/spec/bmc/credentialsName");
        if name.is_empty() {
            return Ok(());
        }
        let Some(secret) = self.store().get(SECRET, &self.key.0, name).await? else { return Ok(()) };
        let uid = text(&self.host, "/metadata/uid");
        let owners = items(&secret, "/metadata/ownerReferences");
        let others: Vec<_> = owners.iter().filter(|o| text(o, "/uid") != uid).cloned().collect();
        if others.iter().any(|o| text(o, "/kind") == HOST.kind) {
            let patch = json!({"metadata": {"ownerReferences": others}});
            self.store().merge(SECRET, &self.key.0, name, &patch).await?;
            return Ok(());
        }
        self.store().drop_finalizers(SECRET, &secret, &[SECRET_FINALIZER]).await?;
        Ok(())
    }
}
