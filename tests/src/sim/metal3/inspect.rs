//! Inspection: what the host is made of, into its status and into HardwareData; and the image that it boots for that.

use serde_json::{Value, json};

use super::super::kinds::{HARDWARE_DATA, HOST, IMAGE, SECRET};
use super::super::store::Result;
use super::super::value::Condition;
use super::super::value::{annotation, at, entries, items, put, set_condition, text};
use super::pass::{Next, Pass, Progress, Stage};

/// Keeps HardwareData as long as the host exists.
pub(super) const DATA_FINALIZER: &str = "baremetalhost.metal3.io/hardwareData";
/// Finalizers of a `PreprovisioningImage`.
pub(super) const IMAGE_FINALIZERS: [&str; 2] =
    ["preprovisioningimage.metal3.io", "baremetalhost.metal3.io/preprovisioningImage"];
const INSPECT: &str = "inspect.metal3.io";
const DETAILS: &str = "inspect.metal3.io/hardwaredetails";

impl Pass<'_> {
    /// Whether an inspection was asked for.
    pub(super) fn wants_inspection(&self) -> bool {
        annotation(&self.host, INSPECT) == Some("")
    }

    pub(super) async fn start_inspection(&mut self) -> Next {
        self.set("poweredOn", json!(true));
        self.history("inspect", "start");
        self.enter("inspecting").await
    }

    pub(super) async fn inspecting(&mut self) -> Next {
        if self.wants_inspection() {
            self.annotate(&json!({INSPECT: null})).await?;
            return Ok(None);
        }
        if !self.sync_image().await? {
            return Ok(Some(self.times().look_again));
        }
        let stage = Stage {
            name: "inspecting",
            error_type: "inspection error",
            message: "timeout reached while inspecting the node",
            lasts: self.lasts("inspecting", self.times().inspect),
            status: "OK",
        };
        if let Progress::Wait(left) = self.go_through(&stage).await? {
            return Ok(left);
        }
        let details = self.profile().details(&self.host);
        self.write_hardware_data(&details).await?;
        if text(&self.host, "/spec/architecture").is_empty() {
            let patch = json!({"spec": {"architecture": at(&details, "/cpu/arch")}});
            let status = at(&self.host, "/status").clone();
            self.host = self.store().merge(HOST, &self.key.0, &self.key.1, &patch).await?;
            put(&mut self.host, "status", status);
        }
        self.set("hardware", details);
        let online = self.is_online();
        self.set("poweredOn", json!(online));
        self.history("inspect", "end");
        self.enter("preparing").await
    }

    async fn write_hardware_data(&self, details: &Value) -> Result<()> {
        let mut data = json!({
            "apiVersion": HARDWARE_DATA.api_version(), "kind": HARDWARE_DATA.kind,
            "metadata": {"namespace": self.key.0, "name": self.key.1, "finalizers": [DATA_FINALIZER]},
            "spec": {"hardware": details},
        });
        self.set_metadata_owner(&mut data);
        self.store().apply(HARDWARE_DATA, &data).await?;
        Ok(())
    }

    /// Details that the user gives instead of an inspection. True when the pass has written them.
    pub(super) async fn take_hardware_details(&mut self) -> Result<bool> {
        let Some(given) = annotation(&self.host, DETAILS) else { return Ok(false) };
        let is_disabled = self.is_inspection_disabled();
        if let (true, Ok(details @ Value::Object(_))) = (is_disabled, serde_json::from_str::<Value>(given)) {
            self.write_hardware_data(&details).await?;
            self.set("hardware", details);
            self.save().await?;
        }
        self.annotate(&json!({DETAILS: null})).await?;
        Ok(true)
    }

    /// Makes the `PreprovisioningImage` and keeps it in step with the host; true when it is ready.
    pub(super) async fn sync_image(&self) -> Result<bool> {
        let network = text(&self.host, "/spec/preprovisioningNetworkDataName");
        let mut spec = json!({"architecture": "x86_64", "acceptFormats": ["iso", "initrd"]});
        if !network.is_empty() {
            put(&mut spec, "networkDataName", json!(network));
        }
        let Some(image) = self.store().get(IMAGE, &self.key.0, &self.key.1).await? else {
            let mut image = json!({
                "apiVersion": IMAGE.api_version(), "kind": IMAGE.kind,
                "metadata": {"namespace": self.key.0, "name": self.key.1, "finalizers": IMAGE_FINALIZERS,
                    "labels": at(&self.host, "/metadata/labels")},
                "spec": spec,
            });
            if at(&image, "/metadata/labels").is_null() {
                super::super::value::remove(&mut image, "/metadata/labels");
            }
            self.set_metadata_owner(&mut image);
            self.store().create(IMAGE, &image).await?;
            return Box::pin(self.sync_image()).await;
        };
        let labels: Vec<(&str, &Value)> = entries(&self.host, "/metadata/labels")
            .into_iter()
            .filter(|(k, v)| at(&image, "/metadata/labels").get(*k) != Some(*v))
            .collect();
        let is_stale = text(&image, "/spec/networkDataName") != network;
        if !labels.is_empty() || is_stale {
            let labels: serde_json::Map<String, Value> =
                labels.into_iter().map(|(k, v)| (k.to_owned(), v.clone())).collect();
            let name = if network.is_empty() { Value::Null } else { json!(network) };
            let patch = json!({"metadata": {"labels": labels}, "spec": {"networkDataName": name}});
            self.store().merge(IMAGE, &self.key.0, &self.key.1, &patch).await?;
        }
        self.judge_image(image, network).await
    }

    /// The image is built when its network data exists.
    async fn judge_image(&self, mut image: Value, network: &str) -> Result<bool> {
        let data =
            if network.is_empty() { None } else { self.store().get(SECRET, &self.key.0, network).await? };
        let is_ready = network.is_empty() || data.is_some();
        let wanted =
            data.as_ref().map(|d| json!({"name": network, "version": text(d, "/metadata/resourceVersion")}));
        let was = items(&image, "/status/conditions").len();
        let (ready, error, reason, message) = if is_ready {
            ("True", "False", "ImageSuccess", "Generated image".to_owned())
        } else {
            ("False", "True", "MissingNetworkData", format!("NetworkData secret {network} not found"))
        };
        let generation = Some(super::super::value::generation(&image));
        let mut changed = was == 0;
        for (type_, status) in [("Ready", ready), ("Error", error)] {
            let next = Condition { type_, status, reason, message: &message, generation };
            changed |= set_condition(&mut image, "status/conditions", &next);
        }
        if at(&image, "/status/networkData") != &wanted.clone().unwrap_or(Value::Null) {
            changed = true;
            match wanted {
                Some(data) => put(&mut image, "status/networkData", data),
                None => super::super::value::remove(&mut image, "/status/networkData"),
            }
        }
        if is_ready && text(&image, "/status/imageUrl").is_empty() {
            put(
                &mut image,
                "status/imageUrl",
                json!(format!("https://images.example.com/{}/{}.iso", self.key.0, self.key.1)),
            );
            put(&mut image, "status/format", json!("iso"));
            put(&mut image, "status/architecture", json!("x86_64"));
            changed = true;
        }
        if changed {
            let patch = json!({"status": at(&image, "/status")});
            self.store().merge_status(IMAGE, &self.key.0, &self.key.1, &patch).await?;
        }
        Ok(is_ready)
    }
}
