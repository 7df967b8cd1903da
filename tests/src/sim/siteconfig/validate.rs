//! What must exist before anything is rendered (spec/02 9.4), checked in the real one's order.

use serde_json::Value;

use super::super::kinds::{CONFIG_MAP, IMAGE_SET, Kind, SECRET};
use super::super::store::Result;
use super::super::value::{items, text};
use super::pass::Pass;

fn not_found(kind: Kind, name: &str) -> String {
    let group = if kind.group.is_empty() { String::new() } else { format!(".{}", kind.group) };
    format!("{}{group} \"{name}\" not found", kind.plural)
}

impl Pass<'_> {
    /// `Err` is the text behind "Validation failed: ".
    pub(super) async fn validate(&self) -> Result<std::result::Result<(), String>> {
        if self.cluster().is_empty() {
            return Ok(Err("missing cluster name".to_owned()));
        }
        if let Some(problem) = self.missing_resource().await? {
            return Ok(Err(format!("resource validation failed: {problem}")));
        }
        if let Some(problem) = self.missing_template().await? {
            return Ok(Err(format!("template reference(s) validation failed: {problem}")));
        }
        Ok(Ok(()))
    }

    async fn exists(&self, kind: Kind, namespace: &str, name: &str) -> Result<bool> {
        Ok(!name.is_empty() && self.store().get(kind, namespace, name).await?.is_some())
    }

    async fn missing_resource(&self) -> Result<Option<String>> {
        let (instance, namespace) = (&self.instance, self.key.0.as_str());
        let set = text(instance, "/spec/clusterImageSetNameRef");
        if set.is_empty() {
            return Ok(Some("clusterImageSetNameRef cannot be empty".to_owned()));
        }
        if !self.exists(IMAGE_SET, "", set).await? {
            return Ok(Some(format!(
                "encountered error validating ClusterImageSetNameRef: {set}, err: ClusterImageSet.{} \"{set}\" not found",
                IMAGE_SET.group
            )));
        }
        let secret = text(instance, "/spec/pullSecretRef/name");
        if !self.exists(SECRET, namespace, secret).await? {
            return Ok(Some(format!(
                "failed to validate Pull Secret: [{secret} in namespace {namespace}], err: {}",
                not_found(SECRET, secret)
            )));
        }
        for manifest in items(instance, "/spec/extraManifestsRefs") {
            let name = text(manifest, "/name");
            if !self.exists(CONFIG_MAP, namespace, name).await? {
                return Ok(Some(format!(
                    "failed to retrieve ExtraManifest: {name} in namespace {namespace}, err: {}",
                    not_found(CONFIG_MAP, name)
                )));
            }
        }
        for node in items(instance, "/spec/nodes") {
            let name = text(node, "/bmcCredentialsName/name");
            let (namespace, _) = self.host_of(node);
            if !self.exists(SECRET, &namespace, name).await? {
                return Ok(Some(format!(
                    "failed to validate BMC credentials: {name} in namespace {namespace} [Node: Hostname={}], err: {}",
                    text(node, "/hostName"),
                    not_found(SECRET, name)
                )));
            }
        }
        Ok(None)
    }

    async fn missing_template(&self) -> Result<Option<String>> {
        for template in items(&self.instance, "/spec/templateRefs") {
            let (namespace, name) = reference(template);
            if !self.exists(CONFIG_MAP, namespace, name).await? {
                return Ok(Some(format!(
                    "failed to validate cluster-level TemplateRef: [{name} in namespace {namespace}], err: {}",
                    not_found(CONFIG_MAP, name)
                )));
            }
        }
        for node in items(&self.instance, "/spec/nodes") {
            for template in items(node, "/templateRefs") {
                let (namespace, name) = reference(template);
                if !self.exists(CONFIG_MAP, namespace, name).await? {
                    return Ok(Some(format!(
                        "failed to validate node-level TemplateRef: {name} in namespace {namespace} [Node: Hostname={}], \
                         err: {}",
                        text(node, "/hostName"),
                        not_found(CONFIG_MAP, name)
                    )));
                }
            }
        }
        Ok(None)
    }
}

fn reference(template: &Value) -> (&str, &str) {
    (text(template, "/namespace"), text(template, "/name"))
}
