//! The assisted (or image-based) installer: takes the hosts, waits for metal3, brings agents, installs.

use serde_json::{Value, json};
use uuid::Uuid;

use super::super::kinds::{
    AGENT, AGENT_CLUSTER_INSTALL, CLUSTER_DEPLOYMENT, DATA_IMAGE, HOST, IMAGE, IMAGE_SET, MANAGED_CLUSTER,
    SECRET,
};
use super::super::store::Result;
use super::super::value::{Condition, at, condition, is_deleting, items, label, put, set_condition, text};
use super::pass::{Next, Pass};
use super::{Event, Installed, Outcome};

/// Label of an Agent: the cluster, whose namespace and ClusterInstance have the same name.
pub(super) const CLUSTER_LABEL: &str = "agent-install.openshift.io/clusterdeployment-namespace";
const BMAC: &str = "bare-metal-agent-controller";
const DEPROVISION: &str = "preprovisioningimage.agent-install.openshift.io/ai-deprovision";

impl Pass<'_> {
    /// What is on the way between rendered and installed, and hosts that join later.
    pub(super) async fn install(mut self) -> Next {
        let deployment = self.store().get(CLUSTER_DEPLOYMENT, self.cluster(), self.cluster()).await?;
        let Some(deployment) = deployment.filter(|d| label(d, super::OWNED_BY) == Some(&self.owner())) else {
            return Ok(None);
        };
        if at(&self.instance, "/status/clusterDeploymentRef").is_null() {
            let name = json!({"name": self.cluster()});
            put(&mut self.instance, "status/clusterDeploymentRef", name);
            self.set("Provisioned", "Unknown", "Unknown", "Waiting for provisioning to start");
            self.save().await?;
            return Ok(None);
        }
        let was = self.provisioned().to_owned();
        let waiting = self.take_hosts(was == "Completed").await?;
        if was == "Completed" {
            // A new host wakes us by its own changes; a missing pull secret does not.
            return Ok(waiting.is_some().then_some(self.sim.options.times.retry));
        }
        let outcome = self.outcome();
        if was == "Failed" && outcome != Outcome::Complete {
            return Ok(None);
        }
        if self.is_held() || outcome == Outcome::HangStart {
            return Ok(None);
        }
        if was == "Unknown" {
            if let Some(reason) = waiting {
                tracing::debug!(cluster = self.cluster(), reason, "not installing yet");
                return Ok(Some(self.sim.options.times.retry));
            }
            if let Some(left) = self.sim.phases.left(self.key, "start", self.sim.options.times.start) {
                return Ok(Some(left));
            }
            return self.start_install(&deployment).await;
        }
        if outcome == Outcome::Hang {
            return Ok(None);
        }
        if let Some(left) = self.sim.phases.left(self.key, "install", self.install_time()) {
            return Ok(Some(left));
        }
        if outcome == Outcome::Fail {
            return self.end_failed(&deployment).await;
        }
        self.end_installed(&deployment).await
    }

    /// Reason of condition `Provisioned`.
    fn provisioned(&self) -> &str {
        condition(&self.instance, "/status/conditions", "Provisioned").map_or("", |c| text(c, "/reason"))
    }

    /// Deploys to the hosts and makes their agents. `Some` is what an installation would wait for.
    async fn take_hosts(&self, is_installed: bool) -> Result<Option<String>> {
        let mut waiting = None;
        for node in items(&self.instance, "/spec/nodes") {
            let prunes_host = items(node, "/pruneManifests").iter().any(|p| text(p, "/kind") == HOST.kind);
            if prunes_host {
                continue;
            }
            let reason = if self.is_image_based() {
                self.take_image_based_host(node).await?
            } else {
                self.take_host(node, is_installed).await?
            };
            waiting = waiting.or(reason);
        }
        Ok(waiting)
    }

    async fn take_host(&self, node: &Value, is_installed: bool) -> Result<Option<String>> {
        let (namespace, name) = self.host_of(node);
        let Some(host) = self.store().get(HOST, &namespace, &name).await? else {
            return Ok(Some(format!("BareMetalHost {namespace}/{name} does not exist")));
        };
        if label(&host, super::OWNED_BY) != Some(&self.owner()) {
            return Ok(Some(format!("BareMetalHost {namespace}/{name} is not this cluster's")));
        }
        let secret = text(&self.instance, "/spec/pullSecretRef/name");
        if self.store().get(SECRET, &namespace, secret).await?.is_none() {
            return Ok(Some(format!("no pull secret {namespace}/{secret} for the discovery image")));
        }
        let agents = format!("{CLUSTER_LABEL}={},agent-install.openshift.io/bmh={name}", self.cluster());
        let agents = self.store().list(AGENT, &namespace, &agents).await?;
        if agents.is_empty() && text(&host, "/spec/customDeploy/method").is_empty() {
            self.deploy(&host).await?;
        }
        let is_up =
            !self.sim.options.waits_for_hosts || text(&host, "/status/provisioning/state") == "provisioned";
        if !is_up {
            return Ok(Some(format!("BareMetalHost {namespace}/{name} is not provisioned")));
        }
        if agents.is_empty() {
            self.make_agent(node, &host).await?;
            if is_installed {
                let host = (text(node, "/hostName").to_owned(), text(node, "/role").to_owned());
                self.tell(Event::HostAdded { cluster: self.cluster().to_owned(), host });
            }
        }
        Ok(None)
    }

    /// What the assisted installer does to a host that it takes: an update of the host as it was read.
    async fn deploy(&self, host: &Value) -> Result<()> {
        let store = self.store().acting_as(BMAC);
        let (namespace, name) = (super::super::value::namespace(host), super::super::value::name(host));
        let patch = json!({
            "metadata": {"resourceVersion": at(host, "/metadata/resourceVersion")},
            "spec": {"customDeploy": {"method": "start_assisted_install"}, "online": true},
        });
        store.merge(HOST, namespace, name, &patch).await?;
        if let Some(image) = store.get(IMAGE, namespace, name).await? {
            let patch =
                json!({"metadata": {"labels": {"infraenvs.agent-install.openshift.io": self.cluster()}}});
            let image = store.merge(IMAGE, namespace, name, &patch).await.unwrap_or(image);
            store.add_finalizer(IMAGE, &image, DEPROVISION).await?;
        }
        Ok(())
    }

    async fn make_agent(&self, node: &Value, host: &Value) -> Result<()> {
        let (cluster, hostname) = (self.cluster(), text(node, "/hostName"));
        let namespace = super::super::value::namespace(host);
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, text(host, "/metadata/uid").as_bytes());
        let mut spec = json!({
            "approved": true, "role": text(node, "/role"),
            "clusterDeploymentName": {"name": cluster, "namespace": cluster},
        });
        if self.sim.options.agents_have_hostname {
            put(&mut spec, "hostname", json!(hostname));
        }
        let agent = json!({
            "apiVersion": AGENT.api_version(), "kind": AGENT.kind,
            "metadata": {"namespace": namespace, "name": id, "labels": {
                CLUSTER_LABEL: cluster, "agent-install.openshift.io/bmh": super::super::value::name(host),
                "infraenvs.agent-install.openshift.io": super::super::value::name(host),
            }},
            "spec": spec,
        });
        let store = self.store().acting_as("assisted-service");
        store.create(AGENT, &agent).await?;
        let status = json!({"status": {
            "inventory": {"hostname": hostname, "bmcAddress": text(node, "/bmcAddress")},
            "progress": {"currentStage": "Done"}, "role": text(node, "/role"),
        }});
        store.merge_status(AGENT, namespace, &id.to_string(), &status).await?;
        Ok(())
    }

    async fn take_image_based_host(&self, node: &Value) -> Result<Option<String>> {
        let (namespace, name) = self.host_of(node);
        let Some(host) = self.store().get(HOST, &namespace, &name).await? else {
            return Ok(Some(format!("BareMetalHost {namespace}/{name} does not exist")));
        };
        if self.store().get(DATA_IMAGE, &namespace, &name).await?.is_none() && self.provisioned() == "Unknown"
        {
            let image = json!({
                "apiVersion": DATA_IMAGE.api_version(), "kind": DATA_IMAGE.kind,
                "metadata": {"namespace": namespace, "name": name},
                "spec": {"url": format!("https://images.example.com/{}/{name}.iso", self.cluster())},
            });
            self.store().acting_as("image-based-install-operator").create(DATA_IMAGE, &image).await?;
        }
        let is_up = !self.sim.options.waits_for_hosts
            || text(&host, "/status/provisioning/state") == "externally provisioned";
        Ok((!is_up).then(|| format!("BareMetalHost {namespace}/{name} is not externally provisioned")))
    }

    /// Conditions of the `ClusterDeployment`, and the same in the ClusterInstance.
    async fn deployment_status(
        &mut self,
        deployment: &Value,
        stopped: bool,
        completed: bool,
        failed: bool,
    ) -> Result<()> {
        let mut deployment = deployment.clone();
        for (type_, is_true) in [
            ("ClusterInstallRequirementsMet", true),
            ("ClusterInstallCompleted", completed),
            ("ClusterInstallFailed", failed),
            ("ClusterInstallStopped", stopped),
        ] {
            let status = if is_true { "True" } else { "False" };
            let reason = if is_true { "InstallationDone" } else { "InstallationNotDone" };
            let next =
                Condition { type_, status, reason, message: "Simulated installation", generation: None };
            set_condition(&mut deployment, "status/conditions", &next);
        }
        let conditions = at(&deployment, "/status/conditions").clone();
        put(&mut self.instance, "status/deploymentConditions", conditions);
        self.store().acting_as("hive-controllers").put_status(CLUSTER_DEPLOYMENT, &deployment).await?;
        Ok(())
    }

    async fn start_install(&mut self, deployment: &Value) -> Next {
        self.deployment_status(deployment, false, false, false).await?;
        let cluster = self.cluster();
        if self.store().get(AGENT_CLUSTER_INSTALL, cluster, cluster).await?.is_some() {
            let patch =
                json!({"spec": {"clusterMetadata": {"clusterID": self.cluster_id(), "infraID": cluster}}});
            let store = self.store().acting_as("assisted-service");
            store.merge(AGENT_CLUSTER_INSTALL, cluster, cluster, &patch).await?;
        }
        self.set("Provisioned", "False", "InProgress", "Provisioning cluster");
        self.save().await?;
        Ok(None)
    }

    async fn end_failed(&mut self, deployment: &Value) -> Next {
        self.deployment_status(deployment, true, false, true).await?;
        self.set("Provisioned", "False", "Failed", "Provisioning failed");
        self.save().await?;
        Ok(None)
    }

    async fn end_installed(&mut self, deployment: &Value) -> Next {
        let (cluster, id) = (self.cluster().to_owned(), self.cluster_id());
        let version = self.version().await?;
        let patch =
            json!({"spec": {"installed": true, "clusterMetadata": {"clusterID": id, "infraID": cluster}}});
        let deployment = self
            .store()
            .acting_as("hive-controllers")
            .merge(CLUSTER_DEPLOYMENT, super::super::value::namespace(deployment), &cluster, &patch)
            .await?;
        self.deployment_status(&deployment, true, true, false).await?;
        if self.is_image_based() {
            self.detach_hosts().await?;
        }
        self.label_cluster(&cluster, &version, &id).await?;
        self.set("Provisioned", "True", "Completed", "Provisioning completed");
        self.save().await?;
        let host = |n: &Value| (text(n, "/hostName").to_owned(), text(n, "/role").to_owned());
        self.tell(Event::Installed(Installed {
            cluster,
            namespace: self.key.0.clone(),
            version,
            cluster_id: id,
            hosts: items(&self.instance, "/spec/nodes").iter().map(host).collect(),
        }));
        Ok(None)
    }

    /// The image-based installer lets metal3 go of the host until the hardware manager takes it back (spec/04 9.5).
    async fn detach_hosts(&self) -> Result<()> {
        for node in items(&self.instance, "/spec/nodes") {
            let (namespace, name) = self.host_of(node);
            let patch = json!({"metadata": {"annotations": {"baremetalhost.metal3.io/detached": "imageclusterinstall"}}});
            self.store()
                .acting_as("image-based-install-operator")
                .merge(HOST, &namespace, &name, &patch)
                .await?;
        }
        Ok(())
    }

    /// The same in every run.
    fn cluster_id(&self) -> String {
        let uid = text(&self.instance, "/metadata/uid");
        Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("cluster {uid}").as_bytes()).to_string()
    }

    /// Version of the image set: the tag of its release image without the architecture, else what its name says.
    async fn version(&self) -> Result<String> {
        let name = text(&self.instance, "/spec/clusterImageSetNameRef");
        let set = self.store().get(IMAGE_SET, "", name).await?.unwrap_or_default();
        Ok(version_of(text(&set, "/spec/releaseImage"), name))
    }

    /// Labels that the klusterlet's reports would bring a moment later (spec/07 section 10).
    async fn label_cluster(&self, cluster: &str, version: &str, id: &str) -> Result<()> {
        let mut parts = version.split('.');
        let major = parts.next().unwrap_or_default();
        let minor = format!("{major}.{}", parts.next().unwrap_or_default());
        let patch = json!({"metadata": {"labels": {
            "vendor": "OpenShift", "cloud": "BareMetal", "clusterID": id, "openshiftVersion": version,
            "openshiftVersion-major": major, "openshiftVersion-major-minor": minor,
        }}});
        let Some(managed) = self.store().get(MANAGED_CLUSTER, "", cluster).await? else { return Ok(()) };
        if is_deleting(&managed) {
            return Ok(());
        }
        self.store()
            .acting_as("managedcluster-import-controller")
            .merge(MANAGED_CLUSTER, "", cluster, &patch)
            .await?;
        Ok(())
    }
}

fn version_of(image: &str, name: &str) -> String {
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    let tag = ["-x86_64", "-aarch64", "-multi", "-ppc64le", "-s390x"]
        .iter()
        .find_map(|arch| tag.strip_suffix(arch))
        .unwrap_or(tag);
    let looks_like_version =
        |t: &str| t.split('.').count() >= 3 && t.starts_with(|c: char| c.is_ascii_digit());
    if looks_like_version(tag) {
        return tag.to_owned();
    }
    let start = name.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    name.get(start..).filter(|t| looks_like_version(t)).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_version_of_an_image_set() {
        assert_eq!(version_of("quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64", "img"), "4.20.1");
        assert_eq!(version_of("quay.io/ocp-release:4.20.0-rc.1-multi", "img"), "4.20.0-rc.1");
        assert_eq!(version_of("quay.io/ocp-release@sha256:abcd", "ocp-4.20.3-c01"), "4.20.3-c01");
        assert_eq!(version_of("", "4.20.1"), "4.20.1");
    }
}
